//! Six equations with six unknowns, and a matrix that is symmetric.

use crate::float::sqrt;

/// A symmetric 6x6 matrix: its upper triangle by rows.
pub type Symmetric6 = [f64; 21];

/// Where entry (i, j) of a [`Symmetric6`] is, for i <= j.
#[inline(always)]
pub const fn entry(i: usize, j: usize) -> usize {
    i * (11 - i) / 2 + j
}

/// The upper triangle whose transpose times itself is `a`; `None` if `a` is not positive definite.
///
/// What is left of a diagonal entry after rounding is no sign of anything, so that less than 1e-12 of it counts as nothing.
///
/// ```
/// use pointmill_core::linear::{cholesky, entry, solve};
/// let mut a = [0.5; 21];
/// (0..6).for_each(|i| a[entry(i, i)] = 4.0);
/// let x = solve(&cholesky(&a).unwrap(), &[6.5; 6]);
/// assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-15));
/// ```
#[inline(always)]
pub fn cholesky(a: &Symmetric6) -> Option<Symmetric6> {
    // All loops are of six rounds, with a question inside: such ones a compiler unrolls, and the arrays become registers.
    let mut upper = [0.0; 21];
    let mut definite = true;
    let mut i = 0;
    while i < 6 {
        let mut j = 0;
        while j < 6 {
            if j >= i {
                let mut sum = a[entry(i, j)];
                let mut k = 0;
                while k < 6 {
                    if k < i {
                        sum -= upper[entry(k, i)] * upper[entry(k, j)];
                    }
                    k += 1;
                }
                if i == j {
                    definite &= sum > 1e-12 * a[entry(i, i)].abs();
                    upper[entry(i, i)] = sqrt(sum);
                } else {
                    upper[entry(i, j)] = sum / upper[entry(i, i)];
                }
            }
            j += 1;
        }
        i += 1;
    }
    if definite { Some(upper) } else { None }
}

/// The x with `a` x = b, from what [`cholesky`] made of `a`.
#[inline(always)]
pub fn solve(upper: &Symmetric6, b: &[f64; 6]) -> [f64; 6] {
    let mut x = *b;
    let mut i = 0;
    while i < 6 {
        let mut k = 0;
        while k < 6 {
            if k < i {
                x[i] -= upper[entry(k, i)] * x[k];
            }
            k += 1;
        }
        x[i] /= upper[entry(i, i)];
        i += 1;
    }
    let mut back = 0;
    while back < 6 {
        let i = 5 - back;
        let mut k = 0;
        while k < 6 {
            if k > i {
                x[i] -= upper[entry(i, k)] * x[k];
            }
            k += 1;
        }
        x[i] /= upper[entry(i, i)];
        back += 1;
    }
    x
}

/// Both halves of a symmetric matrix.
pub fn full(a: &Symmetric6) -> [[f64; 6]; 6] {
    core::array::from_fn(|i| core::array::from_fn(|j| a[entry(i.min(j), i.max(j))]))
}

/// The inverse of a matrix; `None` if it is not positive definite.
pub fn inverse(a: &Symmetric6) -> Option<[[f64; 6]; 6]> {
    let upper = cholesky(a)?;
    let mut out = [[0.0; 6]; 6];
    for j in 0..6 {
        let column = solve(&upper, &core::array::from_fn(|i| if i == j { 1.0 } else { 0.0 }));
        (0..6).for_each(|i| out[i][j] = column[i]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;

    /// The product of a matrix with its transpose, and a little more.
    fn definite() -> impl Strategy<Value = Symmetric6> {
        prop::collection::vec(-1.0f64..1.0, 36).prop_map(|m| {
            let mut a = [0.0; 21];
            for i in 0..6 {
                for j in i..6 {
                    let more = if i == j { 0.1 } else { 0.0 };
                    a[entry(i, j)] = more + (0..6).map(|k| m[i * 6 + k] * m[j * 6 + k]).sum::<f64>();
                }
            }
            a
        })
    }

    proptest! {
        #[test]
        fn solutions_solve(a in definite(), b in prop::array::uniform6(-1.0f64..1.0)) {
            let x = solve(&cholesky(&a).unwrap(), &b);
            for (row, b) in full(&a).iter().zip(b) {
                let product: f64 = row.iter().zip(x).map(|(a, x)| a * x).sum();
                prop_assert!((product - b).abs() < 1e-12, "{product} {b}");
            }
            let inverse = inverse(&a).unwrap();
            for i in 0..6 {
                let product: f64 = (0..6).map(|j| inverse[i][j] * b[j]).sum();
                prop_assert!((product - x[i]).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn entries_follow_each_other() {
        let mut next = 0;
        for i in 0..6 {
            for j in i..6 {
                assert_eq!(entry(i, j), next);
                next += 1;
            }
        }
    }

    #[test]
    fn what_is_not_definite_is_told() {
        assert!(cholesky(&[0.0; 21]).is_none() && cholesky(&[f64::NAN; 21]).is_none());
        // A direction that the matrix says nothing about.
        let mut a = [1.0; 21];
        assert!(cholesky(&a).is_none());
        a[entry(0, 0)] = -1.0;
        assert!(inverse(&a).is_none());
    }
}
