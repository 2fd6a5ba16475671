//! Flags of `pointmill roi-pool`, and the parameters of the library.

use crate::flags::{ReadArgs, WorkArgs, names, parse_out_size};
use clap::Args;
use pointmill::BoxOrigin;
use pointmill::roi_pool::{BoxParams, BoxQuery, PoolMode, RoiLayout, RoiPoolParams};
use std::path::PathBuf;

/// `pointmill roi-pool`
#[derive(Debug, Args)]
pub(crate) struct RoiPoolArgs {
    /// Boxes: an .npy array [B, 7] of f32 or f16 with cx, cy, cz, dx, dy, dz in metres and the heading about z in radians. For several scenes a folder or a quoted pattern, or one file for all
    #[arg(long, value_name = "B.npy|DIR")]
    pub(crate) boxes: Option<PathBuf>,
    /// Points: a file of any format that `info` reads, or - for the standard input (with --format). x, y, z in metres come first. For several scenes a folder or a quoted pattern; files are matched by their names without extension
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) points: Option<PathBuf>,
    /// Features: an .npy array [N, C] of f32 or f16 with a row for each point. The result has the same type. A folder or a quoted pattern if --points is one
    #[arg(long, value_name = "F.npy|DIR", conflicts_with = "inside")]
    pub(crate) features: Option<PathBuf>,

    /// Voxels of a box along its length, width and height, one value or x,y,z
    #[arg(long, value_name = "A[,B,C]", default_value = "12,12,12", allow_hyphen_values = true, value_parser = parse_out_size)]
    #[arg(conflicts_with = "inside")]
    pub(crate) out_size: [u32; 3],
    /// Most points of a voxel; a row of the dense layout has one place more, for the count
    #[arg(long, value_name = "N", default_value = "127", allow_negative_numbers = true, conflicts_with = "inside")]
    pub(crate) max_points: u32,
    /// How the features of a voxel's points are combined: their largest value (of equal ones the first) or their mean
    #[arg(long, default_value = "max", conflicts_with = "inside", value_parser = names::<PoolMode>(PoolMode::NAMES))]
    pub(crate) mode: PoolMode,
    /// Point of a box that cz refers to: the centre of its bottom face, as in mmcv, or its centre, as in OpenPCDet
    #[arg(long, default_value = "bottom", value_parser = names::<BoxOrigin>(BoxOrigin::NAMES))]
    pub(crate) origin: BoxOrigin,
    /// Metres by which a box is made longer and wider on each side
    #[arg(long, value_name = "M", default_value = "0", allow_negative_numbers = true)]
    pub(crate) margin: f32,
    /// Layout of the result: all voxels with rows of fixed length, all voxels with lists, or only the voxels that have points
    #[arg(long, alias = "output", default_value = "dense", conflicts_with = "inside")]
    #[arg(value_parser = names::<RoiLayout>(RoiLayout::NAMES))]
    pub(crate) layout: RoiLayout,
    /// Do not pool; report which points lie in which box. part: the lowest box that holds each point, or -1. all: whether each box holds each point. count: how many points each box holds. crop: the points of each box
    #[arg(long, value_name = "WHAT", value_parser = names::<BoxQuery>(BoxQuery::NAMES))]
    pub(crate) inside: Option<BoxQuery>,

    /// Write the arrays: OUT.npz for one scene, else a folder that gets NAME.npz for each scene NAME
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Write a picture of the boxes and the voxels of their points
    #[arg(long, value_name = "OUT.png", conflicts_with = "inside")]
    pub(crate) visualize: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// The task of a run.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    Pool(RoiPoolParams),
    Inside(BoxQuery, BoxParams),
}

impl Task {
    /// The task that the flags ask for. A lane checks its values.
    pub(crate) fn of(args: &RoiPoolArgs) -> Self {
        let origin = args.origin;
        if let Some(query) = args.inside {
            return Self::Inside(query, BoxParams { origin, margin: args.margin });
        }
        Self::Pool(RoiPoolParams {
            out_size: args.out_size,
            max_points_per_voxel: args.max_points,
            mode: args.mode,
            origin,
            margin: args.margin,
            layout: args.layout,
            lists: true,
        })
    }
}

#[cfg(test)]
#[path = "../../tests/unit/roi_pool_args.rs"]
mod tests;
