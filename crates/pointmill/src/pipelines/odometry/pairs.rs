//! Pairs of a sweep's points and the map's, and what they say of a motion.

use super::map::{LocalMap, Normal};
use crate::icp::{Metric, Robust};
use crate::prim::sum;
use crate::{Result, memory};
use pointmill_core::icp::neighbourhood::is_normal;
use pointmill_core::icp::pairs::{HEAD, Linearization, STEP_TERMS, point_to_plane};
use pointmill_core::icp::pose::{is_observable, step_hessian};
use pointmill_core::linear::{Square, eigen};
use pointmill_core::rigid::{Rigid, add, cross, dot, subtract};
use rayon::prelude::*;

/// A pair speaks of a direction if its normal leans there by so many standard deviations of its tilt: noise makes normals of smooth walls lean along them.
const SIGNIFICANT: f64 = 3.0;
/// A direction is not determined if the surfaces see less than this share of the points' motion in it, or less than that of so many pairs. Cars in a tunnel have 0.003 to 0.02 along
/// it; streets, also with 16 beams, 0.05 and more.
const WEAK: f64 = 0.04;
const FEWEST_SPEAKERS: f64 = 6.0;
/// A direction turns the points about the sensor if the square of how far it takes the sensor is less, of a unit.
const STANDING: f64 = 0.01;
/// Keys whose neighbours a thread looks for at least.
const KEYS: usize = 64;
/// The neighbour of a point that has none.
pub(super) const NONE: usize = usize::MAX;

const AXES: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// What the pairs at a pose say.
pub(super) struct Said {
    pub(super) at: Linearization,
    pub(super) terms: [f64; STEP_TERMS],
    /// What significant pairs say of each direction.
    pub(super) support: [f64; 6],
    pub(super) values: [f64; 6],
    pub(super) directions: Square<6>,
}

impl Said {
    pub(super) fn weight(&self) -> f64 {
        self.terms[3]
    }

    pub(super) fn determines(&self, k: usize) -> bool {
        self.support[k] > FEWEST_SPEAKERS.max(WEAK * self.weight()) && is_observable(&self.values, k)
    }

    /// The step of Gauss and Newton in metres, without its part along the directions that are held.
    pub(super) fn step(&self, held: &[[f64; 6]]) -> [f64; 6] {
        let mut x = [0.0; 6];
        for k in (0..6).filter(|k| is_observable(&self.values, *k)) {
            let slope: f64 = (0..6).map(|i| self.directions[k][i] * self.terms[HEAD + 21 + i]).sum();
            (0..6).for_each(|i| x[i] -= slope / self.values[k] * self.directions[k][i]);
        }
        // A sensor keeps its speed better than its turn: what is held is how far the direction takes the sensor, if it does.
        let arm = self.at.arm(self.at.pose.translation);
        for direction in held {
            let taken = motion_of(direction, arm);
            let square = dot(taken, taken);
            let along = match square > STANDING {
                true => dot(motion_of(&x, arm), taken) / square,
                false => product(&x, direction),
            };
            (0..6).for_each(|i| x[i] -= along * direction[i]);
        }
        x
    }
}

pub(super) fn product(a: &[f64; 6], b: &[f64; 6]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The nearest point of the map for each point at a pose, or [`NONE`].
pub(super) fn nearest(map: &LocalMap, points: &[[f64; 3]], pose: &Rigid, within: f32) -> Result<Vec<usize>> {
    let nearest = |p: &[f64; 3]| map.nearest(pose.apply(*p), within).unwrap_or(NONE);
    memory::collect_parallel(points.par_iter().with_min_len(KEYS).map(nearest))
}

/// The pairs at a pose, and what they say.
pub(super) fn look(
    map: &mut LocalMap,
    points: &[[f64; 3]],
    at: &Linearization,
    width: f64,
    within: f32,
    metric: Metric,
) -> Result<Said> {
    let targets = nearest(map, points, &at.pose, within)?;
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

/// The motion of a point on an arm in a direction.
fn motion_of(direction: &[f64; 6], arm: [f64; 3]) -> [f64; 3] {
    let [x, y, z, roll, pitch, yaw] = *direction;
    add([x, y, z], cross([roll, pitch, yaw], arm))
}

/// The square of how far a motion in a direction changes the residual of a pair, if that is more than the tilt of the normal explains, and the square of how far its point moves.
fn seen(normal: &Normal, direction: &[f64; 6], arm: [f64; 3]) -> [f64; 2] {
    let motion = motion_of(direction, arm);
    let along = dot(normal.direction.map(f64::from), motion);
    let moved = dot(motion, motion);
    let noise = f64::from(normal.tilt) * moved;
    [if along * along > SIGNIFICANT * SIGNIFICANT * noise { along * along } else { 0.0 }, moved]
}
