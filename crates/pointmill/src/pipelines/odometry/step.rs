//! What is reported of a sweep.

use super::clock::TimesUse;
use super::register::SweepFit;
use crate::Pose;
use crate::registration::Registration;
use pointmill_core::names;

/// What became of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SweepStatus {
    /// The first sweep with enough points: its pose is the identity, and the map begins with it.
    Started,
    /// The sweep was aligned, and added to the map.
    Tracked,
    /// The sweep was aligned and added, but its surfaces do not determine all directions, as in a tunnel. The pose is the prediction in those that they do not.
    Degenerate,
    /// The sweep was aligned and added, but the last of the allowed steps was not short.
    NotConverged,
    /// The sweep has the same points as the one before. The pose is that of the one before, and the map is left as it is.
    Repeated,
    /// Fewer than ten cells of a voxel's size have a point that is finite and in range. The pose is the prediction, and the map is left as it is.
    TooFewPoints,
    /// Too few points have a neighbour in the map. The pose is the prediction, and the map is left as it is.
    Lost,
}

names!(SweepStatus {
    Started = "started",
    Tracked = "tracked",
    Degenerate = "degenerate",
    NotConverged = "not-converged",
    Repeated = "repeated",
    TooFewPoints = "too-few-points",
    Lost = "lost",
});

/// Milliseconds by what they were spent on. These alone differ from run to run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StepTiming {
    /// Choosing points.
    pub sample_ms: f64,
    /// Aligning them with the map.
    pub align_ms: f64,
    /// Changing the map.
    pub map_ms: f64,
}

/// What became of a sweep, and where the sensor was.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Step {
    /// The number of the sweep, from 0.
    pub index: usize,
    /// What became of it.
    pub status: SweepStatus,
    /// The pose of the sensor; always finite and rigid. The world is the frame of the first pose. Where the sweep was deskewed it belongs to [`time`](Self::time), else to the
    /// moment whose frame the points are in.
    pub world_from_sensor: Pose,
    /// The pose that was expected from the motion before.
    pub predicted: Pose,
    /// Seconds since the sweep before that the prediction is for: from the clock of the points, else the period of the sweeps, which is 0.1 until times say otherwise.
    pub interval: f64,
    /// The middle of the times of the sweep's points, in seconds of their clock.
    pub time: Option<f64>,
    /// What the times of the points were used for.
    pub times: TimesUse,
    /// The alignment with the map, and the doubt about it; none where there was no alignment.
    pub registration: Option<Registration<SweepFit>>,
    /// Points of the sweep.
    pub points: usize,
    /// Points that are finite and in range.
    pub usable: usize,
    /// Points that were aligned.
    pub aligned: usize,
    /// Metres that the prediction was expected to be off.
    pub expected_error: f64,
    /// Points and voxels of the map after the sweep.
    pub map_points: usize,
    /// Voxels of the map after the sweep.
    pub map_voxels: usize,
    /// How long it took.
    pub timing: StepTiming,
}
