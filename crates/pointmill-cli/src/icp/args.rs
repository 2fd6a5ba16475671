//! What `pointmill icp` takes. Its flags are explained here and nowhere else.

use crate::args::ReadArgs;
use crate::batch::{BatchArgs, ResumeArgs};
use clap::{Args, ValueEnum};
use pointmill::icp::{IcpParams, Metric, Robust, Search, Stage};
use serde::Serialize;
use std::path::PathBuf;

/// `--metric`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MetricName {
    /// Distances of the points of pairs, in closed form
    PointToPoint,
    /// Distances of source points from the planes at their neighbours
    PointToPlane,
    /// Distances between surface patches: generalized ICP
    Gicp,
}

/// `--search`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SearchName {
    /// The fastest
    Auto,
    /// Every point is looked at
    Brute,
    /// A tree split at medians
    #[value(name = "kdtree")]
    KdTree,
    /// A tree along the Morton curve
    Lbvh,
}

/// `--schedule`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schedule(Vec<Stage>);

/// `pointmill icp`
#[derive(Debug, Args)]
pub(crate) struct IcpArgs {
    /// The cloud that is moved: a file of any format that `info` knows, or - for the standard input (with --format); in metres. A folder or a quoted pattern for many, each of which is brought onto the target
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,
    /// The cloud that it is brought onto: a file, or -
    #[arg(value_name = "TARGET")]
    pub(crate) target: String,

    /// What is made small
    #[arg(long, value_enum, default_value = "point-to-plane")]
    pub(crate) metric: MetricName,
    /// How neighbours are searched for; the answer is the same
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) search: SearchName,
    /// Pairs that are farther apart than these metres do not count [default: none is]
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(crate) max_distance: Option<f64>,
    /// The pose to begin at, in a file as `ndt align --guess` takes it [default: the identity]
    #[arg(long, value_name = "POSE.txt")]
    pub(crate) guess: Option<PathBuf>,
    /// Most steps of a stage
    #[arg(long, value_name = "N", default_value_t = IcpParams::default().max_iterations)]
    pub(crate) max_iterations: usize,
    /// A shorter step ends a stage: the motion of the source points by their distance from their mean, both in the root mean square
    #[arg(long, value_name = "T", default_value_t = IcpParams::default().step_tolerance, allow_negative_numbers = true)]
    pub(crate) step_tolerance: f64,
    /// Stages, one after the other: the edge of the cells whose points become one, 0 for all points, and the most distance of a pair or `none`, both in metres
    #[arg(long, value_name = "V:D,...", value_parser = parse_schedule, conflicts_with = "max_distance")]
    pub(crate) schedule: Option<Schedule>,
    /// How pairs are weighed by their residuals, with a width in metres: none, huber:K, cauchy:K, geman-mcclure:K or tukey:K
    #[arg(long, value_name = "KERNEL", default_value = "none", value_parser = str::parse::<Robust>)]
    pub(crate) robust: Robust,
    /// Leave out points at exactly (0, 0, 0), which some sensors give where nothing came back
    #[arg(long)]
    pub(crate) drop_zeros: bool,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,

    /// Write the source in the frame of the target: all points with all columns, normals (nx, ny, nz) turned too; of many sources a folder that gets NAME.ply for each source NAME.*
    #[arg(long, value_name = "ALIGNED.ply|.pcd|.npz|DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write a picture of the source moving onto the target: .gif pose by pose, .png before and after, .rrd for rerun (where it is built with the feature rerun)
    #[arg(long, value_name = "OUT.gif|.png|.rrd")]
    pub(crate) visualize: Option<PathBuf>,
    /// Align once more with each search, and write a picture of the time of each iteration and of how far pairs are apart; brute force looks at part of large clouds, and makes few steps, unless --search asks for it
    #[arg(long, value_name = "OUT.svg|.png")]
    pub(crate) plot: Option<PathBuf>,
}

impl IcpArgs {
    /// The library's parameters, from the identity.
    pub(crate) fn params(&self) -> IcpParams {
        IcpParams {
            metric: match self.metric {
                MetricName::PointToPoint => Metric::PointToPoint,
                MetricName::PointToPlane => Metric::PointToPlane,
                MetricName::Gicp => Metric::Gicp,
            },
            search: match self.search {
                SearchName::Auto => Search::Auto,
                SearchName::Brute => Search::Brute,
                SearchName::KdTree => Search::KdTree,
                SearchName::Lbvh => Search::Lbvh,
            },
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
mod tests {
    use super::*;

    #[test]
    fn stages_are_taken_to_the_letter() {
        let stage = |voxel_size, max_distance| Stage { voxel_size, max_distance };
        let wanted = Schedule(vec![stage(1.0, Some(5.0)), stage(0.25, None), stage(0.0, Some(0.5))]);
        assert_eq!(parse_schedule("1:5, 0.25:none,0:.5"), Ok(wanted));
        for bad in ["", "1", "1:", ":1", "1:2,", "1:2:3", "a:1"] {
            assert!(parse_schedule(bad).unwrap_err().starts_with("expected V:D"), "{bad}");
        }
    }
}
