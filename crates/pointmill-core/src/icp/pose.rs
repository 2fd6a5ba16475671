//! The pose that sums over pairs ask for.

use super::pairs::{HEAD, Linearization, POINT_TERMS, STEP_TERMS};
use crate::linear::{Square, cholesky, eigen, solve};
use crate::rigid::{Rigid, cross, dot, multiply, rotate, subtract, transpose};
use crate::svd::{perpendicular, svd};
use crate::trig::MAX_ANGLE;

/// Directions whose eigenvalue is at most this fraction of the largest are unobservable, such as
/// rotations about a line whose points lie within a ten-thousandth of its length. Steps leave them
/// alone.
pub const OBSERVABLE: f64 = 1e-8;
/// Products of coordinates that cancel to less than this part say nothing: points of `f32` differ
/// by more, if they differ.
const CANCELLED: f64 = 1e-12;

/// The pose that brings pairs nearest together by their squared distances, in closed form; `None`
/// if no pair counts.
///
/// The rotation is always proper. What the pairs do not determine is as in `guess`: all of the
/// rotation for pairs at one place, turns about the line for pairs along one, and then the turn
/// away from the guess is the smallest that fits.
#[inline(always)]
pub fn closest(terms: &[f64; POINT_TERMS], guess: &Rigid) -> Option<Rigid> {
    let w = terms[3];
    if w.is_nan() || w <= 0.0 {
        return None;
    }
    let source = [terms[4] / w, terms[5] / w, terms[6] / w];
    let target = [terms[7] / w, terms[8] / w, terms[9] / w];
    // Targets times sources, about their means; then with sources turned as guessed.
    let mut products = [[0.0; 3]; 3];
    let mut size = 0.0;
    let mut i = 0;
    while i < 3 {
        let mut j = 0;
        while j < 3 {
            let product = terms[HEAD + 6 + 3 * j + i] - terms[HEAD + 3 + i] * source[j];
            products[i][j] = product;
            size = if product.abs() > size { product.abs() } else { size };
            j += 1;
        }
        i += 1;
    }
    let noise = CANCELLED * w * crate::float::sqrt(dot(source, source)) * crate::float::sqrt(dot(target, target));
    let rotation = if size > noise {
        let scaled = products.map(|row| [row[0] / size, row[1] / size, row[2] / size]);
        let turned = multiply(&scaled, &transpose(&guess.rotation));
        multiply(&turn(&turned, noise / size), &guess.rotation)
    } else {
        guess.rotation
    };
    let translation = subtract(target, rotate(&rotation, source));
    let pose = Rigid { rotation, translation };
    if pose.is_finite() { Some(pose) } else { None }
}

/// The rotation `r` with the largest sum of `r[i][j] * products[i][j]`; of several the smallest.
#[inline(always)]
fn turn(products: &Square<3>, noise: f64) -> Square<3> {
    let of = svd(products);
    let [first, second, third] = of.values;
    let least = if noise > OBSERVABLE * first { noise } else { OBSERVABLE * first };
    if first <= least {
        return Rigid::IDENTITY.rotation;
    }
    // What keeps the turn about the first vector: the last value is negative for mirrored pairs.
    if second + third <= least {
        return onto(of.right[0], of.left[0]);
    }
    let mut r = [[0.0; 3]; 3];
    let mut i = 0;
    while i < 3 {
        let mut j = 0;
        while j < 3 {
            r[i][j] = of.left[0][i] * of.right[0][j] + of.left[1][i] * of.right[1][j] + of.left[2][i] * of.right[2][j];
            j += 1;
        }
        i += 1;
    }
    r
}

/// The smallest rotation that takes one vector of length one to another.
#[inline(always)]
fn onto(from: [f64; 3], to: [f64; 3]) -> Square<3> {
    let along = dot(from, to);
    let (axis, by) = if along > -0.999_999 {
        (cross(from, to), 1.0 / (1.0 + along))
    } else {
        // Nearly opposite: half a turn about anything orthogonal, then the rest.
        let p = perpendicular(from);
        let mut half = [[0.0; 3]; 3];
        let mut i = 0;
        while i < 3 {
            let mut j = 0;
            while j < 3 {
                half[i][j] = 2.0 * p[i] * p[j] - if i == j { 1.0 } else { 0.0 };
                j += 1;
            }
            i += 1;
        }
        let back = rotate(&half, from);
        let axis = cross(back, to);
        return multiply(&about(axis, 1.0 / (1.0 + dot(back, to))), &half);
    };
    about(axis, by)
}

/// `I + [v] + by [v]^2`.
#[inline(always)]
fn about(v: [f64; 3], by: f64) -> Square<3> {
    let [x, y, z] = v;
    [
        [1.0 - by * (y * y + z * z), by * x * y - z, by * x * z + y],
        [by * x * y + z, 1.0 - by * (x * x + z * z), by * y * z - x],
        [by * x * z - y, by * y * z + x, 1.0 - by * (x * x + y * y)],
    ]
}

/// The Hessian of half the sum of squared distances at a pose, all six directions in metres.
///
/// Unlike products of first derivatives it also sees what pairs that do not fit say: of mirrored
/// pairs that nothing holds against a turn.
#[inline(always)]
pub fn point_hessian(terms: &[f64; POINT_TERMS], at: &Linearization) -> Square<6> {
    let w = terms[3];
    let (r, l) = (&at.pose.rotation, at.length);
    // Arms y = (R s + t - c) / l of the sources and z = (q - c) / l of the targets: their sums and
    // the sum of y z^T.
    let offset = subtract(at.pose.translation, at.pivot);
    let turned = rotate(r, [terms[4], terms[5], terms[6]]);
    let sources = [turned[0] + w * offset[0], turned[1] + w * offset[1], turned[2] + w * offset[2]];
    let targets = [terms[7], terms[8], terms[9]];
    let products =
        [[terms[10], terms[11], terms[12]], [terms[13], terms[14], terms[15]], [terms[16], terms[17], terms[18]]];
    let products = multiply(r, &products);
    let mut yz = [[0.0; 3]; 3];
    let mut i = 0;
    while i < 3 {
        let mut j = 0;
        while j < 3 {
            yz[i][j] = (products[i][j] + offset[i] * targets[j] - sources[i] * at.pivot[j]) / (l * l);
            j += 1;
        }
        i += 1;
    }
    let trace = yz[0][0] + yz[1][1] + yz[2][2];
    let y = [sources[0] / l, sources[1] / l, sources[2] / l];
    let mut h = [[0.0; 6]; 6];
    let columns = [[0.0, -y[2], y[1]], [y[2], 0.0, -y[0]], [-y[1], y[0], 0.0]];
    let mut i = 0;
    while i < 3 {
        h[i][i] = w;
        let mut k = 0;
        while k < 3 {
            (h[i][3 + k], h[3 + k][i]) = (columns[k][i], columns[k][i]);
            h[3 + i][3 + k] = if i == k { trace } else { 0.0 } - 0.5 * (yz[i][k] + yz[k][i]);
            k += 1;
        }
        i += 1;
    }
    h
}

/// The Hessian among sums of point-to-plane or GICP, all six directions in metres.
#[inline(always)]
pub fn step_hessian(terms: &[f64; STEP_TERMS]) -> Square<6> {
    let mut h = [[0.0; 6]; 6];
    let mut at = HEAD;
    let mut i = 0;
    while i < 6 {
        let mut k = i;
        while k < 6 {
            (h[i][k], h[k][i]) = (terms[at], terms[at]);
            at += 1;
            k += 1;
        }
        i += 1;
    }
    h
}

/// The pose after a step of Gauss and Newton along the directions that the pairs determine; `None`
/// if they determine none.
#[inline(always)]
pub fn stepped(terms: &[f64; STEP_TERMS], at: &Linearization) -> Option<Rigid> {
    match stepped_if_determined(terms, at) {
        Some(pose) => Some(pose),
        None => {
            let (h, b) = system(terms)?;
            moved(at, &along_observable(&h, &b)?)
        }
    }
}

/// The pose after such a step, if it is proved that the pairs determine all directions.
#[inline(always)]
pub fn stepped_if_determined(terms: &[f64; STEP_TERMS], at: &Linearization) -> Option<Rigid> {
    let (h, b) = system(terms)?;
    moved(at, &determined(&h, &b)?)
}

/// The Hessian and the direction downhill, if they are numbers that say anything.
#[inline(always)]
fn system(terms: &[f64; STEP_TERMS]) -> Option<(Square<6>, [f64; 6])> {
    let h = step_hessian(terms);
    let trace = trace(&h);
    if !trace.is_finite() || trace <= 0.0 {
        return None;
    }
    let mut b = [0.0; 6];
    let mut i = 0;
    while i < 6 {
        b[i] = -terms[HEAD + 21 + i];
        i += 1;
    }
    Some((h, b))
}

#[inline(always)]
fn trace(h: &Square<6>) -> f64 {
    h[0][0] + h[1][1] + h[2][2] + h[3][3] + h[4][4] + h[5][5]
}

#[inline(always)]
fn moved(at: &Linearization, x: &[f64; 6]) -> Option<Rigid> {
    let l = at.length;
    let turn = [x[3] / l, x[4] / l, x[5] / l];
    // A turn of more than that is none that a pair asked for, and sines are not made for it.
    if dot(turn, turn) > MAX_ANGLE {
        return None;
    }
    let pose = at.pose.moved(&[x[0], x[1], x[2], turn[0], turn[1], turn[2]], at.pivot);
    if pose.is_finite() { Some(pose) } else { None }
}

/// The solution, if the traces of the matrix and of its inverse prove that every direction is
/// observable: that is cheaper than eigenvalues, and the usual case.
#[inline(always)]
fn determined(h: &Square<6>, b: &[f64; 6]) -> Option<[f64; 6]> {
    let lower = cholesky(h)?;
    let inverse_trace = inverse_trace(&lower);
    if trace(h) * inverse_trace * OBSERVABLE < 1.0 { Some(solve(&lower, b)) } else { None }
}

/// The trace of the inverse of a matrix with this triangle: the sum of the squares of the
/// triangle's own inverse.
#[inline(always)]
fn inverse_trace(lower: &Square<6>) -> f64 {
    let mut inverse = [[0.0; 6]; 6];
    let mut trace = 0.0;
    let mut i = 0;
    while i < 6 {
        inverse[i][i] = 1.0 / lower[i][i];
        trace += inverse[i][i] * inverse[i][i];
        let mut j = 0;
        while j < i {
            let mut sum = 0.0;
            let mut k = j;
            while k < i {
                sum += lower[i][k] * inverse[k][j];
                k += 1;
            }
            inverse[i][j] = -sum * inverse[i][i];
            trace += inverse[i][j] * inverse[i][j];
            j += 1;
        }
        i += 1;
    }
    trace
}

/// The solution within the span of the eigenvectors that are observable, if there is one.
#[inline(always)]
fn along_observable(h: &Square<6>, b: &[f64; 6]) -> Option<[f64; 6]> {
    let (values, vectors) = eigen(h);
    if !is_observable(&values, 5) {
        return None;
    }
    let mut x = [0.0; 6];
    let mut k = 0;
    while k < 6 {
        if is_observable(&values, k) {
            let mut part = 0.0;
            let mut i = 0;
            while i < 6 {
                part += vectors[k][i] * b[i];
                i += 1;
            }
            part /= values[k];
            let mut i = 0;
            while i < 6 {
                x[i] += part * vectors[k][i];
                i += 1;
            }
        }
        k += 1;
    }
    Some(x)
}

/// Whether direction `k` of ascending eigenvalues is observable.
#[inline(always)]
pub fn is_observable(values: &[f64; 6], k: usize) -> bool {
    values[5] > 0.0 && values[k] > OBSERVABLE * values[5]
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::super::Robust;
    use super::super::pairs::{point_to_plane, point_to_point};
    use super::*;
    use crate::rigid::{add, exponential, is_rotation};
    use proptest::prelude::*;
    use std::vec::Vec;

    fn sums(pairs: &[([f64; 3], [f64; 3])]) -> [f64; POINT_TERMS] {
        pairs.iter().fold([0.0; POINT_TERMS], |sum, (s, q)| {
            let term = point_to_point(&Rigid::IDENTITY, &Robust::None, *s, *q);
            std::array::from_fn(|i| sum[i] + term[i])
        })
    }

    fn close(a: &Rigid, b: &Rigid, within: f64) -> bool {
        let rotations = a.rotation.as_flattened().iter().zip(b.rotation.as_flattened());
        rotations.chain(a.translation.iter().zip(&b.translation)).all(|(a, b)| (a - b).abs() <= within)
    }

    fn cost(pairs: &[([f64; 3], [f64; 3])], pose: &Rigid) -> f64 {
        pairs
            .iter()
            .map(|(s, q)| {
                let e = subtract(pose.apply(*s), *q);
                0.5 * dot(e, e)
            })
            .sum()
    }

    proptest! {
        #[test]
        fn a_moved_cloud_is_moved_back(
            points in prop::collection::vec(prop::array::uniform3(-1f64..1.0), 4..30), w in prop::array::uniform3(-1.8f64..1.8), t in prop::array::uniform3(-3f64..3.0),
            flat in any::<bool>(), scale in prop::sample::select(std::vec![1e-6, 1.0, 1e6])
        ) {
            let points: Vec<[f64; 3]> = points.iter().map(|p| [p[0] * scale, p[1] * scale, if flat { 0.0 } else { p[2] * scale }]).collect();
            let truth = Rigid { rotation: exponential(w), translation: t.map(|x| x * scale) };
            let pairs: Vec<_> = points.iter().map(|p| (*p, truth.apply(*p))).collect();
            let got = closest(&sums(&pairs), &Rigid::IDENTITY).unwrap();
            prop_assert!(is_rotation(&got.rotation));
            // A few points may happen to lie near a line, where little holds the turn.
            let mut spread = sums(&pairs);
            (0..3).for_each(|i| (0..3).for_each(|j| spread[10 + 3 * i + j] -= spread[4 + i] * spread[7 + j] / spread[3]));
            let of = svd(&[[spread[10], spread[11], spread[12]], [spread[13], spread[14], spread[15]], [spread[16], spread[17], spread[18]]]);
            prop_assume!(of.values[1] > 1e-3 * of.values[0]);
            prop_assert!(close(&Rigid { translation: got.translation.map(|x| x / scale), ..got }, &Rigid { translation: t, ..truth }, 1e-10), "{got:?} {truth:?}");
        }

        #[test]
        fn no_other_pose_is_nearer(
            pairs in prop::collection::vec((prop::array::uniform3(-1f64..1.0), prop::array::uniform3(-1f64..1.0)), 1..12), twist in prop::array::uniform6(-0.5f64..0.5),
            guess in prop::array::uniform3(-2f64..2.0)
        ) {
            let guess = Rigid { rotation: exponential(guess), translation: [0.0; 3] };
            let best = closest(&sums(&pairs), &guess).unwrap();
            prop_assert!(is_rotation(&best.rotation));
            let there = cost(&pairs, &best);
            for scale in [1.0, 0.1, 0.01] {
                let other = best.moved(&twist.map(|x| x * scale), [0.1, 0.2, 0.3]);
                prop_assert!(cost(&pairs, &other) >= there - 1e-9, "{} {there}", cost(&pairs, &other));
            }
        }

        #[test]
        fn hessians_of_points_are_second_derivatives(
            pairs in prop::collection::vec((prop::array::uniform3(-1f64..1.0), prop::array::uniform3(-1f64..1.0)), 1..8), w in prop::array::uniform3(-1f64..1.0)
        ) {
            let pose = Rigid { rotation: exponential(w), translation: [0.2, 0.1, -0.3] };
            let at = Linearization { pose, pivot: [0.5, -0.25, 0.75], length: 1.5 };
            let h = point_hessian(&sums(&pairs), &at);
            for i in 0..6 {
                for k in 0..6 {
                    let both = |a: f64, b: f64| {
                        let mut x = [0.0; 6];
                        x[i] += a;
                        x[k] += b;
                        (3..6).for_each(|i| x[i] /= at.length);
                        cost(&pairs, &pose.moved(&x, at.pivot))
                    };
                    let d = 1e-4;
                    let bend = (both(d, d) - both(d, -d) - both(-d, d) + both(-d, -d)) / (4.0 * d * d);
                    prop_assert!((bend - h[i][k]).abs() < 1e-5 * (1.0 + h[i][k].abs()), "{i} {k}: {bend} {}", h[i][k]);
                }
            }
        }

        #[test]
        fn steps_leave_what_a_plane_does_not_hold(n in prop::array::uniform3(0.2f64..1.0), places in prop::collection::vec(prop::array::uniform3(-1f64..1.0), 8..20), off in -0.1f64..0.1) {
            let length = crate::float::sqrt(dot(n, n));
            let n = n.map(|x| (x / length) as f32);
            let wide = n.map(f64::from);
            let at = Linearization { pose: Rigid::IDENTITY, pivot: [0.0; 3], length: 1.0 };
            let terms = places.iter().fold([0.0; STEP_TERMS], |sum, p| {
                let d = dot(wide, *p);
                let on = [p[0] - d * wide[0], p[1] - d * wide[1], p[2] - d * wide[2]];
                let lifted = add(on, wide.map(|x| x * off));
                let term = point_to_plane(&at, &Robust::None, lifted, on, n);
                std::array::from_fn(|i| sum[i] + term[i])
            });
            let got = stepped(&terms, &at).unwrap();
            let wanted = Rigid { translation: wide.map(|x| -x * off), ..Rigid::IDENTITY };
            prop_assert!(close(&got, &wanted, 1e-6 * (1.0 + off.abs())), "{got:?} {wanted:?}");
        }
    }

    #[test]
    fn pairs_along_a_line_turn_as_little_as_can_be() {
        let guess = Rigid { rotation: exponential([0.3, -0.2, 0.1]), translation: [9.0; 3] };
        let line = |d: [f64; 3]| (0..9).map(move |i| d.map(|x| x * (f64::from(i) - 2.0) + 0.5));
        let pairs: Vec<_> = line([1.0, 0.0, 0.0]).zip(line([0.0, 0.6, 0.8])).collect();
        let got = closest(&sums(&pairs), &guess).unwrap();
        assert!(cost(&pairs, &got) < 1e-20 && is_rotation(&got.rotation));
        // The turn from the guess has no part about the line.
        let from = multiply(&got.rotation, &transpose(&guess.rotation));
        let axis = [from[2][1] - from[1][2], from[0][2] - from[2][0], from[1][0] - from[0][1]];
        assert!(dot(axis, [0.0, 0.6, 0.8]).abs() < 1e-12 && dot(axis, axis) > 0.01);
        // The other way round: half a turn.
        let pairs: Vec<_> = line([1.0, 0.0, 0.0]).zip(line([-1.0, 0.0, 0.0])).collect();
        let got = closest(&sums(&pairs), &Rigid::IDENTITY).unwrap();
        assert!(cost(&pairs, &got) < 1e-20 && is_rotation(&got.rotation), "{got:?}");
    }

    #[test]
    fn pairs_that_say_nothing_of_the_rotation_keep_it() {
        let guess = Rigid { rotation: exponential([0.3, -0.2, 0.1]), translation: [9.0; 3] };
        for n in [1, 5_000] {
            let got = closest(&sums(&std::vec![([0.1, 0.7, -0.3], [0.9, 0.4, 0.2]); n]), &guess).unwrap();
            assert_eq!(got.rotation, guess.rotation);
            assert!((0..3).all(|i| (got.apply([0.1, 0.7, -0.3])[i] - [0.9, 0.4, 0.2][i]).abs() < 1e-12));
        }
        assert_eq!(closest(&[0.0; POINT_TERMS], &guess), None);
        assert_eq!(closest(&[f64::NAN; POINT_TERMS], &guess), None);
        assert_eq!(closest(&[f64::INFINITY; POINT_TERMS], &guess), None);
    }

    #[test]
    fn mirrored_pairs_give_a_proper_rotation() {
        let corners: Vec<[f64; 3]> =
            (0..8).map(|i| [0, 1, 2].map(|a| [1.0, 2.0, 3.0][a] * (f64::from(i >> a & 1) - 0.5))).collect();
        let pairs: Vec<_> = corners.iter().map(|p| (*p, [-p[0], p[1], p[2]])).collect();
        let got = closest(&sums(&pairs), &Rigid::IDENTITY).unwrap();
        assert!(close(&got, &Rigid::IDENTITY, 1e-12), "{got:?}");
        // A mirrored ball leaves a turn free, and the Hessian says so.
        let ball: Vec<_> = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
            .iter()
            .flat_map(|p: &[f64; 3]| [(*p, p.map(|x| -x)), (p.map(|x| -x), *p)])
            .collect();
        let got = closest(&sums(&ball), &Rigid::IDENTITY).unwrap();
        assert!(is_rotation(&got.rotation));
        let at = Linearization { pose: got, pivot: [0.0; 3], length: 1.0 };
        let (values, _) = eigen(&point_hessian(&sums(&ball), &at));
        assert!(!is_observable(&values, 0), "{values:?}");
    }

    #[test]
    fn sums_that_determine_nothing_have_no_step() {
        let at = Linearization { pose: Rigid::IDENTITY, pivot: [0.0; 3], length: 1.0 };
        for bad in [0.0, f64::NAN, f64::INFINITY] {
            assert_eq!(stepped(&[bad; STEP_TERMS], &at), None);
        }
    }
}
