//! Singular values of 3x3 matrices, the same bits on every device.

use crate::linear::Square;
use crate::vector::{cross, dot, transpose};

/// Most sweeps over the three pairs of columns. Convergence is quadratic: random matrices take four
/// or five.
const MAX_SWEEPS: u32 = 24;
/// Columns whose cosine is below this are orthogonal.
const ORTHOGONAL: f64 = 1e-16;

/// `a = sum of values[k] * left[k] right[k]^T`, the largest value first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Svd {
    /// The singular values, descending; none is negative but for the last, which has the sign of
    /// the determinant.
    pub values: [f64; 3],
    /// Three vectors of length one, orthogonal, not mirrored.
    pub left: [[f64; 3]; 3],
    /// Likewise.
    pub right: [[f64; 3]; 3],
}

/// The singular values of `a`, by rotations that make its columns orthogonal to each other.
///
/// The columns of `a` itself are turned and never their products, so that a small singular value
/// beside a large one keeps its digits. Both sets of vectors are proper rotations, and the sign of
/// the determinant stands with the smallest value. A direction that `a` says nothing about is
/// completed to such a rotation.
///
/// **Limits**: entries whose squares neither overflow nor vanish; entries that are not finite give
/// values that are not.
///
/// ```
/// let of = pointmill_core::svd::svd(&[[0.0, -3.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, -1.0]]);
/// assert_eq!(of.values, [3.0, 2.0, -1.0]);
/// ```
#[inline(always)]
pub fn svd(a: &Square<3>) -> Svd {
    // Rows of `b` are the columns of a V; rows of `v` those of V.
    let mut b = transpose(a);
    let mut v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mut sweep = 0;
    let mut turned = true;
    while turned && sweep < MAX_SWEEPS {
        turned = turn::<0, 1>(&mut b, &mut v) | turn::<0, 2>(&mut b, &mut v) | turn::<1, 2>(&mut b, &mut v);
        sweep += 1;
    }
    let mut squares = [dot(b[0], b[0]), dot(b[1], b[1]), dot(b[2], b[2])];
    order::<0, 1>(&mut squares, &mut b, &mut v);
    order::<1, 2>(&mut squares, &mut b, &mut v);
    order::<0, 1>(&mut squares, &mut b, &mut v);
    let values = [crate::float::sqrt(squares[0]), crate::float::sqrt(squares[1]), crate::float::sqrt(squares[2])];
    // The third vectors are the products of the others, which makes both sets proper; with them
    // goes the sign.
    let first = if values[0] > 0.0 { b[0].map(|x| x / values[0]) } else { [1.0, 0.0, 0.0] };
    let second = second(first, b[1], values[1]);
    let third = cross(first, second);
    let right = [v[0], v[1], cross(v[0], v[1])];
    let sign = dot(right[2], v[2]);
    let last = dot(third, b[2]) * sign;
    Svd { values: [values[0], values[1], last], left: [first, second, third], right }
}

/// Turns columns P and Q until they are orthogonal; whether they were not.
#[inline(always)]
fn turn<const P: usize, const Q: usize>(b: &mut Square<3>, v: &mut Square<3>) -> bool {
    let (pp, qq, pq) = (dot(b[P], b[P]), dot(b[Q], b[Q]), dot(b[P], b[Q]));
    if are_orthogonal(pp, qq, pq) {
        return false;
    }
    let theta = (qq - pp) / (2.0 * pq);
    let root = crate::float::sqrt(theta * theta + 1.0);
    let t = if theta >= 0.0 { 1.0 / (theta + root) } else { 1.0 / (theta - root) };
    let c = 1.0 / crate::float::sqrt(t * t + 1.0);
    let s = t * c;
    let mut i = 0;
    while i < 3 {
        (b[P][i], b[Q][i]) = (c * b[P][i] - s * b[Q][i], s * b[P][i] + c * b[Q][i]);
        (v[P][i], v[Q][i]) = (c * v[P][i] - s * v[Q][i], s * v[P][i] + c * v[Q][i]);
        i += 1;
    }
    true
}

/// Whether columns with these products are orthogonal: `|pq| <= ORTHOGONAL * |p| * |q|`.
///
/// Squares decide where they differ by more than all rounding, and neither overflow nor vanish.
/// That is nearly always, and spares two roots, for which all that follows would wait.
#[inline(always)]
fn are_orthogonal(pp: f64, qq: f64, pq: f64) -> bool {
    const LEAST: f64 = 1e-100;
    const MOST: f64 = 1e100;
    if pp > LEAST && pp < MOST && qq > LEAST && qq < MOST {
        let (square, limit) = (pq * pq, ORTHOGONAL * ORTHOGONAL * pp * qq);
        if square > limit * (1.0 + 1e-9) {
            return false;
        }
        if square < limit * (1.0 - 1e-9) {
            return true;
        }
    }
    pq == 0.0 || pq.abs() <= ORTHOGONAL * crate::float::sqrt(pp) * crate::float::sqrt(qq)
}

/// Puts columns A and B in descending order.
#[inline(always)]
fn order<const A: usize, const B: usize>(squares: &mut [f64; 3], b: &mut Square<3>, v: &mut Square<3>) {
    if squares[B] > squares[A] {
        (squares[A], squares[B]) = (squares[B], squares[A]);
        (b[A], b[B]) = (b[B], b[A]);
        (v[A], v[B]) = (v[B], v[A]);
    }
}

/// The second left vector: the column, made orthogonal to the first once more, or any such vector
/// where the column is lost in rounding.
#[inline(always)]
fn second(first: [f64; 3], column: [f64; 3], length: f64) -> [f64; 3] {
    if length > 0.0 {
        let unit = column.map(|x| x / length);
        let along = dot(unit, first);
        let rest = [unit[0] - along * first[0], unit[1] - along * first[1], unit[2] - along * first[2]];
        let left = crate::float::sqrt(dot(rest, rest));
        if left > 0.5 {
            return rest.map(|x| x / left);
        }
    }
    perpendicular(first)
}

/// A vector of length one that is orthogonal to one of length one.
#[inline(always)]
pub fn perpendicular(v: [f64; 3]) -> [f64; 3] {
    let (x, y, z) = (v[0].abs(), v[1].abs(), v[2].abs());
    let axis = if x <= y && x <= z {
        [1.0, 0.0, 0.0]
    } else if y <= z {
        [0.0, 1.0, 0.0]
    } else {
        [0.0, 0.0, 1.0]
    };
    let w = cross(v, axis);
    let length = crate::float::sqrt(dot(w, w));
    w.map(|x| x / length)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::rigid::{exponential, multiply};
    use proptest::prelude::*;

    fn check(a: &Square<3>) -> Result<(), TestCaseError> {
        let of = svd(a);
        let size = a.as_flattened().iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let [x, y, z] = of.values;
        prop_assert!(x >= y && y + 1e-15 * size >= z.abs() && y >= 0.0, "{of:?}");
        for set in [of.left, of.right] {
            for i in 0..3 {
                for j in 0..3 {
                    prop_assert!((dot(set[i], set[j]) - f64::from(u8::from(i == j))).abs() < 1e-14, "{a:?} {of:?}");
                }
            }
            prop_assert!(dot(cross(set[0], set[1]), set[2]) > 0.9);
        }
        for i in 0..3 {
            for j in 0..3 {
                let rebuilt: f64 = (0..3).map(|k| of.values[k] * of.left[k][i] * of.right[k][j]).sum();
                prop_assert!((rebuilt - a[i][j]).abs() <= 1e-14 * size, "{a:?} {of:?}");
            }
        }
        Ok(())
    }

    /// Known values between two rotations.
    fn made(values: [f64; 3], w: [f64; 3], u: [f64; 3]) -> Square<3> {
        let mut middle = [[0.0; 3]; 3];
        (0..3).for_each(|i| middle[i][i] = values[i]);
        multiply(&multiply(&exponential(w), &middle), &exponential(u))
    }

    proptest! {
        #[test]
        fn any_matrix_is_put_together_again(a in prop::array::uniform9(-1f64..1.0), power in -200i32..200) {
            let scale = libm::scalbn(1.0, power);
            let row = |i: usize| [a[3 * i] * scale, a[3 * i + 1] * scale, a[3 * i + 2] * scale];
            check(&[row(0), row(1), row(2)])?;
        }

        #[test]
        fn values_of_any_size_are_found(
            w in prop::array::uniform3(-2f64..2.0), u in prop::array::uniform3(-2f64..2.0),
            second in -50i32..=0, third in -50i32..=0, sign in prop::sample::select(std::vec![1.0, -1.0, 0.0])
        ) {
            let two = libm::scalbn(0.75, second);
            let values = [1.0, two, sign * two * libm::scalbn(0.75, third)];
            let a = made(values, w, u);
            check(&a)?;
            for (got, wanted) in svd(&a).values.iter().zip(values) {
                prop_assert!((got - wanted).abs() < 1e-15 * 8.0, "{got} {wanted}");
            }
        }
    }

    proptest! {
        #[test]
        fn squares_decide_as_roots_do(
            p in 0.5f64..2.0, q in 0.5f64..2.0, powers in prop::array::uniform2(-1074i32..1024), near in -20i32..20, far in prop::sample::select(std::vec![0, -60, -1, 1, 60])
        ) {
            let (pp, qq) = (libm::scalbn(p, powers[0]), libm::scalbn(q, powers[1]));
            let limit = ORTHOGONAL * crate::float::sqrt(pp) * crate::float::sqrt(qq);
            let pq = libm::scalbn(f64::from_bits(limit.to_bits().saturating_add_signed(i64::from(near))), far);
            for pq in [pq, -pq, 0.0, f64::NAN, f64::INFINITY] {
                prop_assert_eq!(are_orthogonal(pp, qq, pq), pq == 0.0 || pq.abs() <= limit);
            }
        }
    }

    #[test]
    fn what_lacks_directions_is_completed() {
        for a in [
            [[0.0; 3]; 3],
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]],
            [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]],
            [[1.0; 3]; 3],
            [[0.0, 0.0, 2.0], [0.0; 3], [0.0; 3]],
            [[0.0; 3], [0.0, 0.0, 0.0], [0.0, -5.0, 0.0]],
            [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 0.0]],
        ] {
            check(&a).unwrap();
        }
        assert_eq!(svd(&[[0.0; 3]; 3]).values, [0.0; 3]);
    }

    #[test]
    fn what_is_not_finite_stays_so_and_ends() {
        for bad in [f64::NAN, f64::INFINITY] {
            let of = svd(&[[1.0, 0.0, bad], [0.0, 2.0, 0.5], [0.1, 0.2, 3.0]]);
            assert!(!of.values.iter().all(|v| v.is_finite()));
        }
    }
}
