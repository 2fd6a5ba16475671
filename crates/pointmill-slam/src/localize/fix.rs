//! What is reported of a scan.

use pointmill::Pose;
use pointmill::ndt::NdtRegistration;
use pointmill_core::{names, record};

/// What became of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FixStatus {
    /// The scan was aligned near the prediction, and its pose is a fix.
    Tracked,
    /// The search found the pose, which is a fix.
    Found,
    /// The scan has no fix; the pose is the prediction, and tracking goes on from there.
    Rejected,
    /// The scan has no fix, and the place is not known: the next scan is searched for. The pose is
    /// the last known one, moved on as before; without one, the identity.
    Lost,
}

names!(FixStatus { Tracked = "tracked", Found = "found", Rejected = "rejected", Lost = "lost" });

impl FixStatus {
    /// Whether the pose is a fix.
    pub const fn is_fix(self) -> bool {
        matches!(self, Self::Tracked | Self::Found)
    }
}

/// Why a scan has no fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rejection {
    /// Fewer than 50 cubes of a voxel's size have a point that is finite and in range.
    TooFewPoints,
    /// The map has no cell near the prediction, or nothing in the region of the search that the scan
    /// meets from its ground.
    OutsideMap,
    /// The alignment did not converge.
    NotConverged,
    /// The likelihood of the scan is below [`min_nvtl`](super::LocalizerParams::min_nvtl).
    LowLikelihood,
    /// The pose is farther from the prediction than
    /// [`max_distance`](super::LocalizerParams::max_distance).
    FarFromPrediction,
    /// The map explains less of the scan than
    /// [`min_explained`](super::LocalizerParams::min_explained), or covers less than a fifth of it,
    /// which is too little to judge.
    Unexplained,
    /// The scan sees through more of the map than
    /// [`min_confirmed`](super::LocalizerParams::min_confirmed) allows, or meets too little of it.
    Contradicted,
    /// Another place fits nearly as well; see [`min_margin`](super::LocalizerParams::min_margin).
    Ambiguous,
}

names!(Rejection {
    TooFewPoints = "too-few-points",
    OutsideMap = "outside-map",
    NotConverged = "not-converged",
    LowLikelihood = "low-likelihood",
    FarFromPrediction = "far-from-prediction",
    Unexplained = "unexplained",
    Contradicted = "contradicted",
    Ambiguous = "ambiguous",
});

record! {
    /// How scan and map fit at a pose.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Evidence {
        /// The share of the scan's points above the ground, of those where the map covers the place,
        /// that a cell of the map explains: whose largest term is at least 0.4 of the greatest there
        /// is. Of all points where fewer than 20 are above the ground.
        pub explained: f64,
        /// The share of these points where the map covers the place: one of the 27 cells about the
        /// point is in the map. Elsewhere the map says nothing.
        pub covered: f64,
        /// Cells of the map above the ground, of those near the sensor, at whose distance the scan
        /// has a point.
        pub confirmed: usize,
        /// Such cells that the scan sees through: all points in their direction are farther away.
        pub seen_through: usize,
    }
}

impl Evidence {
    /// The share of the cells that are confirmed, of those that are confirmed or seen through; 1
    /// without any.
    pub fn confirmed_share(&self) -> f64 {
        match self.confirmed + self.seen_through {
            0 => 1.0,
            cells => self.confirmed as f64 / cells as f64,
        }
    }
}

record! {
    /// A place that a search found.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Candidate {
        /// The score that candidates are ranked by: the mean likelihood of the points above the
        /// ground as a part of the greatest there is, times the confirmed share of the map.
        pub score: f64,
        /// The alignment at this place.
        pub registration: NdtRegistration,
        /// How scan and map fit there.
        pub evidence: Evidence,
    }
}

impl Fix {
    /// Calls `change` with each pose of the map.
    pub(super) fn for_each_pose(&mut self, mut change: impl FnMut(&mut Pose)) {
        if self.status.is_fix() || self.predicted.is_some() {
            change(&mut self.map_from_sensor);
        }
        let found = self.registration.iter_mut().chain(self.candidates.iter_mut().map(|place| &mut place.registration));
        found.map(|found| &mut found.target_from_source).chain(&mut self.predicted).for_each(change);
    }
}

record! {
    /// How long the parts took. These alone differ from run to run.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct FixTiming {
        /// Milliseconds of choosing points.
        pub sample_ms: f64,
        /// Milliseconds of loading and removing tiles of the map.
        pub map_ms: f64,
        /// Milliseconds of aligning near the prediction, with its checks.
        pub align_ms: f64,
        /// Milliseconds of searching.
        pub search_ms: f64,
    }
}

record! {
    /// What became of a scan, and where the sensor was.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Fix {
        /// The number of the scan, from 0.
        ///
        /// What serde writes does not have it: the command numbers its inputs.
        #[cfg_attr(feature = "serde", serde(skip))]
        pub index: usize,
        /// What became of it.
        pub status: FixStatus,
        /// Why it has no fix; none for a fix.
        pub rejection: Option<Rejection>,
        /// The pose of the sensor in the map; always finite and rigid. It is a fix if the
        /// [status](FixStatus::is_fix) says so.
        pub map_from_sensor: Pose,
        /// The pose that was expected from the motion before; none where no pose was known.
        pub predicted: Option<Pose>,
        /// Metres between the alignment and the prediction; none without both.
        pub distance: Option<f64>,
        /// The alignment: at the fix, or the one that was rejected; none where there was none.
        pub registration: Option<NdtRegistration>,
        /// The uncertainty of x, y, z in metres and roll, pitch, yaw in radians, by the method of
        /// the parameters; none where the alignment has none.
        pub covariance: Option<[[f64; 6]; 6]>,
        /// How scan and map fit at the alignment.
        pub evidence: Option<Evidence>,
        /// How clearly the place won: 1 - the score of the best other place / its own; 1 where no
        /// other came near. None after a fix, where no other place is looked at.
        pub margin: Option<f64>,
        /// The places that a search found, the best first, of equal ones the first of the lattice;
        /// empty without a search. At most 10.
        pub candidates: Vec<Candidate>,
        /// Points of the scan.
        pub points: usize,
        /// Points that are finite and in range.
        pub usable: usize,
        /// Points that were aligned.
        pub aligned: usize,
        /// Scans in succession that were rejected, this one among them.
        pub rejections: usize,
        /// Cells of the map that was matched with.
        pub map_cells: usize,
        /// How long it took.
        #[cfg_attr(feature = "serde", serde(flatten))]
        pub timing: FixTiming,
    }
}
