//! The arithmetic of sparse detectors: orders of cells along curves, and which point of a cell is
//! taken.

mod code;
mod sample;

pub use code::{MAX_DEPTH, Order, code, position};
pub use sample::{distance_to_centre, of_ordered_bits, ordered_bits, random_below};
