//! Directions across the surface that cells are part of.

use super::Grid;
use pointmill_core::eigen::{ENTRIES, Symmetric, eigen};

impl Grid {
    /// The direction in which the cells within reach of a place spread least, seen as one; none without
    /// a cell.
    pub(in crate::ndt) fn normal_around(&self, x: [f64; 3]) -> Option<[f64; 3]> {
        let (mut n, mut sum, mut products) = (0.0, [0.0; 3], [0.0; 6]);
        self.rows().each_within(x, self.lattice.unit(), |row, _| {
            let (mean, spread) = (self.cells.mean[row as usize], inverse(&self.cells.inverse[row as usize]));
            let d = [0, 1, 2].map(|k| mean[k] - x[k]);
            n += 1.0;
            (0..3).for_each(|k| sum[k] += d[k]);
            for (k, (i, j)) in ENTRIES.into_iter().enumerate() {
                products[k] += spread[k] + d[i] * d[j];
            }
        });
        if n == 0.0 {
            return None;
        }
        for (k, (i, j)) in ENTRIES.into_iter().enumerate() {
            products[k] = products[k] / n - sum[i] / n * (sum[j] / n);
        }
        Some(eigen(products).vectors[0])
    }
}

/// The inverse of a positive definite matrix.
fn inverse(m: &Symmetric) -> Symmetric {
    let [a, b, c, d, e, f] = *m;
    let (p, q, r) = (d * f - e * e, c * e - b * f, b * e - c * d);
    let by = a * p + b * q + c * r;
    [p, q, r, a * f - c * c, b * c - a * e, a * d - b * b].map(|x| x / by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        let m = [2.0, 0.3, -0.4, 1.5, 0.2, 3.0];
        let of = inverse(&m);
        let full = |m: &Symmetric| [[m[0], m[1], m[2]], [m[1], m[3], m[4]], [m[2], m[4], m[5]]];
        let (a, b) = (full(&m), full(&of));
        for k in 0..9 {
            let (i, j) = (k / 3, k % 3);
            let product: f64 = (0..3).map(|at| a[i][at] * b[at][j]).sum();
            assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
        }
    }
}
