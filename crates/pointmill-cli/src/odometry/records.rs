//! The fields of `odometry` in its JSON lines.

use pointmill::Pose;
use pointmill::pipelines::odometry::{OdometryParams, Step, SweepStatus, TimesUse};
use pointmill_data::runs::{SweepStatuses, TimesColumn};
use serde::Serialize;

/// `begin` of `odometry`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The parameters in effect.
    pub(super) params: OdometryParams,
}

/// `frame` of `odometry`: a sweep.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the input, or `synthetic`.
    pub(super) format: String,
    /// What became of the sweep.
    pub(super) status: SweepStatus,
    /// The pose of the sensor in the frame of the first pose, as the rows of a 4x4 matrix. Of a sweep that is deskewed it belongs to the middle of the sweep.
    pub(super) world_from_sensor: Pose,
    /// Seconds of the pose: of the stamp of a bag or of the name of Argoverse 2, else of the clock of the points where that is one of all sweeps, else from one sweep to the next.
    pub(super) seconds: f64,
    /// What the times of the points were used for.
    pub(super) times: TimesUse,
    /// Points of the sweep.
    pub(super) points: usize,
    /// Points that are finite and in range.
    pub(super) usable: usize,
    /// Points that were aligned.
    pub(super) aligned: usize,
    /// Aligned points that have a neighbour in the map; null where there was no alignment.
    pub(super) pairs: Option<usize>,
    /// Root mean square distance of the pairs in metres; null where there was no alignment.
    pub(super) rmse: Option<f64>,
    /// The number of steps; null where there was no alignment.
    pub(super) iterations: Option<usize>,
    /// How many directions the surfaces determine; null where there was no alignment.
    pub(super) rank: Option<usize>,
    /// The uncertainty of the pose in metres and radians, about the mean of the aligned points; null where a direction is not determined.
    pub(super) covariance: Option<[[f64; 6]; 6]>,
    /// Metres that the prediction was expected to be off.
    pub(super) expected_error: f64,
    /// Points of the map after the sweep.
    pub(super) map_points: usize,
    /// Voxels of the map after the sweep.
    pub(super) map_voxels: usize,
    /// Milliseconds of choosing points.
    pub(super) sample_ms: f64,
    /// Milliseconds of the alignment.
    pub(super) align_ms: f64,
    /// Milliseconds of changing the map.
    pub(super) map_ms: f64,
    /// Metres since the sweep before.
    pub(super) moved: f64,
}

impl Row {
    pub(super) fn new(format: String, step: &Step, seconds: f64, moved: f64) -> Self {
        let found = step.registration.as_ref();
        Self {
            format,
            status: step.status,
            world_from_sensor: step.world_from_sensor,
            seconds,
            times: step.times,
            points: step.points,
            usable: step.usable,
            aligned: step.aligned,
            pairs: found.map(|found| found.fit.pairs),
            rmse: found.map(|found| found.fit.rmse),
            iterations: found.map(|found| found.iterations),
            rank: found.map(|found| found.fit.observability.rank()),
            covariance: found.and_then(|found| found.covariance),
            expected_error: step.expected_error,
            map_points: step.map_points,
            map_voxels: step.map_voxels,
            sample_ms: step.timing.sample_ms,
            align_ms: step.timing.align_ms,
            map_ms: step.timing.map_ms,
            moved,
        }
    }
}

/// `summary` of `odometry`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Metres along all poses.
    pub(super) length: f64,
    /// How many sweeps have each status.
    pub(super) statuses: SweepStatuses,
    /// The column of times that was found; null if there is none that can be used.
    pub(super) times: Option<TimesColumn>,
    /// SHA-256 of the file of poses; null if none was written.
    pub(super) poses_sha256: Option<String>,
    /// The map that was written; null without `--map`.
    pub(super) map: Option<String>,
    /// Points of the map that was written or drawn; null without one.
    pub(super) map_points: Option<usize>,
    /// Why the first sweep that was not tracked was not, for people.
    #[serde(skip)]
    pub(super) untracked: Option<String>,
}
