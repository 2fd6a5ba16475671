//! What is asked for: the values of the flags, and the library's parameters.

use crate::args::RoiPoolArgs;
use clap::ValueEnum;
use pointmill::BoxOrigin;
use pointmill::roi_pool::{BoxParams, PoolMode, RoiLayout, RoiPoolParams};
use serde::Serialize;

/// `--mode`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// The largest value of each channel, the first of those that are equal
    Max,
    /// The mean
    Mean,
}

/// `--origin`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Origin {
    /// The centre of the bottom face, as mmcv reads boxes
    Bottom,
    /// The centre of the box, as OpenPCDet reads them
    Center,
}

/// `--output`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Output {
    /// All voxels; the kept points of each in so many places: count, indices, zeros
    Dense,
    /// All voxels; the kept points without padding
    Csr,
    /// The voxels that have points alone
    Sparse,
}

/// `--inside`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Inside {
    /// The lowest box that holds each point, or -1
    Part,
    /// For each point and box whether the box holds it
    All,
    /// How many points each box holds
    Count,
    /// The points of each box
    Crop,
}

/// What to do with boxes and points.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    Pool(RoiPoolParams),
    Inside(Inside, BoxParams),
}

impl Task {
    /// The task that the flags name; its values are checked where it is begun.
    pub(crate) fn of(args: &RoiPoolArgs) -> Self {
        let origin = match args.origin {
            Origin::Bottom => BoxOrigin::BottomCenter,
            Origin::Center => BoxOrigin::Center,
        };
        if let Some(inside) = args.inside {
            return Self::Inside(inside, BoxParams { origin, margin: args.margin });
        }
        Self::Pool(RoiPoolParams {
            out_size: args.out_size,
            max_points_per_voxel: args.max_points,
            mode: match args.mode {
                Mode::Max => PoolMode::Max,
                Mode::Mean => PoolMode::Mean,
            },
            origin,
            margin: args.margin,
            layout: match args.output {
                Output::Dense => RoiLayout::Dense,
                Output::Csr => RoiLayout::Csr,
                Output::Sparse => RoiLayout::Sparse,
            },
            lists: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn task(flags: &str) -> Task {
        let line = format!("pointmill roi-pool {flags}");
        let Command::RoiPool(args) = Cli::try_parse_from(line.split_whitespace()).unwrap().command else {
            panic!("another command")
        };
        Task::of(&args)
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let Task::Pool(params) = task("") else { panic!("no pooling") };
        assert_eq!(params, RoiPoolParams::default());
        let Task::Inside(Inside::Count, params) = task("--inside count") else { panic!("no count") };
        assert_eq!(params, BoxParams::default());
    }

    #[test]
    fn flags_become_parameters() {
        let flags = "--out-size 3,4,5 --max-points 6 --mode mean --origin center --margin 1e-5 --output csr";
        let Task::Pool(params) = task(flags) else { panic!("no pooling") };
        let wanted = RoiPoolParams {
            out_size: [3, 4, 5],
            max_points_per_voxel: 6,
            mode: PoolMode::Mean,
            origin: BoxOrigin::Center,
            margin: 1e-5,
            layout: RoiLayout::Csr,
            lists: true,
        };
        assert_eq!(params, wanted);
    }
}
