//! The alignment of a sweep with the local map.

use super::engine::{Engine, Look};
use super::params::OdometryParams;
use super::said::{Said, product};
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
/// Fewest pairs that say anything, and the part of the keys that must have one.
const FEWEST_PAIRS: f64 = 10.0;
const FEWEST_SHARE: f64 = 0.1;
/// A direction is determined if the surfaces see more than this share of the points' motion in it, and more than that of so many pairs. Cars in a tunnel have 0.009 to 0.029 along it
/// with 2,000 firings, and up to 0.046 with 1,000; streets 0.064 and more; roads between meadows and loops 0.035 and more.
const WEAK: f64 = 0.04;
/// From this share on it is determined, too, if the pairs pull the sweep back to where it is from so many voxels aside, under a weight of so many voxels, and stiffer than this part of their
/// weight. Roads pull by 0.0045 and more, tunnels by 0.0014 and less: aside, noise and cars find other neighbours that hold the sweep there as well.
const FAINT: f64 = 0.02;
const ASIDE: f64 = 0.9;
const ASIDE_WIDTH: f64 = 0.5;
const PULL: f64 = 0.0025;
const FEWEST_SPEAKERS: f64 = 6.0;
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
        /// The share of the points' motion in each direction that the surfaces see: that along normals which lean there by more than their own uncertainty. A direction is determined from 0.04 and 6 pairs,
        /// and from 0.02 where the pairs pull the sweep back from nearly a voxel aside.
        pub support: [f64; 6],
        /// The mean of the points at the pose, in the world: what Hessian and covariance turn about.
        pub pivot: [f64; 3],
    }
}

/// The keys of a sweep, and what an alignment of them starts from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) keys: usize,
    pub(super) spread: Spread,
    pub(super) guess: Pose,
    /// How far in metres the guess is expected to be off.
    pub(super) error: f64,
    /// Where directions that are not determined are held.
    pub(super) predicted: Pose,
    /// Asks for the part with wide weights alone, while the motion within the sweep is not known well.
    pub(super) coarse: bool,
}

/// Aligns the keys of a sweep with the map; `None` if too few of them have a neighbour.
///
/// Which directions are determined is asked at the end: on the way there pairs are still wrong. Where some are not, the sweep is aligned again from the prediction with these held.
pub(super) fn register(
    engine: &mut dyn Engine,
    start: Start,
    params: &OdometryParams,
) -> Result<Option<Registration<SweepFit>>> {
    let free = aligned(engine, start, params, &[])?;
    let Some(found) = &free else { return Ok(free) };
    let seen = &found.fit.observability;
    let held: Vec<[f64; 6]> = (0..6).filter(|k| !seen.observable[*k]).map(|k| seen.directions[k]).collect();
    if held.is_empty() {
        return Ok(free);
    }
    aligned(engine, Start { guess: start.predicted, ..start }, params, &held)
}

fn aligned(
    engine: &mut dyn Engine,
    start: Start,
    params: &OdometryParams,
    held: &[[f64; 6]],
) -> Result<Option<Registration<SweepFit>>> {
    let fewest = FEWEST_PAIRS.max(FEWEST_SHARE * start.keys as f64);
    let mut pose = start.guess;
    let mut fine = false;
    for iterations in 1..=params.max_iterations {
        let reach = REACH * start.error;
        // Narrow weights would hold point-to-point where it is: along a surface the nearest point is always near.
        let (width, within) = match fine && params.metric == Metric::PointToPlane {
            true => (params.robust_width.min(start.error), reach.min(params.voxel_size)),
            false => (start.error, reach),
        };
        let look = Look { at: start.spread.at(*pose.rigid()), width, within: within as f32 };
        let said = Said::new(look.at, engine.look(&look)?);
        if said.terms[0] < fewest || said.weight().is_nan() || said.weight() <= 0.0 {
            return Ok(None);
        }
        let x = said.step(held);
        let next = Pose::from(said.moved(&x));
        if !next.is_rigid() {
            return Ok(None);
        }
        pose = next;
        let step = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let ended = if start.coarse { step < COARSE_STEP } else { fine && step < STEP };
        if ended || iterations == params.max_iterations {
            let status = if ended { Status::StepBelow } else { Status::MaxIterations };
            let support = support(engine, &look, &said, params.metric)?;
            let observable = match held {
                [] => determined(engine, &start, &said, &support, params.voxel_size)?,
                held => std::array::from_fn(|k| {
                    held.iter().map(|direction| product(direction, &said.directions[k]).powi(2)).sum::<f64>() < 0.5
                }),
            };
            return Ok(Some(registration(&said, support, observable, pose, status, iterations, start.keys)));
        }
        fine |= step < COARSE_STEP;
    }
    Ok(None)
}

/// The share of the points' motion in each direction that the surfaces see.
fn support(engine: &mut dyn Engine, look: &Look, said: &Said, metric: Metric) -> Result<[f64; 6]> {
    if metric != Metric::PointToPlane {
        return Ok(said.values.map(|value| value / said.weight()));
    }
    let motions = engine.support(look, &said.directions)?;
    Ok(std::array::from_fn(|k| if motions[6 + k] > 0.0 { motions[k] / motions[6 + k] } else { 0.0 }))
}

/// Which directions the surfaces determine.
fn determined(
    engine: &mut dyn Engine,
    start: &Start,
    said: &Said,
    support: &[f64; 6],
    voxel_size: f64,
) -> Result<[bool; 6]> {
    let speakers = FEWEST_SPEAKERS / said.weight();
    let mut determined = std::array::from_fn(|k| support[k] > WEAK.max(speakers) && said.says(k));
    for k in (0..6).filter(|k| said.says(*k)) {
        if !determined[k] && support[k] > FAINT.max(speakers) {
            determined[k] = pull(engine, start, said, &said.directions[k], voxel_size)? > PULL;
        }
    }
    Ok(determined)
}

/// How stiffly the pairs that are found on both sides of a pose, along a direction, pull the sweep back to it, by their weight.
fn pull(engine: &mut dyn Engine, start: &Start, said: &Said, direction: &[f64; 6], voxel_size: f64) -> Result<f64> {
    let (mut slopes, mut weights) = (0.0, 0.0);
    for aside in [ASIDE * voxel_size, -ASIDE * voxel_size] {
        let at = start.spread.at(said.moved(&direction.map(|x| x * aside)));
        let look = Look { at, width: ASIDE_WIDTH * voxel_size, within: voxel_size as f32 };
        let there = Said::new(at, engine.look(&look)?);
        slopes += there.slope(direction) / aside;
        weights += there.weight();
    }
    Ok(if weights > 0.0 { slopes / weights } else { 0.0 })
}

fn registration(
    said: &Said,
    support: [f64; 6],
    observable: [bool; 6],
    pose: Pose,
    status: Status,
    iterations: usize,
    keys: usize,
) -> Registration<SweepFit> {
    let [pairs, squares, weighted] = [said.terms[0], said.terms[1], said.terms[2]];
    let eigenvalues = said.values.map(|v| v / said.weight());
    let observability = Observability::new(eigenvalues, said.directions, observable);
    let unit = |i: usize| if i < 3 { 1.0 } else { said.at.length };
    let scaled = step_hessian(&said.terms);
    let hessian: Square<6> = std::array::from_fn(|i| std::array::from_fn(|j| scaled[i][j] * unit(i) * unit(j)));
    let determined = observability.rank() == 6;
    let by = weighted / (pairs - 6.0).max(1.0);
    let status = if determined { status } else { Status::Degenerate };
    let covariance = if determined { inverse(&hessian).map(|rows| rows.map(|row| row.map(|x| x * by))) } else { None };
    let fit = SweepFit {
        pairs: pairs as usize,
        fitness: pairs / keys as f64,
        rmse: (squares / pairs).sqrt(),
        observability,
        support,
        pivot: said.at.pivot,
    };
    Registration::new(pose, status, iterations, hessian, covariance, fit)
}
