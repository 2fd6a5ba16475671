//! The loop: pairs at a pose, what they say, the next pose.

use super::cloud::Local;
use super::pairs::{Look, Pairs};
use super::params::{IcpParams, Metric, Robust, Stage};
use super::result::{Iteration, Observability, Registration, Status, Timing};
use super::search::limit_of;
use super::stage::{Clouds, Sums};
use crate::{Coordinates, Result};
use pointmill_core::icp::pairs::Linearization;
use pointmill_core::rigid::{Rigid, add, rotate, subtract};
use std::time::Instant;

/// Most poses of a circle.
const LONGEST_CYCLE: usize = 8;
/// A search looks farther than the nearest point by so many times the last step: steps become shorter, and points far from the pivot move more than most.
const MARGIN: f64 = 3.0;

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
/// Parameters out of range, a guess that is not rigid, clouds beyond the limits. Clouds that cannot be aligned are no error: the status says why.
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
    let guess = params.check()?;
    let start = Instant::now();
    let source = Local::new("source", &source, params.drop_zeros)?;
    let target = Local::new("target", &target, params.drop_zeros)?;
    let frames = Frames { source: source.centre, target: target.centre };
    let guess = frames.local(&guess);
    let mut run = Run { params, frames, guess, pose: guess, trace: Vec::new(), iterations: 0 };
    let mut prepare_ms = elapsed(start);
    let mut end = None;
    for (number, stage) in params.stages().iter().enumerate() {
        let start = Instant::now();
        let clouds = Clouds::new(&source, &target, stage, params)?;
        prepare_ms += elapsed(start);
        tracing::debug!(stage = number, search = ?clouds.search(), source = clouds.source.len(), target = clouds.target.len());
        let (status, at, sums) = run.stage(number, stage, &clouds)?;
        let lost = matches!(status, Status::NoPairs | Status::Degenerate);
        end = Some((status, at, sums, clouds.source.len()));
        if lost {
            break;
        }
    }
    let (status, at, sums, points) = end.expect("there is at least one stage");
    let scaled = sums.hessian(&at);
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
        covariance: if determined { sums.covariance(&hessian, params.metric) } else { None },
        hessian,
        observability,
        pivot: add(at.pivot, target.centre),
        source_dropped: source.dropped,
        target_dropped: target.dropped,
        trace: run.trace,
        prepare_ms,
    })
}

/// The centres of both clouds: poses within the loop are between points about them.
#[derive(Clone, Copy, Debug)]
struct Frames {
    source: [f64; 3],
    target: [f64; 3],
}

impl Frames {
    fn local(&self, pose: &Rigid) -> Rigid {
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
    fn stage(&mut self, number: usize, stage: &Stage, clouds: &Clouds) -> Result<(Status, Linearization, Sums)> {
        let params = self.params;
        let mut pairs = Pairs::new(clouds.source.len(), limit_of(stage.max_distance)?);
        let closed = params.metric == Metric::PointToPoint && params.robust == Robust::None;
        let mut seen = Vec::new();
        let (mut steps, mut step, mut margin) = (0, f64::INFINITY, 0.0);
        loop {
            let mut timing = Timing::default();
            let start = Instant::now();
            let (target, searcher) = (&clouds.target[..], &clouds.searcher);
            let looked = pairs.look(&clouds.source, &Look { pose: self.pose, target, searcher, margin });
            timing.search_ms = elapsed(start);
            let start = Instant::now();
            let at = clouds.at(self.pose);
            let sums = clouds.sums(&pairs, &at, params);
            timing.reduce_ms = elapsed(start);
            seen.push(looked.hash);
            let mut entry = Iteration {
                stage: number,
                target_from_source: self.frames.matrix(&self.pose),
                pairs: sums.pairs() as usize,
                changed: if steps == 0 { clouds.source.len() } else { looked.changed },
                searched: looked.searched,
                rmse: sums.rmse(),
                step: 0.0,
                timing,
            };
            let mut status = if sums.pairs() == 0.0 {
                Some(Status::NoPairs)
            } else if closed && steps > 0 && looked.changed == 0 {
                Some(Status::Fixed)
            } else if steps > 0 && step <= params.step_tolerance * clouds.size() {
                Some(Status::StepBelow)
            } else if is_cycle(&seen, closed) {
                Some(Status::Cycle)
            } else if steps == params.max_iterations {
                Some(Status::MaxIterations)
            } else {
                None
            };
            if status.is_none() {
                let start = Instant::now();
                match sums.next(&at, &self.guess) {
                    Some(next) => {
                        step = clouds.motion(&self.pose, &next);
                        entry.step = step;
                        // Looking farther pays where steps are short beside the distances of points.
                        margin = if MARGIN * step < sums.rmse() { (MARGIN * step) as f32 } else { 0.0 };
                        self.pose = next;
                        self.iterations += 1;
                        steps += 1;
                    }
                    None => status = Some(Status::Degenerate),
                }
                entry.timing.solve_ms = elapsed(start);
            }
            self.trace.push(entry);
            if let Some(status) = status {
                return Ok((status, at, sums));
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

fn elapsed(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
