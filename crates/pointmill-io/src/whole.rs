//! Files written whole or not at all.

use crate::error::{Detail, IoError};
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Seek};
use std::path::{Path, PathBuf};

/// Small writes are gathered up to this size; larger ones go straight through.
const BUFFER: usize = 256 << 10;

/// Writes a file whole or not at all.
///
/// What `write` gives goes to a new file in the folder of `path`, which is synced and then renamed; so nothing is ever seen
/// under `path` but an earlier file or the complete new one, and after an error nothing new remains. A new file gets the
/// permissions of any file the process makes, a replaced one keeps its own; a symbolic link is followed. What is no ordinary
/// file (a pipe, `/dev/null`) gets the bytes once they are all made.
///
/// # Errors
/// What the system refuses, and what `write` returns, as [`IoError::Io`]; a path without a file's name.
///
/// ```
/// use std::io::Write;
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}.txt", std::process::id()));
/// pointmill_io::write_whole(&path, |out| writeln!(out, "all or nothing"))?;
/// assert_eq!(std::fs::read_to_string(&path).unwrap(), "all or nothing\n");
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn write_whole(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let target = match path.canonicalize() {
        Ok(target) => target,
        Err(_) => path.to_path_buf(), // Not there yet: the ordinary case.
    };
    let earlier = fs::metadata(&target).ok();
    if earlier.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(IoError::io(path, "write")(ErrorKind::IsADirectory.into()));
    }
    if target.file_name().is_none() {
        return Err(IoError::InvalidArgument(Detail::new(path, "path", "a file's name", "none")));
    }
    if earlier.as_ref().is_some_and(|m| !m.is_file()) {
        return write_special(path, &target, write);
    }
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    // Told here, in the system's words; the temporary file's name would mean nothing to a user.
    fs::metadata(&folder).map_err(IoError::io(path, "open the folder"))?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pointmill-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less what the umask takes, as for any new file; the builder's own default keeps others out.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(&folder).map_err(|e| IoError::io(path, "create")(e.kind().into()))?;
    if let Some(earlier) = earlier {
        file.as_file().set_permissions(earlier.permissions()).map_err(IoError::io(path, "set permissions"))?;
    }
    let handle = file.as_file_mut().try_clone().map_err(IoError::io(path, "create"))?;
    // A temporary file that is dropped on the way out of an error is removed.
    fill(handle, write).and_then(|file| file.sync_all()).map_err(IoError::io(path, "write"))?;
    file.persist(&target).map_err(|e| IoError::io(path, "rename")(e.error))?;
    // The rename is durable once the folder is. The file is complete by now whatever happens here, and some file systems
    // cannot sync a folder, so the answer does not matter.
    #[cfg(unix)]
    File::open(&folder).and_then(|folder| folder.sync_all()).ok();
    Ok(())
}

/// Writes to what is no ordinary file, which cannot be replaced or sought in, by way of an unnamed file.
fn write_special(
    path: &Path,
    target: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), IoError> {
    let made = tempfile::tempfile().and_then(|file| fill(file, write));
    let copied = made.and_then(|mut file| {
        file.rewind()?;
        io::copy(&mut file, &mut File::options().write(true).open(target)?)
    });
    copied.map(drop).map_err(IoError::io(path, "write"))
}

fn fill(file: File, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<File> {
    let mut out = BufWriter::with_capacity(BUFFER, file);
    write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn errors_leave_nothing_and_the_earlier_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let failing = |out: &mut BufWriter<File>| {
            out.write_all(&[0; 1 << 20])?;
            Err(io::Error::other("full"))
        };
        let e = write_whole(&path, failing).unwrap_err();
        assert_eq!(e.to_string(), format!("{}: write: full", path.display()));
        assert!(names(folder.path()).is_empty());
        write_whole(&path, |out| out.write_all(b"old")).unwrap();
        write_whole(&path, failing).unwrap_err();
        assert_eq!((names(folder.path()), fs::read(&path).unwrap()), (vec!["a.npz".into()], b"old".to_vec()));
    }

    #[test]
    fn odd_targets_are_named_errors() {
        let folder = tempfile::tempdir().unwrap();
        let ok = |out: &mut BufWriter<File>| out.write_all(b"x");
        let e = write_whole(folder.path(), ok).unwrap_err();
        assert!(matches!(&e, IoError::Io { source, .. } if source.kind() == ErrorKind::IsADirectory), "{e}");
        let e = write_whole(folder.path().join("no/a.npz"), ok).unwrap_err();
        assert!(matches!(&e, IoError::Io { source, .. } if source.kind() == ErrorKind::NotFound), "{e}");
        assert!(e.to_string().contains("no/a.npz: open the folder: No such file"), "{e}");
        assert_eq!(write_whole("", ok).unwrap_err().class(), "InvalidArgument");
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn permissions_links_and_devices_are_ordinary() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = tempfile::tempdir().unwrap();
        let [plain, whole, link] = ["plain", "whole", "link"].map(|n| folder.path().join(n));
        fs::write(&plain, "").unwrap();
        write_whole(&whole, |out| out.write_all(b"1")).unwrap();
        assert_eq!(mode(&whole), mode(&plain));
        fs::set_permissions(&whole, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&whole, &link).unwrap();
        write_whole(&link, |out| out.write_all(b"2")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!((fs::read(&whole).unwrap(), mode(&whole)), (b"2".to_vec(), 0o600));
        write_whole("/dev/null", |out| out.write_all(b"3")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert_eq!(write_whole("/dev/full", |out| out.write_all(b"4")).unwrap_err().class(), "Io");
    }
}
