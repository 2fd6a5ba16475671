//! The arithmetic of sparse detectors: orders of cells along curves.

mod code;

pub use code::{MAX_DEPTH, Order, code, position};
