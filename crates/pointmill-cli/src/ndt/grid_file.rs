//! Grids as `.npz` files.

use crate::failure::Failure;
use crate::interrupt::undivided;
use pointmill::ndt::{NdtCells, NdtLattice};
use pointmill_io::{Destination, IoError, Limits, is_ndt_map, read_ndt_map_within, write_ndt_map};
use std::path::Path;

/// Writes the cells of a grid.
pub(super) fn write(to: impl Destination, cells: &NdtCells, lattice: &NdtLattice) -> Result<(), Failure> {
    Ok(undivided(|| write_ndt_map(to, cells, lattice))?)
}

/// Reads the cells of a grid and their edge in metres, within the limits; `None` for an archive that holds something else, such as a cloud.
pub(super) fn read(path: &Path, limits: &Limits) -> Result<Option<(NdtCells, f64)>, IoError> {
    if !is_ndt_map(path, limits)? {
        return Ok(None);
    }
    let (cells, lattice) = read_ndt_map_within(path, limits)?;
    Ok(Some((cells, lattice.unit())))
}
