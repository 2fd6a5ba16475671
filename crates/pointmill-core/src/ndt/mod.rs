//! Cells of normal distributions: where a point falls, sums that commute, and what they say of a
//! cell.
//!
//! A point's offset from the centre of its cell becomes a whole number of 2^-20 of the cell's edge.
//! [`Moments`] are sums of such numbers and of their products: integers, so that any order, any
//! number of threads, any device and any way of cutting a cloud into parts give the same sums, and
//! a part can be taken away again. Only [`CellStats`] computes with fractions, once a cell.

#[cfg(feature = "alloc")]
mod cells;
mod lattice;
mod level;
mod line_box;
mod lines;
mod moments;
mod newton;
mod score;
mod stats;
#[cfg(feature = "alloc")]
mod table;

#[cfg(feature = "alloc")]
pub use cells::{NdtCells, NdtReport, full_matrix, symmetric_entries};
pub use lattice::{LatticeError, MAX_CELL, NdtLattice, Place, STEPS};
pub use level::{LEVEL_BEST, LevelCell, level_centre, level_cube};
pub use line_box::LineBox;
pub use lines::{CellRows, LINE, Line, LinePlace, Reach, cell_of, in_lattice, key_of, line_key};
pub use moments::{MAX_COUNT, Moments};
pub use newton::{NdtAlignment, NdtHold, NdtLimits, state};
pub use score::{NEAR_TERMS, NdtScore, NearTerms, PoseVector, PreparedPose, TERMS, TERMS_PARTS, Terms};
pub use stats::{CellStats, Covariance, StatsParams};
#[cfg(feature = "alloc")]
pub use table::{NdtMomentsTable, NdtTableError};
