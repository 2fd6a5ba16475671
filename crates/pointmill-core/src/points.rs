//! Neighbours and samples of points: what the CPU and kernels have in common.

use crate::names;

/// Lanes among which the mean of an item is added up.
pub const LANES: usize = 512;

/// Where furthest point sampling starts.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// At the first finite point.
    #[default]
    First,
    /// At the finite point nearest to the mean of all finite points, in `f64`; of several the first.
    NearestToMean,
}

names!(Start { First = "first", NearestToMean = "nearest-to-mean" });

/// Which points of a ball are taken.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BallPick {
    /// The first in input order.
    #[default]
    First,
    /// The nearest to the centre; of several the first.
    Nearest,
}

names!(BallPick { First = "first", Nearest = "nearest" });

/// What stands behind the points of a ball that has fewer than there is room for.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// The first of them again.
    #[default]
    First,
    /// -1.
    None,
}

names!(Fill { First = "first", None = "none" });

/// The squared distance of two points.
///
/// **Arithmetic** (`f32`): `dx * dx + dy * dy + dz * dz`, from left to right.
#[inline(always)]
pub fn squared_distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
}

/// At most what [`squared_distance`] gives for any point from `min` to `max`, rounding included:
/// a difference, a product and a sum are rounded to no less where their arguments are no less.
///
/// ```
/// use pointmill_core::points::{least_squared_distance, squared_distance};
/// assert_eq!(least_squared_distance([0.0; 3], [1.0; 3], [3.0, 0.5, -1.0]), 5.0);
/// assert_eq!(squared_distance([1.0, 0.5, 0.0], [3.0, 0.5, -1.0]), 5.0);
/// ```
#[inline(always)]
pub fn least_squared_distance(min: [f32; 3], max: [f32; 3], p: [f32; 3]) -> f32 {
    let mut sum = 0.0;
    for k in 0..3 {
        let (below, above) = (min[k] - p[k], p[k] - max[k]);
        let away = if below > above { below } else { above };
        let away = if away > 0.0 { away } else { 0.0 };
        sum += away * away;
    }
    sum
}

/// Whether a ball holds a point of this squared distance: its centre, and what is from the one
/// squared radius on below the other. Of a NaN it holds nothing.
#[inline(always)]
pub fn in_ball(squared: f32, least: f32, beyond: f32) -> bool {
    (squared == 0.0) | ((squared >= least) & (squared < beyond))
}

/// A distance, which is 0 or more, and a row as a number that is less where the distance is, and of
/// equal distances where the row is.
#[inline(always)]
pub const fn by_distance(squared: f32, row: u32) -> u64 {
    (squared.to_bits() as u64) << 32 | row as u64
}

/// The distance and the row of a number of [`by_distance`].
#[inline(always)]
pub const fn of_distance(key: u64) -> (f32, u32) {
    (f32::from_bits((key >> 32) as u32), key as u32)
}

/// A place along a curve through the cells of a box, so that points near each other follow each
/// other. It orders work, no result depends on it.
#[inline(always)]
pub fn curve_place(min: [f32; 3], max: [f32; 3], p: [f32; 3]) -> u32 {
    let mut place = 0;
    for k in 0..3 {
        let extent = max[k] - min[k];
        let share = if extent > 0.0 { (p[k] - min[k]) / extent } else { 0.0 };
        let cell = (share * 1023.0) as u32 & 1023;
        let mut bits = (cell | cell << 16) & 0x0300_00ff;
        bits = (bits | bits << 8) & 0x0300_f00f;
        bits = (bits | bits << 4) & 0x030c_30c3;
        bits = (bits | bits << 2) & 0x0924_9249;
        place |= bits << k;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No point of a box is nearer than the bound says, to the bit, whatever is rounded.
    #[test]
    fn the_bound_of_a_box_is_never_above_a_distance() {
        let mut word = 7u32;
        let mut draw = |scale: f32| {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (word as f32 / u32::MAX as f32 - 0.5) * scale
        };
        for scale in [1e-30, 1e-3, 1.0, 1e4, 1e19, 3e38] {
            for _ in 0..2000 {
                let all: [[f32; 3]; 4] = [0; 4].map(|_| [0; 3].map(|_| draw(scale)));
                let of = |best: fn(f32, f32) -> f32| [0, 1, 2].map(|k| best(best(all[0][k], all[1][k]), all[2][k]));
                let bound = least_squared_distance(of(f32::min), of(f32::max), all[3]);
                assert!(all[..3].iter().all(|&p| bound <= squared_distance(p, all[3])), "{all:?}");
            }
        }
    }

    #[test]
    fn numbers_of_distances_are_in_order() {
        let keys = [(0.0, 3), (0.0, 4), (1e-40, 0), (1.0, 9), (f32::INFINITY, 0)].map(|(d, row)| by_distance(d, row));
        assert!(keys.is_sorted());
        assert_eq!(of_distance(keys[3]), (1.0, 9));
    }
}
