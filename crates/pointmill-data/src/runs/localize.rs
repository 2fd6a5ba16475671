//! Localization over inputs.

use super::{FixStatuses, PoseFrames, PoseNote, RunStep, Trajectory, push_or_skip};
use crate::inputs::{Inputs, Source, rows};
use crate::{DataError, Observer};
use pointmill::Pose;
use pointmill_io::Scan;
use pointmill_slam::localize::{Fix, Localizer};

/// Localization over scans, one after the other.
#[derive(Debug)]
pub struct LocalizeRun {
    localizer: Localizer,
    drop_zeros: bool,
    trajectory: Trajectory,
    statuses: FixStatuses,
    /// The pose of the sensor on the vehicle, if the trajectory is that of the vehicle.
    sensor: Option<Pose>,
}

impl LocalizeRun {
    /// A run of a localizer that has a pose to start from or searches for one. `drop_zeros` leaves
    /// out points at (0, 0, 0).
    pub fn new(localizer: Localizer, drop_zeros: bool) -> Self {
        let trajectory = Trajectory::new(PoseFrames::new("map", None));
        Self { localizer, drop_zeros, trajectory, statuses: FixStatuses::default(), sensor: None }
    }

    /// With the pose of the sensor on the vehicle: the trajectory has poses of the vehicle. Fixes
    /// stay those of the sensor.
    #[must_use]
    pub fn with_sensor_pose(self, sensor: Option<Pose>) -> Self {
        Self { sensor, trajectory: Trajectory::new(PoseFrames::new("map", sensor)), ..self }
    }

    /// The localizer.
    pub const fn localizer(&self) -> &Localizer {
        &self.localizer
    }

    /// The localizer, for scans that are no inputs.
    pub const fn localizer_mut(&mut self) -> &mut Localizer {
        &mut self.localizer
    }

    /// Reads a scan of the inputs and takes it. One that cannot be used has the pose that was
    /// expected.
    ///
    /// # Errors
    /// What ends the run: a device that no longer answers, the observer.
    pub fn push(
        &mut self,
        inputs: &Inputs,
        source: &Source,
        observer: &dyn Observer,
    ) -> Result<RunStep<Fix>, DataError> {
        let name = source.name();
        let (mut stamp, mut read_ms) = (source.stamp_ns(), 0.0);
        let read = match inputs.read_stamped(source) {
            Err(e) => Err(e.into()),
            Ok(((scan, of_scan), ms)) => {
                (stamp, read_ms) = (of_scan, ms);
                Ok((if self.drop_zeros { scan.without_zeros().0 } else { scan }, None))
            }
        };
        if observer.should_stop() {
            return Err(DataError::Stopped);
        }
        Ok(RunStep { read_ms, ..self.take(&name, read, stamp)? })
    }

    /// Takes a scan that cannot be read, such as a file that cannot be fetched.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn skip(&mut self) -> Result<(), DataError> {
        self.take("", Err(DataError::Stopped), None).map(drop)
    }

    /// Takes a scan that was read, or why it cannot be used.
    fn take(
        &mut self,
        name: &str,
        read: Result<(Scan, Option<Vec<f64>>), DataError>,
        stamp: Option<i64>,
    ) -> Result<RunStep<Fix>, DataError> {
        let mut warnings = Vec::new();
        let (fix, ms, scan) = push_or_skip(name, read, rows, |points, _| self.localizer.push(points, None))?;
        let pose = self.sensor.map_or(fix.map_from_sensor, |sensor| fix.map_from_sensor.compose(&sensor.inverse()));
        let covariance = fix.covariance.filter(|_| fix.status.is_fix());
        let note = PoseNote::of_fix(fix.status.as_str(), &fix.map_from_sensor, covariance, &pose);
        let added = self.trajectory.push_scan(pose, note, stamp);
        if added.is_late {
            let late = "stamp: it does not come after the time of the scan before; times go on from scan to scan";
            warnings.push(late.into());
        }
        if scan.is_ok() {
            self.statuses.count(fix.status);
            warnings.extend(fix.rejection.map(|why| format!("rejected: {why}; using the predicted pose")));
        }
        Ok(RunStep { found: fix, seconds: added.seconds, moved: added.moved, scan, warnings, read_ms: 0.0, ms })
    }

    /// The poses so far.
    pub const fn trajectory(&self) -> &Trajectory {
        &self.trajectory
    }

    /// How many scans that were read have each status.
    pub const fn statuses(&self) -> FixStatuses {
        self.statuses
    }
}
