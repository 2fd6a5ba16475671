//! Kernels of `roi_pool`, in the order they run.
//!
//! 1. [`Mark`]: which points lie in which box, one bit a pair, and how many in each tile of points. Also makes boxes ready for tests.
//! 2. [`Collect`]: a block a box. Its points in order, the voxel of each, a stable sort by voxel, and from that the rows: non-empty voxels and the points each keeps. While some
//!    blocks do that, all blocks write the empty part of a dense result.
//! 3. [`Emit`]: rows and features into the arrays of the result.
//!
//! [`Fill`] writes the empty part where there is nothing to collect. Gradients: [`PointBoxes`] turns the marks round to the boxes of each point, [`Transpose`] puts the rows that
//! keep a point into that order, [`Gradient`] adds. Points in boxes: [`FirstBox`], or [`Mark`] and then [`BoxTotals`], [`Crop`], [`PointBoxes`], [`PointLists`].
//!
//! Lists lie where a counter says, so their place depends on timing; what is written to a result does not.

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use crate::simt::*;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use pointmill_core::OrientedBox;
use pointmill_core::{BOX_WORDS, BoxOrigin, ElementType};

mod backward;
mod block;
mod collect;
mod crop;
mod emit;
mod expand;
mod fill;
mod mark;
mod order;
mod points;

pub use backward::{Entry, Gradient, GradientArgs, Transpose, TransposeArgs};
pub use collect::{Collect, CollectArgs};
pub use crop::{BoxTotals, BoxTotalsArgs, Crop, CropArgs};
pub use emit::{Emit, EmitArgs};
pub use fill::{Fill, FillArgs, Region};
pub use mark::{Mark, MarkArgs};
pub use order::DIGIT_BITS;
pub use points::{FirstBox, FirstBoxArgs, PointBoxes, PointBoxesArgs, PointLists, PointListsArgs, TILE as POINT_TILE};

/// Points of a tile: 32 words of marks.
pub const TILE: u32 = 1024;
/// Boxes that are tested together, as many as a warp has lanes.
pub const BOXES: u32 = 32;
/// No entry.
pub const NONE: u32 = u32::MAX;

/// How features are reduced.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolMode {
    /// The largest value of each channel; the first of equal ones.
    #[default]
    Max,
    /// The mean of each channel.
    Mean,
}

/// What a call counts, in memory that the host can read without a copy.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "nvptx64"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Totals {
    /// Non-empty voxels.
    pub rows: u64,
    /// Pairs of a box and a point that its voxel keeps.
    pub kept: u64,
    /// Pairs of a box and a point in it.
    pub inside: u64,
    /// Boxes that hold nothing by their own values.
    pub empty_boxes: u64,
}

/// An array of any type.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// The values.
    pub data: *mut u8,
    /// Their type.
    pub element: ElementType,
}

/// The points: x, y, z first in each row.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PointsArg {
    /// `[n, columns]`.
    pub values: Values,
    /// Values a point has.
    pub columns: u32,
    /// The number of points.
    pub n: u32,
}

/// The boxes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BoxesArg {
    /// `[count, 7]`.
    pub values: Values,
    /// The number of boxes.
    pub count: u32,
    /// How `cz` is read.
    pub origin: BoxOrigin,
    /// Metres that each side is longer.
    pub margin: f32,
    /// `[count, 2]`: the points that each box sees, from and to. Null for all.
    pub ranges: *const u32,
}

/// What is known of the lists of each box.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BoxLists {
    /// `[count]`: where the box's pairs start.
    pub start: *mut u32,
    /// `[count]`: points inside.
    pub inside: *mut u32,
    /// `[count]`: non-empty voxels.
    pub rows: *mut u32,
    /// `[count]`: kept points.
    pub kept: *mut u32,
    /// `[count]`: rows of the boxes before; known once a result was made.
    pub first_row: *mut u32,
    /// Room for pairs: for each the point, sorted by voxel and then by index.
    pub points: *mut u32,
    /// For each pair its voxel; only while sorting.
    pub voxels: *mut u32,
    /// Room for as many rows, aligned to their size.
    pub records: *mut Record,
    /// How many pairs there is room for.
    pub capacity: u32,
    /// Pairs asked for so far, maybe more than there is room for.
    pub used: *mut u64,
}

/// A non-empty voxel of a box.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Its id.
    pub voxel: u32,
    /// Where its points start in the box's pairs.
    pub start: u32,
    /// Where its points start in the box's kept points.
    pub kept_start: u32,
    /// How many it keeps.
    pub count: u32,
}

// SAFETY (all blocks below): the launcher's promise about pointers and sizes.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[allow(clippy::undocumented_unsafe_blocks)]
impl Values {
    /// Value `i`, widened.
    #[inline(always)]
    pub(crate) unsafe fn get(&self, i: usize) -> f32 {
        unsafe {
            match self.element {
                ElementType::F32 => *self.data.cast::<f32>().add(i),
                half => half.widen(*self.data.cast::<u16>().add(i) as u32),
            }
        }
    }

    /// Writes value `i`, rounded once.
    #[inline(always)]
    pub(crate) unsafe fn set(&self, i: usize, value: f32) {
        let bits = self.element.narrow(value);
        unsafe {
            match self.element {
                ElementType::F32 => *self.data.cast::<u32>().add(i) = bits,
                _ => *self.data.cast::<u16>().add(i) = bits as u16,
            }
        }
    }
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[allow(clippy::undocumented_unsafe_blocks)]
impl PointsArg {
    /// Point `i`; NaN past the end.
    #[inline(always)]
    pub(crate) unsafe fn xyz(&self, i: u32) -> [f32; 3] {
        if i >= self.n {
            return [f32::NAN; 3];
        }
        let at = i as usize * self.columns as usize;
        unsafe { [self.values.get(at), self.values.get(at + 1), self.values.get(at + 2)] }
    }
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[allow(clippy::undocumented_unsafe_blocks)]
impl BoxesArg {
    /// Box `b`, made ready; one that holds nothing past the end.
    #[inline(always)]
    pub(crate) unsafe fn prepare(&self, b: u32) -> OrientedBox {
        if b >= self.count {
            return OrientedBox::EMPTY;
        }
        let mut row = [0.0; 7];
        for i in 0..7 {
            row[i] = unsafe { self.values.get(b as usize * 7 + i) };
        }
        OrientedBox::new(row, self.origin, self.margin)
    }

    /// The points that box `b` sees.
    #[inline(always)]
    pub(crate) unsafe fn range(&self, b: u32) -> (u32, u32) {
        if self.ranges.is_null() || b >= self.count {
            return (0, u32::MAX);
        }
        unsafe { (*self.ranges.add(b as usize * 2), *self.ranges.add(b as usize * 2 + 1)) }
    }
}

/// Words of shared memory that a box takes: its own, and the points it sees.
const STAGED_WORDS: u32 = BOX_WORDS as u32 + 4;

/// Boxes in shared memory.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[derive(Clone, Copy)]
pub(crate) struct Staged(pub(crate) Shared);

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
impl Staged {
    /// Puts a box in place `k`.
    #[inline(always)]
    pub(crate) fn put(self, k: u32, b: &OrientedBox, (first, end): (u32, u32)) {
        let words = b.to_words();
        for i in 0..BOX_WORDS {
            self.0.set(k * STAGED_WORDS + i as u32, words[i]);
        }
        self.0.set(k * STAGED_WORDS + BOX_WORDS as u32, first);
        self.0.set(k * STAGED_WORDS + BOX_WORDS as u32 + 1, end);
    }

    /// The reach of box `k`.
    #[inline(always)]
    pub(crate) fn reach(self, k: u32) -> pointmill_core::Reach {
        pointmill_core::Reach::from_words(self.0.get_x4(k * STAGED_WORDS))
    }

    /// Box `k`, and the points it sees.
    #[inline(always)]
    pub(crate) fn get(self, k: u32) -> (OrientedBox, u32, u32) {
        let at = k * STAGED_WORDS;
        let (a, b, c, d) = (self.0.get_x4(at), self.0.get_x4(at + 4), self.0.get_x4(at + 8), self.0.get_x4(at + 12));
        let words = [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], c[0], c[1], c[2], c[3], d[0], d[1], d[2], d[3]];
        (OrientedBox::from_words(words), self.0.get(at + 16), self.0.get(at + 17))
    }

    /// Which of the 32 boxes from `k` on may hold one of the warp's points, of which `low` and `high` are the bounds. All lanes call.
    #[inline(always)]
    pub(crate) fn candidates(self, k: u32, low: [f32; 2], high: [f32; 2]) -> u32 {
        ballot(self.reach(k + lane()).may_meet(low, high))
    }
}

/// The smallest of all lanes' values that are numbers. All lanes call.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
pub(crate) fn warp_min(mut value: f32) -> f32 {
    let mut distance = WARP / 2;
    while distance > 0 {
        let other = f32::from_bits(shuffle(value.to_bits(), lane() ^ distance));
        value = if other < value { other } else { value };
        distance /= 2;
    }
    value
}

/// Bounds of some lanes' points along x and y. NaN does not count; without numbers nothing is met.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
pub(crate) fn warp_bounds<const N: usize>(points: &[[f32; 3]; N]) -> ([f32; 2], [f32; 2]) {
    let (mut low, mut high) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
    for axis in 0..2 {
        for j in 0..N {
            let v = points[j][axis];
            low[axis] = if v < low[axis] { v } else { low[axis] };
            high[axis] = if v > high[axis] { v } else { high[axis] };
        }
    }
    ([warp_min(low[0]), warp_min(low[1])], [-warp_min(-high[0]), -warp_min(-high[1])])
}
