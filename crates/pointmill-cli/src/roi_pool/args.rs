//! Flags of `pointmill roi-pool`, and the parameters of the library.

use crate::flags::{ReadArgs, WorkArgs, names, parse_out_size};
use clap::Args;
use pointmill::BoxOrigin;
use pointmill::roi_pool::{BoxParams, BoxQuery, PoolMode, RoiLayout, RoiPoolParams};
use std::path::PathBuf;

/// `pointmill roi-pool`
#[derive(Debug, Args)]
pub(crate) struct RoiPoolArgs {
    /// Boxes: an .npy array [B, 7] of f32 or f16 with cx, cy, cz, dx, dy, dz in metres and the
    /// heading about z in radians. For several scenes: a folder, a pattern in quotes, or one file
    /// that is used for all scenes
    #[arg(long, value_name = "B.npy|DIR")]
    pub(crate) boxes: Option<PathBuf>,
    /// Points: a file of any format that `info` reads, or - for the standard input (with --format).
    /// The first three columns are x, y, z in metres. For several scenes: a folder or a pattern in
    /// quotes. The boxes, points and features of a scene have the same file name without extension
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) points: Option<PathBuf>,
    /// Features: an .npy array [N, C] of f32 or f16 with a row for each point. The result has the
    /// same type. If --points is a folder or a pattern, this is one too
    #[arg(long, value_name = "F.npy|DIR", conflicts_with = "inside")]
    pub(crate) features: Option<PathBuf>,

    /// Voxels of a box along its length, width and height, one value or x,y,z
    #[arg(long, value_name = "A[,B,C]", default_value = "12,12,12", allow_hyphen_values = true, value_parser = parse_out_size)]
    #[arg(conflicts_with = "inside")]
    pub(crate) out_size: [u32; 3],
    /// Maximum number of points per voxel; further points are dropped. In the dense layout a row of
    /// `point_indices` has one more value, the number of points
    #[arg(long, value_name = "N", default_value = "127", allow_negative_numbers = true, conflicts_with = "inside")]
    pub(crate) max_points: u32,
    /// How to combine the features of the points of a voxel: max is the largest value (the first of
    /// equal values), mean is the mean
    #[arg(long, default_value = "max", conflicts_with = "inside", value_parser = names::<PoolMode>(PoolMode::NAMES))]
    pub(crate) mode: PoolMode,
    /// Point of a box that cz refers to: the centre of its bottom face, as in mmcv, or its centre,
    /// as in OpenPCDet
    #[arg(long, default_value = "bottom", value_parser = names::<BoxOrigin>(BoxOrigin::NAMES))]
    pub(crate) origin: BoxOrigin,
    /// Distance in metres that is added to each box at its front, back, left and right
    #[arg(long, value_name = "M", default_value = "0", allow_negative_numbers = true)]
    pub(crate) margin: f32,
    /// Layout of the result: all voxels with rows of fixed length, all voxels with lists, or only
    /// the voxels that have points
    #[arg(long, alias = "output", default_value = "dense", conflicts_with = "inside")]
    #[arg(value_parser = names::<RoiLayout>(RoiLayout::NAMES))]
    pub(crate) layout: RoiLayout,
    /// Do not pool; report which points lie in which box. part: for each point the lowest index of
    /// a box that contains it, or -1. all: for each pair of a point and a box whether the box
    /// contains the point. count: the number of points in each box. crop: the points in each box
    #[arg(long, value_name = "WHAT", value_parser = names::<BoxQuery>(BoxQuery::NAMES))]
    pub(crate) inside: Option<BoxQuery>,

    /// Write the result arrays. One scene: a file OUT.npz. Several scenes: a folder, in which each
    /// scene NAME gets a file NAME.npz
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Write a picture of the boxes and the voxels of their points
    #[arg(long, value_name = "OUT.png|.html", conflicts_with = "inside")]
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
    /// The task that the flags ask for. A worker checks its values.
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
