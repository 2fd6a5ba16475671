//! Kernels of `roi_pool`, in the order they run.
//!
//! 1. [`Mark`]: which points lie in which box, one bit a pair, and how many in each tile of points.
//!    Also makes boxes ready for tests.
//! 2. [`Collect`]: a block a box. Its points in order, the voxel of each, a stable sort by voxel,
//!    and from that the rows: non-empty voxels and the points each keeps.
//! 3. [`Emit`]: rows and features into the arrays of the result, and the empty rows of a dense one.
//!
//! [`MarkAndCollect`] is the first two in one, for few points. Where rows are not made of whole quads of words, [`Fill`] writes the empty part of a dense result
//! before. Gradients: [`PointBoxes`] turns the marks round to the boxes of each point,
//! [`Transpose`] puts the rows that keep a point into that order, [`Gradient`] adds. Points in
//! boxes: [`FirstBox`], or [`Mark`] and then [`BoxTotals`], [`Crop`], [`PointBoxes`],
//! [`PointLists`].
//!
//! Lists lie where a counter says, so their place may depend on timing; what is written to a result
//! does not.
//!
#![doc = include_str!("README.md")]

use crate::simt::*;
use pointmill_core::{BOX_WORDS, BoxOrigin, ElementType, OrientedBox};

mod backward;
mod block;
mod collect;
mod crop;
mod direct;
mod emit;
mod empty;
mod expand;
mod features;
mod fill;
mod lines;
mod lists;
mod mark;
mod order;
mod point_boxes;
mod points;
mod rows;
mod tile;
mod values;

pub use backward::{Entry, Gradient, GradientArgs, Transpose, TransposeArgs};
pub use collect::{Collect, CollectArgs, MarkAndCollect};
pub use crop::{BoxTotals, BoxTotalsArgs, Crop, CropArgs};
pub use emit::{Emit, EmitArgs};
pub use fill::{Fill, FillArgs, Region};
pub use mark::{Mark, MarkArgs};
pub use order::DIGIT_BITS;
pub use point_boxes::{PointBoxes, PointBoxesArgs, ScanState, TILE as POINT_TILE};
pub use points::{FirstBox, FirstBoxArgs, PointLists, PointListsArgs};
pub use values::Values;
use values::*;

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = properties![
    Mark,
    Collect,
    MarkAndCollect,
    Emit,
    Fill,
    FirstBox,
    BoxTotals,
    Crop,
    PointBoxes,
    PointLists,
    Transpose,
    Gradient,
];

/// Points of a tile.
pub const TILE: u32 = 512;
/// Words of marks that a tile has for each box.
pub const WORDS_OF_TILE: u32 = TILE / 32;
/// Most voxels of a box whose empty rows [`Emit`] can write: a bit each in shared memory.
pub const MAX_BITS: u32 = 1 << 15;
/// Boxes that are tested together, as many as a warp has lanes.
pub const BOXES: u32 = 32;
/// No entry.
pub const NONE: u32 = u32::MAX;

/// Quads of words that a row of `len` values takes, if it is made of whole ones. Its bytes may be
/// more than 32 bits can count.
#[inline(always)]
pub const fn quads_of_row(len: u32, bytes_of_value: u32) -> u32 {
    len / (16 / bytes_of_value)
}

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

pointmill_core::names!(PoolMode { Max = "max", Mean = "mean" });

/// What a call counts, in memory that the host can read without a copy.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
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
    /// Pairs asked for so far, maybe more than there is room for. Null if each box has room for all
    /// points, box after box.
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

impl PointsArg {
    /// Point `i`; NaN past the end.
    #[inline(always)]
    pub(crate) unsafe fn xyz(&self, i: u32) -> [f32; 3] {
        if i >= self.n {
            return [f32::NAN; 3];
        }
        let at = i as usize * self.columns as usize;
        // SAFETY: `i` is a point, and its first three values are x, y, z.
        unsafe { self.values.get_row(at) }
    }
}

impl BoxesArg {
    /// Box `b`, made ready; one that holds nothing past the end.
    #[inline(always)]
    pub(crate) unsafe fn prepare(&self, b: u32) -> OrientedBox {
        if b >= self.count {
            return OrientedBox::EMPTY;
        }
        // SAFETY: `b` is a box, of seven values.
        let row = unsafe { self.values.get_row(b as usize * 7) };
        OrientedBox::new(row, self.origin, self.margin)
    }

    /// The points that box `b` sees.
    #[inline(always)]
    pub(crate) unsafe fn range(&self, b: u32) -> (u32, u32) {
        if self.ranges.is_null() || b >= self.count {
            return (0, u32::MAX);
        }
        // SAFETY: `b` is a box, and ranges have two words for each.
        unsafe { (*self.ranges.add(b as usize * 2), *self.ranges.add(b as usize * 2 + 1)) }
    }
}

/// Box `b` of those made ready.
///
/// # Safety
/// There is such a box.
#[inline(always)]
pub(crate) unsafe fn load_box(prepared: *const u32, b: u32) -> OrientedBox {
    let quads = prepared.cast::<Four>();
    let mut words = [0; BOX_WORDS];
    for i in 0..BOX_WORDS / 4 {
        // SAFETY: the caller's promise; the memory is aligned, and so is each box in it.
        let Four(four) = unsafe { *quads.add(b as usize * (BOX_WORDS / 4) + i) };
        for j in 0..4 {
            words[i * 4 + j] = four[j];
        }
    }
    OrientedBox::from_words(words)
}

/// Keeps a box that was made ready.
///
/// # Safety
/// There is room for it.
#[inline(always)]
pub(crate) unsafe fn store_box(prepared: *mut u32, b: u32, oriented: &OrientedBox) {
    let words = oriented.to_words();
    for i in 0..BOX_WORDS {
        // SAFETY: the caller's promise.
        unsafe { *prepared.add(b as usize * BOX_WORDS + i) = words[i] };
    }
}

/// Words of shared memory that a box takes: its own, and the points it sees.
const STAGED_WORDS: u32 = BOX_WORDS as u32 + 4;

/// Boxes in shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Staged(pub(crate) Shared);

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

    /// Whether box `k` holds point `i`, which lies at `p`. A point that is surely too far costs one
    /// read.
    #[inline(always)]
    pub(crate) fn holds(self, k: u32, p: [f32; 3], i: u32) -> bool {
        let at = k * STAGED_WORDS;
        if !self.reach(k).may_contain(p[0], p[1]) {
            return false;
        }
        // The last four words of a box say nothing about what is inside.
        let (a, b, c) = (self.0.get_x4(at), self.0.get_x4(at + 4), self.0.get_x4(at + 8));
        let range = self.0.get_x4(at + 16);
        let words = [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], c[0], c[1], c[2], c[3], 0, 0, 0, 0];
        OrientedBox::from_words(words).contains(p) & (i >= range[0]) & (i < range[1])
    }

    /// Which of the 32 boxes from `k` on may hold one of the warp's points, of which `low` and
    /// `high` are the bounds. All lanes call.
    #[inline(always)]
    pub(crate) fn candidates(self, k: u32, low: [f32; 2], high: [f32; 2]) -> u32 {
        ballot(self.reach(k + lane()).may_meet(low, high))
    }
}
