//! Sums of an ndt map's cells as Arrow IPC files: columns that other programs read, and that come back as the same integers.

mod check;
mod columns;
mod read;
mod write;

pub use read::{read_ndt_moments, read_ndt_moments_within};
pub use write::write_ndt_moments;

use pointmill_core::ndt::{Moments, NdtLattice};

/// Sums over the points of each occupied cell of a map, as a file holds them.
///
/// **Order**: cells by (z, y, x), each once. **Units**: whole steps of the lattice, as [`Moments`] says. **Determinism**: equal tables give equal bytes.
///
/// The file has a row for each cell, with the columns `x`, `y`, `z` (`int32`), `count` (`uint32`), `sum_x`, `sum_y`, `sum_z`, `xx`, `xy`, `xz`, `yy`, `yz`, `zz` (`int64`), none
/// of them null. Its schema's metadata has the keys `format` (`pointmill.ndt.moments`), `version` (`1`), `inv` (the reciprocal of a cell's edge, the eight hexadecimal digits
/// of an `f32`), `resolution` (the edge in metres, for people), `points` and `nonfinite`.
///
/// ```
/// use pointmill_core::ndt::{Moments, NdtLattice};
/// use pointmill_io::{NdtMomentsTable, read_ndt_moments, write_ndt_moments};
/// let path = std::env::temp_dir().join(format!("pointmill-doc-{}.arrow", std::process::id()));
/// let cells = vec![([40_000, 21_000, 0], Moments::of([1, -2, 3]))];
/// let table = NdtMomentsTable { lattice: NdtLattice::new(2.0)?, points: 2, nonfinite: 1, cells };
/// write_ndt_moments(&path, &table)?;
/// assert_eq!(read_ndt_moments(&path)?, table);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NdtMomentsTable {
    /// The lattice of the cells.
    pub lattice: NdtLattice,
    /// How many points were added, those that are not finite among them: these and the counts of all cells.
    pub points: u64,
    /// How many of them have a coordinate that is not finite.
    pub nonfinite: u64,
    /// The cells (x, y, z) and their sums.
    pub cells: Vec<([i32; 3], Moments)>,
}
