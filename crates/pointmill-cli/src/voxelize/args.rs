//! Flags of `pointmill voxelize`.

use crate::failure::Failure;
use crate::flags::{ReadArgs, WorkArgs, names, parse_numbers, parse_voxel_size};
use clap::{ArgAction, Args};
use pointmill::Aabb;
use pointmill::voxelize::{MeanType, RowOrder, VoxelizeParams};
use std::path::PathBuf;

/// `pointmill voxelize`
#[derive(Debug, Args)]
pub(crate) struct VoxelizeArgs {
    /// Files, folders, quoted patterns, or - for the standard input (with --format)
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Edge of a voxel in metres, one value or x,y,z
    #[arg(long, value_name = "A[,B,C]", default_value = "0.2", allow_hyphen_values = true, value_parser = parse_voxel_size)]
    pub(crate) voxel_size: [f32; 3],
    /// Range to divide into voxels, in metres
    #[arg(long, value_name = "X0,Y0,Z0,X1,Y1,Z1", default_value = "-54,-54,-5,54,54,3")]
    #[arg(allow_hyphen_values = true, value_parser = parse_numbers::<6>)]
    pub(crate) range: [f32; 6],
    /// Most voxels of an input; no limit by default with --dynamic
    #[arg(long, value_name = "N", default_value = "160000", default_value_if("dynamic", "true", "1073741823"))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) max_voxels: u32,
    /// Most points of a voxel; not with --dynamic
    #[arg(long, value_name = "N", default_value = "10", default_value_if("dynamic", "true", None))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) max_points: Option<u32>,
    /// Order of the voxels: by their first point, or by the id of their cell
    #[arg(long, default_value = "first-seen", value_parser = names::<RowOrder>(RowOrder::NAMES))]
    pub(crate) order: RowOrder,
    /// Keep every point of every voxel (dynamic voxelization). The array `voxels` is not made
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(default_value = "false", action = ArgAction::Set)]
    pub(crate) dynamic: bool,
    /// Also require min <= p < max of every point. It matters if the range is not a whole number of voxels
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(default_value = "false", action = ArgAction::Set)]
    pub(crate) strict_range: bool,
    /// Element type of the means
    #[arg(long, default_value = "f32", value_parser = names::<MeanType>(MeanType::NAMES))]
    pub(crate) mean: MeanType,
    /// Do not make the array `voxels`
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(default_value = "false", action = ArgAction::Set)]
    pub(crate) no_voxels: bool,

    /// Write the arrays: OUT.npz for one input, else a folder that gets NAME.npz for each input NAME.*
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Write a picture of input and voxel means side by side: .png shows the first input, .gif one frame for each
    #[arg(long, value_name = "PATH")]
    pub(crate) visualize: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl VoxelizeArgs {
    /// The parameters of the library.
    ///
    /// # Errors
    /// A number of points beside `--dynamic`.
    pub(crate) fn params(&self) -> Result<VoxelizeParams, Failure> {
        if self.dynamic && self.max_points.is_some() {
            let told = "dynamic keeps all points: expected no max-points with it";
            return Err(Failure::Usage(told.into()));
        }
        let mut params = VoxelizeParams::default();
        let [a, b, c, d, e, f] = self.range;
        params.voxel_size = self.voxel_size;
        params.range = Aabb::new([a, b, c], [d, e, f]);
        params.max_voxels = self.max_voxels;
        params.max_points_per_voxel = self.max_points;
        params.order = self.order;
        params.strict_range = self.strict_range;
        params.outputs.voxels = !self.dynamic && !self.no_voxels;
        params.outputs.mean = Some(self.mean);
        Ok(params)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/voxelize_args.rs"]
mod tests;
