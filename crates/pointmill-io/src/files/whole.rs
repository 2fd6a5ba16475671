//! Files written whole or not at all.

use super::place::Destination;
use super::unfinished::{UNFINISHED, UnderWay, claim};
use crate::error::IoError;
use crate::fault::bail;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufWriter, ErrorKind, Seek};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Small writes are gathered up to this size; larger ones go straight through.
const BUFFER: usize = 256 << 10;

/// Writes a file whole or not at all.
///
/// What `write` gives goes to a new file in the folder of the path, which is synced and then
/// renamed; so nothing is ever seen under the path but an earlier file or the complete new one, and
/// after an error nothing new remains. A new file gets the permissions of any file the process
/// makes, a replaced one keeps its own but for the bits that lend a user or a group. The new file
/// replaces a symbolic link, a pipe and a device. Where the [`Place`](crate::Place) says that links
/// are followed, what they lead to is replaced, and what is no ordinary file (a pipe, `/dev/null`)
/// gets the bytes once they are all made. A process that is killed leaves its new file behind:
/// [`remove_abandoned`](crate::remove_abandoned) finds it.
///
/// # Errors
/// What the system refuses, and what `write` returns, as [`IoError::Io`]; a path without a file's
/// name.
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
    to: impl Destination,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), IoError> {
    write_to(&to, write)
}

/// As [`write_whole`].
pub(crate) fn write_to(
    to: &impl Destination,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), IoError> {
    write_synced(to, true, write)
}

/// As [`write_whole`], and without `sync` faster: after a crash of the machine the file may be
/// shorter, which its readers must find.
///
/// # Errors
/// As [`write_whole`].
pub fn write_synced(
    to: &impl Destination,
    sync: bool,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), IoError> {
    let (path, follows) = (to.path(), to.follows_links());
    let target = match path.canonicalize() {
        Ok(target) if follows => target,
        _ => path.to_path_buf(), // Not there yet: the ordinary case.
    };
    let earlier = if follows { fs::metadata(&target) } else { fs::symlink_metadata(&target) }.ok();
    if earlier.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(IoError::io(path, "write")(ErrorKind::IsADirectory.into()));
    }
    if target.file_name().is_none() {
        bail!(path, InvalidArgument, "path", "a file's name", "none");
    }
    if follows && earlier.as_ref().is_some_and(|m| !m.is_file()) {
        return write_special(path, &target, write);
    }
    let folder = folder_of(&target);
    let (mut file, _under_way) = unfinished(path, &folder)?;
    if let Some(earlier) = earlier.filter(fs::Metadata::is_file) {
        let permissions = without_lent_rights(earlier.permissions());
        file.as_file().set_permissions(permissions).map_err(IoError::io(path, "set permissions"))?;
    }
    let handle = file.as_file_mut().try_clone().map_err(IoError::io(path, "create"))?;
    // A temporary file that is dropped on the way out of an error is removed.
    let filled = fill(handle, write).and_then(|file| if sync { file.sync_all() } else { Ok(()) });
    filled.map_err(IoError::io(path, "write"))?;
    file.persist(&target).map_err(|e| IoError::io(path, "rename")(e.error))?;
    if sync {
        sync_folder(&folder);
    }
    Ok(())
}

/// Writes a new file whole, unless there is something under its name by then: of several processes
/// the first decides.
///
/// # Errors
/// What the system refuses.
pub fn write_first(path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let folder = folder_of(path);
    let (mut file, _under_way) = unfinished(path, &folder)?;
    io::Write::write_all(&mut file, bytes)
        .and_then(|()| file.as_file().sync_all())
        .map_err(IoError::io(path, "write"))?;
    match file.persist_noclobber(path) {
        Err(e) if e.error.kind() != ErrorKind::AlreadyExists => Err(IoError::io(path, "rename")(e.error)),
        _ => {
            sync_folder(&folder);
            Ok(())
        }
    }
}

/// The folder that a file is in.
fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// A new file for the bytes of `path`, which nobody takes for one that was left behind, with the
/// permissions of any new file.
fn unfinished(path: &Path, folder: &Path) -> Result<(NamedTempFile, UnderWay), IoError> {
    // Found here, in the system's words; the temporary file's name would mean nothing to a user.
    fs::metadata(folder).map_err(IoError::io(path, "open the folder"))?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED[0]).suffix(UNFINISHED[1]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less what the umask takes, as for any new file; the builder's own default keeps others
        // out.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    loop {
        let file = builder.tempfile_in(folder).map_err(|e| IoError::io(path, "create")(e.kind().into()))?;
        if claim(file.as_file()) {
            let under_way = UnderWay::new(file.path());
            return Ok((file, under_way));
        }
    }
}

/// Makes a rename durable. The file is complete by now whatever happens here, and some file systems
/// cannot sync a folder, so the answer does not matter.
fn sync_folder(folder: &Path) {
    #[cfg(unix)]
    File::open(folder).and_then(|folder| folder.sync_all()).ok();
    #[cfg(not(unix))]
    let _ = folder;
}

/// Permissions without those that run a file as its owner or its group: they were meant for other
/// bytes.
fn without_lent_rights(permissions: fs::Permissions) -> fs::Permissions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::Permissions::from_mode(permissions.mode() & 0o777)
    }
    #[cfg(not(unix))]
    permissions
}

/// Writes to what is no ordinary file, which cannot be replaced or sought in, by way of an unnamed
/// file.
fn write_special(
    path: &Path,
    target: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), IoError> {
    let unnamed = tempfile::tempfile().map_err(IoError::io(&std::env::temp_dir(), "make a temporary file"))?;
    let copied = fill(unnamed, write).and_then(|mut file| {
        file.rewind()?;
        io::copy(&mut file, &mut File::options().write(true).open(target)?)
    });
    copied.map(drop).map_err(IoError::io(path, "write"))
}

fn fill(file: File, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<File> {
    // What is refused here is an error; a refusal to the buffer, and to what a format holds beside
    // it, would end the process. Without the black box the compiler takes the question away.
    let mut room = Vec::<u8>::new();
    room.try_reserve_exact(2 * BUFFER).map_err(|_| ErrorKind::OutOfMemory)?;
    drop(black_box(room));
    let mut out = BufWriter::with_capacity(BUFFER, file);
    write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

#[cfg(test)]
mod tests {
    use super::super::unfinished::tests::names;
    use super::*;
    use std::io::Write;

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
        assert!(e.to_string().contains("no/a.npz: open the folder: "), "{e}");
        assert_eq!(write_whole("", ok).unwrap_err().class(), "InvalidArgument");
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_is_not_followed_is_replaced() {
        use crate::Place;
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [victim, link, device] = ["victim", "link", "device"].map(|n| folder.path().join(n));
        fs::write(&victim, "mine").unwrap();
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&victim, &link).unwrap();
        symlink("/dev/full", &device).unwrap();
        for path in [&link, &device] {
            write_whole(Place { path, follow_links: false }, |out| out.write_all(b"new")).unwrap();
            let metadata = fs::symlink_metadata(path).unwrap();
            assert!(metadata.is_file() && metadata.permissions().mode() & 0o777 != 0o600);
            assert_eq!(fs::read(path).unwrap(), b"new");
        }
        assert_eq!(fs::read(&victim).unwrap(), b"mine");
        let e = write_whole(Place { path: folder.path(), follow_links: false }, |_| Ok(())).unwrap_err();
        assert!(matches!(&e, IoError::Io { source, .. } if source.kind() == ErrorKind::IsADirectory), "{e}");
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_lends_no_rights() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o6751)).unwrap();
        write_whole(&path, |out| out.write_all(b"1")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
    }

    #[test]
    fn of_several_that_are_first_one_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_first(&path, b"one").unwrap();
        write_first(&path, b"two").unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"one".to_vec(), vec!["a".into()]));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let plain = folder.path().join("plain");
            fs::write(&plain, "").unwrap();
            let [first, any] = [&path, &plain].map(|path| fs::metadata(path).unwrap().permissions().mode());
            assert_eq!(first, any);
            std::os::unix::fs::symlink("plain", folder.path().join("link")).unwrap();
            write_first(&folder.path().join("link"), b"three").unwrap();
            assert!(fs::read(&plain).unwrap().is_empty());
        }
    }

    #[cfg(unix)]
    #[test]
    fn permissions_links_and_devices_are_ordinary() {
        use crate::Place;
        use std::os::unix::fs::{PermissionsExt, symlink};
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = tempfile::tempdir().unwrap();
        let [plain, whole, link] = ["plain", "whole", "link"].map(|n| folder.path().join(n));
        fs::write(&plain, "").unwrap();
        write_whole(&whole, |out| out.write_all(b"1")).unwrap();
        assert_eq!(mode(&whole), mode(&plain));
        fs::set_permissions(&whole, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&whole, &link).unwrap();
        write_whole(Place::named(&link), |out| out.write_all(b"2")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!((fs::read(&whole).unwrap(), mode(&whole)), (b"2".to_vec(), 0o600));
        write_whole(Place::named(Path::new("/dev/null")), |out| out.write_all(b"3")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert_eq!(
            write_whole(Place::named(Path::new("/dev/full")), |out| out.write_all(b"4")).unwrap_err().class(),
            "Io"
        );
    }
}
