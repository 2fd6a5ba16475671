//! Runs of odometry and localization over inputs: what becomes of an input that cannot be used,
//! when and where each pose is, and what is unusual about it.

mod clock;
mod covariance;
mod localize;
mod odometry;
mod pose_csv;
mod statuses;
mod times;
mod trajectory;
mod unsure;
mod untracked;

pub use localize::LocalizeRun;
pub use odometry::{OdometryRun, pose_stamp_ns};
pub use pose_csv::{PoseFrames, PoseNote};
pub use statuses::{FixStatuses, SweepStatuses};
pub use times::TimesColumn;
pub use trajectory::{Added, Trajectory, TrajectoryFormat, sha256};
pub use unsure::Unsure;

use crate::{DataError, is_of_input};
use pointmill::{Error, PointCloud, Rows};
use pointmill_io::{Scan, escape};
use web_time::Instant;

/// An input of a run, and its pose.
#[derive(Debug)]
pub struct RunStep<T> {
    /// What the pipeline found: a step of odometry, or a fix.
    pub found: T,
    /// The seconds of the pose: of its stamp, where the run has stamps.
    pub seconds: f64,
    /// Metres since the pose before.
    pub moved: f64,
    /// The input that was read, or why it cannot be used. Without one the pose is the expected one.
    pub scan: Result<Scan, DataError>,
    /// What is unusual, beside the warnings of the reader.
    pub warnings: Vec<String>,
    /// Milliseconds of reading.
    pub read_ms: f64,
    /// Milliseconds of the pipeline.
    pub ms: f64,
}

/// What a pipeline found, its milliseconds, and the scan or why it cannot be used.
type Pushed<T> = (T, f64, Result<Scan, DataError>);

/// Pushes an input that was read, with the times of its points if there are some.
///
/// The sensor also moved during an input that cannot be used. Such an input is pushed without
/// points, and the pose goes on as it was expected.
fn push_or_skip<T>(
    input: &str,
    read: Result<(Scan, Option<Vec<f64>>), DataError>,
    rows: fn(&Scan) -> Result<Rows<'_>, Error>,
    mut push: impl FnMut(Rows<'_>, Option<&[f64]>) -> Result<T, Error>,
) -> Result<Pushed<T>, DataError> {
    let start = Instant::now();
    let error = match read {
        Err(e) => e,
        Ok((scan, times)) => match rows(&scan).and_then(|rows| push(rows, times.as_deref())) {
            Ok(found) => return Ok((found, start.elapsed().as_secs_f64() * 1e3, Ok(scan))),
            Err(e) if is_of_input(&e) => e.into(),
            Err(e) => return Err(e.into()),
        },
    };
    let nothing = PointCloud::new(Vec::new(), 3).map_err(Error::from)?;
    match (push(Rows::from(&nothing), None), error) {
        (Ok(found), error) => Ok((found, 0.0, Err(error))),
        // Memory that was refused amid an input left half a map, which ends the run.
        (Err(_), DataError::Operator(e)) => Err(DataError::Ended(escape(&format!("{input}: {e}")))),
        (Err(e), _) => Err(e.into()),
    }
}
