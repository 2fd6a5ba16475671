//! The loop: pairs at a pose, what they say, the next pose.

use super::cloud::Local;
use super::pairs::Looked;
use super::params::{IcpParams, Metric, Stage};
use super::result::{Dropped, Iteration, Observability, Registration, Status, Timing, covariance};
use super::search::Search;
use super::stage::{Clouds, Onto};
use crate::device::on_threads;
use crate::{Argument, Coordinates, Result, memory};
use pointmill_core::icp::pairs::Linearization;
use pointmill_core::icp::pose::{point_hessian, step_hessian};
use pointmill_core::icp::spread::{Spread, margin};
use pointmill_core::icp::turn::{End, Sums};
use pointmill_core::linear::Square;
use pointmill_core::rigid::{Rigid, add, rotate, subtract};
use std::slice;
use std::sync::Arc;
use std::time::Instant;

/// Most poses of a circle.
const LONGEST_CYCLE: usize = 8;

/// The pose that brings `source` onto `target`.
///
/// **Units and frames**: metres. `target_from_source` takes a point of the source's frame to the target's. Each cloud is taken as `f32` about a centre of its own, which is
/// computed in `f64`: coordinates of maps may be large, if they come as `f64` or about an origin.
///
/// **Semantics**: at each pose every source point is paired with its exact nearest target point within the distance; see [`Searcher`](super::Searcher). Point-to-point then takes
/// the best pose for these pairs in closed form, from the source as it was given; the other metrics take a step of Gauss and Newton. A proper rotation is certain.
/// Directions that the pairs do not determine, such as shifts along a plane, keep the guess, and the status is [`Status::Degenerate`].
///
/// **Determinism**: everything but times is the same bits for any number of threads; and for any [`Search`](super::Search), but for [`Iteration::searched`].
///
/// **Limits**: fewer than 2^30 points a cloud, within 1e18 m of its middle. Points that are not finite are left out and counted.
///
/// # Errors
/// Parameters out of range, a guess that is not rigid, clouds beyond the limits; out of memory. Clouds that cannot be aligned are no error: the status says why.
///
/// ```
/// use pointmill::Coordinates;
/// use pointmill::icp::{IcpParams, align};
///
/// // A corner of a room, and the same corner seen from 5 cm and a degree beside.
/// let mut room = Vec::new();
/// for i in 0..40 {
///     for j in 0..40 {
///         let (a, b) = (f64::from(i) * 0.05, f64::from(j) * 0.05);
///         room.extend([a, b, 0.0, /**/ 0.0, a, b, /**/ a, 0.0, b]);
///     }
/// }
/// let (sin, cos) = 1f64.to_radians().sin_cos();
/// let seen: Vec<f64> = room.chunks_exact(3).flat_map(|p| [cos * p[0] - sin * p[1] + 0.05, sin * p[0] + cos * p[1], p[2]]).collect();
///
/// let found = align(Coordinates::f64(&seen, 3)?, Coordinates::f64(&room, 3)?, &IcpParams::default())?;
/// assert!(found.converged());
/// let yaw = found.target_from_source[4].atan2(found.target_from_source[0]);
/// assert!((yaw + 1f64.to_radians()).abs() < 1e-3);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn align(source: Coordinates<'_>, target: Coordinates<'_>, params: &IcpParams) -> Result<Registration> {
    let start = Instant::now();
    let guess = params.check()?;
    on_threads(|| {
        let source = Local::new(Argument::Source, &source, params.drop_zeros)?;
        let target = Local::new(Argument::Target, &target, params.drop_zeros)?;
        let frames = Frames { source: source.centre, target: target.centre };
        let dropped = [source.dropped, target.dropped];
        run(start, params, frames, &guess, dropped, &mut OnHost { source, target: Of::Cloud(target), params })
    })
}

/// Aligns onto a target whose stages are ready; of the whole target there are its centre and what was left out.
pub(super) fn align_onto(
    source: &Coordinates<'_>,
    whole: &Local,
    stages: &[Arc<Onto>],
    params: &IcpParams,
    guess: &Rigid,
) -> Result<Registration> {
    let start = Instant::now();
    let source = Local::new(Argument::Source, source, params.drop_zeros)?;
    let frames = Frames { source: source.centre, target: whole.centre };
    let dropped = [source.dropped, whole.dropped];
    let target = Of::Stages(stages.iter());
    run(start, params, frames, guess, dropped, &mut OnHost { source, target, params })
}

/// Both clouds on the host.
struct OnHost<'a> {
    source: Local,
    target: Of<'a>,
    params: &'a IcpParams,
}

/// Where the target of a stage comes from.
enum Of<'a> {
    /// A whole cloud.
    Cloud(Local),
    /// Those that are ready, in the order of the stages.
    Stages(slice::Iter<'a, Arc<Onto>>),
}

impl Grounds for OnHost<'_> {
    type On<'s>
        = Clouds
    where
        Self: 's;

    fn prepare(&mut self, stage: &Stage) -> Result<Clouds> {
        match &mut self.target {
            Of::Cloud(target) => {
                let target = &*target;
                Clouds::new(&self.source, || Onto::new(target, stage, self.params), stage, self.params)
            }
            Of::Stages(ready) => {
                let ready = ready.next().expect("a target for each stage").clone();
                Clouds::new(&self.source, || Ok(ready), stage, self.params)
            }
        }
    }
}

/// All stages, one after the other. What went before began at `start`.
pub(super) fn run(
    start: Instant,
    params: &IcpParams,
    frames: Frames,
    guess: &Rigid,
    [source_dropped, target_dropped]: [Dropped; 2],
    grounds: &mut impl Grounds,
) -> Result<Registration> {
    let guess = frames.local(guess);
    let mut run = Run { params, frames, guess, pose: guess, trace: Vec::new(), iterations: 0 };
    let mut prepare_ms = elapsed(start);
    let mut end = None;
    for (number, stage) in params.stages().iter().enumerate() {
        let start = Instant::now();
        let mut on = grounds.prepare(stage)?;
        prepare_ms += elapsed(start);
        tracing::debug!(stage = number, search = ?on.search(), points = ?on.points());
        let (status, sums) = run.stage(number, &mut on)?;
        let lost = matches!(status, Status::NoPairs | Status::Degenerate);
        end = Some((status, on.spread().at(run.pose), sums, on.points()[0]));
        if lost {
            break;
        }
    }
    let (status, at, sums, points) = end.expect("there is at least one stage");
    let scaled = hessian_of(&sums, &at);
    let observability = Observability::of(&scaled, sums.pairs());
    // Turns are told in radians outside.
    let unit = |i: usize| if i < 3 { 1.0 } else { at.length };
    let hessian = std::array::from_fn(|i| std::array::from_fn(|j| scaled[i][j] * unit(i) * unit(j)));
    let determined = observability.rank() == 6;
    let ended = matches!(status, Status::Fixed | Status::StepBelow);
    Ok(Registration {
        target_from_source: frames.matrix(&run.pose),
        status: if ended && !determined { Status::Degenerate } else { status },
        iterations: run.iterations,
        fitness: if points > 0 { sums.pairs() / points as f64 } else { 0.0 },
        inlier_rmse: sums.rmse(),
        num_inliers: sums.pairs() as usize,
        covariance: if determined { covariance_of(&sums, &hessian, params.metric) } else { None },
        hessian,
        observability,
        pivot: add(at.pivot, frames.target),
        source_dropped,
        target_dropped,
        trace: run.trace,
        prepare_ms,
    })
}

/// All six directions in metres.
fn hessian_of(sums: &Sums, at: &Linearization) -> Square<6> {
    match sums {
        Sums::Points(terms) => point_hessian(terms, at),
        Sums::Steps(terms) => step_hessian(terms),
    }
}

/// The covariance of the pose, with the Hessian by metres and radians.
fn covariance_of(sums: &Sums, hessian: &Square<6>, metric: Metric) -> Option<Square<6>> {
    // A plane says one thing of a point, a point and a patch say three.
    let each = if metric == Metric::PointToPlane { 1.0 } else { 3.0 };
    let [pairs, _, squares, _] = sums.head();
    covariance(hessian, squares, each * pairs - 6.0)
}

/// Both clouds on a device.
pub(super) trait Grounds {
    /// As a stage takes them.
    type On<'s>: Ground
    where
        Self: 's;

    /// Makes a stage ready.
    fn prepare(&mut self, stage: &Stage) -> Result<Self::On<'_>>;
}

/// Both clouds of a stage on a device, and what they say at poses.
pub(super) trait Ground {
    /// Which search it is.
    fn search(&self) -> Search;
    /// Points of the source and the target.
    fn points(&self) -> [usize; 2];
    /// Where the source is; known after a turn.
    fn spread(&self) -> &Spread;
    /// The pairs at a pose, and what they say.
    fn turn(&mut self, ask: &Ask) -> Result<Turn>;
}

/// Where a turn is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) pose: Rigid,
    /// Metres by which searches look farther.
    pub(super) margin: f32,
    /// The step to this pose, and how many there were.
    pub(super) step: f64,
    pub(super) steps: usize,
}

/// What pairs at a pose say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) looked: Looked,
    pub(super) sums: Sums,
    pub(super) timing: Timing,
}

/// The centres of both clouds: poses within the loop are between points about them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames {
    pub(super) source: [f64; 3],
    pub(super) target: [f64; 3],
}

impl Frames {
    pub(super) fn local(&self, pose: &Rigid) -> Rigid {
        Rigid { translation: subtract(pose.apply(self.source), self.target), ..*pose }
    }

    fn matrix(&self, pose: &Rigid) -> [f64; 16] {
        let turned = rotate(&pose.rotation, self.source);
        let translation = add(subtract(pose.translation, turned), self.target);
        let rows = Rigid { translation, ..*pose }.matrix();
        std::array::from_fn(|i| rows[i / 4][i % 4])
    }
}

/// What goes from stage to stage.
struct Run<'a> {
    params: &'a IcpParams,
    frames: Frames,
    guess: Rigid,
    pose: Rigid,
    trace: Vec<Iteration>,
    iterations: usize,
}

impl Run<'_> {
    /// One stage; the sums are those at the pose where it ends.
    fn stage(&mut self, number: usize, on: &mut impl Ground) -> Result<(Status, Sums)> {
        let rules = self.params.rules();
        let mut seen = Vec::new();
        let mut ask = Ask { pose: self.pose, margin: 0.0, step: f64::INFINITY, steps: 0 };
        loop {
            let Turn { looked, sums, timing } = on.turn(&ask)?;
            let start = Instant::now();
            memory::push(&mut seen, looked.hash)?;
            let mut entry = Iteration {
                stage: number,
                target_from_source: self.frames.matrix(&ask.pose),
                pairs: sums.pairs() as usize,
                changed: if ask.steps == 0 { on.points()[0] } else { looked.changed },
                searched: looked.searched,
                rmse: sums.rmse(),
                step: 0.0,
                timing,
            };
            let spread = on.spread();
            let end = rules.end(sums.pairs(), looked.changed as u64, ask.steps as u64, ask.step, spread.size());
            let mut status = match end {
                Some(End::NoPairs) => Some(Status::NoPairs),
                Some(End::Fixed) => Some(Status::Fixed),
                Some(End::Step) => Some(Status::StepBelow),
                _ if is_cycle(&seen, rules.closed != 0) => Some(Status::Cycle),
                Some(End::Iterations) => Some(Status::MaxIterations),
                None => None,
            };
            if status.is_none() {
                match sums.next(&ask.pose, spread, &self.guess) {
                    Some(next) => {
                        entry.step = spread.motion(&ask.pose, &next);
                        let margin = margin(entry.step, sums.rmse());
                        ask = Ask { pose: next, margin, step: entry.step, steps: ask.steps + 1 };
                        self.pose = next;
                        self.iterations += 1;
                    }
                    None => status = Some(Status::Degenerate),
                }
            }
            entry.timing.solve_ms += elapsed(start);
            memory::push(&mut self.trace, entry)?;
            if let Some(status) = status {
                return Ok((status, sums));
            }
        }
    }
}

/// Whether the pairs go round. In closed form the pose is a function of them, so that pairs that were there before, other than just now, come back for ever. Otherwise they
/// must have gone round three times.
fn is_cycle(seen: &[u64], closed: bool) -> bool {
    let Some((now, before)) = seen.split_last() else { return false };
    if closed {
        return before.iter().rev().skip(1).any(|hash| hash == now);
    }
    (2..=LONGEST_CYCLE).any(|period| {
        let n = seen.len();
        n >= 3 * period && seen[n - 2 * period..] == seen[n - 3 * period..n - period] && seen[n - 1] != seen[n - 2]
    })
}

pub(super) fn elapsed(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
