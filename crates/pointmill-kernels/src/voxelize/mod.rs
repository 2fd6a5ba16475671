//! Kernels of `voxelize`, in the order they run.
//!
//! 1. [`Insert`]: the cell of each point gets an entry of a hash table, and the entry the smallest index of its points.
//! 2. [`Rank`]: a point that is its cell's first opens a row; rows follow those points. Entries are emptied on the way, so that the
//!    table is clean for the next call and never has to be filled.
//! 3. [`Samples`] and [`Place`], for batches and sorted rows only: where each sample's rows go, and each row's final place.
//! 4. [`Assign`]: each point learns its row and claims a slot in it.
//! 5. [`Lists`], on request: slots without padding.
//! 6. [`Emit`]: means, padded points, counts; slots are emptied on the way.
//!
//! A row has M slots of `u32`, all ones when empty. A point enters by a cascade: it takes the minimum with slot after slot and carries on
//! what it pushed out. Whatever the interleaving, slot k ends with the (k+1)-smallest index, so the M first points stay,
//! in order, with no sorting and no counting.

use crate::prim::{BLOCK, Length, scan};
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use crate::simt::*;
use pointmill_core::VoxelGrid;

mod assign;
mod emit;
mod insert;
mod place;
mod scatter;

pub use assign::{Assign, AssignArgs};
pub use emit::{Emit, EmitArgs, Lists, ListsArgs, ROWS_PER_BLOCK};
pub use insert::{Insert, InsertArgs, Rank, RankArgs};
pub use place::{Place, PlaceArgs, Samples, SamplesArgs};
pub use scatter::{RowKeys, RowKeysArgs, Scatter, ScatterArgs, ScatterMode};

/// An empty slot, and no row.
pub const NONE: u32 = u32::MAX;
/// In place of a table slot: the point has a NaN or an infinity in x, y or z.
pub const NON_FINITE: u32 = u32::MAX - 1;
/// In place of a table slot: the point is outside the grid.
pub const OUT_OF_RANGE: u32 = u32::MAX;

/// An entry of the table.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_arch = "nvptx64"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Entry {
    /// `sample * cells + cell`; all ones when empty.
    pub key: u64,
    /// The smallest index of the cell's points; all ones when empty.
    pub first: u32,
    /// The cell's row, once it has one; [`NONE`] if it was dropped.
    pub row: u32,
}

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

/// Words of [`Counters`].
pub const COUNTER_WORDS: u32 = 7;

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

/// Adds up a per-thread count over the warp and adds it to a counter, once a warp. All lanes call.
///
/// # Safety
/// `counter` is valid.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn count_in_warp(counter: *mut u32, set: bool) {
    let n = ballot(set).count_ones();
    if lane() == 0 && n > 0 {
        // SAFETY: the caller's promise.
        unsafe { atomic_add(counter, n) };
    }
}
