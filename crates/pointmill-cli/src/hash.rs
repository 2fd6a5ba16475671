//! Hashes of files that were written.

use crate::failure::Failure;
use sha2::{Digest, Sha256};
use std::path::Path;

/// The SHA-256 of a file, in hexadecimal digits.
pub(crate) fn sha256(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(Failure::io(path, "read"))?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}
