//! When sweeps were taken: stamps of bags, and times that Argoverse 2 has in the names of its
//! sweeps.

use pointmill_io::bag::TimeOrigin;
use pointmill_io::{Dataset, Format};
use std::path::{Path, PathBuf};

/// Where Argoverse 2 has the poses of a log, and in which folder of it the sweeps.
const LOG_POSES: &str = "city_SE3_egovehicle.feather";
const LOG_SWEEPS: &str = "sensors/lidar";

/// The poses of the log of Argoverse 2 that a sweep, or the folder of its sweeps, belongs to:
/// `city_SE3_egovehicle.feather` beside `sensors/lidar`, if it is there.
///
/// ```
/// assert_eq!(pointmill_data::find_log_poses("missing/sensors/lidar/315966265259836000.feather"), None);
/// ```
pub fn find_log_poses(sweeps: impl AsRef<Path>) -> Option<PathBuf> {
    let folder = sweeps.as_ref().ancestors().take(2).find(|path| path.ends_with(LOG_SWEEPS))?;
    Some(folder.parent()?.parent()?.join(LOG_POSES)).filter(|path| path.is_file())
}

/// The time of a sweep of Argoverse 2 in seconds, from its name: a `.feather` file in a folder
/// `sensors/lidar`, named by its nanoseconds.
///
/// ```
/// use pointmill_data::log_stamp;
/// assert_eq!(log_stamp("log/sensors/lidar/315966265259836000.feather"), Some(315_966_265.259_836));
/// assert_eq!(log_stamp("log/315966265259836000.feather"), None);
/// ```
pub fn log_stamp(sweep: impl AsRef<Path>) -> Option<f64> {
    log_stamp_ns(sweep).map(|nanoseconds| nanoseconds as f64 / 1e9)
}

/// The same in nanoseconds.
///
/// ```
/// use pointmill_data::log_stamp_ns;
/// assert_eq!(log_stamp_ns("log/sensors/lidar/315966265259836000.feather"), Some(315_966_265_259_836_000));
/// ```
pub fn log_stamp_ns(sweep: impl AsRef<Path>) -> Option<u64> {
    let sweep = sweep.as_ref();
    let is_sweep = Format::from_name(sweep) == Some(Format::Feather) && sweep.parent()?.ends_with(LOG_SWEEPS);
    sweep.file_stem()?.to_str()?.parse().ok().filter(|_| is_sweep)
}

/// Whether a sweep was published without the motion of the sensor within it: its data set says so,
/// or it is in a log of Argoverse 2 with poses.
///
/// ```
/// use pointmill_data::is_deskewed;
/// use pointmill_io::Dataset;
/// assert!(is_deskewed("sweep.feather", Some(Dataset::Argoverse2)) && !is_deskewed("sweep.feather", None));
/// ```
pub fn is_deskewed(sweep: impl AsRef<Path>, dataset: Option<Dataset>) -> bool {
    let sweep = sweep.as_ref();
    dataset.is_some_and(Dataset::is_deskewed) || log_stamp_ns(sweep).is_some() && find_log_poses(sweep).is_some()
}

/// The moment that the pose of a sweep with a stamp belongs to, in nanoseconds of the clock of
/// stamps.
///
/// `time` is the moment in seconds of the clock of the points, where the sweep was deskewed to it.
/// From 1e9 s on it counts from 1970, up to 2 s from the stamp; of another clock it says nothing.
/// Without a time the moment is the stamp.
///
/// ```
/// use pointmill_data::moment_ns;
/// let stamp = 1_700_000_000_000_000_001;
/// assert_eq!([None, Some(0.05), Some(3600.0)].map(|time| moment_ns(stamp, time) - stamp), [0, 50_000_000, 0]);
/// assert_eq!(moment_ns(stamp, Some(1_700_000_000.5)), 1_700_000_000_500_000_000);
/// ```
pub fn moment_ns(stamp_ns: i64, time: Option<f64>) -> i64 {
    match time {
        Some(time) if TimeOrigin::of_time(time) == TimeOrigin::Epoch => nanoseconds(time),
        Some(time) if time.abs() <= TimeOrigin::FARTHEST => stamp_ns.saturating_add(nanoseconds(time)),
        _ => stamp_ns,
    }
}

/// Seconds as whole nanoseconds, the nearest.
fn nanoseconds(seconds: f64) -> i64 {
    let whole = seconds.floor();
    (whole as i64).saturating_mul(1_000_000_000).saturating_add(((seconds - whole) * 1e9).round() as i64)
}
