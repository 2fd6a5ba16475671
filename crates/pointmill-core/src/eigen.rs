//! Eigenvalues and eigenvectors of symmetric 3x3 matrices, the same bits on every device.

use crate::linear::jacobi;
use crate::vector::dot;

/// A symmetric 3x3 matrix: xx, xy, xz, yy, yz, zz.
pub type Symmetric = [f64; 6];

/// Rows and columns of the six entries.
pub const ENTRIES: [(usize, usize); 6] = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];

/// A symmetric matrix times a vector.
#[inline(always)]
pub fn times(m: &Symmetric, v: [f64; 3]) -> [f64; 3] {
    [dot([m[0], m[1], m[2]], v), dot([m[1], m[3], m[4]], v), dot([m[2], m[4], m[5]], v)]
}

/// Most sweeps over the three entries beside the diagonal. Convergence is quadratic: random
/// matrices take four or five.
const MAX_SWEEPS: u32 = 16;

/// Eigenvalues, ascending, and a vector of length one for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eigen {
    /// The eigenvalues, the smallest first.
    pub values: [f64; 3],
    /// `vectors[k]` belongs to `values[k]`; they are orthogonal. Its sign is not said.
    pub vectors: [[f64; 3]; 3],
}

/// Eigenvalues and eigenvectors of `a`, by Jacobi's rotations.
///
/// **Accuracy**: each eigenvalue within a few roundings of the largest one's size. Only additions,
/// multiplications, divisions and square roots are used, each rounded once, in one order; so every
/// device makes the same bits. Entries that are not finite give values that are not.
///
/// ```
/// use pointmill_core::eigen::eigen;
/// let of = eigen([2.0, 1.0, 0.0, 2.0, 0.0, 5.0]);
/// assert!((of.values[0] - 1.0).abs() < 1e-15 && (of.values[1] - 3.0).abs() < 1e-15 && of.values[2] == 5.0);
/// ```
#[inline(always)]
pub fn eigen(a: Symmetric) -> Eigen {
    let mut turned = Turned::new(a);
    let mut sweep = 0;
    while sweep < MAX_SWEEPS && turned.is_unfinished() {
        turned.rotate::<0, 1, 2>();
        turned.rotate::<0, 2, 1>();
        turned.rotate::<1, 2, 0>();
        sweep += 1;
    }
    turned.sorted()
}

/// [`eigen`] of several matrices, with the same bits.
///
/// The rotations of one matrix wait for each other's roots and quotients. Those of several take
/// turns, so a CPU works on all of them at the same time.
///
/// ```
/// use pointmill_core::eigen::{eigen, eigen_each};
/// let all = [[2.0, 1.0, 0.0, 2.0, 0.0, 5.0], [1.0, 0.5, 0.25, 1.0, 0.5, 1.0]];
/// assert_eq!(eigen_each(all), all.map(eigen));
/// ```
pub fn eigen_each<const N: usize>(all: [Symmetric; N]) -> [Eigen; N] {
    let mut turned = all.map(Turned::new);
    for _ in 0..MAX_SWEEPS {
        let waiting = turned.each_ref().map(Turned::is_unfinished);
        if waiting == [false; N] {
            break;
        }
        let each = |turned: &mut [Turned; N], rotate: fn(&mut Turned)| {
            turned.iter_mut().zip(waiting).filter(|(_, waits)| *waits).for_each(|(one, _)| rotate(one));
        };
        each(&mut turned, Turned::rotate::<0, 1, 2>);
        each(&mut turned, Turned::rotate::<0, 2, 1>);
        each(&mut turned, Turned::rotate::<1, 2, 0>);
    }
    turned.map(Turned::sorted)
}

/// A matrix on its way to a diagonal one.
struct Turned {
    diagonal: [f64; 3],
    /// Entries beside the diagonal: yz, xz, xy, each named by the axis it has nothing to do with.
    off: [f64; 3],
    /// The columns of the rotations so far, as rows: `vectors[k]` belongs to `diagonal[k]`.
    vectors: [[f64; 3]; 3],
}

impl Turned {
    #[inline(always)]
    const fn new(a: Symmetric) -> Self {
        Self {
            diagonal: [a[0], a[3], a[5]],
            off: [a[4], a[2], a[1]],
            vectors: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        }
    }

    #[inline(always)]
    fn is_unfinished(&self) -> bool {
        self.off[0] != 0.0 || self.off[1] != 0.0 || self.off[2] != 0.0
    }

    /// Makes entry (P, Q) zero; R is the third axis.
    #[inline(always)]
    fn rotate<const P: usize, const Q: usize, const R: usize>(&mut self) {
        let Self { diagonal: d, off, vectors: v } = self;
        let apq = off[R];
        let Some((t, c, s)) = jacobi(d[P], d[Q], apq) else {
            off[R] = 0.0;
            return;
        };
        d[P] -= t * apq;
        d[Q] += t * apq;
        off[R] = 0.0;
        // Entries (P, R) and (Q, R) are named by Q and P.
        let (apr, aqr) = (off[Q], off[P]);
        off[Q] = c * apr - s * aqr;
        off[P] = s * apr + c * aqr;
        let mut i = 0;
        while i < 3 {
            let (vp, vq) = (v[P][i], v[Q][i]);
            v[P][i] = c * vp - s * vq;
            v[Q][i] = s * vp + c * vq;
            i += 1;
        }
    }

    /// The diagonal in ascending order, with its vectors.
    #[inline(always)]
    fn sorted(self) -> Eigen {
        let mut of = Eigen { values: self.diagonal, vectors: self.vectors };
        of.order::<0, 1>();
        of.order::<1, 2>();
        of.order::<0, 1>();
        of
    }
}

impl Eigen {
    /// Puts values A and B, and their vectors, in ascending order.
    #[inline(always)]
    fn order<const A: usize, const B: usize>(&mut self) {
        if self.values[B] < self.values[A] {
            (self.values[A], self.values[B]) = (self.values[B], self.values[A]);
            (self.vectors[A], self.vectors[B]) = (self.vectors[B], self.vectors[A]);
        }
    }

    /// The matrix with these vectors and other values.
    #[inline(always)]
    pub fn with_values(&self, values: [f64; 3]) -> Symmetric {
        let mut a = [0.0; 6];
        let mut e = 0;
        while e < 6 {
            let (i, j) = ENTRIES[e];
            let mut k = 0;
            while k < 3 {
                a[e] += values[k] * self.vectors[k][i] * self.vectors[k][j];
                k += 1;
            }
            e += 1;
        }
        a
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::format;

    /// Every vector is one, they are orthogonal, values ascend, and the matrix is what they say.
    fn check(a: Symmetric) -> Result<(), TestCaseError> {
        let of = eigen(a);
        let size = a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        prop_assert!(of.values[0] <= of.values[1] && of.values[1] <= of.values[2], "{of:?}");
        for k in 0..3 {
            let (x, ax) = (of.vectors[k], times(&a, of.vectors[k]));
            for i in 0..3 {
                prop_assert!((ax[i] - of.values[k] * x[i]).abs() <= 1e-14 * size, "{a:?}: {of:?}");
            }
            for other in 0..3 {
                let dot: f64 = (0..3).map(|i| x[i] * of.vectors[other][i]).sum();
                prop_assert!((dot - f64::from(u8::from(k == other))).abs() <= 1e-14, "{a:?}: {of:?}");
            }
        }
        for (rebuilt, entry) in of.with_values(of.values).iter().zip(a) {
            prop_assert!((rebuilt - entry).abs() <= 1e-14 * size, "{a:?}: {of:?}");
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn values_and_vectors_belong_together(a in prop::array::uniform6(-1e3f64..1e3), scale in -200i32..200) {
            check(a.map(|x| x * 2f64.powi(scale)))?;
        }

        #[test]
        fn values_of_very_different_size(x in prop::array::uniform3(-1f64..1.0), e in -60i32..0) {
            // One direction, and little beside it.
            let mut a: Symmetric = ENTRIES.map(|(i, j)| x[i] * x[j]);
            for d in [0, 3, 5] {
                a[d] += 2f64.powi(e);
            }
            check(a)?;
        }
    }

    #[test]
    fn matrices_that_need_no_turn() {
        for a in [[0.0; 6], [1.0, 0.0, 0.0, 1.0, 0.0, 1.0], [3.0, 0.0, 0.0, -2.0, 0.0, 1.0]] {
            check(a).unwrap();
        }
        assert_eq!(eigen([3.0, 0.0, 0.0, -2.0, 0.0, 1.0]).values, [-2.0, 1.0, 3.0]);
        assert_eq!(eigen([3.0, 0.0, 0.0, -2.0, 0.0, 1.0]).vectors[0], [0.0, 1.0, 0.0]);
    }

    #[test]
    fn a_plane_has_a_zero_and_a_line_two() {
        let plane = eigen([2.0, 0.0, 0.0, 3.0, 0.0, 0.0]);
        assert_eq!((plane.values, plane.vectors[0]), ([0.0, 2.0, 3.0], [0.0, 0.0, 1.0]));
        let line = eigen([1.0; 6]);
        assert!(line.values[0].abs() < 1e-15 && line.values[1].abs() < 1e-15 && (line.values[2] - 3.0).abs() < 1e-14);
    }

    #[test]
    fn what_is_not_finite_stays_so_and_ends() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for e in 0..6 {
                let mut a = [2.0, 0.5, 0.25, 3.0, 0.125, 4.0];
                a[e] = bad;
                assert!(!eigen(a).values.iter().all(|v| v.is_finite()), "{}", format!("{a:?}"));
            }
        }
    }
}
