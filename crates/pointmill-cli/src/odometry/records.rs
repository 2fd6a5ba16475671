//! The fields of `odometry` in its JSON lines.

use pointmill::Pose;
use pointmill_data::runs::{SweepStatuses, TimesColumn};
use pointmill_slam::odometry::{OdometryParams, Step};
use serde::Serialize;

/// `begin` of `odometry`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The pose of the sensor on the vehicle; null without one.
    pub(super) sensor_pose: Option<Pose>,
    /// The parameters in effect.
    pub(super) params: OdometryParams,
}

/// `frame` of `odometry`: a sweep.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the input, or `synthetic`.
    pub(super) format: String,
    /// What became of the sweep; its time is that of the pose.
    #[serde(flatten)]
    pub(super) step: Step,
    /// Metres since the sweep before.
    pub(super) moved: f64,
}

/// `summary` of `odometry`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Metres along all poses.
    pub(super) length: f64,
    /// Edge in metres of the voxels of the map; null if no sweep had a point in range.
    pub(super) voxel_size: Option<f64>,
    /// How many sweeps have each status.
    pub(super) statuses: SweepStatuses,
    /// The sweeps whose pose is not sure, by their numbers from 0: `12-40, 77`; empty if there is
    /// none.
    pub(super) unsure: String,
    /// The column of times that was found; null if there is none that can be used.
    pub(super) times: Option<TimesColumn>,
    /// SHA-256 of the file of poses; null if none was written.
    pub(super) poses_sha256: Option<String>,
    /// The map that was written; null without `--map-out`.
    pub(super) map: Option<String>,
    /// Points of the map that was written or drawn; null without one.
    pub(super) map_points: Option<usize>,
    /// Why the first sweep that was not tracked was not, for people.
    #[serde(skip)]
    pub(super) untracked: Option<String>,
}
