//! Flags of `pointmill icp`.

use crate::flags::{FrameArgs, ReadArgs, WorkArgs, names};
use clap::Args;
use pointmill::icp::{IcpParams, Metric, Robust, Search, Stage};
use std::path::PathBuf;

/// `--schedule`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schedule(Vec<Stage>);

/// `pointmill icp`
#[derive(Debug, Args)]
pub(crate) struct IcpArgs {
    /// Cloud to move: a file of any format that `info` reads, or - for the standard input (with
    /// --format); in metres. With a folder or a pattern in quotes, the command aligns each cloud
    /// with the target
    #[arg(value_name = "SOURCE")]
    pub(crate) source: PathBuf,
    /// Cloud to align with: a file, or -
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,

    /// Error metric to minimize. point-to-point: distances between points. point-to-plane:
    /// distances from points to the planes at their neighbours. gicp: distances between surface
    /// patches (generalized ICP)
    #[arg(long, default_value = "point-to-plane", value_parser = names::<Metric>(Metric::NAMES))]
    pub(crate) metric: Metric,
    /// How to search for neighbours. The pose is the same with each value; only the time differs
    #[arg(long, default_value = "auto", value_parser = names::<Search>(Search::NAMES))]
    pub(crate) search: Search,
    /// Ignore pairs that are farther apart than this distance in metres [default: no limit]
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(crate) max_distance: Option<f64>,
    /// Pose to start from: a file of one, in the format of `ndt score --pose`, or 6 numbers "X Y Z
    /// ROLL PITCH YAW" in metres and radians [default: the identity]
    #[arg(long, value_name = "POSE.txt", allow_hyphen_values = true)]
    pub(crate) guess: Option<PathBuf>,
    /// Maximum number of iterations per stage
    #[arg(long, value_name = "N", default_value_t = IcpParams::default().max_iterations)]
    pub(crate) max_iterations: usize,
    /// End a stage when a step is shorter than this. The length of a step is the root mean square
    /// motion of the source points, divided by their root mean square distance from their mean
    #[arg(long, value_name = "T", default_value_t = IcpParams::default().step_tolerance, allow_negative_numbers = true)]
    pub(crate) step_tolerance: f64,
    /// Stages, from coarse to fine, for example 1:5,0.25:1,0:1. V: voxel size in metres; the points
    /// of a voxel are merged into one; 0 keeps all points. D: maximum distance of a pair in metres,
    /// or `none`. Not allowed with --max-distance
    #[arg(long, value_name = "V:D,...", value_parser = parse_schedule, conflicts_with = "max_distance")]
    pub(crate) schedule: Option<Schedule>,
    /// Robust kernel that weights each pair by its residual: none, huber:K, cauchy:K,
    /// geman-mcclure:K or tukey:K. K is the width of the kernel in metres
    #[arg(long, value_name = "KERNEL", default_value = "none")]
    pub(crate) robust: Robust,
    /// Number of nearest points that a normal is computed from, 3 to 32. Thinned clouds need fewer:
    /// 20 points that are 0.25 m apart are no plane
    #[arg(long, value_name = "N", default_value_t = IcpParams::default().neighbours)]
    pub(crate) neighbours: usize,
    /// Skip points at exactly (0, 0, 0). Some sensors report them for beams without an echo
    #[arg(long)]
    pub(crate) drop_zeros: bool,

    /// Write the source in the frame of the target: all points with all columns; normals (nx, ny,
    /// nz) are rotated too. Several sources: a folder, in which each source NAME.* gets a file
    /// NAME.ply
    #[arg(long, value_name = "ALIGNED.ply|.pcd|.npz|DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write a picture of the source moving onto the target: .gif and .html pose by pose, .png
    /// before and after
    #[arg(long, value_name = "OUT.gif|.png|.html")]
    pub(crate) visualize: Option<PathBuf>,
    /// Repeat the alignment with each search, and plot the time of each iteration and the distance
    /// of the pairs. Brute force runs on a part of large clouds and for few iterations, unless
    /// --search is brute
    #[arg(long, value_name = "OUT.svg|.png")]
    pub(crate) plot: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl IcpArgs {
    /// The parameters of the library.
    pub(crate) fn params(&self) -> IcpParams {
        IcpParams {
            metric: self.metric,
            search: self.search,
            max_distance: self.max_distance,
            robust: self.robust,
            max_iterations: self.max_iterations,
            step_tolerance: self.step_tolerance,
            neighbours: self.neighbours,
            drop_zeros: self.drop_zeros,
            schedule: self.schedule.as_ref().map_or_else(Vec::new, |Schedule(stages)| stages.clone()),
        }
    }
}

fn parse_schedule(text: &str) -> Result<Schedule, String> {
    let stage = |part: &str| {
        let (voxel, distance) = part.split_once(':')?;
        let max_distance = match distance.trim() {
            "none" => None,
            number => Some(number.parse().ok()?),
        };
        Some(Stage { voxel_size: voxel.trim().parse().ok()?, max_distance })
    };
    let stages = text.split(',').map(stage).collect::<Option<_>>();
    stages.map(Schedule).ok_or_else(|| "expected V:D,V:D,... in metres, with a number or `none` for each D".into())
}

#[cfg(test)]
#[path = "../../tests/unit/icp_args.rs"]
mod tests;
