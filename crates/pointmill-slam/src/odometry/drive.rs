//! Sweep after sweep: where each is, and what of it enters the map.

use super::clock::{Clock, Reading};
use super::cpu::OnHost;
use super::engine::{Engine, Which, taken};
use super::gpu::OnDevice;
use super::params::OdometryParams;
use super::recover::{Sought, Way};
use super::register::SweepFit;
use super::rounds::{Aligned, Rounds};
use super::scale::voxel_size_of;
use super::search::Explained;
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
/// What the map explains of sweeps is a mean in which the last one has this weight.
const LAST: f64 = 0.2;
/// A sweep is lost if the map explains less than this part of that mean.
const LOST: f64 = 0.45;
/// Of motion that is not seen this part is left a sweep later.
const FADES: f64 = 0.9;
/// The map is trimmed after the sensor moved by this part of the radius.
const TRIM_EVERY: f64 = 0.05;

/// Finds the poses of sweeps, one after the other.
///
/// See the [module](super) for what it does and promises.
#[derive(Debug)]
pub struct Odometry {
    stream: Stream,
    params: OdometryParams,
    /// None before a sweep has said which voxels suit.
    engine: Option<Box<dyn Engine>>,
    /// Edge of the voxels of the map; zero before it is known.
    voxel_size: f64,
    clock: Clock,
    last: Option<Last>,
    /// How far in voxels the next prediction is expected to be off.
    expected_error: f64,
    /// What the map explained of the last sweeps.
    explained: Option<Explained>,
    way: Way,
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
        let mut odometry = Self {
            stream: stream.clone(),
            params: params.clone(),
            engine: None,
            voxel_size: 0.0,
            clock: Clock::default(),
            last: None,
            expected_error: FIRST_ERROR,
            explained: None,
            way: Way::default(),
            trimmed_at: None,
            middle: None,
            pushed: 0,
            whole: true,
        };
        if let Some(voxel_size) = params.voxel_size {
            odometry.begin(voxel_size)?;
        }
        Ok(odometry)
    }

    /// Makes the map ready for voxels of a size.
    fn begin(&mut self, voxel_size: f64) -> Result<()> {
        self.voxel_size = voxel_size;
        self.engine = Some(match self.stream.device().is_cpu() {
            true => Box::new(OnHost::new(&self.params, voxel_size)),
            false => Box::new(OnDevice::new(&self.stream, &self.params, voxel_size)?),
        });
        Ok(())
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
        let mut points = self.engine.as_ref().map_or_else(|| Ok(Vec::new()), |engine| engine.all())?;
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

    /// Edge in metres of the voxels of the map: the parameter, or what the first sweep with points
    /// in range gave. None before that.
    pub fn voxel_size(&self) -> Option<f64> {
        self.engine.as_ref().map(|_| self.voxel_size)
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
        let seen = points.relative_to(middle);
        if self.engine.is_none() {
            // Without a point in range the next sweep says it.
            let range = [self.params.min_range, self.params.max_range];
            if let Some(voxel_size) = voxel_size_of(&seen, range)? {
                self.begin(voxel_size)?;
            }
        }
        let sweep = match &mut self.engine {
            Some(engine) => engine.sample(&seen, times)?,
            None => Sampled::default(),
        };
        if sweep.usable > 0 {
            self.middle = Some(middle);
        }
        let sample_ms = elapsed(start);
        self.whole = false;
        let reading = self.clock.read(sweep.times);
        let predicted = self.last.as_ref().map_or(Pose::IDENTITY, |last| last.after(reading.interval));
        let expected_error = self.expected_error * self.voxel_size;

        let start = Instant::now();
        let mut found = self.find(&seen, &sweep, &reading, predicted)?;
        let align_ms = elapsed(start);
        let start = Instant::now();
        if let Some(motion) = found.enters {
            self.insert(motion, &found.pose)?;
            self.trim(found.pose.translation())?;
        }
        let back = middle.map(|x| -x);
        let there = |pose: Pose| if middle == [0.0; 3] { pose } else { pose.about(back, back) };
        if let Some(of) = &mut found.registration {
            of.target_from_source = there(of.target_from_source);
        }
        let [map_points, map_voxels] = self.engine.as_mut().map_or(Ok([0; 2]), |engine| engine.sizes())?;
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
            aligned: taken(&sweep),
            explained: found.explained,
            expected_error,
            voxel_size: self.voxel_size().unwrap_or(0.0),
            map_points,
            map_voxels,
            timing: StepTiming { sample_ms, align_ms, map_ms: elapsed(start) },
        })
    }

    /// Where a sweep is, and whether it enters the map.
    fn find(&mut self, points: &Rows<'_>, sweep: &Sampled, reading: &Reading, predicted: Pose) -> Result<Found> {
        let moment = reading.moment.filter(|_| self.params.deskew);
        let engine = self.engine.as_mut().filter(|_| sweep.keypoints >= MIN_KEYPOINTS);
        let Some(engine) = engine else {
            if let Some(last) = &mut self.last {
                last.pose = predicted;
                last.twist = last.twist.map(|x| FADES * x);
            }
            return Ok(Found::nowhere(SweepStatus::TooFewPoints, predicted));
        };
        let engine = &mut **engine;
        let Some(last) = self.last.as_mut() else {
            if moment.is_some() {
                engine.keep_first()?;
            }
            self.last = Some(Last { pose: Pose::IDENTITY, twist: [0.0; 6], mark: sweep.mark, first: moment });
            self.way.follow(Pose::IDENTITY, self.voxel_size);
            let found = Found::nowhere(SweepStatus::Started, Pose::IDENTITY);
            return Ok(Found { enters: Some(None), ..found });
        };
        if last.mark == sweep.mark {
            return Ok(Found::nowhere(SweepStatus::Repeated, last.pose));
        }
        last.mark = sweep.mark;
        let rounds = Rounds {
            keypoints: taken(sweep),
            voxel_size: self.voxel_size,
            first: last.first.take(),
            moment,
            interval: reading.interval,
            before: last.pose,
            twist: last.twist,
            predicted,
            error: self.expected_error * self.voxel_size,
            expected: self.explained.map(|usual| usual.share),
        };
        let aligned = rounds.align(engine, &self.params)?;
        let aligned = aligned.filter(|aligned| !is_lost(self.explained, aligned.explained));
        if aligned.as_ref().is_none_or(|aligned| rounds.is_poor(aligned))
            && let Some(expected) = self.explained
        {
            let device = &self.stream.device();
            let sought = Sought { points, keypoints: taken(sweep), voxel_size: self.voxel_size, device, expected };
            if let Some(answer) = self.way.find(engine, &sought, aligned.is_none())? {
                let there = Rounds { twist: [0.0; 6], before: answer.pose, predicted: answer.pose, ..rounds };
                let found = there.align_from(engine, &self.params, answer)?;
                let explains_more = |found: &Aligned| {
                    aligned.as_ref().is_none_or(|here| rounds.explains_more(found.explained, here.explained))
                };
                if let Some(found) = found.filter(explains_more) {
                    return Ok(self.take(found, sweep, moment, true));
                }
            }
        }
        if let Some(aligned) = aligned {
            return Ok(self.take(aligned, sweep, moment, false));
        }
        let before = rounds.before;
        // The pose is held: a motion that goes on for ever leads away.
        self.last = Some(Last { pose: before, twist: [0.0; 6], mark: sweep.mark, first: None });
        Ok(Found::nowhere(SweepStatus::Lost, before))
    }

    /// Takes the place that a sweep was aligned to.
    fn take(&mut self, aligned: Aligned, sweep: &Sampled, moment: Option<f64>, recovered: bool) -> Found {
        let Aligned { registration, explained, ambiguous, twist, off } = aligned;
        let pose = registration.target_from_source;
        let twist = if recovered { [0.0; 6] } else { twist };
        if !recovered {
            let off = off / self.voxel_size;
            self.expected_error = (CALM * self.expected_error).max(off).clamp(LEAST_ERROR, FIRST_ERROR);
        }
        let mean = |before: f64, now: f64| before + LAST * (now - before);
        self.explained = Some(self.explained.map_or(explained, |before| Explained {
            share: mean(before.share, explained.share),
            sharp: mean(before.sharp, explained.sharp),
        }));
        self.way.follow(pose, self.voxel_size);
        self.last = Some(Last { pose, twist, mark: sweep.mark, first: None });
        let status = match registration.status {
            Status::Degenerate => SweepStatus::Degenerate,
            Status::MaxIterations => SweepStatus::NotConverged,
            _ if recovered => SweepStatus::Recovered,
            _ if ambiguous => SweepStatus::Ambiguous,
            _ => SweepStatus::Tracked,
        };
        let enters = Some(moment.map(|moment| Motion { twist, moment }));
        Found { status, pose, registration: Some(registration), explained: Some(explained.share), enters }
    }

    /// Adds the sweep to the map.
    fn insert(&mut self, motion: Option<Motion>, pose: &Pose) -> Result<()> {
        self.engine.as_mut().map_or(Ok(()), |engine| engine.insert(Which::Last, motion, pose.rigid()))
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
        self.engine.as_mut().map_or(Ok(()), |engine| engine.trim(at))
    }
}

/// Whether the map explains too little of a sweep, beside what it explained of those before.
fn is_lost(usual: Option<Explained>, now: Explained) -> bool {
    usual.is_some_and(|usual| now.sharp < LOST * usual.sharp)
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
    explained: Option<f64>,
    /// Whether the map points enter the map, and the motion within the sweep, if it is taken out.
    enters: Option<Option<Motion>>,
}

impl Found {
    const fn nowhere(status: SweepStatus, pose: Pose) -> Self {
        Self { status, pose, registration: None, explained: None, enters: None }
    }
}

fn elapsed(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
