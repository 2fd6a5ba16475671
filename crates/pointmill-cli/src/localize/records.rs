//! The fields of `localize` in its JSON lines.

use pointmill::Pose;
use pointmill_data::runs::FixStatuses;
use pointmill_slam::localize::{Fix, LocalizerParams};
use serde::Serialize;

/// `begin` of `localize`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The map.
    pub(super) map: String,
    /// The pose of `--guess`; null without one.
    pub(super) start: Option<Pose>,
    /// The pose of the sensor on the vehicle; null without one.
    pub(super) sensor_pose: Option<Pose>,
    /// The parameters in effect.
    pub(super) params: LocalizerParams,
}

/// `frame` of `localize`: a scan.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the input.
    pub(super) format: String,
    /// What became of the scan.
    #[serde(flatten)]
    pub(super) fix: Fix,
}

/// `summary` of `localize`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Cells of the map; of a map by blocks that is loaded in parts, the most at a time.
    pub(super) map_cells: usize,
    /// Time to read and make the map; of a map that is loaded in parts it belongs to the scans.
    pub(super) map_ms: f64,
    /// What is unusual about the map.
    pub(super) map_warnings: Vec<String>,
    /// How many scans have each status.
    pub(super) statuses: FixStatuses,
    /// SHA-256 of the file of poses; null if none was written.
    pub(super) poses_sha256: Option<String>,
}
