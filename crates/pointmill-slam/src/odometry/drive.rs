//! Sweep after sweep: where each is, and what of it enters the map.

use super::clock::{Clock, Reading};
use super::cpu::OnHost;
use super::engine::{Engine, Which};
use super::gpu::OnDevice;
use super::params::OdometryParams;
use super::register::SweepFit;
use super::rounds::{Rounds, apart};
use super::step::{Step, StepTiming, SweepStatus};
use crate::sampling::Sampled;
use pointmill::device::Stream;
use pointmill::internals::pivot_of;
use pointmill::registration::{Registration, Status};
use pointmill::{Argument, Error, Pose, Result, Rows};
use pointmill_core::odometry::motion::Motion;
use pointmill_core::rigid::{add, dot, subtract};
use web_time::Instant;

/// Fewest points of a sweep that are aligned.
const MIN_KEYPOINTS: usize = 10;
/// The prediction is expected to be off by so many voxels at first, which is also the most, and by
/// so many at least.
const FIRST_ERROR: f64 = 1.0;
const LEAST_ERROR: f64 = 0.5;
/// What is expected falls to this part with each prediction that was better.
const CALM: f64 = 0.8;
/// The map is trimmed after the sensor moved by this part of the radius.
const TRIM_EVERY: f64 = 0.05;

/// Finds the poses of sweeps, one after the other.
///
/// See the [module](super) for what it does and promises.
#[derive(Debug)]
pub struct Odometry {
    stream: Stream,
    params: OdometryParams,
    engine: Box<dyn Engine>,
    clock: Clock,
    last: Option<Last>,
    /// How far in metres the next prediction is expected to be off.
    expected_error: f64,
    /// Where the sensor was when the map was trimmed.
    trimmed_at: Option<[f64; 3]>,
    /// What is subtracted from the points of all sweeps: where the first one is, if that is far from
    /// zero. None before a sweep with points.
    middle: Option<[f64; 3]>,
    pushed: usize,
    /// Whether all of the last sweep was done.
    whole: bool,
}

/// The sweep before.
#[derive(Clone, Debug)]
struct Last {
    pose: Pose,
    /// Motion a second.
    twist: [f64; 6],
    mark: u64,
    /// The moment of the first sweep, until the second says how the sensor moved.
    first: Option<f64>,
}

impl Odometry {
    /// Odometry on the device of a stream.
    ///
    /// # Errors
    /// Parameters out of range; out of memory, a lost device.
    pub fn new(stream: &Stream, params: &OdometryParams) -> Result<Self> {
        params.validate()?;
        let engine: Box<dyn Engine> = match stream.device().is_cpu() {
            true => Box::new(OnHost::new(params)),
            false => Box::new(OnDevice::new(stream, params)?),
        };
        Ok(Self {
            stream: stream.clone(),
            params: params.clone(),
            engine,
            clock: Clock::default(),
            last: None,
            expected_error: FIRST_ERROR * params.voxel_size,
            trimmed_at: None,
            middle: None,
            pushed: 0,
            whole: true,
        })
    }

    /// Takes the next sweep, `[N, columns]` of `f32` or `f64` with x, y, z first, and the time of
    /// each point in seconds.
    ///
    /// Sweeps in coordinates of a map, far from zero, are taken as seen from the middle of the first one;
    /// poses and map are in their coordinates.
    ///
    /// A sweep that cannot be aligned is no error: the status says why, and the pose is the
    /// prediction.
    ///
    /// # Errors
    /// A number of times that is not that of the points; points of another type or in memory of
    /// another device; an odometry that a push failed on half-way: nothing was done then. Out of
    /// memory, a lost device. If part of the sweep was done by then, later pushes are refused.
    pub fn push<'a>(&mut self, points: impl Into<Rows<'a>>, times: Option<&[f64]>) -> Result<Step> {
        let points = points.into();
        points.check_points(Argument::Points, &self.stream)?;
        if let Some(times) = times.filter(|times| times.len() != points.len()) {
            let expected = format!("{} times, one for each point", points.len());
            return Err(Error::argument(Argument::Times, expected, times.len()));
        }
        if !self.whole {
            let got = "one that a push failed on half-way";
            return Err(Error::argument(Argument::Odometry, "one whose map is whole, such as a new one", got));
        }
        let stream = self.stream.clone();
        stream.in_order(&[points.stream()], || stream.device().install(|| self.step(points, times)))
    }

    /// The points of the map in the world: those that left it, if
    /// [`keep_map`](OdometryParams::keep_map) is set, then voxel by voxel, as the voxels entered
    /// it. A voxel takes the place of one that left.
    ///
    /// # Errors
    /// Out of memory.
    pub fn map(&self) -> Result<Vec<[f64; 3]>> {
        let mut points = self.engine.all()?;
        if let Some(middle) = self.middle.filter(|middle| *middle != [0.0; 3]) {
            points.iter_mut().for_each(|p| *p = add(*p, middle));
        }
        Ok(points)
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
        let middle = match self.middle {
            Some(middle) => middle,
            None => pivot_of(&points, [0.0; 3], self.params.max_range)?,
        };
        let sweep = self.engine.sample(&points.relative_to(middle), times)?;
        if sweep.usable > 0 {
            self.middle = Some(middle);
        }
        let sample_ms = elapsed(start);
        self.whole = false;
        let reading = self.clock.read(sweep.times);
        let predicted = self.last.as_ref().map_or(Pose::IDENTITY, |last| last.after(reading.interval));
        let expected_error = self.expected_error;

        let start = Instant::now();
        let mut found = self.find(&sweep, &reading, predicted)?;
        let align_ms = elapsed(start);
        let start = Instant::now();
        if let Some(motion) = found.enters {
            self.engine.insert(Which::Last, motion, found.pose.rigid())?;
            self.trim(found.pose.translation())?;
        }
        let back = middle.map(|x| -x);
        let there = |pose: Pose| if middle == [0.0; 3] { pose } else { pose.about(back, back) };
        if let Some(of) = &mut found.registration {
            of.target_from_source = there(of.target_from_source);
        }
        let [map_points, map_voxels] = self.engine.sizes()?;
        self.pushed += 1;
        self.whole = true;
        Ok(Step {
            index: self.pushed - 1,
            status: found.status,
            world_from_sensor: there(found.pose),
            predicted: there(predicted),
            interval: reading.interval,
            time: reading.moment,
            times: reading.used,
            registration: found.registration,
            points: points.len(),
            usable: sweep.usable,
            aligned: sweep.keypoints,
            expected_error,
            map_points,
            map_voxels,
            timing: StepTiming { sample_ms, align_ms, map_ms: elapsed(start) },
        })
    }

    /// Where a sweep is, and whether it enters the map.
    fn find(&mut self, sweep: &Sampled, reading: &Reading, predicted: Pose) -> Result<Found> {
        let moment = reading.moment.filter(|_| self.params.deskew);
        if sweep.keypoints < MIN_KEYPOINTS {
            self.last.iter_mut().for_each(|last| last.pose = predicted);
            return Ok(Found::nowhere(SweepStatus::TooFewPoints, predicted));
        }
        let Some(last) = self.last.as_mut() else {
            if moment.is_some() {
                self.engine.keep_first()?;
            }
            self.last = Some(Last { pose: Pose::IDENTITY, twist: [0.0; 6], mark: sweep.mark, first: moment });
            let found = Found::nowhere(SweepStatus::Started, Pose::IDENTITY);
            return Ok(Found { enters: Some(None), ..found });
        };
        if last.mark == sweep.mark {
            return Ok(Found::nowhere(SweepStatus::Repeated, last.pose));
        }
        last.mark = sweep.mark;
        let rounds = Rounds {
            keypoints: sweep.keypoints,
            first: last.first.take(),
            moment,
            interval: reading.interval,
            before: last.pose,
            twist: last.twist,
            predicted,
            error: self.expected_error,
        };
        let Some((registration, twist)) = rounds.align(&mut *self.engine, &self.params)? else {
            last.pose = predicted;
            return Ok(Found::nowhere(SweepStatus::Lost, predicted));
        };
        let pose = registration.target_from_source;
        self.update_threshold(apart(&predicted, &pose, self.params.max_range));
        self.last = Some(Last { pose, twist, mark: sweep.mark, first: None });
        let status = match registration.status {
            Status::Degenerate => SweepStatus::Degenerate,
            Status::MaxIterations => SweepStatus::NotConverged,
            _ => SweepStatus::Tracked,
        };
        let enters = Some(moment.map(|moment| Motion { twist, moment }));
        Ok(Found { status, pose, registration: Some(registration), enters })
    }

    /// Takes away what is out of range of the sensor, if it moved far enough since that was done.
    fn trim(&mut self, at: [f64; 3]) -> Result<()> {
        let moved = |from: [f64; 3]| {
            let d = subtract(at, from);
            dot(d, d).sqrt()
        };
        if self.trimmed_at.is_some_and(|from| moved(from) < TRIM_EVERY * self.params.max_range) {
            return Ok(());
        }
        self.trimmed_at = Some(at);
        self.engine.trim(at)
    }

    /// Updates the error that is expected of the next prediction from how far the last one was off.
    fn update_threshold(&mut self, metres: f64) {
        let voxel = self.params.voxel_size;
        self.expected_error = (CALM * self.expected_error).max(metres).clamp(LEAST_ERROR * voxel, FIRST_ERROR * voxel);
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
    /// Whether the map points enter the map, and the motion within the sweep, if it is taken out.
    enters: Option<Option<Motion>>,
}

impl Found {
    const fn nowhere(status: SweepStatus, pose: Pose) -> Self {
        Self { status, pose, registration: None, enters: None }
    }
}

fn elapsed(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
