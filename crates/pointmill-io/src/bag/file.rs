//! The bytes of a bag at a place, and where its messages lie.

use crate::error::IoError;
use crate::fault::At;
use crate::source::{ReadSeek, Source};
use std::io::SeekFrom;
use std::path::Path;

/// The most content of a record that is neither a chunk nor a message, in bytes.
pub(super) const MOST: u64 = 64 << 20;

/// A file of records.
pub(super) struct File<'a> {
    pub(super) path: &'a Path,
    reader: &'a mut dyn ReadSeek,
    /// Bytes of the file.
    pub(super) length: u64,
    max_memory: Option<u64>,
}

impl<'a> File<'a> {
    pub(super) fn new(path: &'a Path, reader: &'a mut dyn ReadSeek, max_memory: Option<u64>) -> Result<Self, IoError> {
        let length = reader.seek(SeekFrom::End(0)).map_err(IoError::io(path, "seek"))?;
        Ok(Self { path, reader, length, max_memory })
    }

    /// A place in the file, for errors.
    pub(super) fn at(&self, at: u64) -> At<'a> {
        At { path: self.path, offset: Some(at.min(self.length)) }
    }

    /// Bytes that lie in the file.
    pub(super) fn bytes(&mut self, at: u64, count: u64) -> Result<Vec<u8>, IoError> {
        self.reader.seek(SeekFrom::Start(at)).map_err(IoError::io(self.path, "seek"))?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Source::new(self.path, self.reader, Some(self.length - at)).within(self.max_memory).values(count, false)
    }

    /// An empty vector with room for so many bytes, counted.
    pub(super) fn room(&mut self, count: u64) -> Result<Vec<u8>, IoError> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Source::new(self.path, self.reader, None).within(self.max_memory).room(count)
    }
}

/// Where a message lies. Ordered by time, then as in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessageIndexEntry {
    pub(super) log_time_ns: u64,
    /// The number of its file in the bag.
    pub(super) part: u16,
    /// Where its chunk starts; 0 for a message outside of chunks.
    pub(super) chunk: u64,
    /// Where its record starts, in the content of its chunk or in the file; in a database its row.
    pub(super) at: u64,
    /// Bytes up to the next message of the topic in its chunk; the largest number where there is
    /// none.
    pub(super) room: u32,
    /// Messages of the topic in its chunk, at most the largest number.
    pub(super) together: u16,
    pub(super) channel: u16,
}

impl MessageIndexEntry {
    /// The chunk, among those of all files of the bag.
    pub(super) const fn of_chunk(&self) -> (u16, u64) {
        (self.part, self.chunk)
    }

    pub(super) const fn new(log_time_ns: u64, chunk: u64, at: u64, channel: u16) -> Self {
        Self { log_time_ns, part: 0, chunk, at, channel, room: u32::MAX, together: 1 }
    }
}
