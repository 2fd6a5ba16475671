//! The fields of `register` in its JSON lines.

use pointmill::Pose;
use pointmill::icp::Observability;
use pointmill::registration::global::{Overlap, RegisterParams, Registered, Timing, Verdict};
use serde::Serialize;

/// `begin` of `register`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The source: a file, a folder or a pattern.
    pub(super) source: String,
    /// The target.
    pub(super) target: String,
    /// The parameters in effect.
    pub(super) params: RegisterParams,
}

/// `frame` of `register`: a source.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The best pose of the source in the frame of the target; the identity without a candidate. It is
    /// an answer if the verdict is `found`.
    pub(super) target_from_source: Pose,
    /// Whether the pose is an answer.
    pub(super) verdict: Verdict,
    /// Matches of features.
    pub(super) matches: usize,
    /// Those within two voxels at the pose.
    pub(super) inliers: usize,
    /// How the source fits in the target.
    pub(super) source_overlap: Overlap,
    /// How the target fits in the source.
    pub(super) target_overlap: Overlap,
    /// 1 - the score of the best other pose / the score of this one.
    pub(super) margin: f64,
    /// Which directions the clouds determine; null where the pose is not from a refinement.
    pub(super) observability: Option<Observability>,
    /// The uncertainty of x, y, z in metres and of the rotation vector in radians; null where the
    /// refinement has none.
    pub(super) covariance: Option<[[f64; 6]; 6]>,
    /// Poses that were looked at.
    pub(super) candidates: usize,
    /// Whether a cap left matches out of the search for candidates.
    pub(super) capped: bool,
    /// How long the parts took.
    pub(super) timing: Timing,
    /// Points of the source, those that were left out included.
    pub(super) source_points: usize,
    /// Points of the target, those that were left out included.
    pub(super) target_points: usize,
}

impl Row {
    pub(super) fn new(found: &Registered, [source_points, target_points]: [usize; 2]) -> Self {
        Self {
            target_from_source: found.target_from_source,
            verdict: found.verdict,
            matches: found.matches,
            inliers: found.inliers,
            source_overlap: found.source_overlap,
            target_overlap: found.target_overlap,
            margin: found.margin,
            observability: found.observability,
            covariance: found.covariance,
            candidates: found.candidates,
            capped: found.capped,
            timing: found.timing,
            source_points,
            target_points,
        }
    }
}

/// `summary` of `register`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Sources with an answer.
    pub(super) found: usize,
    /// Points of all sources that were done.
    pub(super) points: usize,
    /// Points of the target, those that were left out included.
    pub(super) target_points: usize,
    /// Time to make the target ready: voxels, normals, features and search trees.
    pub(super) target_ms: f64,
    /// Time to read the target.
    pub(super) target_read_ms: f64,
    /// What is unusual about the target.
    pub(super) target_warnings: Vec<String>,
    /// The verdict of the last source.
    #[serde(skip)]
    pub(super) verdict: Option<Verdict>,
}
