//! The loop of all devices: find the pairs at a pose, linearize, step, until a criterion of
//! termination holds.

use super::params::{IcpParams, Metric, Search, Stage};
use super::result::{Dropped, Fit, Iteration, Observability, Registration, Timing, covariance};
use crate::registration::Status;
use crate::{Pose, Result, memory};
use pointmill_core::icp::pairs::Linearization;
use pointmill_core::icp::pose::{point_hessian, step_hessian};
use pointmill_core::icp::spread::{Spread, margin};
use pointmill_core::icp::termination::{End, Sums};
use pointmill_core::linear::Square;
use pointmill_core::rigid::{Rigid, add, rotate, subtract};
use web_time::Instant;

/// Most poses of a cycle.
const LONGEST_CYCLE: usize = 8;

/// Runs all stages, one after the other. Reading the clouds began at `start`.
pub(super) fn run(
    start: Instant,
    params: &IcpParams,
    frames: Frames,
    guess: &Rigid,
    dropped: [Dropped; 2],
    stages: &mut impl Stages,
) -> Result<Registration> {
    let mut run = Run::new(params, frames, guess);
    let mut prepare_ms = elapsed(start);
    let mut end = None;
    for (number, stage) in params.stages().iter().enumerate() {
        let start = Instant::now();
        let mut on = stages.prepare(stage)?;
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
    Ok(run.registration(status, &at, &sums, points, dropped, prepare_ms))
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
    // A pair has one residual with a plane, and three with a point or a patch.
    let each = if metric == Metric::PointToPlane { 1.0 } else { 3.0 };
    let [pairs, _, squares, _] = sums.head();
    covariance(hessian, squares, each * pairs - 6.0)
}

/// Source and target on a device, of which each stage takes its part.
pub(super) trait Stages {
    /// The correspondences of a stage.
    type Stage<'s>: Correspondences
    where
        Self: 's;

    /// Makes the next stage ready.
    fn prepare(&mut self, stage: &Stage) -> Result<Self::Stage<'_>>;
}

/// The correspondences between source and target of a stage.
pub(super) trait Correspondences {
    /// The search that finds them.
    fn search(&self) -> Search;
    /// The numbers of points of source and target.
    fn points(&self) -> [usize; 2];
    /// Mean and covariance of the source; known after the first linearization.
    fn spread(&self) -> &Spread;
    /// Finds the pairs at a pose, and linearizes their residuals.
    fn linearize(&mut self, query: &Query) -> Result<Linearized>;
}

/// A pose at which pairs are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query {
    pub(super) pose: Rigid,
    /// Metres by which searches look farther than the nearest point.
    pub(super) margin: f32,
    /// The length of the step to this pose.
    pub(super) step: f64,
    /// The number of steps so far.
    pub(super) steps: usize,
}

impl Query {
    /// The first pose of a stage.
    pub(super) const fn begin(pose: Rigid) -> Self {
        Self { pose, margin: 0.0, step: f64::INFINITY, steps: 0 }
    }
}

/// The pairs at a pose, and the sums of their linearized residuals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linearized {
    pub(super) matched: Matched,
    pub(super) sums: Sums,
    pub(super) timing: Timing,
}

/// The pairs of an iteration, compared with the iteration before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Matched {
    pub(super) changed: usize,
    pub(super) searched: usize,
    /// A hash of all pairs.
    pub(super) hash: u64,
}

/// The centres of both clouds. Poses within the loop are between points about these centres.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames {
    pub(super) source: [f64; 3],
    pub(super) target: [f64; 3],
}

impl Frames {
    pub(super) fn local(&self, pose: &Rigid) -> Rigid {
        Rigid { translation: subtract(pose.apply(self.source), self.target), ..*pose }
    }

    fn global(&self, pose: &Rigid) -> Pose {
        let turned = rotate(&pose.rotation, self.source);
        Rigid { translation: add(subtract(pose.translation, turned), self.target), ..*pose }.into()
    }
}

/// The state that goes from stage to stage.
pub(super) struct Run<'a> {
    params: &'a IcpParams,
    frames: Frames,
    guess: Rigid,
    pose: Rigid,
    trace: Vec<Iteration>,
    iterations: usize,
}

/// Where a stage is.
pub(super) struct Descent {
    stage: usize,
    /// Hashes of the pairs of each iteration.
    seen: Vec<u64>,
    /// The pose that is looked at next.
    pub(super) query: Query,
}

impl<'a> Run<'a> {
    /// A run from a guess.
    pub(super) fn new(params: &'a IcpParams, frames: Frames, guess: &Rigid) -> Self {
        let guess = frames.local(guess);
        Self { params, frames, guess, pose: guess, trace: Vec::new(), iterations: 0 }
    }

    /// Where the run began, between points about their centres.
    pub(super) const fn guess(&self) -> &Rigid {
        &self.guess
    }

    /// Where the run is.
    pub(super) const fn pose(&self) -> &Rigid {
        &self.pose
    }

    /// Runs one stage, and returns the sums at the pose where it ends.
    fn stage(&mut self, number: usize, on: &mut impl Correspondences) -> Result<(Status, Sums)> {
        let mut descent = self.descent(number);
        loop {
            let found = on.linearize(&descent.query)?;
            if let Some(status) = self.take(&mut descent, &found, on.spread(), on.points()[0])? {
                return Ok((status, found.sums));
            }
        }
    }

    /// The begin of a stage.
    pub(super) const fn descent(&self, stage: usize) -> Descent {
        Descent { stage, seen: Vec::new(), query: Query::begin(self.pose) }
    }

    /// Takes what the query of a stage found, of so many source points, and makes the next step or
    /// returns why the stage ends.
    pub(super) fn take(
        &mut self,
        descent: &mut Descent,
        found: &Linearized,
        spread: &Spread,
        points: usize,
    ) -> Result<Option<Status>> {
        let start = Instant::now();
        let (rules, Descent { stage, seen, query }) = (self.params.rules(), descent);
        let Linearized { matched, sums, timing } = *found;
        memory::push(seen, matched.hash)?;
        let mut entry = Iteration {
            stage: *stage,
            target_from_source: self.frames.global(&query.pose),
            pairs: sums.pairs() as usize,
            changed: if query.steps == 0 { points } else { matched.changed },
            searched: matched.searched,
            rmse: sums.rmse(),
            step: 0.0,
            timing,
        };
        let end = rules.end(sums.pairs(), matched.changed as u64, query.steps as u64, query.step, spread.size());
        let mut status = match end {
            Some(End::NoPairs) => Some(Status::NoPairs),
            Some(End::Fixed) => Some(Status::Fixed),
            Some(End::Step) => Some(Status::StepBelow),
            // One place holds no turn, and lengths of steps compare with nothing.
            _ if query.steps > 0 && spread.size() == 0.0 => Some(Status::Degenerate),
            _ if is_cycle(seen, rules.closed != 0) => Some(Status::Cycle),
            Some(End::Iterations) => Some(Status::MaxIterations),
            None => None,
        };
        if status.is_none() {
            match sums.next(&query.pose, spread, &self.guess) {
                Some(next) => {
                    entry.step = spread.motion(&query.pose, &next);
                    let margin = margin(entry.step, sums.rmse());
                    *query = Query { pose: next, margin, step: entry.step, steps: query.steps + 1 };
                    self.pose = next;
                    self.iterations += 1;
                }
                None => status = Some(Status::Degenerate),
            }
        }
        entry.timing.solve_ms += elapsed(start);
        memory::push(&mut self.trace, entry)?;
        Ok(status)
    }

    /// The result of a run that ended, with the sums at its pose, of so many source points.
    pub(super) fn registration(
        self,
        status: Status,
        at: &Linearization,
        sums: &Sums,
        points: usize,
        [source_dropped, target_dropped]: [Dropped; 2],
        prepare_ms: f64,
    ) -> Registration {
        let scaled = hessian_of(sums, at);
        let observability = Observability::of(&scaled, sums.pairs());
        // Outside of the loop rotations are in radians.
        let unit = |i: usize| if i < 3 { 1.0 } else { at.length };
        let hessian = std::array::from_fn(|i| std::array::from_fn(|j| scaled[i][j] * unit(i) * unit(j)));
        let determined = observability.rank() == 6;
        let ended = matches!(status, Status::Fixed | Status::StepBelow);
        Registration {
            target_from_source: self.frames.global(&self.pose),
            status: if ended && !determined { Status::Degenerate } else { status },
            iterations: self.iterations,
            covariance: if determined { covariance_of(sums, &hessian, self.params.metric) } else { None },
            hessian,
            fit: Fit {
                fitness: if points > 0 { sums.pairs() / points as f64 } else { 0.0 },
                inlier_rmse: sums.rmse(),
                num_inliers: sums.pairs() as usize,
                observability,
                pivot: add(at.pivot, self.frames.target),
                source_dropped,
                target_dropped,
                prepare_ms,
                trace: self.trace,
            },
        }
    }
}

/// Whether the pairs repeat in a cycle. In closed form the pose is a function of the pairs, so that
/// pairs that were seen before the last iteration come back for ever. Otherwise a cycle counts
/// after its third round.
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
