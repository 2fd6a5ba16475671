//! Overlap of boxes that stand on the ground at a heading.
//!
//! All arithmetic is in `f64`, one rounding an operation, and stands here once: the CPU path and
//! the kernels call it, so both give the same bits.
//!
//! A pair is first put into an order of its own, so `iou(a, b)` and `iou(b, a)` have the same bits.
//! The second box is then seen in the frame of the first, where two equal boxes have the same
//! corners in all bits: their overlap is exactly 1.

mod footprint;
mod hull;
mod layout;
#[cfg(test)]
mod tests;

use crate::BoxOrigin;
use crate::float::sqrt;
use crate::trig::MAX_ANGLE;
use footprint::Pair;

pub use layout::BoxLayout;

/// Values of a box: x, y, z of its centre, its extents dx, dy, dz, and its yaw.
pub const COLUMNS: usize = 7;
/// The largest extent of a box, and the largest coordinate of its centre: 10,000 km.
pub const MAX_EXTENT: f64 = 1e7;
/// The largest yaw, in radians: differences of two then stay below [`MAX_ANGLE`].
pub const MAX_YAW: f64 = MAX_ANGLE / 2.0;

/// What the overlap of two boxes is measured by.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IouKind {
    /// Intersection over union of the footprints, seen from above: 0 to 1.
    #[default]
    Bev,
    /// Intersection over union of the volumes: 0 to 1.
    Volume,
    /// Generalized intersection over union of the volumes: -1 to 1. It is `Volume` less the empty
    /// part of what encloses both boxes: the convex hull of the footprints, from the lower bottom
    /// to the higher top.
    Giou,
}

crate::names!(IouKind { Bev = "bev", Volume = "volume", Giou = "giou" });

/// A box made ready for overlaps.
///
/// **Units and frames**: metres and radians; dx lies along the heading, dy to its left, dz up; the
/// yaw is about +z, 0 along +x, counter-clockwise. All boxes are in one frame.
///
/// ```
/// use pointmill_core::BoxOrigin;
/// use pointmill_core::boxes::{BoxShape, IouKind};
/// let shape = |row| BoxShape::new(row, BoxOrigin::Center);
/// let car = shape([10.0, 5.0, 0.0, 4.0, 2.0, 1.5, 0.7]);
/// assert_eq!(car.iou(&car, IouKind::Volume), 1.0);
/// let behind = shape([0.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0]);
/// let half = shape([2.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0]);
/// assert_eq!(behind.iou(&half, IouKind::Bev), 1.0 / 3.0);
/// assert_eq!(behind.iou(&car, IouKind::Bev), 0.0);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxShape {
    center: [f64; 3],
    extent: [f64; 3],
    yaw: f64,
    /// Half the diagonal of the footprint; NaN for a box that overlaps nothing.
    radius: f64,
}

impl BoxShape {
    /// A box that overlaps nothing.
    pub const NONE: Self = Self { center: [0.0; 3], extent: [0.0; 3], yaw: 0.0, radius: f64::NAN };

    /// The box of a row; [`BoxShape::NONE`] for a row that [`is_box`] refuses.
    #[inline(always)]
    pub fn new(row: [f64; COLUMNS], origin: BoxOrigin) -> Self {
        if !is_box(&row) {
            return Self::NONE;
        }
        let [x, y, z, dx, dy, dz, yaw] = row;
        let z = match origin {
            BoxOrigin::Center => z,
            BoxOrigin::BottomCenter => z + dz / 2.0,
        };
        let (half_x, half_y) = (dx / 2.0, dy / 2.0);
        let radius = sqrt(half_x * half_x + half_y * half_y);
        Self { center: [x, y, z], extent: [dx, dy, dz], yaw, radius }
    }

    /// Whether this is [`BoxShape::NONE`].
    #[inline(always)]
    pub fn is_none(&self) -> bool {
        self.radius.is_nan()
    }

    /// x and y of the centre, and half the diagonal of the footprint; NaN for one that overlaps
    /// nothing.
    #[inline(always)]
    pub const fn circle(&self) -> [f64; 3] {
        [self.center[0], self.center[1], self.radius]
    }

    /// Whether the circles around the two footprints meet. Where they do not, nothing overlaps.
    #[inline(always)]
    pub fn is_near(&self, other: &Self) -> bool {
        near(self.circle(), other.circle())
    }

    /// The squared distance of the centres, seen from above, in square metres; NaN with a box that
    /// overlaps nothing.
    #[inline(always)]
    pub fn squared_distance(&self, other: &Self) -> f64 {
        squared_distance(self.circle(), other.circle())
    }

    /// The overlap of two boxes: the same bits in both orders, and exactly 1 for equal boxes that
    /// have an area (a volume). A box without an extent has overlap 0, and one that is none has 0
    /// of every kind.
    #[inline(always)]
    pub fn iou(&self, other: &Self, kind: IouKind) -> f64 {
        if self.is_none() | other.is_none() | (!self.is_near(other) & (kind as u32 != IouKind::Giou as u32)) {
            return 0.0;
        }
        let swapped = other.is_before(self);
        let (a, b) = (self.or(other, swapped), other.or(self, swapped));
        let pair = Pair::new(&a, &b);
        let mut inter = if a.is_near(&b) { pair.intersection() } else { 0.0 };
        let (mut of_a, mut of_b) = (a.extent[0] * a.extent[1], b.extent[0] * b.extent[1]);
        if let IouKind::Bev = kind {
            return ratio(inter, of_a + of_b - inter);
        }
        // Heights relative to the first box, whose own are then exact.
        let (low, high) = (-(a.extent[2] / 2.0), a.extent[2] / 2.0);
        let z = b.center[2] - a.center[2];
        let (other_low, other_high) = (z - b.extent[2] / 2.0, z + b.extent[2] / 2.0);
        let shared = least(high, other_high) - most(low, other_low);
        inter *= most(shared, 0.0);
        of_a *= a.extent[2];
        of_b *= b.extent[2];
        let union = of_a + of_b - inter;
        let iou = ratio(inter, union);
        if let IouKind::Volume = kind {
            return iou;
        }
        let enclosing = pair.hull() * (most(high, other_high) - least(low, other_low));
        let empty = if enclosing > union { (enclosing - union) / enclosing } else { 0.0 };
        iou - empty
    }

    /// This box, or the other one. Value by value, so that both stay in registers of a GPU.
    #[inline(always)]
    fn or(&self, other: &Self, wanted: bool) -> Self {
        let pick = |own: f64, other: f64| if wanted { other } else { own };
        let (c, d) = (&self.center, &other.center);
        let (e, f) = (&self.extent, &other.extent);
        Self {
            center: [pick(c[0], d[0]), pick(c[1], d[1]), pick(c[2], d[2])],
            extent: [pick(e[0], f[0]), pick(e[1], f[1]), pick(e[2], f[2])],
            yaw: pick(self.yaw, other.yaw),
            radius: pick(self.radius, other.radius),
        }
    }

    /// Whether this box comes first in a pair.
    #[inline(always)]
    fn is_before(&self, other: &Self) -> bool {
        let (a, b) = (self, other);
        // The last key that differs decides least: each one before it overrules it.
        let mut before = a.extent[2] < b.extent[2];
        let mut overrule = |a: f64, b: f64| before = if a == b { before } else { a < b };
        overrule(a.center[2], b.center[2]);
        overrule(a.extent[1], b.extent[1]);
        overrule(a.extent[0], b.extent[0]);
        overrule(a.yaw, b.yaw);
        overrule(a.center[1], b.center[1]);
        overrule(a.center[0], b.center[0]);
        before
    }
}

/// Whether a row is a box: all values are finite, no extent is below 0, extents and coordinates are
/// within [`MAX_EXTENT`] and the yaw within [`MAX_YAW`]. Any other row overlaps nothing.
///
/// ```
/// use pointmill_core::boxes::is_box;
/// assert!(is_box(&[0.0, 0.0, 0.0, 4.0, 2.0, 0.0, 0.0]));
/// assert!(!is_box(&[0.0, 0.0, 0.0, -4.0, 2.0, 1.5, 0.0]));
/// ```
#[inline(always)]
pub fn is_box(row: &[f64; COLUMNS]) -> bool {
    let [x, y, z, dx, dy, dz, yaw] = *row;
    // Each comparison is false with NaN.
    (x.abs() <= MAX_EXTENT)
        & (y.abs() <= MAX_EXTENT)
        & (z.abs() <= MAX_EXTENT)
        & (dx >= 0.0)
        & (dy >= 0.0)
        & (dz >= 0.0)
        & (dx <= MAX_EXTENT)
        & (dy <= MAX_EXTENT)
        & (dz <= MAX_EXTENT)
        & (yaw.abs() <= MAX_YAW)
}

/// Whether two circles meet; false where a number is NaN.
#[inline(always)]
pub fn near(a: [f64; 3], b: [f64; 3]) -> bool {
    let (dx, dy, reach) = (a[0] - b[0], a[1] - b[1], a[2] + b[2]);
    dx * dx + dy * dy < reach * reach
}

/// The squared distance of the centres of two circles; NaN where a radius is.
#[inline(always)]
pub fn squared_distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    let sum = dx * dx + dy * dy;
    if a[2].is_nan() | b[2].is_nan() { f64::NAN } else { sum }
}

/// Intersection over union, within 0 to 1; 0 where there is no union.
#[inline(always)]
fn ratio(inter: f64, union: f64) -> f64 {
    let ratio = inter / union;
    if !((inter > 0.0) & (union > 0.0)) {
        0.0
    } else if ratio > 1.0 {
        1.0
    } else {
        ratio
    }
}

#[inline(always)]
fn least(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[inline(always)]
fn most(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Intersection over union of two footprints, of rows x, y, z, dx, dy, dz, yaw in metres and
/// radians. See [`BoxShape::iou`].
///
/// ```
/// use pointmill_core::boxes::iou_bev;
/// assert_eq!(iou_bev(&[0.0, 0.0, 0.0, 4.0, 2.0, 1.0, 0.3], &[0.0, 0.0, 5.0, 4.0, 2.0, 1.0, 0.3]), 1.0);
/// ```
pub fn iou_bev(a: &[f64; COLUMNS], b: &[f64; COLUMNS]) -> f64 {
    BoxShape::new(*a, BoxOrigin::Center).iou(&BoxShape::new(*b, BoxOrigin::Center), IouKind::Bev)
}

/// Intersection over union of two volumes, of rows with the centre of each box. See
/// [`BoxShape::iou`].
///
/// ```
/// use pointmill_core::boxes::iou_volume;
/// assert_eq!(iou_volume(&[0.0, 0.0, 0.0, 4.0, 2.0, 1.0, 0.3], &[0.0, 0.0, 0.5, 4.0, 2.0, 1.0, 0.3]), 1.0 / 3.0);
/// ```
pub fn iou_volume(a: &[f64; COLUMNS], b: &[f64; COLUMNS]) -> f64 {
    BoxShape::new(*a, BoxOrigin::Center).iou(&BoxShape::new(*b, BoxOrigin::Center), IouKind::Volume)
}
