//! Flags of `pointmill voxelize`.

use crate::failure::Failure;
use crate::flags::{FrameArgs, Range, ReadArgs, WorkArgs, names, parse_range, parse_voxel_size};
use clap::{ArgAction, Args};
use pointmill::Aabb;
use pointmill::voxelize::{MeanType, Pick, RowOrder, VoxelizeParams};
use std::path::PathBuf;

/// The range of the library's default.
const RANGE: &str = "-54,-54,-5,54,54,3";

/// Most sweeps of an input.
const MOST_SWEEPS: u32 = 100;

/// `pointmill voxelize`
#[derive(Debug, Args)]
pub(crate) struct VoxelizeArgs {
    /// Files, folders, patterns in quotes such as 'sweeps/*.bin', or - for the standard input,
    /// which needs --format
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Edge of a voxel in metres, one value or x,y,z
    #[arg(long, value_name = "A[,B,C]", default_value = "0.2", allow_hyphen_values = true, value_parser = parse_voxel_size)]
    pub(crate) voxel_size: [f32; 3],
    /// Range to divide into voxels, in metres, or auto for the smallest one of whole voxels around
    /// the points of each input
    #[arg(long, value_name = "X0,Y0,Z0,X1,Y1,Z1|auto", default_value = RANGE)]
    #[arg(allow_hyphen_values = true, value_parser = parse_range)]
    pub(crate) range: Range,
    /// Maximum number of voxels per input; further voxels are dropped. With --dynamic there is no
    /// limit unless this flag is given
    #[arg(long, value_name = "N", default_value = "160000", default_value_if("dynamic", "true", "1073741823"))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) max_voxels: u32,
    /// Maximum number of points per voxel; further points are dropped, see --pick. Not allowed with
    /// --dynamic
    #[arg(long, value_name = "N", default_value = "10", default_value_if("dynamic", "true", None))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) max_points: Option<u32>,
    /// Which points of a voxel of more than --max-points stay: the first, a choice by chance that
    /// --seed decides, or one of each value of --pick-column in turn
    #[arg(long, default_value = "first", value_parser = ["first", "random", "round-robin"])]
    pick: String,
    /// The seed of --pick random, 0 unless this flag is given
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u64>,
    /// The column of --pick round-robin, counted from 0. With --sweeps the time lag is the column
    /// after those of the input (4 for KITTI); taken in turn, no sweep is starved
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pick_column: Option<u32>,
    /// Order of the voxels: by their first point, or by the id of their cell
    #[arg(long, default_value = "first-seen", value_parser = names::<RowOrder>(RowOrder::NAMES))]
    pub(crate) order: RowOrder,
    /// Keep every point of every voxel (dynamic voxelization). The array `voxels` is not computed
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(default_value = "false", action = ArgAction::Set)]
    pub(crate) dynamic: bool,
    /// Drop points outside min <= p < max. This matters if the range is not a whole number of
    /// voxels: without the flag the last voxel can reach up to half a voxel past the range
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(default_value = "false", action = ArgAction::Set)]
    pub(crate) strict_range: bool,
    /// Type of the voxel means
    #[arg(long, default_value = "f32", value_parser = names::<MeanType>(MeanType::NAMES))]
    pub(crate) mean: MeanType,
    /// Do not compute the array `voxels`, the points of each voxel
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(default_value = "false", action = ArgAction::Set)]
    pub(crate) no_voxels: bool,

    /// Voxelize each input together with the inputs before it, so many sweeps in all, in the frame of
    /// the input. Each point gets the time lag of its sweep in seconds as a last column. Needs --poses
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SWEEPS)))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) sweeps: u32,
    /// The poses of the inputs for --sweeps: a file of poses as described at `ndt build --poses`. Time
    /// lags come from the times of the poses (TUM), else from the stamps of the inputs
    #[arg(long, value_name = "POSES.txt")]
    pub(crate) poses: Option<PathBuf>,

    /// Write the result arrays. One input: a file OUT.npz. Several inputs: a folder, in which each
    /// input NAME.* gets a file NAME.npz
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Write a picture of input and voxel means side by side: .png shows the first input, .gif and
    /// .html have one frame for each input
    #[arg(long, value_name = "OUT.png|.gif|.html")]
    pub(crate) visualize: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl VoxelizeArgs {
    /// The parameters of the library, with the range relative to an origin; the default range is so
    /// already. With `--range auto` it is one voxel, and each input has its own.
    ///
    /// # Errors
    /// A number of points beside `--dynamic`; a seed or a column without its rule, or turns without a
    /// column.
    pub(crate) fn params(&self, origin: [f64; 3]) -> Result<VoxelizeParams, Failure> {
        if self.dynamic && self.max_points.is_some() {
            return Err(Failure::Usage("--max-points: cannot be used with --dynamic, which keeps all points".into()));
        }
        let usage = |message: &str| Err(Failure::Usage(message.into()));
        let pick = match (self.pick.as_str(), self.seed, self.pick_column) {
            ("round-robin", None, Some(column)) => Pick::RoundRobin { column },
            ("round-robin", _, None) => {
                return usage("--pick: round-robin needs --pick-column, whose values take turns");
            }
            ("random", seed, None) => Pick::Random { seed: seed.unwrap_or(0) },
            (_, Some(_), _) => return usage("--seed: cannot be used without --pick random"),
            (_, _, Some(_)) => return usage("--pick-column: cannot be used without --pick round-robin"),
            _ => Pick::First,
        };
        let mut params = VoxelizeParams { pick, ..VoxelizeParams::default() };
        let is_default = self.range.0.as_ref().is_some_and(|(_, text)| text == RANGE);
        params.range = match self.range.relative_to(if is_default { [0.0; 3] } else { origin }) {
            Some([a, b, c, d, e, f]) => Aabb::new([a, b, c], [d, e, f]),
            None => Aabb::new([0.0; 3], self.voxel_size),
        };
        params.voxel_size = self.voxel_size;
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
