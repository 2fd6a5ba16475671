//! Moments as Arrow IPC files.

use crate::failure::Failure;
use crate::interrupt::undivided;
use pointmill::Error;
use pointmill::ndt::NdtMoments;
use pointmill_io::{Destination, Detail, IoError, Limits, read_ndt_moments_within, write_ndt_moments};
use std::path::Path;

/// The ending of such files.
pub(super) const EXTENSION: &str = "arrow";

/// Whether a file is said to be one.
pub(super) fn is_named_so(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(EXTENSION))
}

/// Writes moments.
pub(super) fn write(to: impl Destination, moments: &NdtMoments) -> Result<(), Failure> {
    let table = moments.table()?;
    Ok(undivided(|| write_ndt_moments(to, &table))?)
}

/// Reads moments within the limits.
pub(super) fn read(path: &Path, limits: &Limits) -> Result<NdtMoments, IoError> {
    let table = read_ndt_moments_within(path, limits)?;
    NdtMoments::from_table(&table).map_err(|e| match e {
        Error::Argument { argument, expected, got } => {
            IoError::BadValue(Detail::new(path, argument.as_str(), expected, got))
        }
        e => IoError::BadValue(Detail::new(path, "cells", "moments", e.to_string())),
    })
}
