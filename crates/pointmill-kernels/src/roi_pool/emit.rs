//! Rows and features into the arrays of the result.

use super::block::{SUM_WORDS, block_sum};
use super::*;
use crate::prim::BLOCK;

/// Where things are in shared memory: bits, and a sum over the block.
const SUMS: u32 = MAX_BITS / 32;
const WORDS: u32 = SUMS + SUM_WORDS;

/// Arguments of [`Emit`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EmitArgs {
    /// The number of boxes.
    pub boxes: u32,
    /// Blocks that share a box.
    pub parts: u32,
    /// Voxels of a box along each axis.
    pub out: [u32; 3],
    /// The lists.
    pub lists: BoxLists,
    /// See [`MarkArgs`].
    pub prepared: *const u32,
    /// `[n, channels]`.
    pub features: Values,
    /// Values of a feature, C.
    pub channels: u32,
    /// Nonzero: rows of features are aligned so that four values can be read at once.
    pub quads: u32,
    /// How to reduce.
    pub mode: PoolMode,
    /// Nonzero: arrays have non-empty voxels only.
    pub sparse: u32,
    /// Nonzero: of a dense result empty rows are to be written too, all rows being whole quads of
    /// words and voxels at most [`MAX_BITS`].
    pub whole: u32,
    /// `[rows, channels]`.
    pub pooled: Values,
    /// As `pooled`; for the maximum.
    pub argmax: *mut i32,
    /// `[rows, slots]`: count, points, zeros. Null if nobody asked.
    pub point_indices: *mut i32,
    /// Slots of a row, M.
    pub slots: u32,
    /// `[rows + 1]`: where each row's points start. Null if nobody asked.
    pub row_splits: *mut i64,
    /// The points of all rows. Null if nobody asked.
    pub indices: *mut i32,
    /// Sparse: `[rows, 4]`.
    pub coords: *mut i32,
    /// How many rows there is room for in a sparse result.
    pub rows_capacity: u32,
    /// What the host waits for.
    pub totals: *mut Totals,
}

kernel! {
    /// Pools and lists. `boxes * parts` blocks, at least one.
    Emit = "roi_emit", block BLOCK, shared WORDS, cooperative true, min_blocks 4,
    fn(a: EmitArgs) {
        let (b, part) = (block_index() / a.parts, block_index() % a.parts);
        if b < a.boxes {
            // A dense result needs no number of any other box.
            let ordered = a.sparse != 0 || !a.indices.is_null();
            let before = if ordered { a.before(b) } else { Lists::default() };
            a.emit(b, part, &a.lists_of(b), &before);
        }
        if block_index() == grid_size() - 1 {
            a.finish();
        }
    }
}

/// What a box has, or some boxes together.
#[derive(Clone, Copy, Default)]
pub(super) struct Lists {
    /// Where the pairs of a box start.
    pub(super) start: u32,
    /// Non-empty voxels.
    pub(super) rows: u32,
    /// Points they keep.
    pub(super) kept: u32,
    /// Points inside.
    pub(super) inside: u32,
}

impl EmitArgs {
    #[inline(always)]
    unsafe fn lists_of(&self, b: u32) -> Lists {
        let (lists, b) = (&self.lists, b as usize);
        // SAFETY: the caller promises that `b` is a box; each array has an element a box.
        unsafe {
            Lists {
                start: *lists.start.add(b),
                rows: *lists.rows.add(b),
                kept: *lists.kept.add(b),
                inside: *lists.inside.add(b),
            }
        }
    }

    /// What the boxes before `b` have. All threads call.
    #[inline(always)]
    unsafe fn before(&self, b: u32) -> Lists {
        let mut own = Lists::default();
        let mut other = thread_index();
        while other < b {
            // SAFETY: `other` is below `b`.
            let lists = unsafe { self.lists_of(other) };
            own.rows += lists.rows;
            own.kept += lists.kept;
            // No sum if a counter is needed.
            own.inside = own.inside.wrapping_add(lists.inside);
            other += block_size();
        }
        let shared = Shared::at(SUMS);
        let (rows, kept) = (block_sum(own.rows, shared), block_sum(own.kept, shared));
        Lists { start: 0, rows, kept, inside: block_sum(own.inside, shared) }
    }

    /// How many boxes hold nothing. All threads call.
    #[inline(always)]
    unsafe fn empty_boxes(&self) -> u32 {
        let mut empty = 0;
        let mut b = thread_index();
        while b < self.boxes {
            // SAFETY: `b` is a box, and all were made ready.
            empty += unsafe { load_box(self.prepared, b) }.is_empty() as u32;
            b += block_size();
        }
        block_sum(empty, Shared::at(SUMS))
    }

    /// The rows of a box that this block writes. All threads call; shared memory may be in use no
    /// more.
    #[inline(always)]
    unsafe fn emit(&self, b: u32, part: u32, own: &Lists, before: &Lists) {
        // SAFETY: `b` is a box, and quads are set only where rows are made of whole quads.
        unsafe {
            match (self.quads != 0, self.features.element == ElementType::F32) {
                (true, true) => self.write_rows::<4, Words>(b, part, own, before),
                (true, false) => self.write_rows::<4, Halves>(b, part, own, before),
                (false, true) => self.write_rows::<1, Words>(b, part, own, before),
                (false, false) => self.write_rows::<1, Halves>(b, part, own, before),
            }
        }
        if !self.point_indices.is_null() {
            // SAFETY: there is an array of point indices.
            unsafe { self.write_slots(b, part, own) };
        }
        if self.whole != 0 {
            // SAFETY: `b` is a box, and rows are made of whole quads.
            unsafe { self.write_empty(b, part, own) };
        }
        if part == 0 && thread_index() == 0 {
            // SAFETY: as above.
            unsafe { *self.lists.first_row.add(b as usize) = before.rows };
        }
        if self.sparse == 0 && !self.row_splits.is_null() {
            // SAFETY: there is an array of splits, with one a voxel.
            unsafe { self.write_splits(b, part, own, before.kept) };
        }
    }

    /// Writes what is known once all boxes are. All threads call.
    #[inline(always)]
    unsafe fn finish(&self) {
        // SAFETY: all of these are boxes.
        let all = unsafe { self.before(self.boxes) };
        // SAFETY: as above.
        let empty = unsafe { self.empty_boxes() };
        if thread_index() != 0 {
            return;
        }
        // A counter also knows pairs that found no room, and more of them than a word can count.
        let used = self.lists.used;
        // SAFETY: it is not null, and no block adds to it any more.
        let inside = if used.is_null() { all.inside as u64 } else { unsafe { *used } };
        let (rows, kept) = (all.rows as u64, all.kept as u64);
        // SAFETY: the launcher gives totals; splits have an end behind the last voxel.
        unsafe {
            *self.totals = Totals { rows, kept, inside, empty_boxes: empty as u64 };
            if !self.row_splits.is_null() {
                let voxels = self.out[0] as usize * self.out[1] as usize * self.out[2] as usize;
                let end = if self.sparse != 0 { rows as usize } else { self.boxes as usize * voxels };
                if self.sparse == 0 || end <= self.rows_capacity as usize {
                    *self.row_splits.add(end) = kept as i64;
                }
            }
        }
    }
}
