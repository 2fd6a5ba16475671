//! What passes over messages cost: the bytes of chunks that they unpack.

use super::file::MessageIndexEntry;
use super::held::{Place, cost};
use crate::error::IoError;
use crate::fault::At;
use crate::limits::Limits;
use std::collections::BTreeMap;
use std::path::Path;

/// The chunks of a file, or of all files of a bag.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// Bytes of the files.
    pub(super) length: u64,
    /// For each chunk its bytes, unpacked and in its file.
    pub(super) sizes: BTreeMap<Place, [u64; 2]>,
}

impl Chunks {
    /// Adds the chunks of the file with a number.
    pub(super) fn add(&mut self, part: u16, more: Self) {
        self.length = self.length.saturating_add(more.length);
        self.sizes.extend(more.sizes.into_iter().map(|((_, at), sizes)| ((part, at), sizes)));
    }

    /// Checks what reading messages in this order unpacks, chunks that are let go in between again. If
    /// `is_last`, no message is read again.
    pub(super) fn check_pass<'p>(
        &self,
        path: &Path,
        limits: &Limits,
        field: &str,
        places: impl Iterator<Item = &'p MessageIndexEntry>,
        is_last: bool,
    ) -> Result<(), IoError> {
        let bytes = cost(places, &self.sizes, limits.max_memory, is_last);
        let at = At { path, offset: Some(0) };
        limits.check_unpacked(&at, &format!("chunks unpacked for the {field}"), bytes, self.length)
    }
}
