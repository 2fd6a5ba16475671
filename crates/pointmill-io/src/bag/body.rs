//! A message in its chunk.

use super::file::MessageIndexEntry;
use crate::error::IoError;
use crate::fault::{At, bail, fault};
use std::path::Path;

/// A message in a chunk.
pub(super) struct Body<'c> {
    /// Bytes of its record.
    pub(super) length: u64,
    /// The message, or why it is not the one of the index.
    pub(super) data: Result<&'c [u8], IoError>,
}

/// Checks the bytes of a message before they are read.
pub(super) fn check_size(at: At<'_>, length: u64, most: u64) -> Result<(), IoError> {
    if length > most {
        bail!(at, LimitExceeded, "message", "at most {most} bytes", "{length} bytes");
    }
    Ok(())
}

/// The index names a message that is not there.
pub(super) fn other(path: &Path, place: &MessageIndexEntry, found: String) -> IoError {
    let field = format!("message at byte {} of the chunk at {}", place.at, place.chunk);
    let wanted = format!("a message of channel {} at {} ns, as the index says", place.channel, place.log_time_ns);
    fault!(path, BadValue, field, wanted, found).at(Some(place.chunk))
}
