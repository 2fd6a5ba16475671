//! The normal of a surface from the points around a place on it.

use crate::eigen::{ENTRIES, Eigen, Symmetric, eigen, eigen_each};

/// A neighbourhood whose second spread is below this part of its largest is a line and has no
/// normal: its points lie within a hundredth of its length.
const LINE: f64 = 1e-4;
/// Fewest points that make a plane.
pub const FEWEST: u32 = 3;

/// Sums over the neighbours of a place, each given by its offset from that place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Neighbourhood {
    count: u32,
    sum: [f64; 3],
    products: Symmetric,
}

impl Neighbourhood {
    /// Of sums that were made elsewhere: the number of neighbours, their offsets, and the products of
    /// these in the order of a [`Symmetric`]. The unit of length does not matter.
    #[inline(always)]
    pub const fn of_sums(count: u32, sum: [f64; 3], products: Symmetric) -> Self {
        Self { count, sum, products }
    }

    /// Adds a neighbour. Offsets between points of `f32` are exact in `f64`, and small beside the
    /// coordinates, so one pass is enough.
    #[inline(always)]
    pub fn add(&mut self, place: [f32; 3], neighbour: [f32; 3]) {
        let d = [
            neighbour[0] as f64 - place[0] as f64,
            neighbour[1] as f64 - place[1] as f64,
            neighbour[2] as f64 - place[2] as f64,
        ];
        self.count += 1;
        let mut i = 0;
        while i < 3 {
            self.sum[i] += d[i];
            i += 1;
        }
        let mut e = 0;
        while e < 6 {
            let (i, j) = ENTRIES[e];
            self.products[e] += d[i] * d[j];
            e += 1;
        }
    }

    /// The covariance of the offsets, by their number.
    #[inline(always)]
    fn covariance(&self) -> Symmetric {
        let n = if self.count > 0 { self.count as f64 } else { 1.0 };
        let mut c = [0.0; 6];
        let mut e = 0;
        while e < 6 {
            let (i, j) = ENTRIES[e];
            c[e] = (self.products[e] - self.sum[i] * self.sum[j] / n) / n;
            e += 1;
        }
        c
    }

    /// The direction in which the neighbours spread least, of length one, sign not said; zeros
    /// where they make no plane: fewer than three, all at one place, or along a line.
    ///
    /// ```
    /// use pointmill_core::icp::neighbourhood::Neighbourhood;
    /// let mut around = Neighbourhood::default();
    /// for p in [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 2.0, 1.0]] {
    ///     around.add([0.0, 0.0, 1.0], p);
    /// }
    /// assert_eq!(around.normal().map(f32::abs), [0.0, 0.0, 1.0]);
    /// assert_eq!(Neighbourhood::default().normal(), [0.0; 3]);
    /// ```
    #[inline(always)]
    pub fn normal(&self) -> [f32; 3] {
        direction(self.plane())
    }

    /// [`Self::normal`] of several, with the same bits and in less time.
    pub fn normals<const N: usize>(all: &[Self; N]) -> [[f32; 3]; N] {
        let spreads = all.each_ref().map(Self::spread);
        let of = eigen_each(spreads.map(Option::unwrap_or_default));
        core::array::from_fn(|i| direction(spreads[i].and(flat(of[i]))))
    }

    /// How the neighbours spread: eigenvalues of the covariance as parts of their sum, and their
    /// directions; none where the neighbours make no plane.
    #[inline(always)]
    pub fn plane(&self) -> Option<Eigen> {
        match self.spread() {
            Some(spread) => flat(eigen(spread)),
            None => None,
        }
    }

    /// The covariance as a part of its trace, so that squares within the rotations neither vanish
    /// nor overflow; none where the neighbours are too few, or at one place.
    #[inline(always)]
    fn spread(&self) -> Option<Symmetric> {
        if self.count < FEWEST {
            return None;
        }
        let covariance = self.covariance();
        let size = covariance[0] + covariance[3] + covariance[5];
        // What is left of offsets that are all equal is rounding.
        let place = (self.sum[0] * self.sum[0] + self.sum[1] * self.sum[1] + self.sum[2] * self.sum[2])
            / (self.count as f64 * self.count as f64);
        if size.is_nan() || size <= 1e-12 * place || size <= 0.0 {
            return None;
        }
        let mut scaled = covariance;
        let mut e = 0;
        while e < 6 {
            scaled[e] = covariance[e] / size;
            e += 1;
        }
        Some(scaled)
    }
}

/// What spreads along more than a line.
#[inline(always)]
fn flat(of: Eigen) -> Option<Eigen> {
    if of.values[1] > LINE * of.values[2] { Some(of) } else { None }
}

/// The direction of the least spread; zeros for none.
#[inline(always)]
fn direction(plane: Option<Eigen>) -> [f32; 3] {
    let Some(Eigen { vectors: [n, ..], .. }) = plane else { return [0.0; 3] };
    [n[0] as f32, n[1] as f32, n[2] as f32]
}

/// Whether a normal is one, and not the mark of a neighbourhood without.
#[inline(always)]
pub fn is_normal(n: [f32; 3]) -> bool {
    n[0] != 0.0 || n[1] != 0.0 || n[2] != 0.0
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn around(points: &[[f32; 3]]) -> Neighbourhood {
        let mut n = Neighbourhood::default();
        points.iter().for_each(|p| n.add(points[0], *p));
        n
    }

    proptest! {
        #[test]
        fn planes_have_their_normal(
            n in prop::array::uniform3(-1f64..1.0), places in prop::collection::vec(prop::array::uniform3(-1f64..1.0), 12..20), far in -100f32..100.0,
            power in -20i32..20
        ) {
            let length = crate::float::sqrt(n.iter().map(|x| x * x).sum());
            prop_assume!(length > 0.1);
            let n = n.map(|x| x / length);
            let scale = libm::scalbn(1.0, power);
            let points: Vec<[f32; 3]> = places.iter().map(|p| {
                let off: f64 = (0..3).map(|i| n[i] * p[i]).sum();
                [0, 1, 2].map(|i| ((p[i] - off * n[i] + f64::from(far)) * scale) as f32)
            }).collect();
            let got = around(&points).normal();
            let along: f64 = (0..3).map(|i| n[i] * f64::from(got[i])).sum();
            prop_assert!(along.abs() > 1.0 - 1e-7, "{got:?} {n:?}");
        }

        #[test]
        fn several_normals_are_those_of_each(points in prop::collection::vec(prop::array::uniform3(-1f32..1.0), 8..40), n in 0usize..9) {
            let places: [&[[f32; 3]]; 4] = [&points, &points[..n.min(4)], &points[n.min(7)..], &[points[0]; 5]];
            let all = places.map(around);
            prop_assert_eq!(Neighbourhood::normals(&all), all.map(|one| one.normal()));
        }

        #[test]
        fn covariances_are_those_of_two_passes(points in prop::collection::vec(prop::array::uniform3(-1f32..1.0), 3..32)) {
            let n = points.len() as f64;
            let mean = [0, 1, 2].map(|i| points.iter().map(|p| f64::from(p[i])).sum::<f64>() / n);
            let got = around(&points).covariance();
            for (e, (i, j)) in ENTRIES.into_iter().enumerate() {
                let wanted = points.iter().map(|p| (f64::from(p[i]) - mean[i]) * (f64::from(p[j]) - mean[j])).sum::<f64>() / n;
                prop_assert!((got[e] - wanted).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn what_is_no_plane_is_marked() {
        let line: Vec<[f32; 3]> = (0..20).map(|i| [i as f32 * 0.1, i as f32 * 0.2, -0.3 * i as f32]).collect();
        let thin: Vec<[f32; 3]> = (0..20).map(|i| [i as f32, (i % 3) as f32 * 1e-2, 0.0]).collect();
        for points in [&line[..], &thin, &[[5.0; 3]; 20], &line[..2], &[[1e-30, 0.0, 0.0]; 7], &[[f32::NAN; 3]; 9]] {
            assert_eq!(around(points).normal(), [0.0; 3], "{points:?}");
        }
        // Many at one place and few elsewhere are still a plane.
        let mut points = [[1.0f32; 3]; 20];
        points[18] = [2.0, 1.0, 1.0];
        points[19] = [1.0, 2.0, 1.0];
        assert_eq!(around(&points).normal().map(f32::abs), [0.0, 0.0, 1.0]);
        let mut copies = Neighbourhood::default();
        (0..20).for_each(|_| copies.add([0.1; 3], [0.7, 0.3, 0.9]));
        assert_eq!(copies.normal(), [0.0; 3]);
    }
}
