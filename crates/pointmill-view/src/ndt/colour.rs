//! What colour a cell has.

use crate::Image;
use crate::colour::scaled;
use crate::layout::{FAINT, entry};
use pointmill_core::eigen::eigen;

type V3 = [f64; 3];

const LEVEL: [u8; 3] = [64, 158, 232];
const ROUND: [u8; 3] = [104, 196, 96];

pub(super) const WALL: [u8; 3] = [150, 182, 230];
pub(super) const OTHER: [u8; 3] = [52, 64, 86];

/// How much longer than its thickness a cell's second extent must be to count as flat: not at all
/// below the first, wholly above the second.
const FLAT: [f64; 2] = [1.6, 2.6];

/// Which way a cell faces and how flat it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facing {
    pub(super) normal: V3,
    /// 0 for a ball or a pole, 1 for a plane.
    pub(super) flat: f64,
}

impl Facing {
    /// `None` for what is no covariance: not finite, of no extent, or clearly negative somewhere.
    pub(crate) fn new(covariance: &[f64; 6]) -> Option<Self> {
        if !covariance.iter().all(|v| v.is_finite()) {
            return None;
        }
        let of = eigen(*covariance);
        let [thin, second, long] = of.values;
        if !(long > 0.0 && long.is_finite() && thin > -1e-6 * long) {
            return None;
        }
        let (thin, second) = (thin.max(0.0).sqrt(), second.max(0.0).sqrt());
        // Extents below a hundredth of the longest are measurement: a line must not count as a
        // plane by chance.
        let ratio = second / thin.max(0.01 * long.sqrt());
        let flat = ((ratio - FLAT[0]) / (FLAT[1] - FLAT[0])).clamp(0.0, 1.0);
        Some(Self { normal: of.vectors[0], flat })
    }

    /// How much it is a wall: flat and with a level normal, 0 to 1.
    pub(super) fn upright(&self) -> f64 {
        self.flat * (1.0 - self.normal[2] * self.normal[2]).clamp(0.0, 1.0)
    }

    /// How much it is ground, or a roof.
    pub(super) fn level(&self) -> f64 {
        self.flat * (self.normal[2] * self.normal[2]).clamp(0.0, 1.0)
    }

    /// Bright for walls, dark for all else: what a scan is matched by, under the scan.
    pub(super) fn brightness(&self) -> [u8; 3] {
        let wall = self.upright();
        [0, 1, 2].map(|k| (f64::from(OTHER[k]) + (f64::from(WALL[k]) - f64::from(OTHER[k])) * wall + 0.5) as u8)
    }

    /// Level blue, upright in warm colours by direction, neither flat green, and all between them.
    pub(crate) fn colour(&self) -> [u8; 3] {
        let (level, upright) = (self.level(), self.upright());
        let wall = wall(self.normal[0], self.normal[1]);
        let of = |k: usize| {
            let sum =
                level * f64::from(LEVEL[k]) + upright * f64::from(wall[k]) + (1.0 - self.flat) * f64::from(ROUND[k]);
            (sum + 0.5).clamp(0.0, 255.0) as u8
        };
        [of(0), of(1), of(2)]
    }
}

/// The colour of a wall by the level direction that it faces; both its sides have the same.
fn wall(x: f64, y: f64) -> [u8; 3] {
    let square = x * x + y * y;
    if square <= 0.0 {
        return LEVEL;
    }
    // Cosine and sine of twice the angle, so that opposite directions agree.
    let (c, s) = ((x * x - y * y) / square, 2.0 * x * y / square);
    [246, (142.0 + 66.0 * c + 0.5) as u8, (142.0 + 84.0 * s - 24.0 * c + 0.5) as u8]
}

/// Draws the legend: all directions from above, x to the right and y up, as a half ball, and what
/// they mean; the x after it.
pub(crate) fn facing_key(picture: &mut Image, x: u32, y: u32) -> u32 {
    half_ball(picture, x + RADIUS, y + 10, RADIUS);
    let text = "walls, coloured by heading (x right, y up)";
    let next = entry(picture, x + 2 * RADIUS + 14, y, LEVEL, "ground");
    picture.text(text, next as i32, y as i32, FAINT);
    entry(picture, next + 10 * text.len() as u32 + 26, y, ROUND, "no plane")
}

/// Pixels of the half ball.
const RADIUS: u32 = 17;

/// The half ball, around `x`, `y`.
fn half_ball(image: &mut Image, x: u32, y: u32, radius: u32) {
    let r = f64::from(radius);
    for py in y.saturating_sub(radius)..y + radius {
        for px in x.saturating_sub(radius)..x + radius {
            let (u, v) = ((f64::from(px) + 0.5 - f64::from(x)) / r, (f64::from(y) - f64::from(py) - 0.5) / r);
            let square = u * u + v * v;
            if square < 1.0 {
                let facing = Facing { normal: [u, v, (1.0 - square).sqrt()], flat: 1.0 };
                // A soft rim.
                let light = (r * (1.0 - square.sqrt())).clamp(0.0, 1.0);
                image.set(px, py, scaled(facing.colour(), 0.4 + 0.6 * light));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variances along axes.
    fn facing(x: f64, y: f64, z: f64) -> Facing {
        Facing::new(&[x, 0.0, 0.0, y, 0.0, z]).unwrap()
    }

    #[test]
    fn planes_poles_and_balls_are_told_apart() {
        assert_eq!(facing(1.0, 1.0, 0.01).colour(), LEVEL);
        assert_eq!(facing(1.0, 1.0, 1.0).colour(), ROUND);
        // A pole, and a line that the regularization of cells has made three-dimensional.
        assert_eq!(facing(0.01, 0.012, 1.0).colour(), ROUND);
        assert_eq!(facing(1.0, 1e-9, 0.0).flat, 0.0);
        let (along, across) = (facing(0.01, 1.0, 1.0), facing(1.0, 0.01, 1.0));
        assert_eq!((along.upright(), along.level()), (1.0, 0.0));
        let differ = |a: [u8; 3], b: [u8; 3]| (0..3).map(|k| u32::from(a[k].abs_diff(b[k]))).sum::<u32>();
        assert!(differ(along.colour(), across.colour()) > 120);
        // Walls at plus and minus 45 degrees.
        let walls = [-0.9, 0.9].map(|xy| Facing::new(&[1.0, xy, 0.0, 1.0, 0.0, 3.0]).unwrap().colour());
        assert!(differ(walls[0], walls[1]) > 120, "{walls:?}");
        assert!(differ(walls[0], LEVEL) > 120 && differ(walls[1], LEVEL) > 120);
    }

    #[test]
    fn the_sign_of_a_normal_does_not_matter() {
        let of = |s: f64| Facing { normal: [0.6 * s, -0.64 * s, 0.48 * s], flat: 0.7 }.colour();
        assert_eq!(of(1.0), of(-1.0));
    }

    #[test]
    fn what_is_no_covariance_has_no_facing() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for odd in [[nan; 6], [0.0; 6], [inf, 0.0, 0.0, 1.0, 0.0, 1.0], [1.0, 3.0, 0.0, 1.0, 0.0, 1.0], [-1.0; 6]] {
            assert!(Facing::new(&odd).is_none(), "{odd:?}");
        }
    }
}
