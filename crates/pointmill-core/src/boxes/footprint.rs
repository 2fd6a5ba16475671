//! Two footprints in the frame of the first, and the area that both cover.

use super::{BoxShape, least, most};
use crate::trig::sin_cos_f64;

/// Two footprints: the first is `[-hx, hx] x [-hy, hy]`, the second lies at `center` and is turned.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    /// Half extents of the first.
    pub(super) half: [f64; 2],
    /// Half extents of the second.
    pub(super) other: [f64; 2],
    /// Centre of the second.
    pub(super) center: [f64; 2],
    /// Heading of the second.
    pub(super) cos: f64,
    pub(super) sin: f64,
}

impl Pair {
    #[inline(always)]
    pub(super) fn new(a: &BoxShape, b: &BoxShape) -> Self {
        let (sin_a, cos_a) = sin_cos_f64(a.yaw);
        let (sin, cos) = sin_cos_f64(b.yaw - a.yaw);
        let (x, y) = (b.center[0] - a.center[0], b.center[1] - a.center[1]);
        Self {
            half: [a.extent[0] / 2.0, a.extent[1] / 2.0],
            other: [b.extent[0] / 2.0, b.extent[1] / 2.0],
            center: [x * cos_a + y * sin_a, y * cos_a - x * sin_a],
            cos,
            sin,
        }
    }

    /// The corners of the second, counter-clockwise.
    #[inline(always)]
    pub(super) fn corners(&self) -> [[f64; 2]; 4] {
        let Self { other: [hx, hy], center: [x, y], cos, sin, .. } = *self;
        // Along and across.
        let (ax, ay) = (hx * cos, hx * sin);
        let (bx, by) = (-(hy * sin), hy * cos);
        [
            [x + (ax + bx), y + (ay + by)],
            [x - (ax - bx), y - (ay - by)],
            [x - (ax + bx), y - (ay + by)],
            [x + (ax - bx), y + (ay - by)],
        ]
    }

    /// Whether a side of one of both has the other wholly on its far side.
    #[inline(always)]
    fn is_apart(&self) -> bool {
        let Self { half: [hx, hy], other: [ox, oy], center: [x, y], cos, sin } = *self;
        let (c, s) = (cos.abs(), sin.abs());
        let (along, across) = (x * cos + y * sin, y * cos - x * sin);
        (x.abs() >= hx + (ox * c + oy * s))
            | (y.abs() >= hy + (ox * s + oy * c))
            | (along.abs() >= ox + (hx * c + hy * s))
            | (across.abs() >= oy + (hx * s + hy * c))
    }

    /// The area that both cover.
    ///
    /// By Green's theorem it is the sum, over the sides of the second, of the integral of
    /// `clamp(x, -hx, hx)` over y within `[-hy, hy]`. No side depends on another, and no corner of
    /// the common polygon is searched for, so touching sides and corners need no cases.
    #[inline(always)]
    pub(super) fn intersection(&self) -> f64 {
        if self.is_apart() {
            return 0.0;
        }
        let [a, b, c, d] = self.corners();
        let area = (self.side(a, b) + self.side(c, d)) + (self.side(b, c) + self.side(d, a));
        // Not more than either covers.
        let first = (2.0 * self.half[0]) * (2.0 * self.half[1]);
        let second = (2.0 * self.other[0]) * (2.0 * self.other[1]);
        most(least(area, least(first, second)), 0.0)
    }

    /// The integral along one side.
    #[inline(always)]
    fn side(&self, from: [f64; 2], to: [f64; 2]) -> f64 {
        let [hx, hy] = self.half;
        let (y0, y1) = (clamp(from[1], hy), clamp(to[1], hy));
        if y0 == y1 {
            return 0.0;
        }
        // x where the side enters and leaves the strip; a corner within it stays as it is.
        let slope = (to[0] - from[0]) / (to[1] - from[1]);
        let x0 = if y0 == from[1] { from[0] } else { from[0] + (y0 - from[1]) * slope };
        let x1 = if y1 == to[1] { to[0] } else { to[0] + (y1 - to[1]) * slope };
        let (low, high) = (least(x0, x1), most(x0, x1));
        let (inner_low, inner_high) = (clamp(low, hx), clamp(high, hx));
        // The mean of clamp(x) over the side: the parts left, right and between.
        let left = least(high, -hx) - least(low, -hx);
        let right = most(high, hx) - most(low, hx);
        let between = (inner_high - inner_low) * ((inner_low + inner_high) * 0.5);
        let length = high - low;
        let mean = if length > 0.0 { (hx * (right - left) + between) / length } else { inner_low };
        mean * (y1 - y0)
    }
}

/// `value` within `[-limit, limit]`.
#[inline(always)]
fn clamp(value: f64, limit: f64) -> f64 {
    least(most(value, -limit), limit)
}
