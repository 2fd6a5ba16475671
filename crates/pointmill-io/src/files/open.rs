//! Files of a program's own in folders that others may write into.

use super::Place;
use crate::error::{Detail, IoError};
use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Opens a file of the program's own to read and write it, or with `create` makes it; what else is
/// there under that name is left alone.
///
/// In a folder that others may write into, a name may stand for any file of the user who runs the
/// program, or for a FIFO that never answers. So nothing is opened but a regular file with one name
/// whose owner is the user of the process or the owner of the folder; symbolic links are not
/// followed, and nothing is waited for. Where the system knows no owners and links, any regular
/// file is opened.
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
    const WANTED: &str = "a regular file with one name, of this user or of the folder's";
    let mut options = File::options();
    options.read(true).write(true).create(create).truncate(false);
    let (file, metadata) = open_regular(path, &mut options, WANTED)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if metadata.nlink() != 1 {
            return Err(refused(path, WANTED, &format!("one with {} names", metadata.nlink())));
        }
        // Some shares give every file the owner of their folder, whoever made it.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let owner = metadata.uid();
        let known =
            owner == rustix::process::geteuid().as_raw() || fs::metadata(folder).is_ok_and(|f| f.uid() == owner);
        if !known {
            return Err(refused(path, WANTED, &format!("one of user {owner}")));
        }
    }
    let _ = metadata;
    Ok(file)
}

/// Opens a file of a folder that others may write into, to read it.
///
/// # Errors
/// What is no regular file; what the system refuses.
pub fn open_in_folder(path: &Path) -> Result<File, IoError> {
    open_regular(path, File::options().read(true), "a regular file").map(|(file, _)| file)
}

/// Opens a file that the user has named, to read it: links are followed, and pipes and devices are
/// read. Gives its length if it is one that has a length of its own.
///
/// # Errors
/// A folder; what the system refuses.
pub fn open_named(path: &Path) -> Result<(File, Option<u64>), IoError> {
    open_at(Place::named(path))
}

/// Opens the file of a place, with its length if it is one that has a length of its own. Where
/// links are not followed, nothing but a regular file is opened.
///
/// # Errors
/// A folder; what the system refuses.
pub fn open_at(Place { path, follow_links }: Place<'_>) -> Result<(File, Option<u64>), IoError> {
    let file = if follow_links { File::open(path).map_err(IoError::io(path, "open"))? } else { open_in_folder(path)? };
    let metadata = file.metadata().map_err(IoError::io(path, "stat"))?;
    if metadata.is_dir() {
        return Err(IoError::io(path, "open")(io::ErrorKind::IsADirectory.into()));
    }
    // Pipes, devices and the files of /proc give a length of 0, whatever comes out of them.
    Ok((file, Some(metadata.len()).filter(|&n| metadata.is_file() && n > 0)))
}

/// The paths of what a folder holds, in the order of the system. Nothing of it is opened.
///
/// # Errors
/// What the system refuses.
pub fn entries_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// Whether there is a folder of the program's own under a path; a link to a folder is an error, as
/// is anything else.
///
/// # Errors
/// What is there and is no folder; what the system refuses.
pub fn is_own_folder(path: &Path) -> Result<bool, IoError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(metadata) => Err(refused(path, "a folder", kind_of_file(metadata.file_type()))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(IoError::io(path, "open")(e)),
    }
}

/// Opens a regular file. What else is there under the name is neither opened nor waited for.
fn open_regular(path: &Path, options: &mut OpenOptions, wanted: &str) -> Result<(File, Metadata), IoError> {
    let refuse = |metadata: &Metadata| Err(refused(path, wanted, kind_of_file(metadata.file_type())));
    // Looked at first, since opening a device may do something.
    if let Some(metadata) = fs::symlink_metadata(path).ok().filter(|metadata| !metadata.is_file()) {
        return refuse(&metadata);
    }
    let file = open(path, options).map_err(IoError::io(path, "open"))?;
    let metadata = file.metadata().map_err(IoError::io(path, "stat"))?;
    if metadata.is_file() { Ok((file, metadata)) } else { refuse(&metadata) }
}

/// What is there instead of a file or a folder of the program's own, and what to do about it.
fn refused(path: &Path, wanted: &str, found: &str) -> IoError {
    let field = if wanted == "a folder" { "folder" } else { "file" };
    let found = format!("{found}; move it away, or put a copy of what is meant in its place");
    IoError::UnsupportedFormat(Detail::new(path, field, wanted, found))
}

/// What is there under a name.
pub fn kind_of_file(of: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if of.is_fifo() {
            return "a FIFO";
        }
        if of.is_socket() {
            return "a socket";
        }
        if of.is_char_device() || of.is_block_device() {
            return "a device";
        }
    }
    match (of.is_symlink(), of.is_dir(), of.is_file()) {
        (true, ..) => "a symbolic link",
        (_, true, _) => "a folder",
        (.., true) => "a file",
        _ => "something else",
    }
}

#[cfg(unix)]
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const WAY: &str = "move it away, or put a copy of what is meant in its place";

    #[test]
    fn only_a_regular_file_with_one_name_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("victim"), "mine").unwrap();
        symlink("victim", at("link")).unwrap();
        symlink("nowhere", at("broken")).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(at("fifo")).status().unwrap();
        assert!(fifo.success());
        for (name, found) in [("link", "a symbolic link"), ("broken", "a symbolic link"), ("fifo", "a FIFO")] {
            let e = open_own(at(name), true).unwrap_err();
            assert!(
                e.to_string().ends_with(&format!(
                    "{name}: file: expected a regular file with one name, of this user or of the folder's, got {found}; {WAY}"
                )),
                "{e}"
            );
        }
        assert!(!at("nowhere").exists());
        fs::hard_link(at("victim"), at("hard")).unwrap();
        assert!(open_own(at("hard"), true).unwrap_err().to_string().contains("got one with 2 names; "));
        fs::remove_file(at("hard")).unwrap();
        open_own(at("victim"), true).unwrap();
        assert_eq!(open_own(at("new"), false).unwrap_err().class(), "Io");
        open_own(at("new"), true).unwrap();
        assert_eq!(fs::read(at("victim")).unwrap(), b"mine");
        // To read a file it may have several names.
        fs::hard_link(at("victim"), at("hard")).unwrap();
        open_in_folder(&at("hard")).unwrap();
        symlink(".", at("loop")).unwrap();
        for (name, found) in [("link", "a symbolic link"), ("fifo", "a FIFO"), ("loop", "a symbolic link")] {
            let told = format!("{name}: file: expected a regular file, got {found}; {WAY}");
            assert!(open_in_folder(&at(name)).unwrap_err().to_string().ends_with(&told));
        }
        assert!(is_own_folder(folder.path()).unwrap() && !is_own_folder(&at("absent")).unwrap());
        for (name, found) in [("loop", "a symbolic link"), ("victim", "a file")] {
            let told = format!("{name}: folder: expected a folder, got {found}; {WAY}");
            assert!(is_own_folder(&at(name)).unwrap_err().to_string().ends_with(&told));
        }
    }
}
