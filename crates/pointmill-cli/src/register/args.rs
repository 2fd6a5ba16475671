//! Flags of `pointmill register`.

use crate::flags::{FrameArgs, ReadArgs, WorkArgs, names};
use clap::Args;
use pointmill::registration::global::{Refine, RegisterParams};
use std::path::PathBuf;

/// `pointmill register`
#[derive(Debug, Args)]
pub(crate) struct RegisterArgs {
    /// Cloud to move: a file of any format that `info` reads, or - for the standard input (with
    /// --format); in metres. With a folder or a pattern in quotes, the command registers each cloud
    /// with the target
    #[arg(value_name = "SOURCE")]
    pub(crate) source: PathBuf,
    /// Cloud to align with: a file, or -
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,

    /// Edge of the cubes whose points are merged into one, in metres: about a hundredth of the
    /// extent of a scene
    #[arg(long, value_name = "V", default_value_t = RegisterParams::default().voxel_size, allow_negative_numbers = true)]
    pub(crate) voxel_size: f64,
    /// Both clouds are upright, with z up: find the pose by a search over x, y, z and yaw, which needs no
    /// points that are alike
    #[arg(long)]
    pub(crate) level: bool,
    /// How to refine the pose: by generalized ICP, by point-to-plane ICP, or not at all. Without a
    /// refinement the command does not check whether the clouds slide along each other
    #[arg(long, default_value = "gicp", value_parser = names::<Refine>(Refine::NAMES))]
    pub(crate) refine: Refine,

    /// Write the source in the frame of the target: all points with all columns. A source without
    /// an answer is not written. Several sources: a folder, in which each source NAME.* gets a file
    /// NAME.ply
    #[arg(long, value_name = "ALIGNED.ply|.pcd|.npz|DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write a picture of the source before and after. It is written without an answer too. Each cloud
    /// has a colour of its own, so there is no --color-by: info --visualize colours one cloud
    #[arg(long, value_name = "OUT.gif|.png|.html")]
    pub(crate) visualize: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl RegisterArgs {
    /// The parameters of the library.
    pub(crate) const fn params(&self) -> RegisterParams {
        RegisterParams { voxel_size: self.voxel_size, level: self.level, refine: self.refine }
    }
}
