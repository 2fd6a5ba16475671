//! Flags of `pointmill odometry`.

use crate::flags::{FrameArgs, ReadArgs, SensorArgs, names};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use pointmill::icp::Metric;
use pointmill_data::poses::Deskew;
use pointmill_data::runs::TrajectoryFormat;
use pointmill_slam::odometry::OdometryParams;
use std::path::PathBuf;
use std::str::FromStr;

/// The metrics of the library, by their names.
fn metrics() -> impl TypedValueParser<Value = Metric> {
    let names = OdometryParams::METRICS.iter().map(|metric| metric.as_str());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Metric>())
}

/// Metres, or none for `auto`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VoxelSize(pub(crate) Option<f64>);

impl FromStr for VoxelSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self(None)),
            text => text.parse().map(|size| Self(Some(size))).map_err(|_| "expected metres > 0 or auto".into()),
        }
    }
}

/// `pointmill odometry`
#[derive(Debug, Args)]
pub(crate) struct OdometryArgs {
    /// Sweeps in the order in which they were taken: files, folders, quoted patterns; in metres.
    /// Those of a folder or a pattern are taken in the order of the times of their points, where
    /// these count from 1970 or the like, else in natural order of their names. Without an input,
    /// the built-in synthetic drive
    #[arg(value_name = "DRIVE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Write the poses, a line for each sweep. A sweep that cannot be used has the pose that was
    /// expected. A run that is interrupted writes the poses until then
    #[arg(long, value_name = "POSES.txt|.csv")]
    pub(crate) out: Option<PathBuf>,
    /// Format of the poses: kitti, the upper 12 numbers of the matrix; tum, the time in seconds,
    /// the translation and the quaternion x, y, z, w; or csv, a table with the fields of
    /// `nav_msgs/Odometry`, the status and the covariance. Times are those of the stamps of a bag or of
    /// the names of Argoverse 2, where there are some
    #[arg(long, value_name = "FORMAT", default_value = "kitti")]
    #[arg(value_parser = names::<TrajectoryFormat>(TrajectoryFormat::NAMES))]
    pub(crate) format_poses: TrajectoryFormat,
    /// Take the motion within a sweep out of it: where points have times and the sweeps were not
    /// published deskewed, as those of Argoverse 2 are (auto), always (on: a sweep without times
    /// fails), or never (off). Times are a column named t, time, timestamp or the like, in s, ms,
    /// us or ns; docs/files.md lists the names
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = names::<Deskew>(Deskew::NAMES))]
    pub(crate) deskew: Deskew,
    /// Edge of a voxel of the map in metres; auto takes the largest up to 1 m that leaves the first
    /// sweep enough voxels
    #[arg(long, alias = "voxel", value_name = "M|auto", default_value = "auto", allow_negative_numbers = true)]
    pub(crate) voxel_size: VoxelSize,
    /// Ignore points farther from the sensor than this, in metres
    #[arg(long, value_name = "M", default_value_t = OdometryParams::default().max_range, allow_negative_numbers = true)]
    pub(crate) max_range: f64,
    /// Ignore points nearer to the sensor than this, in metres
    #[arg(long, value_name = "M", default_value_t = OdometryParams::default().min_range, allow_negative_numbers = true)]
    pub(crate) min_range: f64,
    /// Error metric to minimize
    #[arg(long, default_value = "point-to-plane", value_parser = metrics())]
    pub(crate) metric: Metric,
    /// Most steps of an alignment: a limit for sweeps whose alignment does not converge
    #[arg(long, value_name = "N", default_value_t = OdometryParams::default().max_iterations)]
    pub(crate) max_iterations: usize,
    /// Write x, y, z of the points of the map of the whole drive. A map with all columns:
    /// `pointmill merge DRIVE --poses POSES.txt`
    #[arg(long, alias = "map", value_name = "MAP.ply|.pcd|.npz|.las|.laz")]
    pub(crate) map_out: Option<PathBuf>,
    /// Write a picture of the map from above, with the trajectory of the sensor. .html has the
    /// sweeps too, a frame each; .gif follows the sensor, in 120 frames at most
    #[arg(long, value_name = "DRIVE.png|.gif|.html")]
    pub(crate) visualize: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) sensor: SensorArgs,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    /// End at the first sweep that fails
    #[arg(long, help_heading = "Many inputs")]
    pub(crate) fail_fast: bool,
    /// Print a line for every sweep, with its times
    #[arg(long, help_heading = "Many inputs")]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl OdometryArgs {
    /// The parameters of the library.
    pub(crate) fn params(&self) -> OdometryParams {
        OdometryParams {
            voxel_size: self.voxel_size.0,
            max_iterations: self.max_iterations,
            min_range: self.min_range,
            max_range: self.max_range,
            metric: self.metric,
            deskew: self.deskew != Deskew::Off,
            keep_map: self.map_out.is_some() || self.visualize.is_some(),
            ..OdometryParams::default()
        }
    }
}
