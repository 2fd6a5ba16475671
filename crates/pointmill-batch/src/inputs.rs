//! Inputs, and what a run tells of them.

use crate::json::Notes;
use crate::stderr;
use pointmill_io::{Scan, Warning};

pub use pointmill_data::inputs::*;

/// Tells the origin of inputs, in a run whose results are relative to it.
pub fn tell_origin(inputs: &Inputs) {
    inputs.note_origin(&stderr::Stderr);
}

/// The warnings for an operator that takes `f32`.
pub fn warnings(scan: &Scan) -> Notes {
    Notes::of(&scan.warnings)
}

/// The warnings for an operator that takes [`rows`]: a cast to `f32` loses nothing there.
pub fn warnings_of_rows(scan: &Scan) -> Notes {
    Notes::of(scan.warnings.iter().filter(|w| !matches!(w, Warning::Cast { .. } | Warning::Rounded { .. })))
}
