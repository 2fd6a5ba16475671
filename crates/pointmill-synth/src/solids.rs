//! Where a ray goes in and out of a solid at the origin. `o` is the ray's origin, `d` its
//! direction.

use crate::V3;
use crate::hash::{mix, unit};

/// Entry, the axis of the face entered, and exit of a ray that starts outside the box.
pub(crate) fn through_box(o: V3, d: V3, half: V3) -> Option<(f64, usize, f64)> {
    let (mut enter, mut axis, mut exit) = (0.0, 3, f64::INFINITY);
    for k in 0..3 {
        if d[k] == 0.0 {
            if o[k].abs() > half[k] {
                return None;
            }
            continue;
        }
        let inverse = 1.0 / d[k];
        let (a, b) = ((-half[k] - o[k]) * inverse, (half[k] - o[k]) * inverse);
        let (near, far) = if a < b { (a, b) } else { (b, a) };
        if near > enter {
            (enter, axis) = (near, k);
        }
        if far < exit {
            exit = far;
        }
    }
    (axis < 3 && enter < exit).then_some((enter, axis, exit))
}

/// Entry into a convex solid of planes `n . p <= m` with unit normals, and the cosine of incidence
/// there.
pub(crate) fn into_planes(o: V3, d: V3, planes: &[(V3, f64)]) -> Option<(f64, f64)> {
    let (mut enter, mut facing, mut exit) = (0.0, 0.0, f64::INFINITY);
    for (n, m) in planes {
        let along = n[0] * d[0] + n[1] * d[1] + n[2] * d[2];
        let room = m - (n[0] * o[0] + n[1] * o[1] + n[2] * o[2]);
        if along == 0.0 {
            if room < 0.0 {
                return None;
            }
            continue;
        }
        let t = room / along;
        if along < 0.0 && t > enter {
            (enter, facing) = (t, -along);
        } else if along > 0.0 && t < exit {
            exit = t;
        }
    }
    (facing > 0.0 && enter < exit).then_some((enter, facing))
}

/// Entry into a cylinder along z, through its side or its ends.
pub(crate) fn into_cylinder(o: V3, d: V3, radius: f64, half: f64) -> Option<(f64, f64)> {
    let a = d[0] * d[0] + d[1] * d[1];
    let b = o[0] * d[0] + o[1] * d[1];
    let c = o[0] * o[0] + o[1] * o[1] - radius * radius;
    let disc = b * b - a * c;
    // A ray along the axis (a = 0) can only meet an end.
    if a > 0.0 {
        if disc <= 0.0 {
            return None;
        }
        let t = (-b - disc.sqrt()) / a;
        if (o[2] + t * d[2]).abs() <= half {
            let n = [(o[0] + t * d[0]) / radius, (o[1] + t * d[1]) / radius];
            return Some((t, (n[0] * d[0] + n[1] * d[1]).abs()));
        }
    }
    if d[2] == 0.0 {
        return None;
    }
    let end = if d[2] < 0.0 { half } else { -half };
    let t = (end - o[2]) / d[2];
    let (x, y) = (o[0] + t * d[0], o[1] + t * d[1]);
    (x * x + y * y <= radius * radius).then_some((t, d[2].abs()))
}

pub(crate) fn through_ellipsoid(o: V3, d: V3, radii: V3) -> Option<(f64, f64)> {
    let o: V3 = core::array::from_fn(|k| o[k] / radii[k]);
    let d: V3 = core::array::from_fn(|k| d[k] / radii[k]);
    let a = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    let b = o[0] * d[0] + o[1] * d[1] + o[2] * d[2];
    let c = o[0] * o[0] + o[1] * o[1] + o[2] * o[2] - 1.0;
    let disc = b * b - a * c;
    if disc <= 0.0 {
        return None;
    }
    let root = disc.sqrt();
    Some(((-b - root) / a, (-b + root) / a))
}

/// The range of the first leaf: free flight through leaves is exponentially distributed.
pub(crate) fn among_leaves(enter: f64, exit: f64, per_metre: f64, noise: u64) -> Option<f64> {
    let t = enter - libm::log(1.0 - unit(noise)) / per_metre;
    (t < exit).then_some(t)
}

/// Leaves hang at all angles.
pub(crate) fn leaf(noise: u64) -> f64 {
    unit(mix(noise)) * 0.8 + 0.2
}
