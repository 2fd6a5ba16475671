//! The arithmetic of sparse detectors: orders of cells along curves, which point of a cell is taken,
//! places of a convolution, features of pillars.
//!
//! The CPU path and the kernels call the same functions, so both give the same bits.

mod code;
mod conv;
mod pillars;
mod sample;

pub use code::{MAX_DEPTH, Order, code, position};
pub use conv::{CellGrid, ConvKind, MAX_CELLS, MAX_OFFSETS, MAX_SPAN, Window};
pub use pillars::{PillarGrid, features_of_point, mean};
pub use sample::{distance_to_centre, of_ordered_bits, ordered_bits};
