//! The fields of `voxelize` in its JSON lines.

use super::args::{Mean, Order, VoxelizeArgs};
use pointmill::voxelize::Report;
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
    /// Edges of a voxel along x, y, z in metres.
    pub(super) voxel_size: [f32; 3],
    /// x0, y0, z0, x1, y1, z1 in metres.
    pub(super) range: [f32; 6],
    /// Cells along x, y, z.
    pub(super) grid: [u32; 3],
    /// Most voxels of an input.
    pub(super) max_voxels: u32,
    /// Most points of a voxel; null for dynamic voxelization.
    pub(super) max_points: Option<u32>,
    /// Order of the voxels.
    pub(super) order: Order,
    /// Whether points must also lie in min <= p < max.
    pub(super) strict_range: bool,
    /// Element type of the means.
    pub(super) mean: Mean,
    /// Whether the array `voxels` is made.
    pub(super) voxels: bool,
}

impl ParamsRecord {
    pub(super) fn new(args: &VoxelizeArgs, grid: [u32; 3]) -> Self {
        Self {
            voxel_size: args.voxel_size,
            range: args.range,
            grid,
            max_voxels: args.max_voxels,
            max_points: args.max_points,
            order: args.order,
            strict_range: args.strict_range,
            mean: args.mean,
            voxels: !args.dynamic && !args.no_voxels,
        }
    }
}

/// `frame` of `voxelize`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the input, or `synthetic`.
    pub(super) format: String,
    /// Points of the input.
    pub(super) points: usize,
    /// Values per point.
    pub(super) columns: usize,
    /// Points inside the range.
    pub(super) in_range: usize,
    /// Voxels of the result.
    pub(super) voxels: usize,
    /// What was counted.
    pub(super) report: ReportRecord,
}

/// `summary` of `voxelize`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Points of all inputs that were done.
    pub(super) points: usize,
    /// Voxels of all inputs that were done.
    pub(super) voxels: usize,
}

/// The field names of the library's report.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReportRecord {
    /// Input points.
    points: usize,
    /// Rows of the result.
    voxels: usize,
    /// Cells with at least one point.
    voxels_found: usize,
    /// Cells without a row because of the limit.
    voxels_dropped: usize,
    /// Points that a row keeps.
    points_kept: usize,
    /// Points of a row that was full.
    points_dropped_full_voxel: usize,
    /// Points of a cell that got no row.
    points_dropped_dropped_voxel: usize,
    /// Finite points outside the grid.
    out_of_range: usize,
    /// Points with a NaN or an infinity in x, y or z.
    non_finite: usize,
}

impl From<&Report> for ReportRecord {
    fn from(report: &Report) -> Self {
        let &Report {
            points,
            voxels,
            voxels_found,
            voxels_dropped,
            points_kept,
            points_dropped_full_voxel,
            points_dropped_dropped_voxel,
            out_of_range,
            non_finite,
        } = report;
        Self {
            points,
            voxels,
            voxels_found,
            voxels_dropped,
            points_kept,
            points_dropped_full_voxel,
            points_dropped_dropped_voxel,
            out_of_range,
            non_finite,
        }
    }
}
