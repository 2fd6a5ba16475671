//! Flags of `pointmill icp`.

use crate::flags::{ReadArgs, WorkArgs, names};
use clap::Args;
use pointmill::icp::{IcpParams, Metric, Robust, Search, Stage};
use std::path::PathBuf;

/// `--schedule`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schedule(Vec<Stage>);

/// `pointmill icp`
#[derive(Debug, Args)]
pub(crate) struct IcpArgs {
    /// Cloud to move: a file of any format that `info` reads, or - for the standard input (with --format); in metres. A folder or a quoted pattern aligns each of its clouds with the target
    #[arg(value_name = "SOURCE")]
    pub(crate) source: PathBuf,
    /// Cloud to align with: a file, or -
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,

    /// Error metric to minimize: distances between points, from points to the planes at their neighbours, or between surface patches (generalized ICP)
    #[arg(long, default_value = "point-to-plane", value_parser = names::<Metric>(Metric::NAMES))]
    pub(crate) metric: Metric,
    /// Search for neighbours; the result is the same with each
    #[arg(long, default_value = "auto", value_parser = names::<Search>(Search::NAMES))]
    pub(crate) search: Search,
    /// Ignore pairs that are farther apart than these metres [default: no limit]
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(crate) max_distance: Option<f64>,
    /// File with the pose to start from, in the format of `ndt align --guess` [default: the identity]
    #[arg(long, value_name = "POSE.txt")]
    pub(crate) guess: Option<PathBuf>,
    /// Most iterations of a stage
    #[arg(long, value_name = "N", default_value_t = IcpParams::default().max_iterations)]
    pub(crate) max_iterations: usize,
    /// End a stage at a step shorter than this: the motion of the source points divided by their distance from their mean, both as root mean squares
    #[arg(long, value_name = "T", default_value_t = IcpParams::default().step_tolerance, allow_negative_numbers = true)]
    pub(crate) step_tolerance: f64,
    /// Stages, from coarse to fine. V is the edge of the cells whose points are merged into one (0 for all points), D the largest distance of a pair or `none`; both in metres
    #[arg(long, value_name = "V:D,...", value_parser = parse_schedule, conflicts_with = "max_distance")]
    pub(crate) schedule: Option<Schedule>,
    /// Weight of a pair by its residual, with a width in metres: none, huber:K, cauchy:K, geman-mcclure:K or tukey:K
    #[arg(long, value_name = "KERNEL", default_value = "none")]
    pub(crate) robust: Robust,
    /// Leave out points at exactly (0, 0, 0), which some sensors return for no echo
    #[arg(long)]
    pub(crate) drop_zeros: bool,

    /// Write the source in the frame of the target: all points with all columns; normals (nx, ny, nz) are rotated too. For many sources a folder that gets NAME.ply for each source NAME.*
    #[arg(long, value_name = "ALIGNED.ply|.pcd|.npz|DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write a picture of the source moving onto the target: .gif pose by pose, .png before and after, .rrd for rerun (in a build with the feature rerun)
    #[arg(long, value_name = "OUT.gif|.png|.rrd")]
    pub(crate) visualize: Option<PathBuf>,
    /// Align again with each search, and plot the time of each iteration and the distance of the pairs. Brute force uses a part of large clouds and few iterations, unless --search asks for it
    #[arg(long, value_name = "OUT.svg|.png")]
    pub(crate) plot: Option<PathBuf>,

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
            drop_zeros: self.drop_zeros,
            schedule: self.schedule.as_ref().map_or_else(Vec::new, |Schedule(stages)| stages.clone()),
            ..IcpParams::default()
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
