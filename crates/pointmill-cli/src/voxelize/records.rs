//! The fields of `voxelize` in its JSON lines.

use pointmill::Aabb;
use pointmill::voxelize::{Report, VoxelizeParams};
use serde::Serialize;

/// `begin` of `voxelize`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The parameters in effect.
    pub(super) params: ParamsRecord,
}

/// The parameters of voxelization.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ParamsRecord {
    /// Whether each input has a range of its own: only with `--range auto`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) auto_range: bool,
    /// Cells along x, y, z; null with `--range auto`.
    pub(super) grid: Option<[u32; 3]>,
    /// The parameters of the library.
    #[serde(flatten)]
    pub(super) params: VoxelizeParams,
}

/// `frame` of `voxelize`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the input, or `synthetic`.
    pub(super) format: &'static str,
    /// Points of the input.
    pub(super) points: usize,
    /// Values per point.
    pub(super) columns: usize,
    /// The range of the input: only with `--range auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) range: Option<Aabb>,
    /// Points inside the range.
    pub(super) in_range: usize,
    /// Voxels of the result.
    pub(super) voxels: usize,
    /// What was counted.
    pub(super) report: Report,
}

/// `summary` of `voxelize`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Points of all inputs that were done.
    pub(super) points: usize,
    /// Voxels of all inputs that were done.
    pub(super) voxels: usize,
    /// Points of voxels that were full.
    #[serde(skip)]
    pub(super) over_max_points: usize,
    /// Voxels beyond the most of an input, and their points.
    #[serde(skip)]
    pub(super) over_max_voxels: [usize; 2],
}
