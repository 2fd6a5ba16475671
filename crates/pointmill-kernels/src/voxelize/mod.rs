//! Kernels of `voxelize`, in the order they run.
//!
//! First-seen rows of one cloud:
//!
//! 1. [`Insert`]: the cell of each point gets an entry of a hash table, and the entry the smallest index of its points.
//! 2. [`Rows`]: a point that is its cell's first opens a row; rows follow those points. Then every point learns its row and claims a slot in it. Entries are emptied on the way,
//!    so that the table is clean for the next call and never has to be filled.
//! 3. [`Lists`], on request: slots without padding.
//! 4. [`EmitFew`]: counts, means and padded points of rows with at most [`FEW_POINTS`] points; slots are emptied on the way. For longer rows these are [`EmitPoints`] and [`Emit`].
//!
//! Sorted rows, and first-seen rows of many points:
//!
//! 1. [`Mark`]: sets a bit for each cell that has a point.
//! 2. [`RankBits`]: counts the bits before each word; the row of a cell is the number of bits before its own. The set is empty then.
//! 3. [`Samples`], for batches: where the rows of each sample start.
//! 4. [`AssignCells`]: every point learns its row and claims a slot in it.
//! 5. For first-seen rows [`MarkFirsts`], [`RankBits`] and [`Order`]: the bits are those of the cells' first points, and rows follow these. [`FindRows`] gives points their rows.
//! 6. [`Lists`] and what emits, as above.
//!
//! Batches and sorted rows of more cells than bits are kept for move once all rows are known; there step 2 is [`Rank`], [`Samples`], a sort, [`Place`] and [`Assign`].
//!
//! A row has M slots of `u32`, all ones when empty. A point enters by a cascade: it takes the minimum with slot after slot and carries on what
//! it pushed out. Whatever the interleaving, slot k ends with the k-th smallest of the indices, so the M first points stay, in order, with no
//! sorting and no counting.

use crate::prim::{BLOCK, Length, scan};
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use crate::simt::*;
use pointmill_core::VoxelGrid;

mod assign;
mod bits;
mod cells;
mod emit;
mod entry;
mod few;
mod insert;
mod lists;
mod order;
mod pad;
mod place;
mod rank;
mod scatter;

pub use assign::{Assign, AssignArgs, Members};
pub use bits::{Bits, QUADS_PER_TILE, RankBits, RankBitsArgs};
pub use cells::{AssignCells, AssignCellsArgs, Mark, MarkArgs};
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use emit::Four;
pub use emit::{Emit, EmitArgs, EmitPoints, EmitPointsArgs, Means, PADDED, rows_per_tile, slots_per_tile};
pub use entry::{Entry, Table};
pub use few::{EmitFew, FEW_POINTS};
pub use insert::{Begin, Cloud, Insert, InsertArgs};
pub use lists::{Lists, ListsArgs};
pub use order::{FindRows, FindRowsArgs, MarkFirsts, Order, OrderArgs};
pub use pad::Padded;
pub use place::{Place, PlaceArgs, Samples, SamplesArgs};
pub use rank::{LARGE_TILE, Rank, RankArgs, Rows, RowsArgs, RowsOfMany, TILE};
pub use scatter::{RowKeys, RowKeysArgs, Scatter, ScatterArgs, ScatterMode};

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = properties![
    Insert,
    Rank,
    Rows,
    RowsOfMany,
    Lists,
    Emit,
    EmitFew,
    EmitPoints,
    Mark,
    RankBits,
    AssignCells,
    MarkFirsts,
    Order,
    FindRows,
    Samples,
    Place,
    Assign,
    RowKeys,
    Scatter
];

/// An empty slot, and no row.
pub const NONE: u32 = u32::MAX;
/// A row that is not known yet.
pub const PENDING: u32 = u32::MAX - 1;
/// In place of a table slot: the point has a NaN or an infinity in x, y or z.
pub const NON_FINITE: u32 = u32::MAX - 1;
/// In place of a table slot: the point is outside the grid.
pub const OUT_OF_RANGE: u32 = u32::MAX;

/// What a call counts, in device memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(target_arch = "nvptx64"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Counters {
    /// Rows of the result, V.
    pub voxels: u32,
    /// Cells that have a point.
    pub found: u32,
    /// Points with a NaN or an infinity in x, y or z.
    pub non_finite: u32,
    /// Finite points outside the grid.
    pub out_of_range: u32,
    /// Points whose cell got no row.
    pub dropped_voxel: u32,
    /// Points in the result's slots.
    pub kept: u32,
    /// Points that found the table full: zero, or a defect.
    pub lost: u32,
}

/// A word that counts lost points in the kernel that enters them, and no longer than that: blocks may count before the one that zeroes [`Counters`] runs, so it
/// is none of those.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Lost(pub *mut u32);

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
impl Lost {
    /// What was counted, which goes to the counters; the word is zero again. One thread, of a later kernel.
    #[inline(always)]
    unsafe fn take(self, counters: *mut Counters) -> u32 {
        // SAFETY: the launcher's promise about the pointers.
        unsafe {
            let lost = *self.0;
            if lost > 0 {
                *self.0 = 0;
                (*counters).lost = lost;
            }
            lost
        }
    }
}

/// Where the host is told the number of rows, while the rest of the call goes on: memory that it can read without a copy.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ForHost {
    /// The number of the call in the upper half, by which the host knows that this call has written it; in the lower half the rows and, as the highest bit, whether points were lost.
    pub word: *mut u64,
    /// The number of the call.
    pub call: u32,
}

/// The bit of [`ForHost::word`] that says that points were lost.
pub const LOST: u32 = 1 << 31;

impl ForHost {
    /// What is told, a whole word at once.
    pub const fn message(call: u32, voxels: u32, lost: u32) -> u64 {
        (call as u64) << 32 | (voxels | if lost > 0 { LOST } else { 0 }) as u64
    }

    /// Tells the host. One thread.
    #[cfg(any(target_arch = "nvptx64", feature = "twin"))]
    #[inline(always)]
    unsafe fn tell(&self, voxels: u32, lost: u32) {
        // SAFETY: the launcher's promise.
        unsafe { store_for_host(self.word, Self::message(self.call, voxels, lost)) };
    }
}

/// Words of [`Counters`].
pub const COUNTER_WORDS: u32 = 7;

/// The points of each row, while they are gathered.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// `[rows, stride]`: slots for the points of a row, empty before. Null for dynamic voxelization.
    pub slots: *mut u32,
    /// `[rows]`: where each row's slots are, where rows were put into another order than their slots. Else null.
    pub order: *const u32,
    /// Slots a row has: a multiple of four, so that four can be read at once.
    pub stride: u32,
    /// Most points of a row, M.
    pub max_points: u32,
}

impl Slots {
    /// Slots a row needs for `max_points` points.
    pub const fn stride(max_points: u32) -> u32 {
        max_points.next_multiple_of(4)
    }
}

// SAFETY (all blocks below): the caller promises that `row` is a row.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[allow(clippy::undocumented_unsafe_blocks)]
impl Slots {
    /// The slots of a row.
    ///
    /// # Safety
    /// `row` is a row, and its place is known.
    #[inline(always)]
    unsafe fn of(&self, row: u32) -> *mut u32 {
        let place = if self.order.is_null() { row } else { unsafe { *self.order.add(row as usize) } };
        unsafe { self.slots.add(place as usize * self.stride as usize) }
    }

    /// Empties the slots of a row of `count` points.
    ///
    /// # Safety
    /// As [`Slots::of`].
    #[inline(always)]
    unsafe fn empty(slots: *mut u32, count: u32) {
        let mut k = 0;
        while k < count {
            unsafe { *(slots.add(k as usize) as *mut Four) = Four([NONE; 4]) };
            k += 4;
        }
    }
}

/// The coordinates of rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Coords {
    /// `[rows, 3]` z, y, x, or `[rows, 4]` sample, z, y, x for batches.
    pub coords: *mut i32,
    /// The grid.
    pub grid: VoxelGrid,
    /// Nonzero for batches.
    pub batched: u32,
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
impl Coords {
    /// Writes the coordinates of a row, given the key of its cell.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    unsafe fn write(&self, row: u32, key: u64) {
        let cells = self.grid.num_cells();
        let sample = if self.batched != 0 { key / cells } else { 0 };
        let [x, y, z] = self.grid.cell_of_id(key - sample * cells);
        // SAFETY: the caller's promise.
        unsafe {
            let mut coords = self.coords.add(row as usize * if self.batched != 0 { 4 } else { 3 });
            if self.batched != 0 {
                *coords = sample as i32;
                coords = coords.add(1);
            }
            *coords = z as i32;
            *coords.add(1) = y as i32;
            *coords.add(2) = x as i32;
        }
    }
}

/// The batch: which points belong to which sample.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// Where each sample's points start, and the number of points: `samples + 1` ascending indices. Null for one sample.
    pub row_splits: *const u32,
    /// The number of samples.
    pub samples: u32,
    /// Most rows of one sample.
    pub max_voxels: u32,
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
impl Batch {
    /// The row of the cell that is number `found` of all, in sample `sample`, or [`NONE`] past the sample's cap. `sample_found` has the cells found before each sample, `voxel_splits` the rows;
    /// both count for batches only, where `sample_found` is not null.
    ///
    /// # Safety
    /// The pointers are null or valid.
    #[inline(always)]
    unsafe fn row_of(&self, found: u32, sample: u32, sample_found: *const u32, voxel_splits: *const u32) -> u32 {
        let (mut before, mut start) = (0, 0);
        if !sample_found.is_null() {
            // SAFETY: the caller's promise.
            unsafe { (before, start) = (*sample_found.add(sample as usize), *voxel_splits.add(sample as usize)) };
        }
        if found - before < self.max_voxels { start + (found - before) } else { NONE }
    }

    /// The sample that point `i` belongs to.
    ///
    /// # Safety
    /// `row_splits` is null or valid.
    #[inline(always)]
    unsafe fn sample_of(&self, i: u32) -> u32 {
        if self.row_splits.is_null() {
            return 0;
        }
        let (mut low, mut high) = (0, self.samples);
        while high - low > 1 {
            let middle = (low + high) / 2;
            // SAFETY: middle < samples.
            if unsafe { *self.row_splits.add(middle as usize) } <= i {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// The sum of `value(start)` to `value(end - 1)`, added in order from zero; four loads are in flight at a time.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
fn sum_in_order(start: u32, end: u32, value: impl Fn(u32) -> f32) -> f32 {
    let mut sum = 0.0;
    let mut k = start;
    while k + 4 <= end {
        let v = [value(k), value(k + 1), value(k + 2), value(k + 3)];
        sum = sum + v[0] + v[1] + v[2] + v[3];
        k += 4;
    }
    while k < end {
        sum += value(k);
        k += 1;
    }
    sum
}

/// Adds counts of a whole block to counters, once a block: thousands of additions to one address take longer than all else on an H200. All
/// threads call; `shared` has [`COUNT_WORDS`] words for each counter.
///
/// # Safety
/// The counters are valid.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn count_in_block<const N: usize>(counters: [*mut u32; N], counts_of_warp: [u32; N], shared: Shared) {
    if lane() == 0 {
        for j in 0..N {
            shared.set(j as u32 * COUNT_WORDS + warp(), counts_of_warp[j]);
        }
    }
    sync_block();
    if thread_index() == 0 {
        for j in 0..N {
            let mut sum = 0;
            for w in 0..COUNT_WORDS {
                sum += shared.get(j as u32 * COUNT_WORDS + w);
            }
            if sum > 0 {
                // SAFETY: the caller's promise.
                unsafe { atomic_add(counters[j], sum) };
            }
        }
    }
}

/// Words of shared memory that a count takes: one a warp.
const COUNT_WORDS: u32 = crate::prim::WARPS;
