//! Pairs of a sweep's points and the map's, and what they say of a motion.

use super::surface::Normal;
use crate::icp::Robust;
use crate::icp::neighbourhood::is_normal;
use crate::icp::pairs::{Linearization, STEP_TERMS, point_to_plane};
use crate::linear::Square;
use crate::rigid::{add, cross, dot, subtract, wide};

/// A pair speaks of a direction if its normal leans there by so many standard deviations of its
/// tilt: noise makes normals of smooth walls lean along them.
const SIGNIFICANT: f64 = 3.0;

/// What a pair adds to the sums of an alignment by the distance from the plane; none where the
/// target has no normal.
#[inline(always)]
pub fn by_plane(
    at: &Linearization,
    width: f64,
    source: [f64; 3],
    target: [f64; 3],
    normal: &Normal,
) -> [f64; STEP_TERMS] {
    point_to_plane(at, &Robust::GemanMcClure(width), source, target, normal.direction)
}

/// What a pair adds by the distance from the point: a point is three planes through it. Each pair
/// counts once.
#[inline(always)]
pub fn by_point(at: &Linearization, width: f64, source: [f64; 3], target: [f64; 3]) -> [f64; STEP_TERMS] {
    let kernel = Robust::GemanMcClure(width);
    let mut terms = point_to_plane(at, &kernel, source, target, [1.0, 0.0, 0.0]);
    let y = point_to_plane(at, &kernel, source, target, [0.0, 1.0, 0.0]);
    let z = point_to_plane(at, &kernel, source, target, [0.0, 0.0, 1.0]);
    let mut t = 2;
    while t < STEP_TERMS {
        terms[t] = terms[t] + y[t] + z[t];
        t += 1;
    }
    terms
}

/// The motion of a point on an arm in a direction.
#[inline(always)]
pub fn motion_of(direction: &[f64; 6], arm: [f64; 3]) -> [f64; 3] {
    let [x, y, z, roll, pitch, yaw] = *direction;
    add([x, y, z], cross([roll, pitch, yaw], arm))
}

/// What a pair sees of six directions: the weighted squares of how far a motion in each changes its
/// residual, if that is more than the tilt of the normal explains; then the weighted squares of how
/// far the point moves.
#[inline(always)]
pub fn seen(
    at: &Linearization,
    width: f64,
    source: [f64; 3],
    target: [f64; 3],
    normal: &Normal,
    directions: &Square<6>,
) -> [f64; 12] {
    let mut seen = [0.0; 12];
    if !is_normal(normal.direction) {
        return seen;
    }
    let place = at.pose.apply(source);
    let (n, arm) = (wide(normal.direction), at.arm(place));
    let residual = dot(n, subtract(place, target));
    let weight = Robust::GemanMcClure(width).weight(residual * residual);
    let mut k = 0;
    while k < 6 {
        let motion = motion_of(&directions[k], arm);
        let along = dot(n, motion);
        let moved = dot(motion, motion);
        let noise = normal.tilt as f64 * moved;
        seen[k] = if along * along > SIGNIFICANT * SIGNIFICANT * noise { weight * (along * along) } else { 0.0 };
        seen[6 + k] = weight * moved;
        k += 1;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rigid::Rigid;

    const AT: Linearization = Linearization { pose: Rigid::IDENTITY, pivot: [0.0; 3], length: 2.0 };
    const AXES: Square<6> = {
        let mut axes = [[0.0; 6]; 6];
        let mut k = 0;
        while k < 6 {
            axes[k][k] = 1.0;
            k += 1;
        }
        axes
    };

    #[test]
    fn a_point_is_three_planes() {
        let (s, q) = ([1.0, 2.0, 3.0], [0.5, 2.0, 4.0]);
        let terms = by_point(&AT, 1e6, s, q);
        assert_eq!(terms[0], 1.0);
        assert!((terms[1] - 1.25).abs() < 1e-12 && (terms[2] - 1.25).abs() < 1e-9 && (terms[3] - 3.0).abs() < 1e-9);
    }

    #[test]
    fn directions_are_seen_along_the_normal() {
        let (s, q) = ([4.0, 0.0, 0.0], [4.0, 0.0, 0.0]);
        let up = Normal { direction: [0.0, 0.0, 1.0], tilt: 1e-4 };
        // Up, and the turns that lift a point at (2, 0, 0) of lengths: about y.
        assert_eq!(seen(&AT, 1.0, s, q, &up, &AXES), [0.0, 0.0, 1.0, 0.0, 4.0, 0.0, 1.0, 1.0, 1.0, 0.0, 4.0, 4.0]);
        // A normal that leans by less than three deviations of its tilt says nothing of that
        // direction.
        let leaning = |by: f32| Normal { direction: [by, 0.0, 1.0], tilt: 1e-4 };
        assert_eq!(seen(&AT, 1.0, s, q, &leaning(0.029), &AXES)[0], 0.0);
        assert!(seen(&AT, 1.0, s, q, &leaning(0.031), &AXES)[0] > 0.0);
        assert_eq!(seen(&AT, 1.0, s, q, &Normal::default(), &AXES), [0.0; 12]);
    }
}
