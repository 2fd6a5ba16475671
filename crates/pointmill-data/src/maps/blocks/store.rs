//! Where the files of a map by blocks are: a folder of this machine, or any file system.

use pointmill_io::{IoError, Place};
use std::fmt::Debug;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// File systems tell versions of a file apart by times in steps of some milliseconds. A file that
/// is younger than this is read again.
const SETTLED: Duration = Duration::from_millis(100);

/// Reads or writes a file of this machine: the file of the map itself, or a copy of it.
pub type OnFile<'a> = &'a mut dyn FnMut(Place<'_>) -> Result<(), IoError>;

/// The files of a map by blocks. Names are relative to the map, with `/`: `blocks/0_0/HASH.arrow`.
///
/// Every file is written whole or not at all. A file that is missing is an [`IoError::Io`] of the
/// kind `NotFound` for [`Store::read`], and nothing for [`Store::version`] and [`Store::remove`].
pub trait Store: Debug + Send + Sync {
    /// The place of the map, for names in errors.
    fn root(&self) -> &Path;

    /// Makes the folders of a map, where the store has such.
    ///
    /// # Errors
    /// What the system refuses.
    fn make(&self) -> Result<(), IoError> {
        Ok(())
    }

    /// Refuses folders of a map that are something else.
    ///
    /// # Errors
    /// What is there instead.
    fn check(&self) -> Result<(), IoError> {
        Ok(())
    }

    /// The names of the files and folders in a folder, in any order; none where there is no folder.
    ///
    /// # Errors
    /// What the system refuses.
    fn list(&self, folder: &str) -> Result<Vec<String>, IoError>;

    /// What tells the file as it is now from other versions of it; `None` where there is none.
    ///
    /// # Errors
    /// What the system refuses.
    fn version(&self, file: &str) -> Result<Option<Version>, IoError>;

    /// Reads a file.
    ///
    /// # Errors
    /// What the system refuses; what `read` returns.
    fn read(&self, file: &str, read: OnFile<'_>) -> Result<(), IoError>;

    /// Writes a file and the folder that it is in. Returns its length in bytes.
    ///
    /// # Errors
    /// What the system refuses; what `write` returns.
    fn write(&self, file: &str, write: OnFile<'_>) -> Result<u64, IoError>;

    /// Writes a file unless there is one: of several processes the first decides.
    ///
    /// # Errors
    /// What the system refuses.
    fn write_first(&self, file: &str, bytes: &[u8]) -> Result<(), IoError>;

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// What the system refuses.
    fn remove(&self, file: &str) -> Result<(), IoError>;

    /// Removes what killed processes left unfinished in a folder.
    ///
    /// # Errors
    /// What the system refuses.
    fn clear(&self, folder: &str) -> Result<(), IoError> {
        let _ = folder;
        Ok(())
    }

    /// The name of an input's file in the map, if it is another than the path itself.
    fn name_of(&self, file: &Path) -> Option<String> {
        let _ = file;
        None
    }
}

/// What tells a version of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its length.
    pub bytes: u64,
    /// When it was last changed, if the store tells.
    pub modified: Option<SystemTime>,
    /// The file's number, since a new version is a new file.
    pub number: u64,
    /// Whether it is a regular file.
    pub is_file: bool,
}

impl Version {
    /// That of a file of this machine.
    pub(super) fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let number = 0;
        Self { bytes: metadata.len(), modified: metadata.modified().ok(), number, is_file: metadata.is_file() }
    }

    /// Whether another version would be told from this one.
    pub(super) fn is_settled(&self) -> bool {
        let age = self.modified.and_then(|modified| modified.elapsed().ok());
        age.is_some_and(|age| age > SETTLED)
    }
}

/// Whether an error says that a file is not there.
pub(super) fn is_missing(e: &IoError) -> bool {
    matches!(e, IoError::Io { source, .. } if source.kind() == ErrorKind::NotFound)
}
