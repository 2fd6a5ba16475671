//! Files written whole or not at all.

use crate::error::{Detail, IoError};
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How the names of unfinished files begin and end.
const UNFINISHED: [&str; 2] = [".pointmill-", ".tmp"];
/// Small writes are gathered up to this size; larger ones go straight through.
const BUFFER: usize = 256 << 10;

/// Writes a file whole or not at all.
///
/// What `write` gives goes to a new file in the folder of `path`, which is synced and then renamed; so nothing is ever seen
/// under `path` but an earlier file or the complete new one, and after an error nothing new remains. A new file gets the
/// permissions of any file the process makes, a replaced one keeps its own; a symbolic link is followed. What is no ordinary
/// file (a pipe, `/dev/null`) gets the bytes once they are all made. A process that is killed leaves its new file behind:
/// [`remove_abandoned`] finds it.
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
    builder.prefix(UNFINISHED[0]).suffix(UNFINISHED[1]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less what the umask takes, as for any new file; the builder's own default keeps others out.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = loop {
        let file = builder.tempfile_in(&folder).map_err(|e| IoError::io(path, "create")(e.kind().into()))?;
        if claim(file.as_file()) {
            break file;
        }
    };
    let _under_way = UnderWay::new(file.path());
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

/// Marks a new file as one that is being written, for [`remove_abandoned`]; whether that came in time.
fn claim(file: &File) -> bool {
    // A file system without locks has no marks either, and there nothing is removed.
    let locked = file.lock().is_ok();
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        // Whoever held the lock before has taken it for a file left behind.
        !(locked && file.metadata().is_ok_and(|m| m.nlink() == 0))
    }
    #[cfg(not(unix))]
    {
        let _ = locked;
        true
    }
}

/// The unfinished files of this process.
static ALL_UNDER_WAY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// An unfinished file, until it is dropped.
struct UnderWay(PathBuf);

impl UnderWay {
    fn new(path: &Path) -> Self {
        ALL_UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
        Self(path.into())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        ALL_UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}

/// Removes the unfinished files of all calls of [`write_whole`] that are under way in this process, which then fail.
///
/// For a process that is about to end and cannot wait for them.
///
/// ```
/// use std::io::Write;
/// let path = std::env::temp_dir().join(format!("pointmill-doc-abandoned-{}.txt", std::process::id()));
/// let written = pointmill_io::write_whole(&path, |out| {
///     pointmill_io::abandon_writes();
///     writeln!(out, "nothing comes of it")
/// });
/// assert!(written.is_err() && !path.exists());
/// ```
pub fn abandon_writes() {
    for path in ALL_UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        fs::remove_file(path).ok();
    }
}

/// Removes the unfinished files that killed processes left in a folder; their number.
///
/// A file that somebody still writes is told by its lock and stays; where the file system knows no locks, every file stays.
///
/// # Errors
/// A folder that cannot be read.
///
/// ```
/// let folder = std::env::temp_dir().join(format!("pointmill-doc-left-{}", std::process::id()));
/// std::fs::create_dir_all(&folder).unwrap();
/// std::fs::write(folder.join(".pointmill-x1y2z3.tmp"), "half a file").unwrap();
/// assert_eq!(pointmill_io::remove_abandoned(&folder)?, 1);
/// # std::fs::remove_dir(&folder).unwrap();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn remove_abandoned(folder: impl AsRef<Path>) -> Result<usize, IoError> {
    let folder = folder.as_ref();
    let mut removed = 0;
    for entry in fs::read_dir(folder).map_err(IoError::io(folder, "open"))? {
        let path = entry.map_err(IoError::io(folder, "read"))?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let [front, back] = UNFINISHED.map(str::as_bytes);
        if !name.starts_with(front) || !name.ends_with(back) {
            continue;
        }
        // One that goes away by itself, or is not ours to remove, is nobody's trouble.
        let Ok(file) = File::options().read(true).write(true).open(&path) else { continue };
        if file.try_lock().is_ok() && fs::remove_file(&path).is_ok() {
            removed += 1;
        }
    }
    Ok(removed)
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
    fn what_a_killed_process_left_is_removed_and_what_is_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".pointmill-x1y2z3.tmp");
        fs::write(&left, "half").unwrap();
        fs::write(folder.path().join(".pointmill.tmp"), "another's").unwrap();
        let path = folder.path().join("a.npz");
        write_whole(&path, |out| {
            out.write_all(b"whole")?;
            assert_eq!(remove_abandoned(folder.path()).unwrap(), 1);
            Ok(())
        })
        .unwrap();
        assert_eq!(
            (names(folder.path()), fs::read(&path).unwrap()),
            (vec![".pointmill.tmp".into(), "a.npz".into()], b"whole".to_vec())
        );
        assert!(remove_abandoned(folder.path().join("no")).is_err());
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
