//! The fields of `evaluate` in its JSON lines.

use pointmill_slam::trajectory::{Alignment, Delta, Drift, PoseErrors, Relative, Similarity};
use serde::Serialize;

/// `begin` of `evaluate`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The file of the estimate.
    pub(super) estimate: String,
    /// The file of the truth.
    pub(super) truth: String,
    /// The parameters in effect.
    pub(super) params: Params,
}

/// The parameters of `evaluate`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Params {
    /// How the estimate is moved onto the truth first.
    pub(super) alignment: Alignment,
    /// Seconds that poses which belong together may differ by, where both files have times.
    pub(super) max_time_difference: f64,
}

/// `summary` of `evaluate`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Pairs of poses that were compared.
    pub(super) poses: usize,
    /// Poses of the estimate, with a partner or without.
    pub(super) estimate_poses: usize,
    /// Poses of the truth, with a partner or without.
    pub(super) truth_poses: usize,
    /// What moved the estimate onto the truth.
    pub(super) alignment: Similarity,
    /// Metres along the truth, over the poses that were compared.
    pub(super) length: f64,
    /// Errors of the poses.
    pub(super) absolute: PoseErrors,
    /// Errors of the motion over so many frames or metres; none where a file has positions alone, and
    /// no drift.
    pub(super) relative: Vec<Over>,
    /// The drift of the KITTI benchmark.
    pub(super) drift: Drift,
    /// The plot that was written; null without `--plot`.
    pub(super) plot: Option<String>,
    /// What is odd: equal times, poses without a partner, a rotation that the positions do not
    /// determine.
    pub(super) warnings: Vec<String>,
}

/// Errors of the motion between poses that are so far apart.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Over {
    /// Frames between the poses of a pair; null if they are metres apart.
    pub(super) frames: Option<usize>,
    /// Metres between the poses of a pair along the truth; null if they are frames apart.
    pub(super) metres: Option<f64>,
    /// The number of pairs; without any the errors are zeros.
    pub(super) pairs: usize,
    /// How far the motion of the estimate is from the motion of the truth.
    pub(super) errors: PoseErrors,
}

impl From<&Relative> for Over {
    fn from(relative: &Relative) -> Self {
        let (frames, metres) = match relative.delta {
            Delta::Frames(frames) => (Some(frames), None),
            Delta::Metres(metres) => (None, Some(metres)),
        };
        Self { frames, metres, pairs: relative.pairs, errors: relative.errors }
    }
}
