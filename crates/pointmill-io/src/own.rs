//! Files of a program's own in folders that others may write into.

use crate::error::{Detail, IoError};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file of the program's own to read and write it, or with `create` makes it; what else is there under that name is left alone.
///
/// In a folder that others may write into, a name may stand for any file of the user who runs the program, or for a FIFO that never
/// answers. So nothing is opened but a regular file with one name whose owner is the user of the process or the owner of the folder;
/// symbolic links are not followed, and nothing is waited for. Where the system knows no owners and links, any regular file is opened.
///
/// # Errors
/// [`IoError::UnsupportedFormat`] for what is no such file; what the system refuses.
///
/// ```
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-own", std::process::id()));
/// pointmill_io::open_own(&path, true)?;
/// assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
pub fn open_own(path: impl AsRef<Path>, create: bool) -> Result<File, IoError> {
    let path = path.as_ref();
    let refuse = |found: &str| {
        let wanted = "a regular file with one name, of this user or of the folder's";
        Err(IoError::UnsupportedFormat(Detail::new(path, "file", wanted, found)))
    };
    let mut options = File::options();
    options.read(true).write(true).create(create).truncate(false);
    let file = match open(path, &mut options) {
        Ok(file) => file,
        Err(_) if fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink()) => return refuse("a symbolic link"),
        Err(e) => return Err(IoError::io(path, "open")(e)),
    };
    let metadata = file.metadata().map_err(IoError::io(path, "stat"))?;
    if !metadata.is_file() {
        return refuse("something else");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if metadata.nlink() != 1 {
            return refuse(&format!("one with {} names", metadata.nlink()));
        }
        // Some shares give every file the owner of their folder, whoever made it.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let owner = metadata.uid();
        let known =
            owner == rustix::process::geteuid().as_raw() || fs::metadata(folder).is_ok_and(|f| f.uid() == owner);
        if !known {
            return refuse(&format!("one of user {owner}"));
        }
    }
    Ok(file)
}

#[cfg(unix)]
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other("no regular file"));
    }
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_a_regular_file_with_one_name_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("victim"), "mine").unwrap();
        symlink("victim", at("link")).unwrap();
        symlink("nowhere", at("broken")).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(at("fifo")).status().unwrap();
        assert!(fifo.success());
        for (name, found) in [("link", "a symbolic link"), ("broken", "a symbolic link"), ("fifo", "something else")] {
            let e = open_own(at(name), true).unwrap_err();
            assert!(
                e.to_string().ends_with(&format!(
                    "{name}: file: wanted a regular file with one name, of this user or of the folder's, found {found}"
                )),
                "{e}"
            );
        }
        assert!(!at("nowhere").exists());
        fs::hard_link(at("victim"), at("hard")).unwrap();
        assert!(open_own(at("hard"), true).unwrap_err().to_string().ends_with("found one with 2 names"));
        fs::remove_file(at("hard")).unwrap();
        open_own(at("victim"), true).unwrap();
        assert_eq!(open_own(at("new"), false).unwrap_err().class(), "Io");
        open_own(at("new"), true).unwrap();
        assert_eq!(fs::read(at("victim")).unwrap(), b"mine");
    }
}
