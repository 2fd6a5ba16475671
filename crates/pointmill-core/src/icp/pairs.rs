//! What a pair of points adds to the sums of a metric.
//!
//! All sums begin alike: the number of pairs, the sum of their squared distances, the sum of
//! weighted squared residuals, the sum of weights. The points are those of the clouds, never moved
//! copies, so that nothing drifts from step to step.

use super::Robust;
use super::neighbourhood::is_normal;
use crate::eigen::{Symmetric, times};
use crate::rigid::{Rigid, cross, dot, rotate, subtract, wide};

/// Sums that all metrics have.
pub const HEAD: usize = 4;
/// Sums of point-to-point: the head; source, target and their products, rows of the source,
/// weighted.
pub const POINT_TERMS: usize = HEAD + 3 + 3 + 9;
/// Sums of point-to-plane and GICP: the head; the upper triangle of the Hessian by rows; the
/// gradient.
pub const STEP_TERMS: usize = HEAD + 21 + 6;
/// How thick GICP takes a surface to be, beside its width: the variances along the normal and
/// across it.
pub const THICKNESS: f64 = 1e-3;

/// Where a step is taken: the pose, the point that rotations turn about, and the length that makes
/// a turn a motion.
///
/// A step is a translation, and a rotation vector times `length`: all six in metres.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linearization {
    /// Where the source is now.
    pub pose: Rigid,
    /// In the frame of the target.
    pub pivot: [f64; 3],
    /// Above zero.
    pub length: f64,
}

impl Linearization {
    /// The arm of a point at `x`, in lengths.
    #[inline(always)]
    pub fn arm(&self, x: [f64; 3]) -> [f64; 3] {
        let d = subtract(x, self.pivot);
        [d[0] / self.length, d[1] / self.length, d[2] / self.length]
    }
}

/// The terms of a pair by the distance of its points.
#[inline(always)]
pub fn point_to_point(pose: &Rigid, kernel: &Robust, source: [f64; 3], target: [f64; 3]) -> [f64; POINT_TERMS] {
    let e = subtract(pose.apply(source), target);
    let squared = dot(e, e);
    let w = kernel.weight(squared);
    let mut terms = [0.0; POINT_TERMS];
    head(&mut terms, squared, squared, w);
    let mut i = 0;
    while i < 3 {
        let ws = w * source[i];
        terms[HEAD + i] = ws;
        terms[HEAD + 3 + i] = w * target[i];
        let mut j = 0;
        while j < 3 {
            terms[HEAD + 6 + 3 * i + j] = ws * target[j];
            j += 1;
        }
        i += 1;
    }
    terms
}

/// The terms of a pair by the distance of the source from the target's plane, `n . (R s + t - q)`;
/// none where the target has no normal.
#[inline(always)]
pub fn point_to_plane(
    at: &Linearization,
    kernel: &Robust,
    source: [f64; 3],
    target: [f64; 3],
    normal: [f32; 3],
) -> [f64; STEP_TERMS] {
    let mut terms = [0.0; STEP_TERMS];
    if !is_normal(normal) {
        return terms;
    }
    let x = at.pose.apply(source);
    let e = subtract(x, target);
    let n = wide(normal);
    let r = dot(n, e);
    let w = kernel.weight(r * r);
    head(&mut terms, dot(e, e), r * r, w);
    let turn = cross(at.arm(x), n);
    let j = [n[0], n[1], n[2], turn[0], turn[1], turn[2]];
    let mut to = HEAD;
    let mut i = 0;
    while i < 6 {
        let wj = w * j[i];
        terms[HEAD + 21 + i] = wj * r;
        let mut k = i;
        while k < 6 {
            terms[to] = wj * j[k];
            to += 1;
            k += 1;
        }
        i += 1;
    }
    terms
}

/// The terms of a pair of surface patches, by `e^T (C_target + R C_source R^T)^-1 e` with
/// `e = R s + t - q`; none where one has no normal.
///
/// Each patch is [`THICKNESS`] thick beside its width of one, as a variance. The matrix is that of
/// the pose, and is held while the step is taken.
#[inline(always)]
pub fn generalized(
    at: &Linearization,
    kernel: &Robust,
    source: [f64; 3],
    target: [f64; 3],
    normals: [[f32; 3]; 2],
) -> [f64; STEP_TERMS] {
    let mut terms = [0.0; STEP_TERMS];
    if !is_normal(normals[0]) || !is_normal(normals[1]) {
        return terms;
    }
    let x = at.pose.apply(source);
    let e = subtract(x, target);
    let m = combined(rotate(&at.pose.rotation, wide(normals[0])), wide(normals[1]));
    let me = times(&m, e);
    let squared = dot(e, me);
    let w = kernel.weight(squared);
    head(&mut terms, dot(e, e), squared, w);
    let y = at.arm(x);
    // How the point moves with each of the six, and that times the matrix.
    let a =
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -y[2], y[1]], [y[2], 0.0, -y[0]], [-y[1], y[0], 0.0]];
    let mut to = HEAD;
    let mut i = 0;
    while i < 6 {
        terms[HEAD + 21 + i] = w * dot(a[i], me);
        let ma = times(&m, a[i]);
        let mut k = i;
        while k < 6 {
            terms[to] = w * dot(ma, a[k]);
            to += 1;
            k += 1;
        }
        i += 1;
    }
    terms
}

#[inline(always)]
fn head<const K: usize>(terms: &mut [f64; K], distance: f64, residual: f64, weight: f64) {
    terms[0] = 1.0;
    terms[1] = distance;
    terms[2] = weight * residual;
    terms[3] = weight;
}

/// The inverse of the sum of two patches' covariances, each `I - (1 - THICKNESS) n n^T`. Its
/// determinant is at least four times the thickness.
#[inline(always)]
fn combined(a: [f64; 3], b: [f64; 3]) -> Symmetric {
    const K: f64 = 1.0 - THICKNESS;
    let xx = 2.0 - K * (a[0] * a[0] + b[0] * b[0]);
    let xy = -K * (a[0] * a[1] + b[0] * b[1]);
    let xz = -K * (a[0] * a[2] + b[0] * b[2]);
    let yy = 2.0 - K * (a[1] * a[1] + b[1] * b[1]);
    let yz = -K * (a[1] * a[2] + b[1] * b[2]);
    let zz = 2.0 - K * (a[2] * a[2] + b[2] * b[2]);
    let (cxx, cxy, cxz) = (yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy);
    let by = 1.0 / (xx * cxx + xy * cxy + xz * cxz);
    [cxx * by, cxy * by, cxz * by, (xx * zz - xz * xz) * by, (xy * xz - xx * yz) * by, (xx * yy - xy * xy) * by]
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::rigid::exponential;
    use proptest::prelude::*;

    fn unit(n: [f64; 3]) -> [f32; 3] {
        let length = crate::float::sqrt(dot(n, n));
        n.map(|x| (x / length) as f32)
    }

    fn patch(n: [f32; 3]) -> crate::linear::Square<3> {
        let n = wide(n);
        std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j)) - (1.0 - THICKNESS) * n[i] * n[j]))
    }

    proptest! {
        #[test]
        fn gradients_and_hessians_equal_finite_differences(
            w in prop::array::uniform3(-1f64..1.0), s in prop::array::uniform3(-2f64..2.0), e in prop::array::uniform3(-0.3f64..0.3),
            n in prop::array::uniform3(0.1f64..1.0), m in prop::array::uniform3(0.1f64..1.0), length in 0.5f64..3.0
        ) {
            let pose = Rigid { rotation: exponential(w), translation: [0.3, -0.2, 0.1] };
            let at = Linearization { pose, pivot: [0.4, 0.5, -0.6], length };
            let q = subtract(pose.apply(s), e);
            let (n, m) = (unit(n), unit(m));
            let moved = |i: usize, by: f64| {
                let mut twist = [0.0; 6];
                twist[i] = if i < 3 { by } else { by / length };
                pose.moved(&twist, at.pivot)
            };
            // The matrix of GICP is held: residuals are taken with that of the pose.
            let held = combined(rotate(&pose.rotation, wide(n)), wide(m));
            let plane = |pose: &Rigid| { let r = dot(wide(m), subtract(pose.apply(s), q)); 0.5 * r * r };
            let patches = |pose: &Rigid| { let d = subtract(pose.apply(s), q); 0.5 * dot(d, times(&held, d)) };
            let none = Robust::None;
            let by_plane = point_to_plane(&at, &none, s, q, m);
            let by_patch = generalized(&at, &none, s, q, [n, m]);
            for i in 0..6 {
                let step = 1e-5;
                let slope = |f: &dyn Fn(&Rigid) -> f64| (f(&moved(i, step)) - f(&moved(i, -step))) / (2.0 * step);
                prop_assert!((slope(&plane) - by_plane[HEAD + 21 + i]).abs() < 1e-8, "{i}");
                prop_assert!((slope(&patches) - by_patch[HEAD + 21 + i]).abs() < 1e-5, "{i}");
            }
            // The Hessian of squares is J^T J: with e = 0 it is the second derivative.
            let here = Linearization { pose, ..at };
            let q = pose.apply(s);
            let plane = |pose: &Rigid| { let r = dot(wide(m), subtract(pose.apply(s), q)); 0.5 * r * r };
            let patches = |pose: &Rigid| { let d = subtract(pose.apply(s), q); 0.5 * dot(d, times(&held, d)) };
            let (by_plane, by_patch) = (point_to_plane(&here, &none, s, q, m), generalized(&here, &none, s, q, [n, m]));
            let mut to = HEAD;
            for i in 0..6 {
                for k in i..6 {
                    let both = |a: f64, b: f64| {
                        let mut twist = [0.0; 6];
                        twist[i] += if i < 3 { a } else { a / length };
                        twist[k] += if k < 3 { b } else { b / length };
                        pose.moved(&twist, at.pivot)
                    };
                    let h = 1e-4;
                    let bend = |f: &dyn Fn(&Rigid) -> f64| (f(&both(h, h)) - f(&both(h, -h)) - f(&both(-h, h)) + f(&both(-h, -h))) / (4.0 * h * h);
                    prop_assert!((bend(&plane) - by_plane[to]).abs() < 1e-5 * (1.0 + by_plane[to].abs()), "{i} {k}");
                    prop_assert!((bend(&patches) - by_patch[to]).abs() < 1e-3 * (10.0 + by_patch[to].abs()), "{i} {k}: {} {}", bend(&patches), by_patch[to]);
                    to += 1;
                }
            }
        }

        #[test]
        fn patches_combine_to_the_inverse_of_their_sum(n in prop::array::uniform3(-1f64..1.0), m in prop::array::uniform3(-1f64..1.0)) {
            prop_assume!(dot(n, n) > 0.01 && dot(m, m) > 0.01);
            let (n, m) = (unit(n), unit(m));
            for (a, b) in [(n, m), (n, n)] {
                let got = combined(wide(a), wide(b));
                let sum: crate::linear::Square<3> = std::array::from_fn(|i| std::array::from_fn(|j| patch(a)[i][j] + patch(b)[i][j]));
                for i in 0..3 {
                    let column = times(&got, sum[i]);
                    for j in 0..3 {
                        prop_assert!((column[j] - f64::from(u8::from(i == j))).abs() < 1e-9, "{got:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn pairs_without_normal_add_nothing() {
        let at = Linearization { pose: Rigid::IDENTITY, pivot: [0.0; 3], length: 1.0 };
        let (none, up) = ([0.0f32; 3], [0.0f32, 0.0, 1.0]);
        let (s, q) = ([1.0, 2.0, 3.0], [1.0, 2.0, 2.5]);
        assert_eq!(point_to_plane(&at, &Robust::None, s, q, none), [0.0; STEP_TERMS]);
        assert_eq!(generalized(&at, &Robust::None, s, q, [none, up]), [0.0; STEP_TERMS]);
        assert_eq!(generalized(&at, &Robust::None, s, q, [up, none]), [0.0; STEP_TERMS]);
        let terms = point_to_plane(&at, &Robust::Huber(0.25), s, q, up);
        assert_eq!(terms[..HEAD], [1.0, 0.25, 0.125, 0.5]);
        let terms = point_to_point(&Rigid::IDENTITY, &Robust::Huber(0.25), s, q);
        assert_eq!(terms[..HEAD], [1.0, 0.25, 0.125, 0.5]);
        assert_eq!(terms[HEAD..], [0.5, 1.0, 1.5, 0.5, 1.0, 1.25, 0.5, 1.0, 1.25, 1.0, 2.0, 2.5, 1.5, 3.0, 3.75]);
    }
}
