//! Rows and features into the arrays of the result.

use super::*;
use crate::prim::{BLOCK, WARPS};

/// Words of shared memory for sums over the boxes before.
const SHARED: u32 = 2 * WARPS;

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
    /// `[rows, channels]`; for a dense result empty rows are there already.
    pub pooled: Values,
    /// As `pooled`; for the maximum.
    pub argmax: *mut i32,
    /// `[rows, slots]`: count and points, empty rows are there already. Null if nobody asked.
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
    Emit = "roi_emit", block BLOCK, shared SHARED, cooperative true,
    fn(a: EmitArgs) {
        let (b, part) = (block_index() / a.parts, block_index() % a.parts);
        let last = block_index() == grid_size() - 1;
        // A dense result needs no number of any other box.
        let (mut rows_before, mut kept_before) = (0, 0);
        if last || a.sparse != 0 || !a.indices.is_null() {
            (rows_before, kept_before) = a.before(b);
        }
        if b < a.boxes {
            if a.quads != 0 {
                a.emit::<4, 2>(b, part, rows_before, kept_before);
            } else {
                a.emit::<1, 4>(b, part, rows_before, kept_before);
            }
        }
        if last {
            a.finish(rows_before, kept_before);
        }
    }
}

// SAFETY (all blocks below): the launcher's promise about the sizes; a row is below its box's number of rows.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[allow(clippy::undocumented_unsafe_blocks)]
impl EmitArgs {
    /// Rows and kept points of the boxes before `b`.
    #[inline(always)]
    unsafe fn before(&self, b: u32) -> (u32, u32) {
        let shared = Shared::at(0);
        let (mut rows, mut kept) = (0, 0);
        let mut other = thread_index();
        while other < b {
            rows += unsafe { *self.lists.rows.add(other as usize) };
            kept += unsafe { *self.lists.kept.add(other as usize) };
            other += BLOCK;
        }
        let (rows, kept) = (warp_sum(rows), warp_sum(kept));
        if lane() == 0 {
            shared.set(warp(), rows);
            shared.set(WARPS + warp(), kept);
        }
        sync_block();
        let (mut rows, mut kept) = (0, 0);
        for w in 0..WARPS {
            rows += shared.get(w);
            kept += shared.get(WARPS + w);
        }
        (rows, kept)
    }

    /// The rows of a box that this block writes.
    #[inline(always)]
    unsafe fn emit<const V: usize, const AHEAD: usize>(&self, b: u32, part: u32, rows_before: u32, kept_before: u32) {
        let lists = &self.lists;
        let start = unsafe { *lists.start.add(b as usize) };
        let rows = unsafe { *lists.rows.add(b as usize) };
        let records = unsafe { lists.records.add(start as usize) };
        let points = unsafe { lists.points.add(start as usize) };
        let voxels = self.out[0] * self.out[1] * self.out[2];
        // Lanes that share a row: a power of two.
        let mut lanes = 1;
        while lanes * (V as u32) < self.channels && lanes < WARP {
            lanes *= 2;
        }
        let (group, l) = (thread_index() / lanes, thread_index() % lanes);
        let groups = BLOCK / lanes;
        let mut r = part * groups + group;
        while r < rows {
            let record = unsafe { *records.add(r as usize) };
            let row = if self.sparse != 0 {
                (rows_before + r) as usize
            } else {
                b as usize * voxels as usize + record.voxel as usize
            };
            let list = unsafe { points.add(record.start as usize) };
            if self.sparse == 0 || row < self.rows_capacity as usize {
                unsafe {
                    self.write_features::<V, AHEAD>(&record, row, list, (l, lanes));
                    self.write_lists(&record, row, list, (l, lanes), kept_before);
                    if self.sparse != 0 && l == 0 {
                        self.write_coords(&record, row, b);
                    }
                }
            }
            r += self.parts * groups;
        }
        if part == 0 && thread_index() == 0 {
            unsafe { *lists.first_row.add(b as usize) = rows_before };
        }
        if self.sparse == 0 && !self.row_splits.is_null() {
            unsafe { self.write_splits(b, part, records, rows, kept_before) };
        }
    }

    #[inline(always)]
    unsafe fn write_lists(
        &self,
        record: &Record,
        row: usize,
        list: *const u32,
        (l, lanes): (u32, u32),
        kept_before: u32,
    ) {
        let at = (kept_before + record.kept_start) as usize;
        unsafe {
            let mut k = l;
            while k < record.count {
                let i = *list.add(k as usize) as i32;
                if !self.point_indices.is_null() {
                    *self.point_indices.add(row * self.slots as usize + 1 + k as usize) = i;
                }
                if !self.indices.is_null() {
                    *self.indices.add(at + k as usize) = i;
                }
                k += lanes;
            }
            if l == 0 && !self.point_indices.is_null() {
                *self.point_indices.add(row * self.slots as usize) = record.count as i32;
            }
            if l == 0 && self.sparse != 0 && !self.row_splits.is_null() {
                *self.row_splits.add(row) = at as i64;
            }
        }
    }

    /// `V` channels at a time, `AHEAD` points in flight.
    #[inline(always)]
    unsafe fn write_features<const V: usize, const AHEAD: usize>(
        &self,
        record: &Record,
        row: usize,
        list: *const u32,
        (l, lanes): (u32, u32),
    ) {
        let mut c = l * V as u32;
        while c < self.channels {
            let (mut best, mut arg, mut sum) = ([f32::NEG_INFINITY; V], [NONE as i32; V], [0.0; V]);
            let index = |k: u32| if k < record.count { unsafe { *list.add(k as usize) } } else { NONE };
            // Several points in flight, though added in order; and the next ones are known by then.
            let mut next = [0; AHEAD];
            for j in 0..AHEAD {
                next[j] = index(j as u32);
            }
            let mut k = 0;
            while k < record.count {
                let i = next;
                let mut v = [[0.0; V]; AHEAD];
                for j in 0..AHEAD {
                    if i[j] != NONE {
                        v[j] = unsafe { self.features.get_all(i[j] as usize * self.channels as usize + c as usize) };
                    }
                }
                k += AHEAD as u32;
                for j in 0..AHEAD {
                    next[j] = index(k + j as u32);
                }
                for j in 0..AHEAD {
                    if i[j] != NONE {
                        for x in 0..V {
                            sum[x] += v[j][x];
                            if v[j][x] > best[x] {
                                (best[x], arg[x]) = (v[j][x], i[j] as i32);
                            }
                        }
                    }
                }
            }
            let at = row * self.channels as usize + c as usize;
            unsafe {
                match self.mode {
                    PoolMode::Max => {
                        for x in 0..V {
                            best[x] = if arg[x] == NONE as i32 { 0.0 } else { best[x] };
                        }
                        self.pooled.set_all(at, best);
                        set_all_i32(self.argmax, at, arg);
                    }
                    PoolMode::Mean => {
                        for x in 0..V {
                            sum[x] /= record.count as f32;
                        }
                        self.pooled.set_all(at, sum);
                    }
                }
            }
            c += lanes * V as u32;
        }
    }

    #[inline(always)]
    unsafe fn write_coords(&self, record: &Record, row: usize, b: u32) {
        let [_, oy, oz] = self.out;
        let v = record.voxel;
        let coords = [b, v / oz / oy, v / oz % oy, v % oz];
        for i in 0..4 {
            unsafe { *self.coords.add(row * 4 + i) = coords[i] as i32 };
        }
    }

    /// Where the points of this block's voxels start: those of the first row that is not before the voxel.
    #[inline(always)]
    unsafe fn write_splits(&self, b: u32, part: u32, records: *const Record, rows: u32, kept_before: u32) {
        let voxels = self.out[0] * self.out[1] * self.out[2];
        let kept = unsafe { *self.lists.kept.add(b as usize) };
        let mut v = part as u64 * BLOCK as u64 + thread_index() as u64;
        while v < voxels as u64 {
            let (mut low, mut high) = (0, rows);
            while low < high {
                let middle = (low + high) / 2;
                if unsafe { (*records.add(middle as usize)).voxel } < v as u32 {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            let own = if low < rows { unsafe { (*records.add(low as usize)).kept_start } } else { kept };
            unsafe { *self.row_splits.add(b as usize * voxels as usize + v as usize) = (kept_before + own) as i64 };
            v += self.parts as u64 * BLOCK as u64;
        }
    }

    /// What is known once all boxes are. The block has the last box.
    #[inline(always)]
    unsafe fn finish(&self, rows_before: u32, kept_before: u32) {
        let mut empty = 0;
        let mut b = thread_index();
        while b < self.boxes {
            empty += unsafe { load_box(self.prepared, b) }.is_empty() as u32;
            b += BLOCK;
        }
        let shared = Shared::at(0);
        let empty = warp_sum(empty);
        sync_block();
        if lane() == 0 {
            shared.set(warp(), empty);
        }
        sync_block();
        if thread_index() != 0 {
            return;
        }
        let mut empty = 0;
        for w in 0..WARPS {
            empty += shared.get(w);
        }
        let last =
            |counts: *const u32| if self.boxes > 0 { unsafe { *counts.add(self.boxes as usize - 1) } } else { 0 };
        let (rows, kept) = (rows_before + last(self.lists.rows), kept_before + last(self.lists.kept));
        unsafe {
            *self.totals =
                Totals { rows: rows as u64, kept: kept as u64, inside: *self.lists.used, empty_boxes: empty as u64 };
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
