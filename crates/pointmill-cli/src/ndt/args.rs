//! What `pointmill ndt` takes. Its flags are explained here and nowhere else.

use crate::args::{ReadArgs, parse_bytes};
use crate::batch::{BatchArgs, ResumeArgs};
use crate::device::OnOomArgs;
use clap::{Args, Subcommand, ValueEnum};
use pointmill::ndt::{Covariance, NdtAlignParams, NdtParams};
use pointmill_io::Limits;
use serde::Serialize;
use std::path::PathBuf;

/// Edge of a cell in metres, where nothing says another.
pub(crate) const RESOLUTION: f64 = 2.0;

/// `pointmill ndt`
#[derive(Debug, Subcommand)]
pub(crate) enum NdtCommand {
    /// Make the grid of clouds, or a grid for each; with no input, of a built-in synthetic drive of 10 sweeps
    Build(BuildArgs),
    /// Add up moments that were summed apart, take some away, and make the grid
    Merge(MergeArgs),
    /// Tell how well a scan fits a map at given poses
    Score(ScoreArgs),
    /// Find the pose at which a scan fits a map best
    Align(AlignArgs),
}

/// `--covariance`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Model {
    /// S / (n - 1), with S the scatter of a cell's n points
    Unbiased,
    /// (I + S) / (n - 1), as Autoware makes it: matching converges from farther away
    Autoware,
    /// S / n
    Population,
}

impl Model {
    /// The model of the library's parameters.
    pub(crate) const fn of(covariance: Covariance) -> Self {
        match covariance {
            Covariance::Unbiased => Self::Unbiased,
            Covariance::Autoware => Self::Autoware,
            Covariance::Population => Self::Population,
        }
    }
}

impl Default for Model {
    fn default() -> Self {
        Self::of(NdtParams::default().covariance)
    }
}

/// Which cells there are.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct CellArgs {
    /// Cells of fewer points are left out [default: 6]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) min_points: Option<u32>,
    /// Eigenvalues below this part of a cell's largest are raised to it [default: 0.01]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub(crate) eigen_ratio: Option<f64>,
}

impl CellArgs {
    /// The library's parameters.
    pub(crate) fn params(&self, covariance: Model) -> NdtParams {
        let default = NdtParams::default();
        NdtParams {
            min_points: self.min_points.unwrap_or(default.min_points),
            covariance: match covariance {
                Model::Unbiased => Covariance::Unbiased,
                Model::Autoware => Covariance::Autoware,
                Model::Population => Covariance::Population,
            },
            eigen_ratio: self.eigen_ratio.unwrap_or(default.eigen_ratio),
        }
    }
}

/// `pointmill ndt build`
#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// Files, folders, quoted patterns, or - for the standard input (with --format)
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,

    /// Edge of a cell in metres
    #[arg(long, value_name = "M", default_value_t = RESOLUTION, allow_negative_numbers = true)]
    pub(crate) resolution: f64,
    /// Which matrix is called a cell's covariance [default: autoware]
    #[arg(long, value_enum)]
    pub(crate) covariance: Option<Model>,
    #[command(flatten)]
    pub(crate) cells: CellArgs,
    /// Leave out points at exactly (0, 0, 0), which some sensors give where nothing came back
    #[arg(long)]
    pub(crate) drop_zeros: bool,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    #[command(flatten)]
    pub(crate) on_oom: OnOomArgs,

    /// Write the grid of all inputs: GRID.npz; or into a folder (one that exists, a name ending in /, or of a folder's or a pattern's files any name without .npz) a grid NAME.npz for each input NAME.*
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Write the sums that can be merged: OUT.arrow, or into a folder NAME.arrow for each input NAME.*
    #[arg(long, value_name = "PATH")]
    pub(crate) moments: Option<PathBuf>,
    /// Write a picture of the cells as ellipses over the points; of a grid for each input, the first
    #[arg(long, value_name = "OUT.png")]
    pub(crate) visualize: Option<PathBuf>,
}

/// `pointmill ndt merge`
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Moments as `ndt build --moments` writes them, files or quoted patterns, all of one resolution
    #[arg(value_name = "A.arrow", required = true)]
    pub(crate) inputs: Vec<String>,
    /// Take the points of these moments away again, after all were added
    #[arg(long, value_name = "C.arrow")]
    pub(crate) minus: Vec<String>,

    /// Which matrix is called a cell's covariance [default: autoware]
    #[arg(long, value_enum)]
    pub(crate) covariance: Option<Model>,
    #[command(flatten)]
    pub(crate) cells: CellArgs,
    /// Most bytes of memory for what is read of an input; K, M and G count in 1024s [default: 16G]
    #[arg(long, value_name = "N[K|M|G]", value_parser = parse_bytes)]
    pub(crate) max_memory: Option<u64>,

    /// Write the grid
    #[arg(long, value_name = "GRID.npz")]
    pub(crate) out: Option<PathBuf>,
    /// Write the sums
    #[arg(long, value_name = "OUT.arrow")]
    pub(crate) moments: Option<PathBuf>,
}

impl MergeArgs {
    /// How much a read may take.
    pub(crate) fn limits(&self) -> Limits {
        let default = Limits::default();
        Limits { max_memory: self.max_memory.or(default.max_memory), ..default }
    }
}

/// A map, and what is to be matched with it.
#[derive(Debug, Args)]
pub(crate) struct MatchArgs {
    /// The map: a grid (.npz), moments (.arrow), or clouds: a file, a folder of tiles, or a quoted pattern
    #[arg(long, value_name = "MAP")]
    pub(crate) map: String,
    /// The scan: a file of any format that `info` knows, or - for the standard input (with --format); in metres, in the frame of the sensor. A folder or a quoted pattern for many scans, each matched at all poses
    #[arg(long, value_name = "SCAN|DIR")]
    pub(crate) scan: String,

    /// Edge of a cell in metres, where the map is made of clouds [default: 2]
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) resolution: Option<f64>,
    /// Which matrix is called a cell's covariance, where the map is no grid yet [default: autoware]
    #[arg(long, value_enum)]
    pub(crate) covariance: Option<Model>,
    #[command(flatten)]
    pub(crate) cells: CellArgs,
    /// Leave out points at exactly (0, 0, 0), which some sensors give where nothing came back, of the scan and of clouds that the map is made of
    #[arg(long)]
    pub(crate) drop_zeros: bool,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
}

/// `pointmill ndt score`
#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    pub(crate) matched: MatchArgs,
    /// Poses that take the scan to the map: 16 numbers, a 4x4 matrix row by row, or 6: x y z in metres, roll pitch yaw in radians; or one such pose a line. Entries of a rotation may be 0.001 off the nearest rotation, which then counts
    #[arg(long, value_name = "POSE.txt", required = true, num_args = 1..)]
    pub(crate) pose: Vec<PathBuf>,
}

/// `pointmill ndt align`
#[derive(Debug, Args)]
pub(crate) struct AlignArgs {
    #[command(flatten)]
    pub(crate) matched: MatchArgs,
    /// Poses to begin at, in files as `ndt score --pose` takes them [default: the identity]
    #[arg(long, value_name = "POSE.txt", num_args = 1..)]
    pub(crate) guess: Vec<PathBuf>,
    /// Most steps
    #[arg(long, value_name = "N", default_value_t = NdtAlignParams::default().max_iterations)]
    pub(crate) max_iterations: usize,
    /// Longest step, as the length of all six numbers of a pose
    #[arg(long, value_name = "L", default_value_t = NdtAlignParams::default().step_size, allow_negative_numbers = true)]
    pub(crate) step_size: f64,
    /// A shorter step ends it
    #[arg(long, value_name = "L", default_value_t = NdtAlignParams::default().epsilon, allow_negative_numbers = true)]
    pub(crate) epsilon: f64,
    /// Write a picture of the scan before and after over the map's cells: .png side by side, .gif one after the other
    #[arg(long, value_name = "OUT.png|.gif")]
    pub(crate) visualize: Option<PathBuf>,
}
