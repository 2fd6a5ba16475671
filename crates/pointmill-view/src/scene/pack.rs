//! Positions as whole numbers.

use crate::quantiles::quantiles;

type V3 = [f64; 3];

/// The share of the points on each side of an axis that do not say how far a cloud reaches.
const STRAYS: f64 = 0.01;
/// Points farther from the middle than so many times the reach of the others are left out.
const FAR: f64 = 20.0;
/// Metres beyond which nothing is drawn.
const FARTHEST: f64 = 1e12;
/// The largest whole number of a position.
const MOST: f64 = 65_535.0;

/// Points as 16-bit numbers within their bounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed {
    pub(crate) cells: Vec<[u16; 3]>,
    /// The point that each of the cells is.
    pub(crate) order: Vec<u32>,
    pub(crate) low: V3,
    pub(crate) size: V3,
}

impl Packed {
    /// Of more than `most` points every so many are kept. Sorted ones are in the order of the
    /// Morton curve, whose differences are small.
    pub(crate) fn new(points: &[V3], most: usize, is_sorted: bool) -> Self {
        let every = points.len().div_ceil(most.max(1)).max(1);
        let mut order: Vec<u32> = (0..points.len() as u32).step_by(every).collect();
        let at = |i: &u32| points[*i as usize];
        order.retain(|i| at(i).iter().all(|x| x.abs() <= FARTHEST));
        let ends = [0, 1, 2].map(|k| quantiles(order.iter().map(|i| at(i)[k]).collect(), STRAYS));
        let [Some(x), Some(y), Some(z)] = ends else { return Self::default() };
        let middle = [x, y, z].map(|q| 0.5 * q[1] + 0.5 * q[2]);
        // A cloud of one place has a reach of its own.
        let reach = [x, y, z].map(|q| 0.5 * q[2] - 0.5 * q[1]).into_iter().fold(1e-3, f64::max) * FAR;
        order.retain(|i| (0..3).all(|k| (at(i)[k] - middle[k]).abs() <= reach));
        let end = |k: usize, fold: fn(f64, f64) -> f64| order.iter().map(|i| at(i)[k]).fold(f64::NAN, fold);
        let low = [0, 1, 2].map(|k| end(k, f64::min));
        let size = [0, 1, 2].map(|k| end(k, f64::max) - low[k]);
        let cell = |i: u32| {
            [0, 1, 2].map(|k| if size[k] > 0.0 { ((at(&i)[k] - low[k]) / size[k] * MOST + 0.5) as u16 } else { 0 })
        };
        let mut both: Vec<([u16; 3], u32)> = order.into_iter().map(|i| (cell(i), i)).collect();
        if is_sorted {
            both.sort_by_cached_key(|(cell, i)| (morton(*cell), *i));
        }
        let (cells, order) = both.into_iter().unzip();
        Self { cells, order, low, size }
    }

    /// Where a cell is.
    pub(crate) fn place(&self, cell: [u16; 3]) -> V3 {
        [0, 1, 2].map(|k| self.low[k] + f64::from(cell[k]) / MOST * self.size[k])
    }

    /// Keeps every so many of the points.
    pub(crate) fn thin(&mut self, every: usize) {
        self.cells = self.cells.iter().step_by(every).copied().collect();
        self.order = self.order.iter().step_by(every).copied().collect();
    }

    /// The differences of the cells, plane by plane: low bytes and high bytes of x, y and z.
    pub(crate) fn planes(&self, out: &mut Vec<u8>) {
        for k in 0..3 {
            let differences = || {
                let mut last = 0;
                self.cells.iter().map(move |cell| cell[k].wrapping_sub(std::mem::replace(&mut last, cell[k])))
            };
            out.extend(differences().map(|by| by as u8));
            out.extend(differences().map(|by| (by >> 8) as u8));
        }
    }
}

/// The place on the Morton curve.
fn morton(cell: [u16; 3]) -> u64 {
    (0..16).fold(0, |key, bit| (0..3).fold(key, |key, k| key | u64::from(cell[k] >> bit & 1) << (3 * bit + k)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_within_a_step_of_their_points() {
        let points: Vec<V3> = (0..500).map(|i| [4e6 + f64::from(i % 50), f64::from(i / 50) * 0.1, -3.0]).collect();
        for is_sorted in [false, true] {
            let packed = Packed::new(&points, 1000, is_sorted);
            assert_eq!(packed.cells.len(), 500);
            for (cell, i) in packed.cells.iter().zip(&packed.order) {
                let (found, wanted) = (packed.place(*cell), points[*i as usize]);
                assert!((0..3).all(|k| (found[k] - wanted[k]).abs() < 49.0 / 65_535.0), "{found:?} {wanted:?}");
            }
            assert_eq!(packed.order.is_sorted(), !is_sorted);
        }
        assert_eq!(Packed::new(&points, 100, false).order, (0..500).step_by(5).collect::<Vec<_>>());
    }

    #[test]
    fn planes_hold_the_cells() {
        let packed = Packed::new(&[[0.0, 5.0, 1.0], [1.0, 0.0, 0.5], [0.25, 5.0, 0.0]], 9, false);
        let mut bytes = Vec::new();
        packed.planes(&mut bytes);
        assert_eq!(bytes.len(), 18);
        for k in 0..3 {
            let mut sum = 0u16;
            for (i, cell) in packed.cells.iter().enumerate() {
                sum = sum.wrapping_add(u16::from_le_bytes([bytes[6 * k + i], bytes[6 * k + 3 + i]]));
                assert_eq!(sum, cell[k]);
            }
        }
    }

    #[test]
    fn odd_points_are_left_out() {
        let mut points: Vec<V3> = (0..300).map(|i| [f64::from(i), 0.0, 0.0]).collect();
        points[7] = [f64::NAN, 0.0, 0.0];
        points[8] = [1e300, 0.0, 0.0];
        points[9] = [0.0, f64::NEG_INFINITY, 0.0];
        assert_eq!(Packed::new(&points, 1000, true).cells.len(), 297);
        assert_eq!(Packed::new(&points, 1000, false).order[7], 10);
        for odd in [vec![], vec![[f64::NAN; 3]], vec![[f64::MAX; 3], [-f64::MAX; 3]]] {
            Packed::new(&odd, 10, true);
        }
    }
}
