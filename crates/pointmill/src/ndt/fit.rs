//! How well a scan fits.

use crate::{Argument, Error, Result};
use pointmill_core::ndt::Pose;
use pointmill_core::trig::MAX_ANGLE;

/// How well a scan fits at a pose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NdtFit {
    /// The sum of all terms.
    pub score: f64,
    /// That by the number of points.
    pub transform_probability: f64,
    /// The mean of the largest term of each point that has one: nearest voxel transformation likelihood.
    pub nvtl: f64,
    /// Points with a cell within reach.
    pub hits: usize,
}

impl NdtFit {
    /// Of the sums over so many points.
    pub(super) fn new(points: usize, [score, largest, hits]: [f64; 3]) -> Self {
        let by = |n: f64, sum: f64| if n > 0.0 { sum / n } else { 0.0 };
        Self { score, transform_probability: by(points as f64, score), nvtl: by(hits, largest), hits: hits as usize }
    }
}

/// Checks a pose.
pub(super) fn check(pose: &Pose) -> Result<()> {
    if pose.iter().all(|x| x.is_finite()) && pose[3..].iter().all(|a| a.abs() <= MAX_ANGLE) {
        return Ok(());
    }
    Err(Error::argument(
        Argument::Pose,
        format!("six finite numbers, angles within {MAX_ANGLE} rad"),
        format!("{pose:?}"),
    ))
}
