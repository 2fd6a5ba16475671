//! What the front end of sparse detectors computes: places of a convolution, features of pillars.
//!
//! The CPU path and the kernels call the same functions, so both give the same bits.

mod conv;
mod pillars;

pub use conv::{CellGrid, ConvKind, MAX_CELLS, MAX_OFFSETS, MAX_SPAN, Window};
pub use pillars::{PillarFeatures, PillarGrid, features_of_point, mean};
