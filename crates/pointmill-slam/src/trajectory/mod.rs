//! Trajectories, and how far one is from another.
//!
//! [`evaluate`] compares an estimate with the truth: the absolute trajectory error, relative errors over a number of frames or metres, the drift as the KITTI benchmark defines
//! it, and the errors of each pose.
//!
//! **Units and frames**: metres, radians, seconds. Each pose is `world_from_sensor`. Estimate and
//! truth may have different worlds; [`Alignment`] says whether the estimate is moved onto the truth
//! first.
//!
//! **Determinism**: sums are `f64` in the order of the poses, the same bits on every machine.
//!
//! **Source**: Umeyama, Least-Squares Estimation of Transformation Parameters Between Two Point
//! Patterns, 1991; Geiger, Lenz and Urtasun, Are We Ready for Autonomous Driving?, 2012; Sturm et
//! al., A Benchmark for the Evaluation of RGB-D SLAM Systems, 2012.
//!
//! ```
//! use pointmill::Pose;
//! use pointmill_slam::trajectory::{EvaluationParams, Trajectory, evaluate};
//!
//! // A straight kilometre in steps of ten metres, and an estimate that is one percent too long.
//! let drive = |step: f64| Trajectory::new((0..101).map(|i| Pose::from_translation([step * f64::from(i), 0.0, 0.0])).collect());
//! let found = evaluate(&drive(10.1)?, &drive(10.0)?, &EvaluationParams::default())?;
//! // One percent, and a little more: a segment of the drift ends with the first pose beyond its length.
//! assert!((found.drift.translation.unwrap() - 0.0104).abs() < 1e-4);
//! assert!((found.absolute.translation.max - 10.0).abs() < 1e-9);
//! # Ok::<(), pointmill::Error>(())
//! ```

mod align;
mod associate;
mod errors;
mod evaluate;
mod params;
mod result;
#[cfg(test)]
mod tests;

pub use align::Similarity;
pub use evaluate::evaluate;
pub use params::{Alignment, Delta, EvaluationParams};
pub use result::{Drift, Evaluation, Frame, PoseErrors, Relative, Segments, Statistics};

use pointmill::{Argument, Error, Pose, Result};

/// Most poses of a trajectory: a year at 50 Hz is 1.6e9, a day is 4.3e6.
const MAX_POSES: usize = 1 << 26;

/// Poses in the order in which they were passed, with or without times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    poses: Vec<Pose>,
    times: Option<Vec<f64>>,
    positions_only: bool,
}

impl Trajectory {
    /// A trajectory without times.
    ///
    /// # Errors
    /// More than 2^26 poses; a pose that is not finite.
    pub fn new(poses: Vec<Pose>) -> Result<Self> {
        if poses.len() > MAX_POSES {
            return Err(Error::argument(Argument::Poses, format!("at most {MAX_POSES} poses"), poses.len()));
        }
        if let Some(index) = poses.iter().position(|pose| !pose.is_rigid()) {
            return Err(Error::argument(Argument::Poses, "rigid transforms", format!("one that is not, at {index}")));
        }
        Ok(Self { poses, ..Self::default() })
    }

    /// A trajectory with the time of each pose in seconds.
    ///
    /// # Errors
    /// As [`new`](Self::new); a number of times that is not that of the poses; times that are not
    /// finite. Times need not ascend; of equal ones [`evaluate`] takes the first.
    pub fn with_times(poses: Vec<Pose>, times: Vec<f64>) -> Result<Self> {
        if times.len() != poses.len() {
            let expected = format!("{} times, one for each pose", poses.len());
            return Err(Error::argument(Argument::Times, expected, times.len()));
        }
        if let Some(index) = times.iter().position(|time| !time.is_finite()) {
            let got = format!("{} at {index}", times[index]);
            return Err(Error::argument(Argument::Times, "finite seconds", got));
        }
        Ok(Self { times: Some(times), ..Self::new(poses)? })
    }

    /// The same with positions alone: what the rotations of its poses are is not known.
    #[must_use]
    pub fn of_positions(self) -> Self {
        Self { positions_only: true, ..self }
    }

    /// Whether the rotations of the poses are not known.
    pub const fn positions_only(&self) -> bool {
        self.positions_only
    }

    /// The poses.
    pub fn poses(&self) -> &[Pose] {
        &self.poses
    }

    /// The time of each pose in seconds.
    pub fn times(&self) -> Option<&[f64]> {
        self.times.as_deref()
    }

    /// The number of poses.
    pub const fn len(&self) -> usize {
        self.poses.len()
    }

    /// Whether there is no pose.
    pub const fn is_empty(&self) -> bool {
        self.poses.is_empty()
    }

    /// The length of the way in metres along straight lines from pose to pose.
    pub fn length(&self) -> f64 {
        errors::lengths(&self.poses).last().unwrap_or(0.0)
    }
}
