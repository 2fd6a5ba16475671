//! Small symmetric systems, the same bits on every device.

use crate::float::sqrt;

/// A square matrix, rows first.
pub type Square<const N: usize> = [[f64; N]; N];

/// Most sweeps of [`eigen`] over the entries beside the diagonal. Convergence is quadratic: random
/// matrices of six rows take six or seven.
const MAX_SWEEPS: u32 = 24;

/// The lower triangle whose product with its transpose is `a`, if that is positive definite beyond
/// rounding.
///
/// Only the lower half of `a` is read.
///
/// ```
/// use pointmill_core::linear::{cholesky, solve};
/// let lower = cholesky(&[[4.0, 2.0], [2.0, 5.0]]).unwrap();
/// assert_eq!(lower, [[2.0, 0.0], [1.0, 2.0]]);
/// assert_eq!(solve(&lower, &[8.0, 12.0]), [1.0, 2.0]);
/// assert!(cholesky(&[[1.0, 2.0], [2.0, 1.0]]).is_none());
/// ```
#[inline(always)]
pub fn cholesky<const N: usize>(a: &Square<N>) -> Option<Square<N>> {
    let mut lower = [[0.0; N]; N];
    let mut i = 0;
    while i < N {
        let mut j = 0;
        while j <= i {
            let mut sum = a[i][j];
            let mut k = 0;
            while k < j {
                sum -= lower[i][k] * lower[j][k];
                k += 1;
            }
            if i == j {
                // What is left of a diagonal entry after rounding is no sign of anything.
                let least = 1e-12 * a[i][i].abs();
                if sum.is_nan() || sum <= least {
                    return None;
                }
                lower[i][i] = sqrt(sum);
            } else {
                lower[i][j] = sum / lower[j][j];
            }
            j += 1;
        }
        i += 1;
    }
    Some(lower)
}

/// The solution of `a x = b`, with `lower` the triangle that [`cholesky`] made of `a`.
#[inline(always)]
pub fn solve<const N: usize>(lower: &Square<N>, b: &[f64; N]) -> [f64; N] {
    let mut x = *b;
    let mut i = 0;
    while i < N {
        let mut k = 0;
        while k < i {
            x[i] -= lower[i][k] * x[k];
            k += 1;
        }
        x[i] /= lower[i][i];
        i += 1;
    }
    while i > 0 {
        i -= 1;
        let mut k = i + 1;
        while k < N {
            x[i] -= lower[k][i] * x[k];
            k += 1;
        }
        x[i] /= lower[i][i];
    }
    x
}

/// The inverse of `a`, if that is positive definite beyond rounding.
#[inline(always)]
pub fn inverse<const N: usize>(a: &Square<N>) -> Option<Square<N>> {
    let lower = cholesky(a)?;
    let mut out = [[0.0; N]; N];
    let mut j = 0;
    while j < N {
        let mut unit = [0.0; N];
        unit[j] = 1.0;
        let column = solve(&lower, &unit);
        let mut i = 0;
        while i < N {
            out[i][j] = column[i];
            i += 1;
        }
        j += 1;
    }
    Some(out)
}

/// Eigenvalues of a symmetric matrix, ascending, and a vector of length one for each, by Jacobi's
/// rotations.
///
/// `vectors[k]` belongs to `values[k]`; its sign is not said. Entries that are not finite give
/// values that are not.
///
/// ```
/// let (values, vectors) = pointmill_core::linear::eigen(&[[2.0, 1.0], [1.0, 2.0]]);
/// assert!((values[0] - 1.0).abs() < 1e-15 && (values[1] - 3.0).abs() < 1e-15);
/// assert!((vectors[0][0] + vectors[0][1]).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn eigen<const N: usize>(a: &Square<N>) -> ([f64; N], Square<N>) {
    let mut a = *a;
    let mut v = [[0.0; N]; N];
    let mut i = 0;
    while i < N {
        v[i][i] = 1.0;
        i += 1;
    }
    let mut sweep = 0;
    let mut turned = true;
    while turned && sweep < MAX_SWEEPS {
        turned = false;
        let mut p = 0;
        while p + 1 < N {
            let mut q = p + 1;
            while q < N {
                turned |= rotate(&mut a, &mut v, p, q);
                q += 1;
            }
            p += 1;
        }
        sweep += 1;
    }
    let mut values = [0.0; N];
    let mut i = 0;
    while i < N {
        values[i] = a[i][i];
        i += 1;
    }
    // Insertion keeps equal values in their order.
    let mut i = 1;
    while i < N {
        let mut k = i;
        while k > 0 && values[k] < values[k - 1] {
            values.swap(k, k - 1);
            v.swap(k, k - 1);
            k -= 1;
        }
        i += 1;
    }
    (values, v)
}

/// Tangent, cosine and sine of the rotation that makes the entry `apq` of a symmetric matrix zero;
/// none if the entry is lost in the rounding of both diagonal entries.
///
/// Of the two rotations this is the one by the smaller angle. Where the square of `theta` is
/// infinite, the tangent is zero.
#[inline(always)]
pub(crate) fn jacobi(app: f64, aqq: f64, apq: f64) -> Option<(f64, f64, f64)> {
    if app.abs() + apq.abs() == app.abs() && aqq.abs() + apq.abs() == aqq.abs() {
        return None;
    }
    let theta = (aqq - app) / (2.0 * apq);
    let root = sqrt(theta * theta + 1.0);
    let t = if theta >= 0.0 { 1.0 / (theta + root) } else { 1.0 / (theta - root) };
    let c = 1.0 / sqrt(t * t + 1.0);
    Some((t, c, t * c))
}

/// Makes entry (p, q) zero; whether it was anything. The columns of `v` are kept as rows.
#[inline(always)]
fn rotate<const N: usize>(a: &mut Square<N>, v: &mut Square<N>, p: usize, q: usize) -> bool {
    let apq = a[p][q];
    let Some((t, c, s)) = jacobi(a[p][p], a[q][q], apq) else {
        (a[p][q], a[q][p]) = (0.0, 0.0);
        return false;
    };
    a[p][p] -= t * apq;
    a[q][q] += t * apq;
    (a[p][q], a[q][p]) = (0.0, 0.0);
    let mut i = 0;
    while i < N {
        if i != p && i != q {
            let (ip, iq) = (a[i][p], a[i][q]);
            (a[i][p], a[i][q]) = (c * ip - s * iq, s * ip + c * iq);
            (a[p][i], a[q][i]) = (a[i][p], a[i][q]);
        }
        let (vp, vq) = (v[p][i], v[q][i]);
        (v[p][i], v[q][i]) = (c * vp - s * vq, s * vp + c * vq);
        i += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;

    /// A symmetric matrix with these eigenvalues, turned by planar rotations.
    fn turned(values: [f64; 6], angles: &[f64]) -> Square<6> {
        let mut a = [[0.0; 6]; 6];
        (0..6).for_each(|i| a[i][i] = values[i]);
        let mut n = 0;
        for p in 0..5 {
            for q in p + 1..6 {
                let (s, c) = (libm::sin(angles[n]), libm::cos(angles[n]));
                n += 1;
                for i in 0..6 {
                    (a[i][p], a[i][q]) = (c * a[i][p] - s * a[i][q], s * a[i][p] + c * a[i][q]);
                }
                for i in 0..6 {
                    (a[p][i], a[q][i]) = (c * a[p][i] - s * a[q][i], s * a[p][i] + c * a[q][i]);
                }
            }
        }
        std::array::from_fn(|i| std::array::from_fn(|j| 0.5 * (a[i][j] + a[j][i])))
    }

    proptest! {
        #[test]
        fn values_and_vectors_belong_together(
            values in prop::array::uniform6(-1e3f64..1e3), angles in prop::collection::vec(-3.0f64..3.0, 15), scale in -150i32..150
        ) {
            let scale = libm::scalbn(1.0, scale);
            let a = turned(values, &angles).map(|row| row.map(|x| x * scale));
            let (got, vectors) = eigen(&a);
            let mut wanted = values.map(|x| x * scale);
            wanted.sort_by(f64::total_cmp);
            let size = a.as_flattened().iter().fold(0.0f64, |m, x| m.max(x.abs()));
            for k in 0..6 {
                prop_assert!((got[k] - wanted[k]).abs() <= 1e-13 * size, "{got:?} {wanted:?}");
                for i in 0..6 {
                    let ax: f64 = (0..6).map(|j| a[i][j] * vectors[k][j]).sum();
                    prop_assert!((ax - got[k] * vectors[k][i]).abs() <= 1e-13 * size);
                    let dot: f64 = (0..6).map(|j| vectors[k][j] * vectors[i][j]).sum();
                    prop_assert!((dot - f64::from(u8::from(k == i))).abs() <= 1e-13);
                }
            }
        }

        #[test]
        fn what_is_solved_fulfils_the_system(
            values in prop::array::uniform6(0.01f64..1e3), angles in prop::collection::vec(-3.0f64..3.0, 15), b in prop::array::uniform6(-1f64..1.0)
        ) {
            let a = turned(values, &angles);
            let x = solve(&cholesky(&a).unwrap(), &b);
            let inverse = inverse(&a).unwrap();
            for i in 0..6 {
                let ax: f64 = (0..6).map(|j| a[i][j] * x[j]).sum();
                prop_assert!((ax - b[i]).abs() <= 1e-9);
                let by_inverse: f64 = (0..6).map(|j| inverse[i][j] * b[j]).sum();
                prop_assert!((by_inverse - x[i]).abs() <= 1e-9 * (1.0 + x[i].abs()));
            }
        }

        #[test]
        fn what_is_not_positive_definite_has_no_triangle(
            values in prop::array::uniform5(0.01f64..1e3), bad in -10.0f64..0.0, angles in prop::collection::vec(-3.0f64..3.0, 15)
        ) {
            let [a, b, c, d, e] = values;
            prop_assert!(cholesky(&turned([a, b, bad, c, d, e], &angles)).is_none());
        }
    }

    #[test]
    fn matrices_without_an_answer() {
        assert!(cholesky(&[[0.0; 6]; 6]).is_none());
        assert!(cholesky(&[[1.0; 6]; 6]).is_none());
        assert!(cholesky(&[[f64::NAN; 6]; 6]).is_none());
        assert!(cholesky(&[[f64::INFINITY; 6]; 6]).is_none());
        assert!(inverse(&[[0.0; 3]; 3]).is_none());
        let (values, _) = eigen(&[[f64::NAN; 6]; 6]);
        assert!(values.iter().all(|v| v.is_nan()));
        assert_eq!(eigen(&[[0.0; 6]; 6]).0, [0.0; 6]);
    }
}
