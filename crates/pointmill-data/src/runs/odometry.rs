//! Odometry over inputs.

use super::clock::Clock;
use super::covariance::of_twist;
use super::times::{SweepTimes, TimesColumn};
use super::unsure::Unsure;
use super::{PoseFrames, PoseNote, RunStep, SweepStatuses, Trajectory, push_or_skip, untracked};
use crate::inputs::{Inputs, Source};
use crate::poses::{Deskew, moment_ns};
use crate::{DataError, Observer};
use pointmill::{Pose, Stream};
use pointmill_slam::odometry::{Odometry, OdometryParams, Step, SweepStatus, TimesUse};

/// Odometry over sweeps, one after the other: each pose follows from all before it.
#[derive(Debug)]
pub struct OdometryRun {
    odometry: Odometry,
    trajectory: Trajectory,
    clock: Clock,
    times: SweepTimes,
    statuses: SweepStatuses,
    unsure: Unsure,
    /// Why the first sweep that was not tracked was not.
    untracked: Option<String>,
    /// What the map is about.
    origin: [f64; 3],
    /// The pose of the sensor on the vehicle, if poses and map are of the vehicle.
    sensor: Option<Pose>,
}

impl OdometryRun {
    /// A run without sweeps. `deskew` is what was asked for, of which `params` say what came.
    ///
    /// # Errors
    /// As [`Odometry::new`].
    pub fn new(
        stream: &Stream,
        params: &OdometryParams,
        deskew: Deskew,
        inputs: &Inputs,
    ) -> Result<Self, pointmill::Error> {
        Ok(Self {
            odometry: Odometry::new(stream, params)?,
            trajectory: Trajectory::default(),
            clock: Clock::default(),
            times: SweepTimes::new(deskew, params.deskew),
            statuses: SweepStatuses::default(),
            unsure: Unsure::default(),
            untracked: None,
            origin: inputs.origin(),
            sensor: None,
        })
    }

    /// With the pose of the sensor on the vehicle: the trajectory has poses of the vehicle, and the
    /// world of trajectory, steps and map is the frame of the vehicle's first pose.
    #[must_use]
    pub fn with_sensor_pose(self, sensor: Option<Pose>) -> Self {
        Self { sensor, trajectory: Trajectory::new(PoseFrames::new("odom", sensor)), ..self }
    }

    /// Reads a sweep of the inputs and takes it. One that cannot be used has the pose that was
    /// expected.
    ///
    /// # Errors
    /// What ends the run: a device that no longer answers, memory that was refused amid a sweep,
    /// the observer.
    pub fn push(
        &mut self,
        inputs: &Inputs,
        source: &Source,
        observer: &dyn Observer,
    ) -> Result<RunStep<Step>, DataError> {
        let name = source.name();
        let (mut warnings, mut stamp, mut read_ms) = (Vec::new(), source.stamp_ns(), 0.0);
        let read = match inputs.read_stamped(source) {
            Err(e) => Err(e.into()),
            Ok(((scan, of_scan), ms)) => {
                (stamp, read_ms) = (of_scan, ms);
                let times = scan.times();
                if observer.should_stop() {
                    return Err(DataError::Stopped);
                }
                if !matches!(source, Source::Sweep(_)) {
                    self.times.note(times.as_ref(), observer);
                }
                self.times.of((&name, &scan), times, &mut warnings).map(|times| (scan, times))
            }
        };
        // Points near the origin are aligned; poses are global.
        let (mut step, ms, scan) = push_or_skip(
            &name,
            read,
            |scan| Ok(scan.cloud.points().into()),
            |points, times| self.odometry.push(points, times),
        )?;
        let of_sensor = global(&step.world_from_sensor, self.origin);
        step.world_from_sensor = self.sensor.map_or(of_sensor, |sensor| sensor.compose(&of_sensor));
        let pose = self.sensor.map_or(of_sensor, |sensor| step.world_from_sensor.compose(&sensor.inverse()));
        let stamp = pose_stamp_ns(stamp, &step, self.odometry.params());
        let seconds = self.clock.seconds(self.trajectory.last_seconds(), &step);
        let added = self.trajectory.push(pose, self.note_of(&step, &of_sensor, &pose), seconds, stamp);
        if added.is_late {
            let late = "stamp: it does not come after the time of the sweep before; times go on from sweep to sweep";
            warnings.push(late.into());
        }
        if let Ok(scan) = &scan {
            self.statuses.count(step.status);
            self.unsure.note(self.trajectory.poses().len() - 1, is_sure(step.status));
            if let Some(reason) = untracked::reason(step.status, &scan.cloud, self.odometry.params(), observer) {
                match step.status {
                    SweepStatus::TooFewPoints => warnings.push(format!("{reason}; using the predicted pose")),
                    SweepStatus::Lost => warnings.push(format!("lost: {reason}; using the pose of the sweep before")),
                    _ => {}
                }
                self.untracked.get_or_insert_with(|| format!("{name}: {reason}"));
            }
        }
        match step.times {
            TimesUse::Backwards => {
                warnings.push("times: they run back from the sweep before; used within the sweep alone".into());
            }
            TimesUse::Unusable => {
                warnings.push("times: they span more than 2 s; the sweep is taken as it is".into());
            }
            _ => {}
        }
        Ok(RunStep { found: step, seconds: added.seconds, moved: added.moved, scan, warnings, read_ms, ms })
    }

    /// The poses so far.
    pub const fn trajectory(&self) -> &Trajectory {
        &self.trajectory
    }

    /// Edge in metres of the voxels of the map; none if no sweep had a point in range.
    pub fn voxel_size(&self) -> Option<f64> {
        self.odometry.voxel_size()
    }

    /// The sweeps whose pose is not sure.
    pub const fn unsure(&self) -> &Unsure {
        &self.unsure
    }

    /// How many sweeps that were read have each status.
    pub const fn statuses(&self) -> SweepStatuses {
        self.statuses
    }

    /// Why the first sweep that was not tracked was not, after its name.
    pub fn untracked(&self) -> Option<&str> {
        self.untracked.as_deref()
    }

    /// The column of times of the first sweep that has one.
    pub const fn times_column(&self) -> Option<&TimesColumn> {
        self.times.column()
    }

    /// The points of the map, in global coordinates.
    ///
    /// # Errors
    /// As [`Odometry::map`].
    pub fn map(&self) -> Result<Vec<[f64; 3]>, pointmill::Error> {
        let mut points = self.odometry.map()?;
        points.iter_mut().for_each(|p| (0..3).for_each(|axis| p[axis] += self.origin[axis]));
        if let Some(sensor) = &self.sensor {
            points.iter_mut().for_each(|p| *p = sensor.apply(*p));
        }
        Ok(points)
    }

    /// What is known of the pose of a step. A pose that is no alignment has no covariance.
    fn note_of(&self, step: &Step, of_sensor: &Pose, pose: &Pose) -> PoseNote {
        let found = step.alignment();
        let known = found.covariance.zip(found.pivot).filter(|_| is_sure(step.status));
        let covariance = known.map(|(covariance, pivot)| {
            let pivot = [0, 1, 2].map(|axis| pivot[axis] + self.origin[axis]);
            // Where the origin of the pose is in the world of the sensor, whose axes turn.
            let world = self.sensor.unwrap_or(Pose::IDENTITY);
            let at = self.sensor.map_or(*of_sensor, |_| world.inverse().compose(pose)).translation();
            of_twist(&covariance, pivot, at, &world.rotation())
        });
        PoseNote { status: step.status.as_str(), covariance }
    }
}

/// When the pose of a sweep with a stamp is, in nanoseconds of the clock of stamps.
///
/// The pose of a sweep that is deskewed belongs to the middle of the sweep, whatever moment its
/// stamp is.
pub fn pose_stamp_ns(stamp_ns: Option<i64>, step: &Step, params: &OdometryParams) -> Option<i64> {
    stamp_ns.map(|stamp| moment_ns(stamp, step.time.filter(|_| params.deskew)))
}

/// Whether a status says that the pose is right.
fn is_sure(status: SweepStatus) -> bool {
    [SweepStatus::Started, SweepStatus::Tracked, SweepStatus::Recovered, SweepStatus::Repeated].contains(&status)
}

/// A pose of points about an origin as one of points about zero.
fn global(pose: &Pose, origin: [f64; 3]) -> Pose {
    let back = origin.map(|o| -o);
    if origin == [0.0; 3] { *pose } else { pose.about(back, back) }
}
