//! How well a cell explains the places of a lattice, as small whole numbers: their sums over the
//! points of a scan are exact in any order.

use crate::eigen::{ENTRIES, Symmetric, times};
use crate::float::{exp, sqrt};
use crate::linear::inverse;
use crate::vector::{dot, subtract};

/// The largest [`LevelCell::value`]. The sum over 1,024 points is below 2^16.
pub const LEVEL_BEST: u8 = 63;

/// Standard deviations at which a value rounds to 0: the root of 2 ln(2 * 63).
const REACH: f64 = 3.110_097_6;

/// A square of standard deviations at which a value rounds to 0 for certain: most places of a box
/// around a cell need no power.
const BEYOND: f64 = 9.7;

/// A cell of a map, widened by what places of a lattice are off.
///
/// ```
/// use pointmill_core::ndt::{LEVEL_BEST, LevelCell};
/// // A wall across x, and a lattice of 1 m.
/// let wall = LevelCell::new([5.0, 0.0, 1.0], &[100.0, 0.0, 0.0, 4.0, 0.0, 4.0], 1.0, 4.0).unwrap();
/// assert_eq!(wall.value([5.0, 0.0, 1.0]), LEVEL_BEST);
/// assert!(wall.value([5.0, 1.0, 1.0]) > wall.value([6.0, 0.0, 1.0]));
/// assert_eq!(wall.value([8.0, 0.0, 1.0]), 0);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelCell {
    mean: [f64; 3],
    inverse: Symmetric,
    reach: [f64; 3],
}

impl LevelCell {
    /// The cell with this mean and inverse covariance, for a lattice of `step` metres: half a step
    /// is added to its standard deviation in all directions. It reaches at most `most` metres along
    /// each axis. `None` if the inverse covariance is not positive definite.
    pub fn new(mean: [f64; 3], inverse_covariance: &Symmetric, step: f64, most: f64) -> Option<Self> {
        let [xx, xy, xz, yy, yz, zz] = *inverse_covariance;
        let mut wide = inverse(&[[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])?;
        let mut reach = [0.0; 3];
        for axis in 0..3 {
            wide[axis][axis] += 0.25 * step * step;
            let far = REACH * sqrt(wide[axis][axis]);
            reach[axis] = if far < most { far } else { most };
        }
        let back = inverse(&wide)?;
        Some(Self { mean, inverse: ENTRIES.map(|(i, j)| back[i][j]), reach })
    }

    /// Least and largest coordinate along an axis that it reaches.
    #[inline(always)]
    pub const fn extent(&self, axis: usize) -> [f64; 2] {
        [self.mean[axis] - self.reach[axis], self.mean[axis] + self.reach[axis]]
    }

    /// The cubes of `step` metres along an axis that it may reach, first and end, of `size` cubes
    /// from `low` on.
    #[inline(always)]
    pub fn cubes(&self, axis: usize, step: f64, low: i32, size: u32) -> [u32; 2] {
        let [from, to] = self.extent(axis).map(|p| floor(p / step) as f64 - low as f64);
        let within = |at: f64| if at > 0.0 { if at < size as f64 { at as u32 } else { size } } else { 0 };
        let end = within(to) + 1;
        [within(from), if end < size { end } else { size }]
    }

    /// The value of a place in metres: [`LEVEL_BEST`] at the mean, less with the distance.
    #[inline(always)]
    pub fn value(&self, p: [f64; 3]) -> u8 {
        let q = subtract(p, self.mean);
        let square = dot(q, times(&self.inverse, q));
        if square > BEYOND { 0 } else { (LEVEL_BEST as f64 * exp(-0.5 * square) + 0.5) as u8 }
    }
}

/// The centre of a cube along an axis.
#[inline(always)]
pub fn level_centre(cube: i32, step: f64) -> f64 {
    (cube as f64 + 0.5) * step
}

/// The cube of a point that is turned by an angle of this sine and cosine.
#[inline(always)]
pub fn level_cube([x, y, z]: [f64; 3], [sine, cosine]: [f64; 2], step: f64) -> [i32; 3] {
    [floor((cosine * x - sine * y) / step), floor((sine * x + cosine * y) / step), floor(z / step)]
}

/// The floor of a number; the nearest `i32` of one beyond them.
#[inline(always)]
fn floor(x: f64) -> i32 {
    let whole = x as i32;
    if x < whole as f64 { whole.saturating_sub(1) } else { whole }
}

#[cfg(test)]
mod tests {
    use super::floor;

    #[test]
    fn a_floor_is_that_of_libm() {
        let whole = [0.0, 1.0, -1.0, 7.0, -8.0, 2147483647.0, -2147483648.0, 1e300, -1e300];
        for x in whole.into_iter().flat_map(|x: f64| [x, x - 0.5, x + 0.5, x.next_up(), x.next_down()]) {
            assert_eq!(floor(x), libm::floor(x) as i32, "{x}");
        }
        assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(floor), [0, i32::MAX, i32::MIN]);
    }
}
