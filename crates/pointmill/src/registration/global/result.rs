//! What is reported of a registration without a guess.

use crate::Pose;
use crate::icp::Observability;
use pointmill_core::{names, record};

/// Whether the pose is an answer, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// The clouds fit at this pose, and at no other.
    Found,
    /// The clouds fit nearly as well at another pose, can slide along each other, or fit worse after
    /// the refinement.
    Ambiguous,
    /// Too few points have a match whose distances to the others are kept.
    TooFewMatches,
    /// The clouds do not fit at the best pose, or have too little in common.
    LowOverlap,
    /// With [`level`](super::RegisterParams::level): z is not up in both frames.
    NotLevel,
}

names!(Verdict {
    Found = "found",
    Ambiguous = "ambiguous",
    TooFewMatches = "too-few-matches",
    LowOverlap = "low-overlap",
    NotLevel = "not-level",
});

record! {
    /// How the points of one cloud that stand out of planes fit among those of the other.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Overlap {
        /// Points that were looked at.
        pub probes: usize,
        /// Those within 6 voxels of a point of the other cloud: its part of the scene.
        pub seen: usize,
        /// Those within 1.5 voxels of a point of the other cloud that stands out too.
        pub met: usize,
    }
}

impl Overlap {
    /// The share of the points that are met, of those that are seen; 0 without any.
    pub fn share(&self) -> f64 {
        self.met as f64 / self.seen.max(1) as f64
    }

    /// The share of the points that are met, of all; 0 without any.
    pub fn extent(&self) -> f64 {
        self.met as f64 / self.probes.max(1) as f64
    }
}

record! {
    /// How long the parts took. These alone differ from run to run.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Timing {
        /// Milliseconds of making the source ready.
        pub prepare_ms: f64,
        /// Milliseconds of comparing features; 0 with `level`.
        pub match_ms: f64,
        /// Milliseconds of finding and checking candidates.
        pub search_ms: f64,
        /// Milliseconds of the refinement.
        pub refine_ms: f64,
    }
}

record! {
    /// The pose that was found, and how sure it is.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Registered {
        /// The pose of the source in the frame of the target; finite and rigid. It is an answer if
        /// the verdict is `found`; the identity without a candidate.
        pub target_from_source: Pose,
        /// Whether the pose is an answer.
        pub verdict: Verdict,
        /// Matches of features. With [`level`](super::RegisterParams::level): points of the source
        /// that were looked at.
        pub matches: usize,
        /// Those within two voxels at the pose. With `level`: those that are met.
        pub inliers: usize,
        /// How the source fits in the target.
        pub source_overlap: Overlap,
        /// How the target fits in the source.
        pub target_overlap: Overlap,
        /// 1 - the score of the best other pose / the score of this one; 1 where there is no other,
        /// and 0 without a candidate.
        pub margin: f64,
        /// Which directions the clouds determine at the pose; none where it is not from a refinement.
        pub observability: Option<Observability>,
        /// The uncertainty of x, y, z in metres and of the rotation vector in radians, by the
        /// refinement; none where it has none.
        pub covariance: Option<[[f64; 6]; 6]>,
        /// Poses that were looked at.
        pub candidates: usize,
        /// Whether a cap left matches out of the search for candidates, or ended the search of upright
        /// clouds without candidates.
        pub capped: bool,
        /// How long it took.
        pub timing: Timing,
    }
}
