//! The containers of bags: what tells them apart, and how each is read.

use super::body::Body;
use super::file::{File, MessageIndexEntry};
use super::found::Found;
use super::{mcap, rosbag, sqlite};
use crate::error::IoError;
use crate::format::Format;
use crate::limits::Limits;
use std::path::Path;

/// What a bag is laid in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Mcap,
    Rosbag,
    Sqlite,
}

impl Container {
    /// The container that the first bytes tell, else the name.
    pub(super) fn of(path: &Path, first: &[u8]) -> Self {
        let is_rosbag = first.starts_with(rosbag::NAME) || (!first.is_empty() && rosbag::NAME.starts_with(first));
        match Format::from_name(path) {
            _ if first.starts_with(mcap::MAGIC) => Self::Mcap,
            _ if first.starts_with(sqlite::MAGIC) => Self::Sqlite,
            Some(Format::Rosbag) => Self::Rosbag,
            Some(Format::Sqlite) => Self::Sqlite,
            _ if is_rosbag => Self::Rosbag,
            _ => Self::Mcap,
        }
    }

    pub(super) const fn format(self) -> Format {
        match self {
            Self::Mcap => Format::Mcap,
            Self::Rosbag => Format::Rosbag,
            Self::Sqlite => Format::Sqlite,
        }
    }

    /// Checks the first bytes; where the first record starts.
    pub(super) fn start(self, file: &mut File<'_>) -> Result<u64, IoError> {
        match self {
            Self::Mcap => mcap::start(file),
            Self::Rosbag => rosbag::start(file),
            Self::Sqlite => sqlite::start(file),
        }
    }

    /// Walks over the records from one on; what was found before an error stays.
    pub(super) fn walk<'a>(self, file: &mut File<'a>, found: &mut Found<'a>, at: u64) -> Result<(), IoError> {
        match self {
            Self::Mcap => mcap::walk(file, found, at),
            Self::Rosbag => rosbag::walk(file, found, at),
            Self::Sqlite => sqlite::walk(file, found),
        }
    }

    /// The bytes of a chunk, unpacked and in the file.
    pub(super) fn sizes(self, file: &mut File<'_>, at: u64) -> Result<[u64; 2], IoError> {
        match self {
            Self::Mcap => mcap::sizes(file, at),
            Self::Rosbag => rosbag::sizes(file, at),
            // A database has no chunks.
            Self::Sqlite => Ok([0, 0]),
        }
    }

    /// The content of a chunk, while `held` bytes of others are held.
    pub(super) fn chunk(self, file: &mut File<'_>, at: u64, limits: &Limits, held: u64) -> Result<Vec<u8>, IoError> {
        match self {
            Self::Mcap => mcap::chunk(file, at, limits, held),
            Self::Rosbag => rosbag::chunk(file, at, limits, held),
            Self::Sqlite => Ok(vec![]),
        }
    }

    /// The message at a place outside of chunks, of at most so many bytes.
    pub(super) fn message(self, file: &mut File<'_>, place: &MessageIndexEntry, most: u64) -> Result<Vec<u8>, IoError> {
        match self {
            Self::Mcap => mcap::message(file, place, most),
            Self::Rosbag => rosbag::message(file, place, most),
            Self::Sqlite => sqlite::message(file, place, most),
        }
    }

    /// The message at a place of a chunk's content; `None` if nothing is there.
    pub(super) fn message_in<'c>(
        self,
        path: &Path,
        place: &MessageIndexEntry,
        chunk: &'c [u8],
        at: usize,
    ) -> Result<Option<Body<'c>>, IoError> {
        match self {
            Self::Mcap => mcap::message_in(path, place, chunk, at),
            Self::Rosbag => rosbag::message_in(path, place, chunk, at),
            Self::Sqlite => Ok(None),
        }
    }
}
