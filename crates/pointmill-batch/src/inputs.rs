//! Inputs, and what a run tells of them.

use crate::json::Notes;
use crate::stderr;
use crate::text::tidy;
use pointmill_io::{LocalOrigin, Scan, Warning};

pub use pointmill_data::inputs::*;

/// Tells the origin of inputs, in a run whose results are relative to it.
pub fn tell_origin(inputs: &Inputs) {
    if let LocalOrigin::At([x, y, z]) = inputs.options().origin {
        let [x, y, z] = [x, y, z].map(tidy);
        stderr::note(format_args!("large coordinates: results are relative to {x}, {y}, {z} (--local-origin)"));
    }
}

/// The warnings for an operator that takes `f32`.
pub fn warnings(scan: &Scan) -> Notes {
    Notes::of(&scan.warnings)
}

/// The warnings for an operator that takes [`rows`]: a cast to `f32` loses nothing there.
pub fn warnings_of_rows(scan: &Scan) -> Notes {
    Notes::of(scan.warnings.iter().filter(|w| !matches!(w, Warning::Cast { .. } | Warning::Rounded { .. })))
}
