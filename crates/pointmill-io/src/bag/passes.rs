//! What passes over messages cost: the bytes of chunks that they unpack.

use super::file::MessageIndexEntry;
use super::held::cost;
use crate::error::IoError;
use crate::fault::At;
use crate::limits::Limits;
use std::collections::BTreeMap;
use std::path::Path;

/// The chunks of a file.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// Bytes of the file.
    pub(super) length: u64,
    /// For each chunk its bytes, unpacked and in the file.
    pub(super) sizes: BTreeMap<u64, [u64; 2]>,
}

impl Chunks {
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
