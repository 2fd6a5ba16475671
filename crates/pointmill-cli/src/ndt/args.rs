//! Flags of `pointmill ndt`.

use crate::examples;
use crate::failure::Failure;
use crate::flags::{FrameArgs, MemoryArgs, ReadArgs, SensorArgs, WorkArgs, names};
use clap::{Args, Subcommand};
use pointmill::ndt::{Covariance, NdtAlignParams, NdtParams};
use pointmill_data::maps::BuildOptions;
use pointmill_data::poses::Deskew;
use pointmill_data::runs::TrajectoryFormat;
use std::path::{Path, PathBuf};

/// Edge of a cell in metres, unless a flag or a file gives another.
pub(crate) const RESOLUTION: f64 = 2.0;

/// `pointmill ndt`
#[derive(Debug, Subcommand)]
pub(crate) enum NdtCommand {
    /// Build one map of all clouds, or one map for each cloud. A map is a grid of cells. Without an
    /// input, the command uses 10 built-in synthetic sweeps
    #[command(after_help = examples::NDT_BUILD)]
    Build(BuildArgs),
    /// Merge the moments of several runs of `ndt build --moments`, and build the map. Moments are
    /// the sums from which a map is built; --minus subtracts some
    #[command(after_help = examples::NDT_MERGE)]
    Merge(MergeArgs),
    /// Score how well each scan fits a map at each given pose
    #[command(after_help = examples::NDT_SCORE)]
    Score(ScoreArgs),
    /// Find the pose at which a scan fits a map best
    #[command(after_help = examples::NDT_ALIGN)]
    Align(AlignArgs),
}

/// Which cells are kept.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct CellArgs {
    /// Covariance of a cell with n points and scatter matrix S, the sum of squared deviations from
    /// the mean. unbiased: S / (n - 1). autoware: (I + S) / (n - 1); alignments converge from
    /// farther away. population: S / n
    #[arg(long, default_value_t = NdtParams::default().covariance, value_parser = names::<Covariance>(Covariance::NAMES))]
    covariance: Covariance,
    /// Minimum number of points of a cell. Cells with fewer points are left out
    #[arg(long, value_name = "N", default_value_t = NdtParams::default().min_points, allow_negative_numbers = true)]
    min_points: u32,
    /// Minimum ratio of each eigenvalue to the largest eigenvalue of the cell. Smaller eigenvalues
    /// are raised
    #[arg(long, value_name = "R", default_value_t = NdtParams::default().eigen_ratio, allow_negative_numbers = true)]
    eigen_ratio: f64,
}

impl CellArgs {
    /// The parameters of the library.
    pub(crate) const fn params(&self) -> NdtParams {
        let &Self { covariance, min_points, eigen_ratio } = self;
        NdtParams { covariance, min_points, eigen_ratio }
    }

    /// The first flag whose value is not the default.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let NdtParams { covariance, min_points, eigen_ratio } = NdtParams::default();
        let given = [
            ("--covariance", self.covariance != covariance),
            ("--min-points", self.min_points != min_points),
            ("--eigen-ratio", self.eigen_ratio != eigen_ratio),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }
}

/// `pointmill ndt build`
#[derive(Clone, Debug, Args)]
pub(crate) struct BuildArgs {
    /// Files, folders, patterns in quotes such as 'sweeps/*.bin', or - for the standard input,
    /// which needs --format
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Edge of a cell in metres
    #[arg(long, alias = "voxel-size", value_name = "M", default_value_t = RESOLUTION, allow_negative_numbers = true)]
    pub(crate) resolution: f64,
    #[command(flatten)]
    pub(crate) cells: CellArgs,
    /// Skip points at exactly (0, 0, 0). Some sensors report them for beams without an echo
    #[arg(long)]
    pub(crate) drop_zeros: bool,

    /// Move each input by a pose from its frame to the frame of the map: a file of poses as
    /// described at `ndt score --pose`. Pose i belongs to input i. If the poses have times (TUM,
    /// Argoverse 2) and the inputs are clouds of bags or sweeps of Argoverse 2, a pose belongs to
    /// the input whose stamp is at most 1 ms away, or which has it about the middle of its times of
    /// points [default: none; for the folder `LOG/sensors/lidar` of a log of Argoverse 2
    /// `LOG/city_SE3_egovehicle.feather`]
    #[arg(long, value_name = "POSES.txt")]
    pub(crate) poses: Option<PathBuf>,
    /// Move each point by the pose of its own time, between the poses before and after it: where
    /// points and poses have times and the sweeps were not published deskewed (auto), always (on:
    /// an input without times fails), or never (off). Poses need times (TUM). Times of points from
    /// 2001 on count from 1970; others count from the stamp of the cloud of a bag or of the sweep
    /// of Argoverse 2; in other files the pose belongs to the middle of the sweep
    #[arg(long, value_name = "WHEN", default_value = "off", value_parser = names::<Deskew>(Deskew::NAMES))]
    pub(crate) deskew: Deskew,
    #[command(flatten)]
    pub(crate) sensor: SensorArgs,
    /// Edge of a block of a map by blocks in metres, rounded to whole cells [default: 128]. With
    /// this flag or with --poses, a folder as --out becomes a map by blocks: memory is bounded by
    /// the largest input and block, and several runs may add inputs
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) blocks: Option<f64>,
    /// Leave the blocks of a map by blocks unmerged. `ndt merge MAP/` merges them
    #[arg(long)]
    pub(crate) no_merge: bool,

    /// Write the map. GRID.npz: one map of all inputs. A folder: one map NAME.npz for each input
    /// NAME.*. The path is a folder if it exists as a folder, if it ends in /, or if the inputs are
    /// a folder or a pattern and the path does not end in .npz
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Write the moments for `ndt merge`. OUT.arrow: one file. A folder: one file NAME.arrow for
    /// each input NAME.*
    #[arg(long, value_name = "PATH")]
    pub(crate) moments: Option<PathBuf>,
    /// Write a picture of the points with each cell as an ellipse. If each input has its own map,
    /// the picture shows the first. .html has an ellipsoid for each cell
    #[arg(long, value_name = "OUT.png|.html")]
    pub(crate) visualize: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl BuildArgs {
    /// How a map by blocks is built in a folder.
    pub(super) fn of_map<'a>(&'a self, out: &'a Path) -> Result<BuildOptions<'a>, Failure> {
        for (flag, given) in [("--moments", self.moments.is_some()), ("--visualize", self.visualize.is_some())] {
            if given {
                return Err(Failure::Usage(format!("{flag}: cannot be used with a map by blocks")));
            }
        }
        Ok(BuildOptions {
            out,
            inputs: &self.inputs,
            frames: self.frames.frames(),
            read: self.read.options()?,
            drop_zeros: self.drop_zeros,
            poses: self.poses.as_deref(),
            deskew: self.deskew,
            resolution: self.resolution,
            block: self.blocks,
            params: self.cells.params(),
            shared: self.no_merge,
        })
    }
}

/// `pointmill ndt merge`
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Files that `ndt build --moments` has written, or patterns in quotes, all of the same
    /// resolution. Or the folder of a map by blocks, or folders `MAP/blocks/X_Y`: merges all blocks
    /// of the map, or these
    #[arg(value_name = "A.arrow", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Moments to subtract after all others are added
    #[arg(long, value_name = "C.arrow")]
    pub(crate) minus: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) cells: CellArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,

    /// Write the map to this file
    #[arg(long, value_name = "GRID.npz")]
    pub(crate) out: Option<PathBuf>,
    /// Write the merged moments to this file
    #[arg(long, value_name = "OUT.arrow")]
    pub(crate) moments: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

/// A map to match scans with.
#[derive(Debug, Args)]
pub(crate) struct MapArgs {
    /// Map: a grid (.npz), moments (.arrow), the folder of a map by blocks, of which only the
    /// blocks near the poses are read, or point clouds: a file, a folder of tiles, or a pattern in
    /// quotes. The flags of cells apply to moments and clouds only
    #[arg(long, value_name = "MAP")]
    pub(crate) map: PathBuf,
    /// Edge of a cell in metres. By default that of the grid or the moments, and 2 for clouds
    #[arg(long, alias = "voxel-size", value_name = "M", allow_negative_numbers = true)]
    pub(crate) resolution: Option<f64>,
    #[command(flatten)]
    pub(crate) cells: CellArgs,
    /// Skip points at exactly (0, 0, 0). Some sensors report them for beams without an echo. This
    /// applies to the scans and to the clouds of the map
    #[arg(long)]
    pub(crate) drop_zeros: bool,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// A map and the scans to match with it.
#[derive(Debug, Args)]
pub(crate) struct MatchArgs {
    #[command(flatten)]
    pub(crate) with: MapArgs,
    /// Scan: a file of any format that `info` reads, or - for the standard input (with --format);
    /// in metres, in the frame of the sensor. With a folder or a pattern in quotes, the command
    /// matches each scan at every pose
    #[arg(help_heading = None::<&str>, long, value_name = "SCAN|DIR")]
    pub(crate) scan: PathBuf,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

/// `pointmill ndt score`
#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    pub(crate) matched: MatchArgs,
    /// Files of poses from the frame of the scan to the frame of the map, one pose per line: 16
    /// numbers (a 4x4 matrix, row by row), 12 (its first three rows, KITTI), 8 (time x y z qx qy qz
    /// qw, TUM; or as a header of EuRoC names them) or 6 (x y z in metres, roll pitch yaw in
    /// radians). A file with one matrix may have one row per line. A rotation matrix may be up to
    /// 0.001 off per entry; the nearest rotation is used
    #[arg(help_heading = None::<&str>, long, value_name = "POSE.txt", required = true, num_args = 1..)]
    pub(crate) pose: Vec<PathBuf>,
    /// Write a picture of the scan over the cells of the map, at the pose with the highest score
    #[arg(help_heading = None::<&str>, long, value_name = "OUT.png|.html")]
    pub(crate) visualize: Option<PathBuf>,
}

/// `pointmill ndt align`
#[derive(Debug, Args)]
pub(crate) struct AlignArgs {
    #[command(flatten)]
    pub(crate) matched: MatchArgs,
    /// Poses to start from: files, as described at `ndt score --pose`, or 6 numbers
    /// "X,Y,Z,ROLL,PITCH,YAW" each in metres and radians (--guess=-1,... if the first is negative)
    /// [default: the identity, which is right only for a scan near the origin of the map]
    #[arg(help_heading = None::<&str>, long, value_name = "POSE.txt", num_args = 1..)]
    pub(crate) guess: Vec<PathBuf>,
    /// Maximum number of iterations
    #[arg(help_heading = None::<&str>, long, value_name = "N", default_value_t = NdtAlignParams::default().max_iterations)]
    pub(crate) max_iterations: usize,
    /// Maximum length of a step: the norm of its six numbers, metres and radians together
    #[arg(help_heading = None::<&str>, long, value_name = "L", default_value_t = NdtAlignParams::default().step_size, allow_negative_numbers = true)]
    pub(crate) step_size: f64,
    /// Stop, converged, when a step is shorter than this
    #[arg(help_heading = None::<&str>, long, value_name = "L", default_value_t = NdtAlignParams::default().epsilon, allow_negative_numbers = true)]
    pub(crate) epsilon: f64,
    /// Write the poses, a line for each scan: of several guesses the converged alignment with the
    /// highest score. A scan that did not converge has the pose where its alignment ended, one that
    /// cannot be read the first guess
    #[arg(help_heading = None::<&str>, long, value_name = "POSES.txt|.csv")]
    pub(crate) out: Option<PathBuf>,
    /// Format of the poses: kitti, the upper 12 numbers of the matrix; tum, the time in seconds,
    /// the translation and the quaternion x, y, z, w; or csv, a table with the fields of
    /// `nav_msgs/Odometry`, the status and the covariance. Times are the stamps of a bag or of the names
    /// of Argoverse 2; without stamps a scan is 0.1 s after the one before
    #[arg(help_heading = None::<&str>, long, value_name = "FORMAT", default_value = "kitti")]
    #[arg(value_parser = names::<TrajectoryFormat>(TrajectoryFormat::NAMES))]
    pub(crate) format_poses: TrajectoryFormat,
    /// Write a picture of the scan over the cells of the map, before and after the alignment: .png
    /// side by side, .gif and .html as two frames
    #[arg(help_heading = None::<&str>, long, value_name = "OUT.png|.gif|.html")]
    pub(crate) visualize: Option<PathBuf>,
}
