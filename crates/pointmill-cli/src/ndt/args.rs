//! Flags of `pointmill ndt`.

use crate::flags::{ReadArgs, WorkArgs, names, parse_bytes};
use clap::{Args, Subcommand};
use pointmill::ndt::{Covariance, NdtAlignParams, NdtParams};
use pointmill_io::Limits;
use std::path::PathBuf;

/// Edge of a cell in metres, unless a flag or a file gives another.
pub(crate) const RESOLUTION: f64 = 2.0;

/// `pointmill ndt`
#[derive(Debug, Subcommand)]
pub(crate) enum NdtCommand {
    /// Build the grid of all clouds, or one for each. Without an input, uses a built-in synthetic drive of 10 sweeps
    Build(BuildArgs),
    /// Merge moments that were summed apart, subtract some, and build the grid
    Merge(MergeArgs),
    /// Score how well scans fit a map at given poses
    Score(ScoreArgs),
    /// Find the pose at which a scan fits a map best
    Align(AlignArgs),
}

/// Which cells are kept.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct CellArgs {
    /// Model of the covariance of a cell of n points with scatter S, if the map is not a grid yet: unbiased S / (n - 1), autoware (I + S) / (n - 1), which converges from farther away, population S / n [default: autoware]
    #[arg(long, value_parser = names::<Covariance>(Covariance::NAMES))]
    pub(crate) covariance: Option<Covariance>,
    /// Leave out cells with fewer points [default: 6]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) min_points: Option<u32>,
    /// Raise eigenvalues to at least this part of the largest one of their cell [default: 0.01]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub(crate) eigen_ratio: Option<f64>,
}

impl CellArgs {
    /// The parameters of the library.
    pub(crate) fn params(&self) -> NdtParams {
        let default = NdtParams::default();
        NdtParams {
            min_points: self.min_points.unwrap_or(default.min_points),
            covariance: self.covariance.unwrap_or(default.covariance),
            eigen_ratio: self.eigen_ratio.unwrap_or(default.eigen_ratio),
        }
    }
}

/// `pointmill ndt build`
#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// Files, folders, quoted patterns, or - for the standard input (with --format)
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Edge of a cell in metres
    #[arg(long, value_name = "M", default_value_t = RESOLUTION, allow_negative_numbers = true)]
    pub(crate) resolution: f64,
    #[command(flatten)]
    pub(crate) cells: CellArgs,
    /// Leave out points at exactly (0, 0, 0), which some sensors return for no echo
    #[arg(long)]
    pub(crate) drop_zeros: bool,

    /// Write the grid of all inputs to GRID.npz, or a grid NAME.npz for each input NAME.* into a folder. A folder is one that exists, a name ending in /, or any name without .npz if the inputs are a folder or a pattern
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Write the moments, which can be merged: OUT.arrow, or NAME.arrow for each input NAME.* into a folder
    #[arg(long, value_name = "PATH")]
    pub(crate) moments: Option<PathBuf>,
    /// Write a picture of the cells as ellipses over the points; the first one, if each input has a grid
    #[arg(long, value_name = "OUT.png")]
    pub(crate) visualize: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// `pointmill ndt merge`
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Moments that `ndt build --moments` has written: files or quoted patterns, all of one resolution
    #[arg(value_name = "A.arrow", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Subtract these moments, after all others were added
    #[arg(long, value_name = "C.arrow")]
    pub(crate) minus: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) cells: CellArgs,
    /// Most bytes of memory for reading one input; K, M and G count in 1024s [default: 16G]
    #[arg(long, value_name = "N[K|M|G]", value_parser = parse_bytes)]
    pub(crate) max_memory: Option<u64>,

    /// Write the grid
    #[arg(long, value_name = "GRID.npz")]
    pub(crate) out: Option<PathBuf>,
    /// Write the moments
    #[arg(long, value_name = "OUT.arrow")]
    pub(crate) moments: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

impl MergeArgs {
    /// The limits of the library.
    pub(crate) fn limits(&self) -> Limits {
        let default = Limits::default();
        Limits { max_memory: self.max_memory.or(default.max_memory), ..default }
    }
}

/// A map and the scans to match with it.
#[derive(Debug, Args)]
pub(crate) struct MatchArgs {
    /// Map: a grid (.npz), moments (.arrow), or clouds as a file, a folder of tiles or a quoted pattern
    #[arg(long, value_name = "MAP")]
    pub(crate) map: PathBuf,
    /// Scan: a file of any format that `info` reads, or - for the standard input (with --format); in metres, in the frame of the sensor. A folder or a quoted pattern matches each of its scans at all poses
    #[arg(long, value_name = "SCAN|DIR")]
    pub(crate) scan: PathBuf,

    /// Edge of a cell in metres, if the map is made of clouds [default: 2]
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) resolution: Option<f64>,
    #[command(flatten)]
    pub(crate) cells: CellArgs,
    /// Leave out points at exactly (0, 0, 0), which some sensors return for no echo, in the scan and in clouds of the map
    #[arg(long)]
    pub(crate) drop_zeros: bool,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// `pointmill ndt score`
#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    pub(crate) matched: MatchArgs,
    /// Files of poses that take the scan to the map: 16 numbers, a 4x4 matrix row by row, or 6: x y z in metres, roll pitch yaw in radians; or one such pose a line. A rotation may be 0.001 off; then the nearest rotation is used
    #[arg(help_heading = None::<&str>, long, value_name = "POSE.txt", required = true, num_args = 1..)]
    pub(crate) pose: Vec<PathBuf>,
    /// Write a picture of the scan over the cells of the map, at the pose with the highest score
    #[arg(help_heading = None::<&str>, long, value_name = "OUT.png")]
    pub(crate) visualize: Option<PathBuf>,
}

/// `pointmill ndt align`
#[derive(Debug, Args)]
pub(crate) struct AlignArgs {
    #[command(flatten)]
    pub(crate) matched: MatchArgs,
    /// Files of poses to start from, in the format of `ndt score --pose` [default: the identity]
    #[arg(help_heading = None::<&str>, long, value_name = "POSE.txt", num_args = 1..)]
    pub(crate) guess: Vec<PathBuf>,
    /// Most iterations
    #[arg(help_heading = None::<&str>, long, value_name = "N", default_value_t = NdtAlignParams::default().max_iterations)]
    pub(crate) max_iterations: usize,
    /// Longest step: the length of the vector of all six numbers of a pose
    #[arg(help_heading = None::<&str>, long, value_name = "L", default_value_t = NdtAlignParams::default().step_size, allow_negative_numbers = true)]
    pub(crate) step_size: f64,
    /// End at a step shorter than this
    #[arg(help_heading = None::<&str>, long, value_name = "L", default_value_t = NdtAlignParams::default().epsilon, allow_negative_numbers = true)]
    pub(crate) epsilon: f64,
    /// Write a picture of the scan over the cells of the map before and after: .png side by side, .gif one after the other
    #[arg(help_heading = None::<&str>, long, value_name = "OUT.png|.gif")]
    pub(crate) visualize: Option<PathBuf>,
}
