//! What the moments of a cell say of it.

use super::{Moments, NdtLattice, STEPS};
use crate::eigen::{ENTRIES, Symmetric, eigen};

/// The definition of a cell's covariance. S is the scatter of its n points about their mean.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Covariance {
    /// `S / (n - 1)`, without bias.
    Unbiased,
    /// `(I + S) / (n - 1)` with I in square metres, as Autoware makes it: cells of few points are
    /// wide, and matching converges from farther away. The default everywhere.
    #[default]
    Autoware,
    /// `S / n`.
    Population,
}

crate::names!(Covariance { Unbiased = "unbiased", Autoware = "autoware", Population = "population" });

/// How statistics are made.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatsParams {
    /// Which covariance.
    pub covariance: Covariance,
    /// Eigenvalues below this part of the largest one are raised to it.
    pub eigen_ratio: f64,
}

/// A cell as a normal distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellStats {
    /// The mean about the cell's centre, in metres.
    pub mean_local: [f64; 3],
    /// The covariance in square metres, with raised eigenvalues.
    pub covariance: Symmetric,
    /// Its inverse.
    pub inverse: Symmetric,
    /// Its eigenvalues, ascending, as raised.
    pub eigenvalues: [f64; 3],
    /// The direction in which the points vary least, of length one; its component of largest
    /// magnitude is positive.
    pub normal: [f64; 3],
    /// Whether an eigenvalue was raised.
    pub clamped: bool,
}

impl CellStats {
    /// The statistics of a cell, or `None` for one that is degenerate: too few points for its
    /// covariance, or no extent at all.
    ///
    /// **Arithmetic**: the scatter is centred in integers, exactly, but for a last fraction; then
    /// `f64`, one rounding an operation, in one order.
    ///
    /// ```
    /// use pointmill_core::ndt::{CellStats, Covariance, Moments, NdtLattice, StatsParams};
    /// let lattice = NdtLattice::new(2.0)?;
    /// let mut moments = Moments::default();
    /// for x in [0.5f32, 1.5] {
    ///     moments.add(lattice.place([x, 1.0, 1.25]).unwrap().offset);
    /// }
    /// let params = StatsParams { covariance: Covariance::Unbiased, eigen_ratio: 0.01 };
    /// let stats = CellStats::new(&moments, &lattice, &params).unwrap();
    /// assert_eq!(stats.mean_local, [0.0, 0.0, 0.25]);
    /// assert_eq!(stats.eigenvalues, [0.005, 0.005, 0.5]); // the two that were zero are raised
    /// # Ok::<(), pointmill_core::ndt::LatticeError>(())
    /// ```
    #[inline(always)]
    pub fn new(moments: &Moments, lattice: &NdtLattice, params: &StatsParams) -> Option<Self> {
        if moments.count < 2 && params.covariance != Covariance::Population || moments.count == 0 {
            return None;
        }
        let n = moments.count as f64;
        let step = lattice.unit() / STEPS;
        let mut mean_local = [0.0; 3];
        let mut axis = 0;
        while axis < 3 {
            mean_local[axis] = moments.sum[axis] as f64 / n * step;
            axis += 1;
        }
        let original = covariance(moments, step, params.covariance);
        let of = eigen(original);
        let largest = of.values[2];
        if !(largest > 0.0 && largest.is_finite()) {
            return None;
        }
        let least = params.eigen_ratio * largest;
        let (mut values, mut inverses, mut clamped) = (of.values, [0.0; 3], false);
        let mut k = 0;
        while k < 3 {
            if values[k] < least {
                values[k] = least;
                clamped = true;
            }
            inverses[k] = 1.0 / values[k];
            k += 1;
        }
        // A ratio of zero leaves what is flat without an inverse.
        if values[0] <= 0.0 || !inverses[0].is_finite() {
            return None;
        }
        let raised = of.with_values(values);
        Some(Self {
            mean_local,
            covariance: if clamped { raised } else { original },
            inverse: of.with_values(inverses),
            eigenvalues: values,
            normal: upright(of.vectors[0]),
            clamped,
        })
    }
}

/// The covariance of n points, at least two or `Population`.
#[inline(always)]
fn covariance(moments: &Moments, step: f64, model: Covariance) -> Symmetric {
    let count = moments.count as i64;
    let n = moments.count as f64;
    // Centred about the whole number nearest to the mean, products are exact as long as they fit,
    // and wrap until they do.
    let (mut near, mut rest) = ([0; 3], [0; 3]);
    let mut axis = 0;
    while axis < 3 {
        near[axis] = (2 * moments.sum[axis] + count).div_euclid(2 * count);
        rest[axis] = moments.sum[axis] - near[axis] * count;
        axis += 1;
    }
    let denominator = match model {
        Covariance::Population => n,
        Covariance::Unbiased | Covariance::Autoware => n - 1.0,
    };
    let mut out = [0.0; 6];
    let mut e = 0;
    while e < 6 {
        let (i, j) = ENTRIES[e];
        let centred = moments.products[e]
            .wrapping_sub(near[i].wrapping_mul(moments.sum[j]))
            .wrapping_sub(near[j].wrapping_mul(moments.sum[i]))
            .wrapping_add(count.wrapping_mul(near[i]).wrapping_mul(near[j]));
        let scatter = (centred as f64 - rest[i] as f64 * rest[j] as f64 / n) * (step * step);
        let prior = if model == Covariance::Autoware && i == j { 1.0 } else { 0.0 };
        out[e] = (prior + scatter) / denominator;
        e += 1;
    }
    out
}

/// The vector or its opposite: the component of largest magnitude, the first of equal ones, is
/// positive.
#[inline(always)]
fn upright(v: [f64; 3]) -> [f64; 3] {
    let mut largest = v[0];
    let mut i = 1;
    while i < 3 {
        largest = if v[i].abs() > largest.abs() { v[i] } else { largest };
        i += 1;
    }
    if largest < 0.0 { [-v[0], -v[1], -v[2]] } else { v }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const UNBIASED: StatsParams = StatsParams { covariance: Covariance::Unbiased, eigen_ratio: 0.01 };

    fn moments(lattice: &NdtLattice, points: &[[f64; 3]]) -> Moments {
        let mut sums = Moments::default();
        points.iter().for_each(|p| sums.add(lattice.place(*p).unwrap().offset));
        sums
    }

    /// Points of the cell 0, 0, 0 of a lattice of two metres.
    fn points() -> impl Strategy<Value = Vec<[f64; 3]>> {
        prop::collection::vec(prop::array::uniform3(0.0f64..2.0), 3..40)
    }

    proptest! {
        #[test]
        fn the_covariance_is_that_of_the_points(points in points()) {
            let lattice = NdtLattice::new(2.0).unwrap();
            let params = StatsParams { eigen_ratio: 0.0, ..UNBIASED };
            let stats = CellStats::new(&moments(&lattice, &points), &lattice, &params);
            let n = points.len() as f64;
            let mean: Vec<f64> = (0..3).map(|i| points.iter().map(|p| p[i]).sum::<f64>() / n).collect();
            prop_assume!(stats.is_some());
            let stats = stats.unwrap();
            for (e, (i, j)) in ENTRIES.into_iter().enumerate() {
                let wanted = points.iter().map(|p| (p[i] - mean[i]) * (p[j] - mean[j])).sum::<f64>() / (n - 1.0);
                // Offsets are rounded to 2 um.
                prop_assert!((stats.covariance[e] - wanted).abs() < 1e-5, "{} {}", stats.covariance[e], wanted);
            }
            for i in 0..3 {
                prop_assert!((stats.mean_local[i] + 1.0 - mean[i]).abs() < 2e-6);
            }
        }

        #[test]
        fn the_inverse_is_one(points in points(), ratio in 0.001f64..0.2) {
            let lattice = NdtLattice::new(2.0).unwrap();
            let params = StatsParams { eigen_ratio: ratio, ..UNBIASED };
            let stats = CellStats::new(&moments(&lattice, &points), &lattice, &params).unwrap();
            let full = |a: &Symmetric| [[a[0], a[1], a[2]], [a[1], a[3], a[4]], [a[2], a[4], a[5]]];
            let (c, inverse) = (full(&stats.covariance), full(&stats.inverse));
            for i in 0..3 {
                for j in 0..3 {
                    let product: f64 = (0..3).map(|k| c[i][k] * inverse[k][j]).sum();
                    prop_assert!((product - f64::from(u8::from(i == j))).abs() < 1e-11 / ratio, "{product}");
                }
            }
            prop_assert!(stats.eigenvalues[0] >= ratio * stats.eigenvalues[2]);
        }

        #[test]
        fn where_the_cell_lies_does_not_matter(points in points(), cell in prop::array::uniform3(-1000i32..1000)) {
            // Offsets that are whole steps, so that moving them loses nothing.
            let whole = |x: f64| (x * 1024.0).floor() / 1024.0;
            let lattice = NdtLattice::new(2.0).unwrap();
            let here: Vec<_> = points.iter().map(|p| p.map(whole)).collect();
            let there: Vec<_> = here.iter().map(|p| [0, 1, 2].map(|i| p[i] + f64::from(cell[i]) * 2.0)).collect();
            prop_assert_eq!(moments(&lattice, &here), moments(&lattice, &there));
        }
    }

    #[test]
    fn cells_without_extent_are_degenerate() {
        let lattice = NdtLattice::new(1.0).unwrap();
        let same = moments(&lattice, &[[0.25; 3]; 8]);
        assert_eq!(CellStats::new(&same, &lattice, &UNBIASED), None);
        assert_eq!(
            CellStats::new(&same, &lattice, &StatsParams { covariance: Covariance::Population, ..UNBIASED }),
            None
        );
        // With Autoware's prior they are balls.
        let autoware = StatsParams { covariance: Covariance::Autoware, ..UNBIASED };
        let ball = CellStats::new(&same, &lattice, &autoware).unwrap();
        assert_eq!((ball.eigenvalues, ball.clamped), ([1.0 / 7.0; 3], false));
        for model in [Covariance::Unbiased, Covariance::Autoware, Covariance::Population] {
            let params = StatsParams { covariance: model, ..UNBIASED };
            assert_eq!(CellStats::new(&moments(&lattice, &[[0.25; 3]]), &lattice, &params), None);
            assert_eq!(CellStats::new(&Moments::default(), &lattice, &params), None);
        }
    }

    #[test]
    fn a_plane_has_its_normal() {
        let lattice = NdtLattice::new(2.0).unwrap();
        let grid = (0..49).map(|i| [f64::from(i % 7) / 4.0 + 0.125, f64::from(i / 7) / 4.0 + 0.125, 0.5]);
        let stats = CellStats::new(&moments(&lattice, &grid.collect::<Vec<_>>()), &lattice, &UNBIASED).unwrap();
        assert_eq!((stats.normal, stats.clamped), ([0.0, 0.0, 1.0], true));
        assert_eq!(stats.eigenvalues[0], 0.01 * stats.eigenvalues[2]);
        let flat = StatsParams { eigen_ratio: 0.0, ..UNBIASED };
        let grid = (0..49).map(|i| [f64::from(i % 7) / 4.0 + 0.125, f64::from(i / 7) / 4.0 + 0.125, 0.5]);
        assert_eq!(CellStats::new(&moments(&lattice, &grid.collect::<Vec<_>>()), &lattice, &flat), None);
    }

    #[test]
    fn full_cells_do_not_overflow() {
        // Half of the points in one corner, half in the opposite one.
        let half = 1i64 << 19;
        let n = super::super::MAX_COUNT - 1;
        let moments = Moments { count: n, sum: [0; 3], products: [half * half * i64::from(n); 6] };
        let lattice = NdtLattice::new(1.0).unwrap();
        let stats = CellStats::new(&moments, &lattice, &UNBIASED).unwrap();
        assert!((stats.eigenvalues[2] - 0.75).abs() < 1e-6, "{:?}", stats.eigenvalues);
    }
}
