//! Grids of normal distributions: a cloud as cells of mean and inverse covariance, to match scans
//! against.
//!
//! [`ndt_grid`] makes a grid of a cloud, [`NdtBuilder`] one of many, and keeps its memory. An [`NdtGrid`] finds cells near points, scores scans at poses and aligns them.
//!
//! [`NdtMoments`] are the sums over the points of each cell, in whole numbers: the same bits for any order of points, any number of threads, any device and any way of cutting a cloud
//! into parts. They can be added up, taken away again, and turned into statistics with
//! [`NdtMoments::finish`].
//!
//! **Units and frames**: metres, in the frame of the points, whichever it is. The lattice of cells
//! is anchored at that frame's zero, so that tiles of a map that were summed apart fit each other.
//!
//! **Waiting**: on a GPU adding a cloud waits once, to learn whether all cells had room, and
//! finishing a grid once more, for its number of rows. A search waits to learn how long its lists
//! are.
//!
//! **Source**: Magnusson, The Three-Dimensional Normal-Distributions Transform, 2009; the names and
//! defaults of Autoware's `ndt_scan_matcher`.
//!
//! ```
//! use pointmill::Rows;
//! use pointmill::ndt::{NdtMoments, NdtParams};
//!
//! // Nine points on the ground, in one cell of two metres, far from the origin.
//! let points: Vec<f64> = (0..9).flat_map(|i| [80_000.25 + 0.5 * f64::from(i % 3), 42_000.25 + 0.5 * f64::from(i / 3), 0.5]).collect();
//! let mut moments = NdtMoments::new(2.0)?;
//! moments.add(Rows::f64(&points, 3)?)?;
//! let cells = moments.finish(&NdtParams::default())?;
//! assert_eq!(cells.coords, [[40_000, 21_000, 0]]);
//! assert_eq!(cells.mean, [[80_000.75, 42_000.75, 0.5]]);
//! assert_eq!(cells.normal, [[0.0, 0.0, 1.0]]);
//! # Ok::<(), pointmill::Error>(())
//! ```

mod align;
mod blocks;
mod builder;
mod cells;
mod cloud;
mod cpu;
mod determined;
mod difference;
mod fit;
mod gpu;
mod grid;
mod moments;
mod near;
mod neighbours;
mod params;
mod sample;
#[cfg(test)]
mod tests;

pub use align::{NdtAlignParams, NdtRegistration, NdtRegularization};
pub use builder::{NdtBuilder, ndt_grid};
#[doc(hidden)]
pub use difference::NamedCells;
pub use fit::NdtFit;
pub use grid::{NdtGrid, Neighbourhood};
pub use moments::NdtMoments;
pub use neighbours::{NdtLists, NdtNeighbours};
pub use params::NdtParams;
pub use pointmill_core::ndt::{
    Covariance, MAX_CELL, MAX_COUNT, Moments, NdtCells, NdtLattice, NdtMomentsTable, NdtReport, full_matrix,
};
#[doc(hidden)]
pub use sample::pivot_of;
