//! The alignment of a sweep with the local map.

use super::map::{LocalMap, Normal};
use super::params::OdometryParams;
use crate::icp::{Metric, Observability, Robust};
use crate::prim::sum;
use crate::registration::{Registration, Status};
use crate::{Pose, Result, memory};
use pointmill_core::icp::neighbourhood::is_normal;
use pointmill_core::icp::pairs::{HEAD, Linearization, STEP_TERMS, point_to_plane};
use pointmill_core::icp::pose::{is_observable, step_hessian};
use pointmill_core::icp::spread::Spread;
use pointmill_core::linear::{Square, eigen, inverse};
use pointmill_core::rigid::{add, cross, dot, subtract};
use rayon::prelude::*;

/// A pair speaks of a direction if its normal leans there by so many standard deviations of its tilt: noise makes normals of smooth walls lean along them.
const SIGNIFICANT: f64 = 3.0;
/// A direction is not determined if the surfaces see less than this share of the points' motion in it, or less than that of so many pairs. Cars in a tunnel have 0.003 to 0.02 along
/// it; streets, also with 16 beams, 0.05 and more.
const WEAK: f64 = 0.04;
const FEWEST_SPEAKERS: f64 = 6.0;
/// A shorter step, in metres, ends the coarse part of an alignment, and the alignment.
const COARSE_STEP: f64 = 0.05;
const STEP: f64 = 1e-3;
/// Fewest pairs that say anything, and the part of the keys that must have one.
const FEWEST_PAIRS: f64 = 10.0;
const FEWEST_SHARE: f64 = 0.1;
/// Keys whose neighbours a thread looks for at least.
const KEYS: usize = 64;
/// Neighbours are looked for within this many times the expected error of the prediction.
const REACH: f64 = 3.0;

const AXES: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// What the alignment of a sweep reports beside the pose.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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
    /// The share of the points' motion in each direction that the surfaces see: that along normals which lean there by more than their own uncertainty. A direction is determined from 0.04 and 6 pairs.
    pub support: [f64; 6],
    /// The mean of the points at the pose, in the world: what Hessian and covariance turn about.
    pub pivot: [f64; 3],
}

/// What an alignment starts from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) guess: Pose,
    /// How far in metres the guess is expected to be off.
    pub(super) error: f64,
    /// Where directions that are not determined are held; `None` asks for the coarse part alone, while the motion within the sweep is not known well.
    pub(super) predicted: Option<Pose>,
}

/// What the pairs at a pose say.
struct Said {
    at: Linearization,
    terms: [f64; STEP_TERMS],
    /// What significant pairs say of each direction.
    support: [f64; 6],
    values: [f64; 6],
    directions: Square<6>,
}

impl Said {
    fn weight(&self) -> f64 {
        self.terms[3]
    }

    fn determines(&self, k: usize) -> bool {
        self.support[k] > FEWEST_SPEAKERS.max(WEAK * self.weight()) && is_observable(&self.values, k)
    }

    /// The step of Gauss and Newton in metres, without its part along the directions that are held.
    fn step(&self, held: &[[f64; 6]]) -> [f64; 6] {
        let mut x = [0.0; 6];
        for k in (0..6).filter(|k| is_observable(&self.values, *k)) {
            let slope: f64 = (0..6).map(|i| self.directions[k][i] * self.terms[HEAD + 21 + i]).sum();
            (0..6).for_each(|i| x[i] -= slope / self.values[k] * self.directions[k][i]);
        }
        for direction in held {
            let along = product(&x, direction);
            (0..6).for_each(|i| x[i] -= along * direction[i]);
        }
        x
    }
}

fn product(a: &[f64; 6], b: &[f64; 6]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Aligns points of a sweep with the map; `None` if too few of them have a neighbour.
///
/// Which directions are determined is asked at the end: on the way there pairs are still wrong. Where some are not, the sweep is aligned again from the prediction with these held.
pub(super) fn register(
    map: &mut LocalMap,
    points: &[[f64; 3]],
    start: Start,
    params: &OdometryParams,
) -> Result<Option<Registration<SweepFit>>> {
    let free = aligned(map, points, start, params, &[])?;
    let (Some(found), Some(guess)) = (&free, start.predicted) else { return Ok(free) };
    let seen = &found.fit.observability;
    let held: Vec<[f64; 6]> = (0..6).filter(|k| !seen.observable[*k]).map(|k| seen.directions[k]).collect();
    if held.is_empty() { Ok(free) } else { aligned(map, points, Start { guess, ..start }, params, &held) }
}

fn aligned(
    map: &mut LocalMap,
    points: &[[f64; 3]],
    start: Start,
    params: &OdometryParams,
    held: &[[f64; 6]],
) -> Result<Option<Registration<SweepFit>>> {
    let spread = spread_of(points)?;
    let fewest = FEWEST_PAIRS.max(FEWEST_SHARE * points.len() as f64);
    let mut pose = start.guess;
    let mut fine = false;
    for iterations in 1..=params.max_iterations {
        let reach = REACH * start.error;
        // Narrow weights would hold point-to-point where it is: along a surface the nearest point is always near.
        let (width, within) = match fine && params.metric == Metric::PointToPlane {
            true => (params.robust_width.min(start.error), reach.min(params.voxel_size)),
            false => (start.error, reach),
        };
        let said = look(map, points, &spread.at(*pose.rigid()), width, within as f32, params.metric)?;
        if said.terms[0] < fewest || said.weight().is_nan() || said.weight() <= 0.0 {
            return Ok(None);
        }
        let x = said.step(held);
        let l = said.at.length;
        let twist = [x[0], x[1], x[2], x[3] / l, x[4] / l, x[5] / l];
        let next = Pose::from(said.at.pose.moved(&twist, said.at.pivot).orthonormal());
        if !next.is_rigid() {
            return Ok(None);
        }
        pose = next;
        let step = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let ended = if start.predicted.is_none() { step < COARSE_STEP } else { fine && step < STEP };
        if ended || iterations == params.max_iterations {
            let status = if ended { Status::StepBelow } else { Status::MaxIterations };
            return Ok(Some(registration(&said, held, pose, status, iterations, points.len())));
        }
        fine |= step < COARSE_STEP;
    }
    Ok(None)
}

/// The pairs at a pose, and what they say.
fn look(
    map: &mut LocalMap,
    points: &[[f64; 3]],
    at: &Linearization,
    width: f64,
    within: f32,
    metric: Metric,
) -> Result<Said> {
    const NONE: usize = usize::MAX;
    let targets = {
        let map = &*map;
        let nearest = |p: &[f64; 3]| map.nearest(at.pose.apply(*p), within).unwrap_or(NONE);
        memory::collect_parallel(points.par_iter().with_min_len(KEYS).map(nearest))?
    };
    if metric == Metric::PointToPlane {
        map.refresh_normals(targets.iter().copied().filter(|i| *i != NONE))?;
    }
    let map = &*map;
    let kernel = Robust::GemanMcClure(width);
    let terms = sum(points.len(), |i| match targets[i] {
        NONE => [0.0; STEP_TERMS],
        j if metric == Metric::PointToPlane => {
            point_to_plane(at, &kernel, points[i], map.point(j), map.normals[j].direction)
        }
        // A point is three planes through it. Each pair counts once.
        j => {
            let [x, y, z] = AXES.map(|n| point_to_plane(at, &kernel, points[i], map.point(j), n));
            std::array::from_fn(|t| if t < 2 { x[t] } else { x[t] + y[t] + z[t] })
        }
    })?;
    let (values, directions) = eigen(&step_hessian(&terms));
    let motions: [f64; 12] = match metric {
        Metric::PointToPlane => sum(points.len(), |i| match targets[i] {
            NONE => [0.0; 12],
            j => {
                let (normal, place) = (map.normals[j], at.pose.apply(points[i]));
                let w = weight(&kernel, &normal, subtract(place, map.point(j)));
                let both = directions.map(|direction| seen(&normal, &direction, at.arm(place)));
                std::array::from_fn(|k| w * both[k % 6][k / 6])
            }
        })?,
        _ => std::array::from_fn(|k| if k < 6 { values[k] } else { terms[3] }),
    };
    let share = |k: usize| if motions[6 + k] > 0.0 { terms[3] * motions[k] / motions[6 + k] } else { 0.0 };
    let support = std::array::from_fn(share);
    Ok(Said { at: *at, terms, support, values, directions })
}

/// The weight of a pair by the distance from its plane; none without a normal.
fn weight(kernel: &Robust, normal: &Normal, offset: [f64; 3]) -> f64 {
    let n = normal.direction.map(f64::from);
    let residual = dot(n, offset);
    if is_normal(normal.direction) { kernel.weight(residual * residual) } else { 0.0 }
}

/// The square of how far a motion in a direction changes the residual of a pair, if that is more than the tilt of the normal explains, and the square of how far its point moves.
fn seen(normal: &Normal, direction: &[f64; 6], arm: [f64; 3]) -> [f64; 2] {
    let [x, y, z, roll, pitch, yaw] = *direction;
    let motion = add([x, y, z], cross([roll, pitch, yaw], arm));
    let along = dot(normal.direction.map(f64::from), motion);
    let moved = dot(motion, motion);
    let noise = f64::from(normal.tilt) * moved;
    [if along * along > SIGNIFICANT * SIGNIFICANT * noise { along * along } else { 0.0 }, moved]
}

fn registration(
    said: &Said,
    held: &[[f64; 6]],
    pose: Pose,
    status: Status,
    iterations: usize,
    keys: usize,
) -> Registration<SweepFit> {
    let [pairs, squares, weighted] = [said.terms[0], said.terms[1], said.terms[2]];
    let observable = std::array::from_fn(|k| match held {
        [] => said.determines(k),
        held => held.iter().map(|direction| product(direction, &said.directions[k]).powi(2)).sum::<f64>() < 0.5,
    });
    let observability =
        Observability { eigenvalues: said.values.map(|v| v / said.weight()), directions: said.directions, observable };
    let unit = |i: usize| if i < 3 { 1.0 } else { said.at.length };
    let scaled = step_hessian(&said.terms);
    let hessian: Square<6> = std::array::from_fn(|i| std::array::from_fn(|j| scaled[i][j] * unit(i) * unit(j)));
    let determined = observability.rank() == 6;
    let by = weighted / (pairs - 6.0).max(1.0);
    Registration {
        target_from_source: pose,
        status: if determined { status } else { Status::Degenerate },
        iterations,
        hessian,
        covariance: if determined { inverse(&hessian).map(|rows| rows.map(|row| row.map(|x| x * by))) } else { None },
        fit: SweepFit {
            pairs: pairs as usize,
            fitness: pairs / keys as f64,
            rmse: (squares / pairs).sqrt(),
            observability,
            support: said.support.map(|x| x / said.weight()),
            pivot: said.at.pivot,
        },
    }
}

/// Mean and covariance of points.
fn spread_of(points: &[[f64; 3]]) -> Result<Spread> {
    let n = points.len() as f64;
    let mean = sum(points.len(), |i| points[i])?.map(|x| x / n);
    // The size alone is used: a third of the mean square a direction.
    let [square] = sum(points.len(), |i| {
        let d = subtract(points[i], mean);
        [dot(d, d)]
    })?;
    let third = square / (3.0 * n);
    let covariance = std::array::from_fn(|i| std::array::from_fn(|j| if i == j { third } else { 0.0 }));
    Ok(Spread { mean, covariance })
}
