//! What is reported of a sweep.

use super::clock::TimesUse;
use super::register::SweepFit;
use pointmill::Pose;
use pointmill::registration::Registration;
use pointmill_core::{names, record};

/// What became of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SweepStatus {
    /// The first sweep with enough points: its pose is the identity, and the map begins with it.
    Started,
    /// The sweep was aligned, and added to the map.
    Tracked,
    /// The sweep was aligned and added, but its surfaces do not determine all directions, as in a
    /// tunnel. The pose is the prediction in those that they do not.
    Degenerate,
    /// The sweep was aligned and added, but the last of the allowed steps was not short.
    NotConverged,
    /// The sweep has the same points as the one before. The pose is that of the one before, and the
    /// map is left as it is.
    Repeated,
    /// Fewer than ten cells of a voxel's size have a point that is finite and in range. The pose is
    /// the prediction, and the map is left as it is.
    TooFewPoints,
    /// The map explains too little of the sweep wherever it was looked for. The pose is that of the
    /// sweep before, and the map is left as it is.
    Lost,
    /// The sweep was found again in the map after sweeps that were lost, or that it does not
    /// follow; it was added.
    Recovered,
    /// The sweep was aligned and added, but the map explains as much of it at another place, as
    /// between walls with windows. Of the two the pose is the one nearer to the prediction.
    Ambiguous,
}

names!(SweepStatus {
    Started = "started",
    Tracked = "tracked",
    Degenerate = "degenerate",
    NotConverged = "not-converged",
    Repeated = "repeated",
    TooFewPoints = "too-few-points",
    Lost = "lost",
    Recovered = "recovered",
    Ambiguous = "ambiguous",
});

record! {
    /// How long the parts took. These alone differ from run to run.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct StepTiming {
        /// Milliseconds of choosing points.
        pub sample_ms: f64,
        /// Milliseconds of the alignment.
        pub align_ms: f64,
        /// Milliseconds of changing the map.
        pub map_ms: f64,
    }
}

record! {
    /// What became of a sweep, and where the sensor was.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Step {
        /// The number of the sweep, from 0.
        ///
        /// What serde writes does not have it: the command numbers its inputs.
        #[cfg_attr(feature = "serde", serde(skip))]
        pub index: usize,
        /// What became of the sweep.
        pub status: SweepStatus,
        /// The pose of the sensor in the frame of the first pose; always finite and rigid. It
        /// belongs to the middle of a sweep that is deskewed, else to the moment whose frame the
        /// points are in.
        pub world_from_sensor: Pose,
        /// The middle of the times of the sweep's points in seconds of their clock.
        ///
        /// What the command writes are seconds of the pose: of the stamp of a bag or of the name of
        /// Argoverse 2, else of the clock of the points where that is one of all sweeps, else from
        /// one sweep to the next.
        #[cfg_attr(feature = "serde", serde(rename = "seconds"))]
        #[cfg_attr(feature = "schema", schemars(with = "f64"))]
        pub time: Option<f64>,
        /// The pose that was expected from the motion before.
        #[cfg_attr(feature = "serde", serde(skip))]
        pub predicted: Pose,
        /// Seconds since the sweep before that the prediction is for: from the clock of the points,
        /// else the period of the sweeps, which is 0.1 until times say otherwise.
        #[cfg_attr(feature = "serde", serde(skip))]
        pub interval: f64,
        /// What the times of the points were used for.
        pub times: TimesUse,
        /// Points of the sweep.
        pub points: usize,
        /// Points that are finite and in range.
        pub usable: usize,
        /// Points that were aligned.
        pub aligned: usize,
        /// The alignment with the map, and the doubt about it; none where there was no alignment.
        /// What serde writes of it is a [`SweepAlignment`].
        #[cfg_attr(feature = "serde", serde(flatten, serialize_with = "SweepAlignment::serialize_of"))]
        #[cfg_attr(feature = "schema", schemars(with = "SweepAlignment"))]
        pub registration: Option<Registration<SweepFit>>,
        /// The share of the points taken for the alignment that are within 0.3 voxels of a point of
        /// the map; null where there was no alignment.
        pub explained: Option<f64>,
        /// Metres that the prediction was expected to be off.
        pub expected_error: f64,
        /// Edge in metres of the voxels of the map; 0 before a sweep had a point in range.
        pub voxel_size: f64,
        /// Points of the map after the sweep.
        pub map_points: usize,
        /// Voxels of the map after the sweep.
        pub map_voxels: usize,
        /// How long it took.
        #[cfg_attr(feature = "serde", serde(flatten))]
        pub timing: StepTiming,
    }
}

record! {
    /// The numbers of an alignment that the command and the Python package show of a sweep.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct SweepAlignment {
        /// Aligned points that have a neighbour in the map; null where there was no alignment.
        pub pairs: Option<usize>,
        /// Root mean square distance of the pairs in metres; null where there was no alignment.
        pub rmse: Option<f64>,
        /// The number of steps; null where there was no alignment.
        pub iterations: Option<usize>,
        /// How many directions the surfaces determine; null where there was no alignment.
        pub rank: Option<usize>,
        /// The uncertainty of the pose in metres and radians, by a translation and a rotation
        /// vector about the mean of the aligned points; null where a direction is not determined.
        pub covariance: Option<[[f64; 6]; 6]>,
        /// The mean of the aligned points in the world; null where there was no alignment.
        #[cfg_attr(feature = "serde", serde(skip))]
        pub pivot: Option<[f64; 3]>,
    }
}

impl Step {
    /// The numbers of the alignment.
    pub fn alignment(&self) -> SweepAlignment {
        SweepAlignment::of(self.registration.as_ref())
    }
}

impl SweepAlignment {
    fn of(registration: Option<&Registration<SweepFit>>) -> Self {
        let Some(Registration { iterations, covariance, fit, .. }) = registration else { return Self::default() };
        Self {
            pairs: Some(fit.pairs),
            rmse: Some(fit.rmse),
            iterations: Some(*iterations),
            rank: Some(fit.observability.rank()),
            covariance: *covariance,
            pivot: Some(fit.pivot),
        }
    }

    #[cfg(feature = "serde")]
    fn serialize_of<S: serde::Serializer>(
        registration: &Option<Registration<SweepFit>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        serde::Serialize::serialize(&Self::of(registration.as_ref()), to)
    }
}
