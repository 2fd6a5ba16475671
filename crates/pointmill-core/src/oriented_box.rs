//! Boxes that stand on the ground at a heading: what is inside, and in which voxel of the box.

use crate::trig::sin_cos;

/// Which point of a box its `cz` is.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoxOrigin {
    /// The centre of the bottom face, as mmcv reads boxes.
    #[default]
    BottomCenter,
    /// The centre of the box, as OpenPCDet reads them.
    Center,
}

crate::names!(BoxOrigin { BottomCenter = "bottom", Center = "center" });

/// An oriented box, made ready for testing points.
///
/// **Units and frames**: metres and radians; the heading is about +z, 0 along +x,
/// counter-clockwise.
///
/// **Arithmetic** (`f32`, one rounding an operation, the same bits on every device): with
/// `sx = x - cx`, `sy = y - cy`, sine and cosine of the heading ([`sin_cos`]),
/// `lx = sx * cos + sy * sin` and `ly = sy * cos - sx * sin`, a point is inside iff
/// `|z - zc| <= dz / 2`, `|lx| < dx / 2 + margin` and `|ly| < dy / 2 + margin`. Comparisons keep
/// NaN and infinities out.
///
/// ```
/// use pointmill_core::{BoxOrigin, OrientedBox};
/// let car = OrientedBox::new([10.0, 5.0, 0.0, 4.0, 2.0, 1.5, 0.0], BoxOrigin::BottomCenter, 0.0);
/// assert!(car.contains([11.9, 5.0, 1.5])); // the top belongs to it,
/// assert!(!car.contains([12.0, 5.0, 1.0])); // the front does not
/// let grid = car.grid([4, 2, 3]);
/// assert_eq!(car.voxel([11.9, 5.5, 0.6], &grid), [3, 1, 1]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrientedBox {
    reach: Reach,
    cos: f32,
    sin: f32,
    limit: [f32; 2],
    center_z: f32,
    half_z: f32,
    half: [f32; 2],
    bottom: f32,
    size: [f32; 3],
}

/// What a box can reach along x and y: for cheap tests, which are made first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    center: [f32; 2],
    /// No inside point is farther from the centre; negative for a box that holds nothing.
    extent: [f32; 2],
}

/// The voxels that a box is cut into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxGrid {
    out: [u32; 3],
    step: [f32; 3],
}

impl OrientedBox {
    /// A box that holds nothing.
    pub const EMPTY: Self = Self {
        reach: Reach { center: [0.0; 2], extent: [-1.0; 2] },
        cos: 1.0,
        sin: 0.0,
        limit: [-1.0; 2],
        center_z: 0.0,
        half_z: -1.0,
        half: [0.0; 2],
        bottom: 0.0,
        size: [0.0; 3],
    };

    /// The box of `(cx, cy, cz, dx, dy, dz, heading)`, `margin` metres longer and wider on each
    /// side; [`OrientedBox::EMPTY`] if a value is not finite or a size not positive.
    #[inline(always)]
    pub fn new(row: [f32; 7], origin: BoxOrigin, margin: f32) -> Self {
        let [cx, cy, cz, dx, dy, dz, heading] = row;
        let finite = cx.is_finite()
            & cy.is_finite()
            & cz.is_finite()
            & dx.is_finite()
            & dy.is_finite()
            & dz.is_finite()
            & heading.is_finite();
        if !(finite & (dx > 0.0) & (dy > 0.0) & (dz > 0.0)) {
            return Self::EMPTY;
        }
        let (sin, cos) = sin_cos(heading);
        let half = [dx / 2.0, dy / 2.0];
        let half_z = dz / 2.0;
        let limit = [half[0] + margin, half[1] + margin];
        let (center_z, bottom) = match origin {
            BoxOrigin::BottomCenter => (cz + half_z, cz),
            BoxOrigin::Center => (cz, cz - half_z),
        };
        // The rounding of lx and ly moves a point by less than 2^-20 of its distance; below the
        // normal numbers by less than the smallest of them.
        let slack = (limit[0] + limit[1]) * (1.0 / 65_536.0) + f32::MIN_POSITIVE;
        let extent =
            [cos.abs() * limit[0] + sin.abs() * limit[1] + slack, sin.abs() * limit[0] + cos.abs() * limit[1] + slack];
        let reach = Reach { center: [cx, cy], extent };
        Self { reach, cos, sin, limit, center_z, half_z, half, bottom, size: [dx, dy, dz] }
    }

    /// Whether this is a box that holds nothing, because of a value that is not finite or a size
    /// that is not positive.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.half_z < 0.0
    }

    /// What it can reach.
    #[inline(always)]
    pub const fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Whether a point is inside.
    #[inline(always)]
    pub fn contains(&self, p: [f32; 3]) -> bool {
        let [lx, ly] = self.local(p[0], p[1]);
        ((p[2] - self.center_z).abs() <= self.half_z) & (lx.abs() < self.limit[0]) & (ly.abs() < self.limit[1])
    }

    /// x and y as the box sees them: along its heading and to its left.
    #[inline(always)]
    fn local(&self, x: f32, y: f32) -> [f32; 2] {
        let (sx, sy) = (x - self.reach.center[0], y - self.reach.center[1]);
        [sx * self.cos + sy * self.sin, sy * self.cos - sx * self.sin]
    }

    /// The box cut into `out` voxels along its length, width and height.
    #[inline(always)]
    pub fn grid(&self, out: [u32; 3]) -> BoxGrid {
        BoxGrid {
            out,
            step: [self.size[0] / out[0] as f32, self.size[1] / out[1] as f32, self.size[2] / out[2] as f32],
        }
    }

    /// The voxel of a point inside: `trunc((l + d / 2) / (d / out))` on each axis, clamped to the
    /// grid.
    #[inline(always)]
    pub fn voxel(&self, p: [f32; 3], grid: &BoxGrid) -> [u32; 3] {
        let [lx, ly] = self.local(p[0], p[1]);
        [
            cell((lx + self.half[0]) / grid.step[0], grid.out[0]),
            cell((ly + self.half[1]) / grid.step[1], grid.out[1]),
            cell((p[2] - self.bottom) / grid.step[2], grid.out[2]),
        ]
    }
}

impl Reach {
    /// False only for points outside.
    #[inline(always)]
    pub fn may_contain(&self, x: f32, y: f32) -> bool {
        // Reject what is surely too far: an extent that is NaN, from sizes near the largest number,
        // rejects nothing.
        !(((x - self.center[0]).abs() > self.extent[0]) | ((y - self.center[1]).abs() > self.extent[1]))
    }

    /// False only if none of the points between two corners is inside.
    #[inline(always)]
    pub fn may_meet(&self, min: [f32; 2], max: [f32; 2]) -> bool {
        // Rounding is monotonic, so what holds for a corner holds for all points behind it.
        !((min[0] - self.center[0] > self.extent[0])
            | (max[0] - self.center[0] < -self.extent[0])
            | (min[1] - self.center[1] > self.extent[1])
            | (max[1] - self.center[1] < -self.extent[1]))
    }
}

/// Lines of 2 m across each axis; after so many the same come again, so that there are lines for
/// all coordinates.
pub const LINES: u32 = 128;

/// The line of a coordinate.
#[inline(always)]
pub fn line_of(x: f32) -> u32 {
    strip_of(x) as u32 % LINES
}

/// The number of a strip 2 m wide; what is farther than numbers go has the last. It never falls as
/// `x` grows.
#[inline(always)]
fn strip_of(x: f32) -> i32 {
    const LAST: f32 = (1 << 30) as f32;
    let q = (x * 0.5).clamp(-LAST, LAST);
    let whole = q as i32;
    if whole as f32 > q { whole - 1 } else { whole }
}

impl Reach {
    /// The first line along an axis where a point may be inside, and how many lines there are from
    /// it on.
    #[inline(always)]
    pub fn lines(&self, axis: usize) -> (u32, u32) {
        let (center, extent) = (self.center[axis], self.extent[axis]);
        if extent < 0.0 {
            return (0, 0);
        }
        let (low, high) = (center - extent, center + extent);
        if low.is_nan() | high.is_nan() {
            // From sizes near the largest number.
            return (0, LINES);
        }
        let more = strip_of(high).wrapping_sub(strip_of(low)) as u32;
        (line_of(low), if more < LINES { more + 1 } else { LINES })
    }
}

/// Words that a box takes as bits.
pub const WORDS: usize = 16;

/// Boxes as words, for the memory of a device: four words of reach, then four that decide about x
/// and y, then the others.
impl OrientedBox {
    /// The bits of all numbers.
    #[inline(always)]
    pub fn to_words(&self) -> [u32; WORDS] {
        let Reach { center, extent } = self.reach;
        [
            center[0],
            center[1],
            extent[0],
            extent[1],
            self.cos,
            self.sin,
            self.limit[0],
            self.limit[1],
            self.center_z,
            self.half_z,
            self.half[0],
            self.half[1],
            self.bottom,
            self.size[0],
            self.size[1],
            self.size[2],
        ]
        .map(f32::to_bits)
    }

    /// The box with these bits.
    #[inline(always)]
    pub fn from_words(w: [u32; WORDS]) -> Self {
        let f = f32::from_bits;
        Self {
            reach: Reach::from_words([w[0], w[1], w[2], w[3]]),
            cos: f(w[4]),
            sin: f(w[5]),
            limit: [f(w[6]), f(w[7])],
            center_z: f(w[8]),
            half_z: f(w[9]),
            half: [f(w[10]), f(w[11])],
            bottom: f(w[12]),
            size: [f(w[13]), f(w[14]), f(w[15])],
        }
    }
}

impl Reach {
    /// The reach with these bits, the first words of its box.
    #[inline(always)]
    pub fn from_words(w: [u32; 4]) -> Self {
        let f = f32::from_bits;
        Self { center: [f(w[0]), f(w[1])], extent: [f(w[2]), f(w[3])] }
    }
}

impl BoxGrid {
    /// Edge lengths of a voxel.
    #[inline(always)]
    pub const fn steps(&self) -> [f32; 3] {
        self.step
    }

    /// The grid of `out` voxels with these edge lengths, which [`OrientedBox::grid`] gave.
    #[inline(always)]
    pub const fn with_steps(out: [u32; 3], step: [f32; 3]) -> Self {
        Self { out, step }
    }

    /// The id of a voxel, `(ix * oy + iy) * oz + iz`.
    #[inline(always)]
    pub const fn id(&self, voxel: [u32; 3]) -> u32 {
        (voxel[0] * self.out[1] + voxel[1]) * self.out[2] + voxel[2]
    }

    /// The voxel with this id.
    #[inline(always)]
    pub const fn voxel_of_id(&self, id: u32) -> [u32; 3] {
        let row = id / self.out[2];
        [row / self.out[1], row % self.out[1], id % self.out[2]]
    }
}

/// Truncated and clamped, signed; NaN, from steps that are no longer numbers, is 0.
#[inline(always)]
fn cell(q: f32, out: u32) -> u32 {
    let i = q as i32;
    let last = out as i32 - 1;
    (if i < 0 {
        0
    } else if i > last {
        last
    } else {
        i
    }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::f32::consts::{FRAC_PI_2, PI};
    use proptest::prelude::*;

    #[test]
    fn faces_are_closed_in_z_and_open_in_x_and_y() {
        let b = OrientedBox::new([0.0, 0.0, 1.0, 4.0, 2.0, 1.0, 0.0], BoxOrigin::BottomCenter, 0.0);
        assert!(b.contains([0.0, 0.0, 1.0]) & b.contains([0.0, 0.0, 2.0]));
        assert!(!b.contains([0.0, 0.0, 2.0f32.next_up()]) & !b.contains([0.0, 0.0, 1.0f32.next_down()]));
        assert!(!b.contains([2.0, 0.0, 1.5]) & b.contains([2.0f32.next_down(), 0.0, 1.5]));
        assert!(!b.contains([0.0, -1.0, 1.5]) & b.contains([0.0, (-1.0f32).next_up(), 1.5]));
        let wide = OrientedBox::new([0.0, 0.0, 1.0, 4.0, 2.0, 1.0, 0.0], BoxOrigin::Center, 0.5);
        assert!(wide.contains([2.4, 1.4, 0.5]) & !wide.contains([2.5, 0.0, 1.0]) & !wide.contains([0.0, 0.0, 0.4]));
        // The margin belongs to the outer voxels.
        assert_eq!(wide.voxel([-2.4, 1.4, 1.5], &wide.grid([4, 4, 4])), [0, 3, 3]);
    }

    #[test]
    fn the_heading_turns_counter_clockwise() {
        let b = OrientedBox::new([0.0, 0.0, 0.0, 4.0, 2.0, 1.0, FRAC_PI_2], BoxOrigin::Center, 0.0);
        assert!(b.contains([0.0, 1.9, 0.0]) & !b.contains([1.9, 0.0, 0.0]));
        let grid = b.grid([2, 2, 1]);
        assert_eq!(b.voxel([-0.5, 1.0, 0.0], &grid), [1, 1, 0]);
        assert_eq!(grid.voxel_of_id(grid.id([1, 0, 0])), [1, 0, 0]);
    }

    #[test]
    fn lines_are_two_metres_wide_and_come_again() {
        assert_eq!([0.0, 1.9, 2.0, -0.1, 256.0, -256.0].map(line_of), [0, 0, 1, 127, 0, 0]);
        assert_eq!([f32::NAN, 1e30, f32::INFINITY].map(line_of), [0; 3]);
        let lines = |cx: f32, dx: f32| {
            OrientedBox::new([cx, 0.0, 0.0, dx, 2.0, 1.0, 0.0], BoxOrigin::Center, 0.0).reach().lines(0)
        };
        assert_eq!((lines(11.0, 1.0), lines(0.0, 2.0), lines(2.0, 400.0)), ((5, 1), (127, 2), (28, 128)));
        assert_eq!(OrientedBox::EMPTY.reach().lines(1), (0, 0));
    }

    #[test]
    fn values_that_make_no_box_make_an_empty_one() {
        let good = [1.0, 2.0, 3.0, 4.0, 2.0, 1.5, PI];
        assert!(!OrientedBox::new(good, BoxOrigin::Center, 0.0).is_empty());
        for axis in 0..7 {
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 0.0] {
                let mut row = good;
                row[axis] = bad;
                let b = OrientedBox::new(row, BoxOrigin::Center, 0.0);
                assert_eq!(b.is_empty(), !bad.is_finite() || (3..6).contains(&axis), "{axis} {bad}");
                assert!(!(b.is_empty() && (b.reach().may_contain(1.0, 2.0) || b.contains([1.0, 2.0, 3.0]))));
            }
        }
    }

    proptest! {
        /// The cheap tests never lose a point, wherever the box lies and however large or small it
        /// is.
        #[test]
        fn the_cheap_tests_are_safe(
            center in prop::array::uniform2(-1e6f32..1e6),
            scale in -45i32..38,
            size in prop::array::uniform2(0.1f32..10.0),
            heading in -7.0f32..7.0,
            margin in 0.0f32..0.1,
            at in prop::array::uniform2(-1.001f32..1.001),
            away in 0.0f32..1e6,
        ) {
            let scale = 10f32.powi(scale);
            let (dx, dy, margin) = (size[0] * scale, size[1] * scale, margin * scale);
            let center = if away < 5e5 { center } else { [0.0; 2] };
            let b = OrientedBox::new([center[0], center[1], 0.0, dx, dy, 1.0, heading], BoxOrigin::Center, margin);
            let (s, c) = sin_cos(heading);
            let (lx, ly) = (at[0] * (dx / 2.0 + margin), at[1] * (dy / 2.0 + margin));
            let (x, y) = (center[0] + lx * c - ly * s, center[1] + lx * s + ly * c);
            prop_assert_eq!(OrientedBox::from_words(b.to_words()), b);
            if b.contains([x, y, 0.0]) {
                prop_assert!(b.reach().may_contain(x, y));
                prop_assert!(b.reach().may_meet([x, y], [x, y]));
                for (axis, x) in [x, y].into_iter().enumerate() {
                    let (first, count) = b.reach().lines(axis);
                    prop_assert!((line_of(x) + LINES - first) % LINES < count && count <= LINES, "{x}: {first} {count}");
                }
                prop_assert!(b.reach().may_meet([x - away, y - away], [x, y]) && b.reach().may_meet([x, y], [x + away, y + away]));
            }
        }
    }
}
