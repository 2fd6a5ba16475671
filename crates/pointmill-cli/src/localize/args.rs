//! Flags of `pointmill localize`.

use crate::flags::{FrameArgs, SensorArgs, names, parse_places};
use crate::ndt::MapArgs;
use clap::Args;
use pointmill_data::runs::TrajectoryFormat;
use pointmill_slam::localize::{CovarianceMethod, LocalizerParams};
use std::path::PathBuf;

/// `pointmill localize`
#[derive(Debug, Args)]
pub(crate) struct LocalizeArgs {
    /// Scans in the order in which they were taken: files, folders, quoted patterns; in metres, in
    /// the frame of the sensor, z up. Those of a folder or a pattern are taken as by `odometry`
    #[arg(value_name = "SCAN", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) with: MapArgs,

    /// Pose of the sensor at the first scan, or with --sensor-pose that of the vehicle, near which
    /// the scan is aligned: a file of one pose, as described at `ndt score --pose`, or 6 numbers
    /// "X Y Z ROLL PITCH YAW" in metres and radians. Without it, the first scan is searched for
    #[arg(help_heading = None::<&str>, long, alias = "start", value_name = "POSE.txt", allow_hyphen_values = true, conflicts_with = "region")]
    pub(crate) guess: Option<PathBuf>,
    /// Where a search looks, in metres of the map. Without it, in 20 m around the last pose, and at
    /// the first scan in the whole map
    #[arg(help_heading = None::<&str>, long, value_name = "X0,Y0,X1,Y1", allow_hyphen_values = true, value_parser = parse_places::<4>)]
    pub(crate) region: Option<[f64; 4]>,
    /// Range of headings to search, in degrees
    #[arg(help_heading = None::<&str>, long, value_name = "A,B", default_value = "-180,180", allow_hyphen_values = true, value_parser = parse_yaw_range)]
    pub(crate) yaw_range: [f64; 2],
    /// Height of the sensor above the ground in metres. By default that of the lowest points of
    /// each scan
    #[arg(help_heading = None::<&str>, long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) sensor_height: Option<f64>,
    /// Half the edge of the square around the last pose that is searched without a region, in metres
    #[arg(help_heading = None::<&str>, long, value_name = "M", default_value_t = LocalizerParams::default().search_radius, allow_negative_numbers = true)]
    pub(crate) search_radius: f64,
    /// Thin a scan out to one point of each cube of this edge in metres
    #[arg(help_heading = None::<&str>, long, value_name = "M", default_value_t = LocalizerParams::default().voxel_size, allow_negative_numbers = true, value_parser = parse_edge)]
    pub(crate) scan_voxel_size: f64,
    /// Maximum number of points of a scan to align; of more, every k-th is taken
    #[arg(help_heading = None::<&str>, long, value_name = "N", default_value_t = LocalizerParams::default().max_points)]
    pub(crate) max_points: usize,
    /// Ignore points nearer to the sensor than this, in metres
    #[arg(help_heading = None::<&str>, long, value_name = "M", default_value_t = LocalizerParams::default().min_range, allow_negative_numbers = true)]
    pub(crate) min_range: f64,
    /// Ignore points farther from the sensor than this, in metres
    #[arg(help_heading = None::<&str>, long, value_name = "M", default_value_t = LocalizerParams::default().max_range, allow_negative_numbers = true)]
    pub(crate) max_range: f64,
    /// Minimum likelihood (NVTL) of a fix, for cells of 2 m; scaled for others
    #[arg(help_heading = None::<&str>, long, value_name = "L", default_value_t = LocalizerParams::default().min_nvtl, allow_negative_numbers = true)]
    pub(crate) min_nvtl: f64,
    /// Maximum distance of a fix from the prediction, in metres
    #[arg(help_heading = None::<&str>, long, value_name = "M", default_value_t = LocalizerParams::default().max_distance, allow_negative_numbers = true)]
    pub(crate) max_distance: f64,
    /// Minimum share of the scan above the ground, where the map covers the place, that the map
    /// explains
    #[arg(help_heading = None::<&str>, long, value_name = "SHARE", default_value_t = LocalizerParams::default().min_explained, allow_negative_numbers = true)]
    pub(crate) min_explained: f64,
    /// Minimum share of the map that the scan confirms, of what it confirms or sees through
    #[arg(help_heading = None::<&str>, long, value_name = "SHARE", default_value_t = LocalizerParams::default().min_confirmed, allow_negative_numbers = true)]
    pub(crate) min_confirmed: f64,
    /// Minimum part by which a fix that no fix led to is better than the best other place. Half of
    /// the share of the scan that the map does not cover is added
    #[arg(help_heading = None::<&str>, long, value_name = "SHARE", default_value_t = LocalizerParams::default().min_margin, allow_negative_numbers = true)]
    pub(crate) min_margin: f64,
    /// Search after this many rejected scans in succession
    #[arg(help_heading = None::<&str>, long, value_name = "N", default_value_t = LocalizerParams::default().max_rejections)]
    pub(crate) max_rejections: usize,
    /// How the uncertainty of a fix is estimated
    #[arg(help_heading = None::<&str>, long = "uncertainty", default_value = "laplace", value_parser = names::<CovarianceMethod>(CovarianceMethod::NAMES))]
    pub(crate) method: CovarianceMethod,
    /// Write the poses, a line for each scan. A scan without a fix has the pose that was expected.
    /// A run that is interrupted writes the poses until then
    #[arg(help_heading = None::<&str>, long, value_name = "POSES.txt|.csv")]
    pub(crate) out: Option<PathBuf>,
    /// Format of the poses: kitti, the upper 12 numbers of the matrix; tum, the time in seconds,
    /// the translation and the quaternion x, y, z, w; or csv, a table with the fields of
    /// `nav_msgs/Odometry`, the status and the covariance. Times are the stamps of a bag or of the names
    /// of Argoverse 2; without stamps a scan is 0.1 s after the one before
    #[arg(help_heading = None::<&str>, long, value_name = "FORMAT", default_value = "kitti")]
    #[arg(value_parser = names::<TrajectoryFormat>(TrajectoryFormat::NAMES))]
    pub(crate) format_poses: TrajectoryFormat,
    /// Write a picture of the map from above, with the poses of the sensor. .html has the scans
    /// too, a frame each; .gif follows the sensor, in 120 frames at most
    #[arg(help_heading = None::<&str>, long, value_name = "DRIVE.png|.gif|.html")]
    pub(crate) visualize: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) sensor: SensorArgs,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    /// End at the first scan that cannot be read
    #[arg(long, help_heading = "Many inputs")]
    pub(crate) fail_fast: bool,
    /// Print a line for every scan, with its times
    #[arg(long, help_heading = "Many inputs")]
    pub(crate) verbose: bool,
}

/// The edge of a cube. The library calls it the voxel size, which is a flag of the map here.
fn parse_edge(text: &str) -> Result<f64, String> {
    let edge = text.parse::<f64>().ok().filter(|edge| edge.is_finite() && *edge > 0.0);
    edge.ok_or_else(|| "expected a finite number > 0".into())
}

/// A range of headings.
fn parse_yaw_range(text: &str) -> Result<[f64; 2], String> {
    let range @ [least, most] = parse_places(text)?;
    if least <= most { Ok(range) } else { Err("expected A,B in degrees with A <= B".into()) }
}

impl LocalizeArgs {
    /// The parameters of the library.
    pub(crate) fn params(&self) -> LocalizerParams {
        LocalizerParams {
            voxel_size: self.scan_voxel_size,
            max_points: self.max_points,
            min_range: self.min_range,
            max_range: self.max_range,
            min_nvtl: self.min_nvtl,
            max_distance: self.max_distance,
            min_explained: self.min_explained,
            min_confirmed: self.min_confirmed,
            min_margin: self.min_margin,
            max_rejections: self.max_rejections,
            search_radius: self.search_radius,
            region: self.region,
            yaw_range: self.yaw_range.map(f64::to_radians),
            sensor_height: self.sensor_height,
            covariance: self.method,
            ..LocalizerParams::default()
        }
    }
}
