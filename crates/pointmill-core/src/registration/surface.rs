//! The normal of a place and how much its surroundings stand out of a plane, by sums that do not
//! depend on the order of neighbours.

use crate::eigen::{ENTRIES, Eigen};
use crate::icp::neighbourhood::Neighbourhood;

/// Neighbours of a feature at least, the place itself included.
const FEWEST: u32 = 8;
/// A neighbourhood is a plane where its least spread is below this part of all.
const FLAT: f64 = 0.01;
/// A neighbourhood is a line where its second spread is below this part of its largest.
const THIN: f64 = 0.04;
/// Steps of a radius.
const STEPS: f32 = (1u32 << 20) as f32;

/// Sums over neighbours, in whole steps of a radius. A product has at most 40 bits, so sums of
/// thousands are exact in `f64`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offsets {
    count: u32,
    sum: [i64; 3],
    products: [i64; 6],
}

impl Offsets {
    /// Adds a neighbour within a radius.
    #[inline(always)]
    pub fn add(&mut self, place: [f32; 3], neighbour: [f32; 3], radius: f32) {
        let mut d = [0i64; 3];
        let mut i = 0;
        while i < 3 {
            d[i] = ((neighbour[i] - place[i]) / radius * STEPS) as i32 as i64;
            self.sum[i] += d[i];
            i += 1;
        }
        self.count += 1;
        let mut e = 0;
        while e < 6 {
            let (i, j) = ENTRIES[e];
            self.products[e] += d[i] * d[j];
            e += 1;
        }
    }

    #[inline(always)]
    fn neighbourhood(&self) -> Neighbourhood {
        let (mut sum, mut products) = ([0.0; 3], [0.0; 6]);
        let mut e = 0;
        while e < 6 {
            products[e] = self.products[e] as f64;
            if e < 3 {
                sum[e] = self.sum[e] as f64;
            }
            e += 1;
        }
        Neighbourhood::of_sums(self.count, sum, products)
    }
}

/// The normal of a place by its `near` neighbours, where these make no plane by `all`; zeros where
/// neither do. And how much all stand out of a plane: their least spread as a part of the whole; 0
/// where they are a plane, a line or too few for a feature.
#[inline(always)]
pub fn normal_and_roughness(near: &Offsets, all: &Offsets) -> ([f32; 3], f64) {
    let (mut normal, mut roughness) = ([0.0; 3], 0.0);
    // One place in the code for the eigenvalues of both: a kernel holds them once.
    let mut turn = 0;
    while turn < 2 {
        let sums = if turn == 0 { near } else { all };
        if let Some(Eigen { values, vectors: [n, ..] }) = sums.neighbourhood().plane() {
            if normal[0] == 0.0 && normal[1] == 0.0 && normal[2] == 0.0 {
                normal = [n[0] as f32, n[1] as f32, n[2] as f32];
            }
            if turn == 1 && sums.count >= FEWEST && values[0] > FLAT && values[1] > THIN * values[2] {
                roughness = values[0];
            }
        }
        turn += 1;
    }
    (normal, roughness)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(points: impl Iterator<Item = [f32; 3]>) -> Offsets {
        let mut sums = Offsets::default();
        points.for_each(|p| sums.add([0.0; 3], p, 2.0));
        sums
    }

    #[test]
    fn planes_lines_and_corners() {
        let grid = || (0..25).map(|i| [(i % 5) as f32 * 0.2 - 0.4, (i / 5) as f32 * 0.2 - 0.4]);
        let floor = sums(grid().map(|[x, y]| [x, y, 0.0]));
        let corner = sums(grid().flat_map(|[x, y]| [[x, y, 0.0], [x, 0.0, y], [0.0, x, y]]));
        let line = sums((0..20).map(|i| [i as f32 * 0.05, 0.0, 0.0]));
        let few = sums([[0.1, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.2], [0.3, 0.3, 0.3]].into_iter());
        assert_eq!(normal_and_roughness(&floor, &floor), ([0.0, 0.0, 1.0], 0.0));
        let (normal, roughness) = normal_and_roughness(&floor, &corner);
        assert!(normal == [0.0, 0.0, 1.0] && roughness > 0.2);
        assert_eq!(normal_and_roughness(&line, &floor), ([0.0, 0.0, 1.0], 0.0));
        assert_eq!(normal_and_roughness(&line, &line), ([0.0; 3], 0.0));
        assert!(normal_and_roughness(&few, &few).1 == 0.0);
    }

    #[test]
    fn the_order_of_neighbours_does_not_matter() {
        let at = |i: usize| [0.13 * i as f32 - 1.0, (i * i % 7) as f32 * 0.2, (i * i % 5) as f32 * 0.3];
        let (there, back) = (sums((0..15).map(at)), sums((0..15).rev().map(at)));
        assert_eq!(normal_and_roughness(&there, &there), normal_and_roughness(&back, &back));
    }
}
