//! A file that is opened again, and must be the one that it was.

use super::open::open_at;
use super::place::Place;
use crate::error::{Detail, IoError};
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

/// A file that was opened before. It is open only while it is used, so that any number of them may
/// be held.
#[derive(Debug)]
pub(crate) struct SameFile {
    /// The place, whatever the current folder becomes.
    path: PathBuf,
    which: Which,
}

/// What tells one file from another that takes its name.
#[cfg(unix)]
type Which = (u64, u64);
#[cfg(not(unix))]
type Which = Option<std::time::SystemTime>;

#[cfg(unix)]
fn which(metadata: &Metadata) -> Which {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn which(metadata: &Metadata) -> Which {
    metadata.created().ok()
}

impl SameFile {
    /// Opens a file for the first time.
    pub(crate) fn first(place: Place<'_>) -> Result<(Self, File), IoError> {
        let (path, file) = (place.path, open_at(place)?.0);
        let which = which(&file.metadata().map_err(IoError::io(path, "stat"))?);
        Ok((Self { path: std::path::absolute(path).map_err(IoError::io(path, "open"))?, which }, file))
    }

    /// Opens the file again; errors name `path`.
    pub(crate) fn again(&self, path: &Path) -> Result<File, IoError> {
        let file = File::open(&self.path).map_err(IoError::io(path, "open"))?;
        if which(&file.metadata().map_err(IoError::io(path, "stat"))?) == self.which {
            return Ok(file);
        }
        let found = "another one of this name; read it from the start";
        Err(IoError::BadValue(Detail::new(path, "file", "the one that was opened before", found)))
    }
}
