//! Moments as Arrow IPC files.

use crate::failure::Failure;
use crate::interrupt::undivided;
use pointmill::Error;
use pointmill::ndt::NdtMoments;
use pointmill_io::{Detail, IoError, NdtMomentsTable, read_ndt_moments, write_ndt_moments};
use std::path::Path;

/// The ending of such files.
pub(super) const EXTENSION: &str = "arrow";

/// Whether a file is said to be one.
pub(super) fn is_named_so(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(EXTENSION))
}

/// Writes moments.
pub(super) fn write(path: &Path, moments: &NdtMoments) -> Result<(), Failure> {
    let table = NdtMomentsTable {
        lattice: *moments.lattice(),
        points: moments.points(),
        nonfinite: moments.nonfinite(),
        cells: moments.cells().map(|(cell, sums)| (cell, *sums)).collect(),
    };
    Ok(undivided(|| write_ndt_moments(path, &table))?)
}

/// Reads moments.
pub(super) fn read(path: &Path) -> Result<NdtMoments, IoError> {
    let table = read_ndt_moments(path)?;
    NdtMoments::from_cells(table.lattice, &table.cells, table.points, table.nonfinite).map_err(|e| match e {
        Error::Argument { argument, expected, got } => IoError::BadValue(Detail::new(path, argument, expected, got)),
        e => IoError::BadValue(Detail::new(path, "cells", "moments", e.to_string())),
    })
}
