//! The alignment of a sweep with the local map.

use super::engine::{Engine, Linearize};
use super::normal_equations::{NormalEquations, product};
use super::params::OdometryParams;
use super::search::{DEVIATIONS, Search, deviation};
use pointmill::icp::{Metric, Observability};
use pointmill::registration::{Registration, Status};
use pointmill::{Pose, Result};
use pointmill_core::icp::pose::step_hessian;
use pointmill_core::icp::spread::Spread;
use pointmill_core::linear::{Square, inverse};
use pointmill_core::record;

/// A shorter step, in metres, ends the coarse part of an alignment, and the alignment.
const COARSE_STEP: f64 = 0.05;
const STEP: f64 = 1e-3;
/// Fewest pairs of an alignment, and the part of the keypoints that must have one.
const MIN_PAIRS: f64 = 10.0;
const MIN_PAIR_SHARE: f64 = 0.1;
/// A direction is determined if the surfaces see more than this share of the points' motion in it,
/// and more than that of [`MIN_CORRESPONDENCES`]. Cars in a tunnel have 0.009 to 0.029 along it
/// with 2,000 firings, and up to 0.046 with 1,000. Streets have 0.064 and more, roads between
/// meadows and loops 0.035 and more.
const WEAK: f64 = 0.06;
/// From this share on it is determined, too, if the pairs pull the sweep back from `ASIDE` voxels
/// aside, under a kernel of `ASIDE_WIDTH` voxels, and stiffer than `PULL` of their weight. Roads
/// pull by 0.0045 and more, tunnels by 0.0014 and less: aside, noise and cars find other neighbours
/// that hold the sweep there as well.
const FAINT: f64 = 0.02;
const ASIDE: f64 = 0.9;
const ASIDE_WIDTH: f64 = 0.5;
const PULL: f64 = 0.0025;
/// Fewest correspondences, by their weight, that a direction must be seen by.
const MIN_CORRESPONDENCES: f64 = 6.0;
/// Neighbours are looked for within this many times the expected error of the prediction.
const REACH: f64 = 3.0;

record! {
    /// What the alignment of a sweep reports beside the pose.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct SweepFit {
        /// The number of pairs at the last step.
        pub pairs: usize,
        /// The share of the points taken for the alignment that have a pair.
        pub fitness: f64,
        /// Root mean square distance of the pairs in metres.
        pub rmse: f64,
        /// Which directions the pairs determine. In the others the pose is the prediction.
        pub observability: Observability,
        /// The share of the points' motion in each direction that the surfaces see: that along
        /// normals which lean there by more than their own uncertainty. A direction is determined
        /// from 0.04 and 6 pairs, and from 0.02 where the pairs pull the sweep back from nearly a
        /// voxel aside.
        pub support: [f64; 6],
        /// The mean of the points at the pose, in the world: what Hessian and covariance turn
        /// about.
        pub pivot: [f64; 3],
    }
}

/// The keypoints of a sweep, and what an alignment of them starts from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) keypoints: usize,
    pub(super) spread: Spread,
    pub(super) guess: Pose,
    /// Edge of the voxels of the map.
    pub(super) voxel_size: f64,
    /// How far in metres the guess is expected to be off.
    pub(super) error: f64,
    /// Where directions that are not determined are held.
    pub(super) predicted: Pose,
    /// Asks for the part with wide weights alone, while the motion within the sweep is not known
    /// well.
    pub(super) coarse: bool,
}

/// Aligns the keypoints of a sweep with the map; `None` if too few of them have a neighbour.
///
/// The observable directions are found at the end, as pairs are still wrong on the way there. If
/// some are not observable, the sweep is aligned again from the prediction with these held. Where
/// the map explains less of it there, they are determined after all.
pub(super) fn register(
    engine: &mut dyn Engine,
    start: Start,
    params: &OdometryParams,
) -> Result<Option<Registration<SweepFit>>> {
    let free = aligned(engine, start, params, Directions::Free)?;
    let Some(found) = &free else { return Ok(free) };
    let seen = &found.fit.observability;
    let held: Vec<[f64; 6]> = (0..6).filter(|k| !seen.observable[*k]).map(|k| seen.directions[k]).collect();
    if held.is_empty() {
        return Ok(free);
    }
    let at_prediction = Start { guess: start.predicted, ..start };
    let holding = aligned(engine, at_prediction, params, Directions::Held(&held))?;
    let mut explained = |of: &Registration<SweepFit>| {
        Search::new(engine, start.voxel_size, start.spread, start.keypoints).explained(&of.target_from_source)
    };
    let share = explained(found)?.share;
    let less = share - DEVIATIONS * deviation(share, start.keypoints);
    match &holding {
        Some(holding) if explained(holding)?.share >= less => {}
        _ => {
            return aligned(engine, Start { guess: found.target_from_source, ..start }, params, Directions::Determined);
        }
    }
    Ok(holding)
}

/// What an alignment takes the directions for.
#[derive(Clone, Copy)]
enum Directions<'a> {
    /// Which are determined is found at its end.
    Free,
    /// These are not, and the sweep is held in them.
    Held(&'a [[f64; 6]]),
    /// All are determined that pairs observe.
    Determined,
}

fn aligned(
    engine: &mut dyn Engine,
    start: Start,
    params: &OdometryParams,
    directions: Directions<'_>,
) -> Result<Option<Registration<SweepFit>>> {
    let held = if let Directions::Held(held) = directions { held } else { &[] };
    let fewest = MIN_PAIRS.max(MIN_PAIR_SHARE * start.keypoints as f64);
    let mut pose = start.guess;
    let mut fine = false;
    for iterations in 1..=params.max_iterations {
        let reach = REACH * start.error;
        // Narrow weights would hold point-to-point where it is: along a surface the nearest point
        // is always near.
        let (width, within) = match fine && params.metric == Metric::PointToPlane {
            true => (params.robust_width.min(start.error), reach.min(start.voxel_size)),
            false => (start.error, reach),
        };
        let at = start.spread.at(*pose.rigid());
        let request = Linearize { at, width, within: within as f32, first: start.keypoints };
        let equations = NormalEquations::new(request.at, engine.linearize(&request)?);
        if equations.terms[0] < fewest || equations.weight().is_nan() || equations.weight() <= 0.0 {
            return Ok(None);
        }
        let x = equations.step(held);
        let next = Pose::from(equations.moved(&x));
        if !next.is_rigid() {
            return Ok(None);
        }
        pose = next;
        let step = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let ended = if start.coarse { step < COARSE_STEP } else { fine && step < STEP };
        if ended || iterations == params.max_iterations {
            let status = if ended { Status::StepBelow } else { Status::MaxIterations };
            let support = support(engine, &request, &equations, params.metric)?;
            let observable = match directions {
                Directions::Free => determined(engine, &start, &equations, &support)?,
                Directions::Determined => std::array::from_fn(|k| equations.is_observable(k)),
                Directions::Held(held) => std::array::from_fn(|k| {
                    held.iter().map(|direction| product(direction, &equations.directions[k]).powi(2)).sum::<f64>() < 0.5
                }),
            };
            return Ok(Some(registration(&equations, support, observable, pose, status, iterations, start.keypoints)));
        }
        fine |= step < COARSE_STEP;
    }
    Ok(None)
}

/// The share of the points' motion in each direction that the surfaces see.
fn support(
    engine: &mut dyn Engine,
    request: &Linearize,
    equations: &NormalEquations,
    metric: Metric,
) -> Result<[f64; 6]> {
    if metric != Metric::PointToPlane {
        return Ok(equations.values.map(|value| value / equations.weight()));
    }
    let motions = engine.support(request, &equations.directions)?;
    Ok(std::array::from_fn(|k| if motions[6 + k] > 0.0 { motions[k] / motions[6 + k] } else { 0.0 }))
}

/// Which directions the surfaces determine.
fn determined(
    engine: &mut dyn Engine,
    start: &Start,
    equations: &NormalEquations,
    support: &[f64; 6],
) -> Result<[bool; 6]> {
    let least_support = MIN_CORRESPONDENCES / equations.weight();
    let mut determined = std::array::from_fn(|k| support[k] > WEAK.max(least_support) && equations.is_observable(k));
    for k in (0..6).filter(|k| equations.is_observable(*k)) {
        if !determined[k] && support[k] > FAINT.max(least_support) {
            determined[k] = pull(engine, start, equations, &equations.directions[k])? > PULL;
        }
    }
    Ok(determined)
}

/// How stiffly the pairs that are found on both sides of a pose, along a direction, pull the sweep
/// back to it, by their weight.
fn pull(engine: &mut dyn Engine, start: &Start, equations: &NormalEquations, direction: &[f64; 6]) -> Result<f64> {
    let voxel_size = start.voxel_size;
    let (mut slopes, mut weights) = (0.0, 0.0);
    for aside in [ASIDE * voxel_size, -ASIDE * voxel_size] {
        let at = start.spread.at(equations.moved(&direction.map(|x| x * aside)));
        let (width, within) = (ASIDE_WIDTH * voxel_size, voxel_size as f32);
        let request = Linearize { at, width, within, first: start.keypoints };
        let there = NormalEquations::new(at, engine.linearize(&request)?);
        slopes += there.slope(direction) / aside;
        weights += there.weight();
    }
    Ok(if weights > 0.0 { slopes / weights } else { 0.0 })
}

fn registration(
    equations: &NormalEquations,
    support: [f64; 6],
    observable: [bool; 6],
    pose: Pose,
    status: Status,
    iterations: usize,
    keypoints: usize,
) -> Registration<SweepFit> {
    let [pairs, squares, weighted] = [equations.terms[0], equations.terms[1], equations.terms[2]];
    let eigenvalues = equations.values.map(|v| v / equations.weight());
    let observability = Observability::new(eigenvalues, equations.directions, observable);
    let unit = |i: usize| if i < 3 { 1.0 } else { equations.at.length };
    let scaled = step_hessian(&equations.terms);
    let hessian: Square<6> = std::array::from_fn(|i| std::array::from_fn(|j| scaled[i][j] * unit(i) * unit(j)));
    let determined = observability.rank() == 6;
    let by = weighted / (pairs - 6.0).max(1.0);
    let status = if determined { status } else { Status::Degenerate };
    let covariance = if determined { inverse(&hessian).map(|rows| rows.map(|row| row.map(|x| x * by))) } else { None };
    let fit = SweepFit {
        pairs: pairs as usize,
        fitness: pairs / keypoints as f64,
        rmse: (squares / pairs).sqrt(),
        observability,
        support,
        pivot: equations.at.pivot,
    };
    Registration::new(pose, status, iterations, hessian, covariance, fit)
}
