//! Odometry: a trajectory from sweeps alone.
//!
//! [`Odometry::push`] takes one sweep after the other and returns the pose of the sensor. Each sweep is thinned out, aligned with a map of the sweeps before it, and added to the
//! map. A pose comes with its doubt: a status, the number of directions that the surfaces determine, and a covariance.
//!
//! **Units and frames**: metres, radians, seconds. `world_from_sensor` takes points of the sensor's frame to the world, which is the sensor's frame at the first pose.
//!
//! **Times of points**: without them a sweep is taken as it is. With them the motion within the sweep is taken out ([`OdometryParams::deskew`]), and the pose belongs to the
//! middle of the times. They may be in any order, of one clock for all sweeps or from the start of each: [`Step::times`] says what they were taken for.
//!
//! **Determinism**: everything but [`Step::timing`] is the same bits for any number of threads.
//!
//! **Source**: Vizzo et al., KISS-ICP: In Defense of Point-to-Point ICP, 2023, for the prediction, the two samplings, the adaptive threshold and the map of points; Chen and
//! Medioni, Object Modelling by Registration of Multiple Range Images, 1992, for the alignment.
//!
//! ```
//! use pointmill::pipelines::odometry::{Odometry, OdometryParams, SweepStatus};
//! use pointmill::{Device, Rows};
//!
//! // The walls, the floor and a step of a room, seen by a sensor that moves by 10 cm a sweep.
//! let room = |moved: f32| -> Vec<[f32; 3]> {
//!     let grid = (0..60).flat_map(|i| (0..60).map(move |j| (i as f32 * 0.1 - 3.0, j as f32 * 0.1 - 3.0)));
//!     grid.flat_map(|(a, b)| [[a, b, -1.0], [a, 3.0, b + 2.0], [a, -3.0, b + 2.0], [3.0, a, b + 2.0], [-3.0, a, b + 2.0]])
//!         .map(|[x, y, z]| [x - moved, y, z])
//!         .collect()
//! };
//! let params = OdometryParams { voxel_size: 0.5, min_range: 0.1, ..OdometryParams::default() };
//! let mut odometry = Odometry::new(&Device::cpu().stream()?, &params)?;
//! for i in 0..4 {
//!     let step = odometry.push(Rows::from(&room(0.1 * i as f32)[..]), None)?;
//!     assert!(matches!(step.status, SweepStatus::Started | SweepStatus::Tracked));
//!     assert!((step.world_from_sensor.translation()[0] - 0.1 * f64::from(i)).abs() < 0.01);
//! }
//! # Ok::<(), pointmill::Error>(())
//! ```

mod cells;
mod clock;
mod map;
mod nearest;
mod params;
mod register;
mod step;
mod sweep;
#[cfg(test)]
mod tests;
mod times;

pub use clock::TimesUse;
pub use params::OdometryParams;
pub use register::SweepFit;
pub use step::{Step, StepTiming, SweepStatus};
pub use times::{TimeUnit, time_column};

use self::clock::{Clock, Reading};
use self::map::LocalMap;
use self::register::{Start, register};
use self::sweep::{Sampler, Sweep, deskewed};
use crate::device::Stream;
use crate::registration::{Registration, Status};
use crate::{Argument, Error, Pose, Result, Rows};
use std::time::Instant;

/// Fewest points of a sweep that are aligned.
const FEWEST_KEYS: usize = 10;
/// The prediction is expected to be off by so many voxels at first, which is also the most.
const FIRST_ERROR: f64 = 1.0;
/// Predictions that are off by less than this part of a voxel do not count.
const STILL: f64 = 0.1;
/// Alignments of a sweep with times, each with the motion that the one before found, all but the last coarse; of the second sweep also with the first sweep deskewed by it.
const ROUNDS: usize = 3;

/// Finds the poses of sweeps, one after the other.
///
/// See the [module](self) for what it does and promises.
#[derive(Debug)]
pub struct Odometry {
    stream: Stream,
    params: OdometryParams,
    sampler: Sampler,
    map: LocalMap,
    clock: Clock,
    last: Option<Last>,
    /// Sum of the squares of how far predictions were off, and their number.
    off: [f64; 2],
    pushed: usize,
}

/// The sweep before.
#[derive(Clone, Debug)]
struct Last {
    pose: Pose,
    /// Motion a second.
    twist: [f64; 6],
    mark: u64,
    /// The first sweep and its moment, until the second says how the sensor moved.
    first: Option<(Sweep, f64)>,
}

impl Odometry {
    /// Odometry on the device of a stream.
    ///
    /// # Errors
    /// Parameters out of range; a stream of a GPU, which is not supported yet.
    pub fn new(stream: &Stream, params: &OdometryParams) -> Result<Self> {
        params.validate()?;
        if !stream.device().is_cpu() {
            return Err(Error::argument(Argument::Stream, "a stream of the CPU", stream.device()));
        }
        let first = FIRST_ERROR * params.voxel_size;
        Ok(Self {
            stream: stream.clone(),
            params: params.clone(),
            sampler: Sampler::default(),
            map: LocalMap::new(params.voxel_size, params.max_points_per_voxel),
            clock: Clock::default(),
            last: None,
            off: [first * first, 1.0],
            pushed: 0,
        })
    }

    /// Takes the next sweep, `[N, columns]` of `f32` or `f64` with x, y, z first, and the time of each point in seconds.
    ///
    /// A sweep that cannot be aligned is no error: the status says why, and the pose is the prediction.
    ///
    /// # Errors
    /// A number of times that is not that of the points; points of another type or on a GPU: nothing was done then. Out of memory: part of the sweep may be in the
    /// map.
    pub fn push<'a>(&mut self, points: impl Into<Rows<'a>>, times: Option<&[f64]>) -> Result<Step> {
        let points = points.into();
        points.check_points(Argument::Points, &self.stream)?;
        if let Some(times) = times.filter(|times| times.len() != points.len()) {
            let expected = format!("{} times, one for each point", points.len());
            return Err(Error::argument(Argument::Times, expected, times.len()));
        }
        self.stream.device().install(|| self.step(points, times))
    }

    /// The points of the map in the world, voxel by voxel, as the voxels entered it; a voxel takes the place of one that left.
    ///
    /// # Errors
    /// Out of memory.
    pub fn map(&self) -> Result<Vec<[f64; 3]>> {
        self.map.all()
    }

    /// The number of sweeps so far.
    pub const fn len(&self) -> usize {
        self.pushed
    }

    /// Whether no sweep was pushed yet.
    pub const fn is_empty(&self) -> bool {
        self.pushed == 0
    }

    /// The parameters.
    pub const fn params(&self) -> &OdometryParams {
        &self.params
    }

    fn step(&mut self, points: Rows<'_>, times: Option<&[f64]>) -> Result<Step> {
        let start = Instant::now();
        let sweep = self.sampler.sample(points, times, &self.params)?;
        let sample_ms = elapsed(start);
        let reading = self.clock.read(sweep.times);
        let predicted = self.last.as_ref().map_or(Pose::IDENTITY, |last| last.after(reading.interval));
        let expected_error = self.expected_error();
        let (aligned, usable) = (sweep.keys.len(), sweep.usable);

        let start = Instant::now();
        let found = self.place(sweep, &reading, predicted)?;
        let align_ms = elapsed(start);
        let start = Instant::now();
        if let Some(added) = &found.added {
            self.map.insert(added)?;
            self.map.trim(found.pose.translation(), self.params.max_range)?;
        }
        let [map_points, map_voxels] = self.map.sizes();
        self.pushed += 1;
        Ok(Step {
            index: self.pushed - 1,
            status: found.status,
            world_from_sensor: found.pose,
            predicted,
            time: reading.moment,
            times: reading.used,
            registration: found.registration,
            points: points.len(),
            usable,
            aligned,
            expected_error,
            map_points,
            map_voxels,
            timing: StepTiming { sample_ms, align_ms, map_ms: elapsed(start) },
        })
    }

    /// How far in metres the next prediction is expected to be off.
    fn expected_error(&self) -> f64 {
        (self.off[0] / self.off[1]).sqrt().min(FIRST_ERROR * self.params.voxel_size)
    }

    /// Where a sweep is, and what of it enters the map.
    fn place(&mut self, sweep: Sweep, reading: &Reading, predicted: Pose) -> Result<Found> {
        let moment = reading.moment.filter(|_| self.params.deskew);
        if sweep.keys.len() < FEWEST_KEYS {
            self.last.iter_mut().for_each(|last| last.pose = predicted);
            return Ok(Found::nowhere(SweepStatus::TooFewPoints, predicted));
        }
        let Some(last) = self.last.as_mut() else {
            let added = deskewed(&sweep.samples, &[0.0; 6], None)?;
            let mark = sweep.mark;
            let first = moment.map(|moment| (sweep, moment));
            self.last = Some(Last { pose: Pose::IDENTITY, twist: [0.0; 6], mark, first });
            let found = Found::nowhere(SweepStatus::Started, Pose::IDENTITY);
            return Ok(Found { added: Some(added), ..found });
        };
        if last.mark == sweep.mark {
            return Ok(Found::nowhere(SweepStatus::Repeated, last.pose));
        }
        let mut twist = last.twist;
        last.mark = sweep.mark;
        let first = last.first.take();
        let Some(registration) = self.align(&sweep, first.as_ref(), moment, reading.interval, predicted, &mut twist)?
        else {
            self.last.iter_mut().for_each(|last| last.pose = predicted);
            return Ok(Found::nowhere(SweepStatus::Lost, predicted));
        };
        let pose = registration.target_from_source;
        let moved = deskewed(&sweep.samples, &twist, moment)?;
        let added = moved.into_iter().map(|p| pose.apply(p)).collect();
        self.learn(&predicted.inverse().compose(&pose));
        self.last = Some(Last { pose, twist, mark: sweep.mark, first: None });
        let status = match registration.status {
            Status::Degenerate => SweepStatus::Degenerate,
            Status::MaxIterations => SweepStatus::NotConverged,
            _ => SweepStatus::Tracked,
        };
        Ok(Found { status, pose, registration: Some(registration), added: Some(added) })
    }

    /// Aligns a sweep, and finds the motion a second that led to it.
    fn align(
        &mut self,
        sweep: &Sweep,
        first: Option<&(Sweep, f64)>,
        moment: Option<f64>,
        interval: f64,
        predicted: Pose,
        twist: &mut [f64; 6],
    ) -> Result<Option<Registration<SweepFit>>> {
        let before = self.last.as_ref().map_or(Pose::IDENTITY, |last| last.pose);
        let mut start = Start { guess: predicted, error: self.expected_error(), predicted: None };
        let mut found = None;
        let rounds = if moment.is_some() { ROUNDS } else { 1 };
        for round in 0..rounds {
            start.predicted = (round + 1 == rounds).then_some(predicted);
            if let (Some((first, moment)), true) = (first, round > 0) {
                self.map.clear();
                self.map.insert(&deskewed(&first.samples, twist, Some(*moment))?)?;
            }
            let points = deskewed(&sweep.keys, twist, moment)?;
            let Some(registration) = register(&mut self.map, &points, start, &self.params)? else { return Ok(found) };
            let pose = registration.target_from_source;
            *twist = before.inverse().compose(&pose).log().map(|x| x / interval);
            start.guess = pose;
            found = Some(registration);
        }
        Ok(found)
    }

    /// Counts how far a prediction was off: the motion of a point at the largest range.
    fn learn(&mut self, off: &Pose) {
        let norm = |v: [f64; 3]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let turn = norm(off.rotation_vector());
        let (sine, _) = pointmill_core::trig::sin_cos_f64(0.5 * turn);
        let metres = norm(off.translation()) + 2.0 * self.params.max_range * sine;
        if metres > STILL * self.params.voxel_size {
            self.off[0] += metres * metres;
            self.off[1] += 1.0;
        }
    }
}

impl Last {
    /// The pose after so many seconds more.
    fn after(&self, seconds: f64) -> Pose {
        let next = self.pose.compose(&Pose::exp(&self.twist.map(|x| x * seconds)));
        if next.is_rigid() { next } else { self.pose }
    }
}

/// Where a sweep was found.
struct Found {
    status: SweepStatus,
    pose: Pose,
    registration: Option<Registration<SweepFit>>,
    /// Points in the world that enter the map.
    added: Option<Vec<[f64; 3]>>,
}

impl Found {
    const fn nowhere(status: SweepStatus, pose: Pose) -> Self {
        Self { status, pose, registration: None, added: None }
    }
}

fn elapsed(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
