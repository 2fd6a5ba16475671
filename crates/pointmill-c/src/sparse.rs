//! The front end of sparse detectors.

mod order;
mod pairs;
mod sample;

pub use order::*;
pub use pairs::*;
pub use sample::*;
