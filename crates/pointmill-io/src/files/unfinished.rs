//! Unfinished files: those of this process, and those that killed ones left.

use super::open::open_own;
use crate::error::IoError;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How the names of unfinished files begin and end.
pub(crate) const UNFINISHED: [&str; 2] = [".pointmill-", ".tmp"];

/// Marks a new file as one that is being written, for [`remove_abandoned`]; whether that came in
/// time.
pub(crate) fn claim(file: &File) -> bool {
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
pub(crate) struct UnderWay(PathBuf);

impl UnderWay {
    pub(crate) fn new(path: &Path) -> Self {
        ALL_UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
        Self(path.into())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        ALL_UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}

/// Removes the unfinished files of all calls of [`write_whole`](crate::write_whole) that are under
/// way in this process, which then fail.
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
/// Only regular files that have one name count, and links are not followed. A file that a process
/// still writes is locked and stays; where the file system knows no locks, every file stays.
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
        let Ok(file) = open_own(&path, false) else { continue };
        if file.try_lock().is_ok() && fs::remove_file(&path).is_ok() {
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::write_whole;
    use std::io::Write;

    /// The names in a folder, sorted.
    pub(crate) fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
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

    #[cfg(unix)]
    #[test]
    fn links_with_the_name_of_an_unfinished_file_stay() {
        let folder = tempfile::tempdir().unwrap();
        let [victim, link, hard] = ["v", ".pointmill-a.tmp", ".pointmill-b.tmp"].map(|name| folder.path().join(name));
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        fs::hard_link(&victim, &hard).unwrap();
        assert_eq!(remove_abandoned(folder.path()).unwrap(), 0);
        assert_eq!(names(folder.path()), [".pointmill-a.tmp", ".pointmill-b.tmp", "v"]);
    }
}
