//! Rows into the arrays of the result.

use super::*;
use crate::simt::WARP;
use pointmill_core::{half, mean::mean_from_sum};

/// Words of shared memory that [`EmitPoints`] gathers points in.
const STAGE: u32 = 4096;

/// Point slots that a block of [`EmitPoints`] handles at a time: a multiple of four, so that each
/// tile starts at a multiple of 16 bytes.
pub const fn slots_per_tile(columns: u32) -> u32 {
    (STAGE / columns) & !3
}

/// Rows that a block of [`Emit`] handles at a time. The values of a row stay in one warp, which
/// then needs no other to empty the row's slots.
pub const fn rows_per_tile(columns: u32) -> u32 {
    rows_per_warp(columns) * (BLOCK / WARP)
}

pub(super) const fn rows_per_warp(columns: u32) -> u32 {
    if columns > WARP { 1 } else { WARP / columns }
}

/// Arguments of [`EmitPoints`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EmitPointsArgs {
    /// `[n, columns]`.
    pub points: *const f32,
    /// Values a point has, C.
    pub columns: u32,
    /// The number of rows, V.
    pub rows: Length,
    /// The points of each row.
    pub slots: Slots,
    /// `[rows, max_points, columns]`, zero-padded.
    pub voxels: *mut u32,
}

kernel! {
    /// Writes the points of each row, padded with zeros. Any number of blocks.
    EmitPoints = "voxelize_emit_points", block BLOCK, shared STAGE, cooperative true,
    fn(a: EmitPointsArgs) {
        let stage = Shared::at(0);
        let (t, columns, m) = (thread_index(), a.columns, a.slots.max_points);
        let end = a.rows.get() as u64 * m as u64;
        let tile = slots_per_tile(columns);
        let mut base = block_index() as u64 * tile as u64;
        while base < end {
            let here = if end - base < tile as u64 { (end - base) as u32 } else { tile };
            let (first_row, first_k) = ((base / m as u64) as u32, (base % m as u64) as u32);
            let mut q = t;
            while q < here {
                let (row, k) = (first_row + (first_k + q) / m, (first_k + q) % m);
                let i = *a.slots.of(row).add(k as usize);
                let mut c = 0;
                while c < columns {
                    // As bits, so that a NaN keeps its payload.
                    let value = if i == NONE {
                        0
                    } else {
                        *(a.points as *const u32).add(i as usize * columns as usize + c as usize)
                    };
                    stage.set(q * columns + c, value);
                    c += 1;
                }
                q += BLOCK;
            }
            sync_block();
            // Out in order, sixteen bytes a thread.
            let out = a.voxels.add(base as usize * columns as usize);
            let len = here * columns;
            let mut e = t * 4;
            while e + 4 <= len {
                *(out.add(e as usize) as *mut Four) = Four(stage.get_x4(e));
                e += BLOCK * 4;
            }
            let mut e = (len & !3) + t;
            while e < len {
                *out.add(e as usize) = stage.get(e);
                e += BLOCK;
            }
            sync_block();
            base += grid_size() as u64 * tile as u64;
        }
    }
}

/// Where means go.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Means {
    /// `[rows, columns]`; null if nobody asked.
    pub f32: *mut f32,
    /// `[rows, columns]` in `f16`; null if nobody asked.
    pub f16: *mut u16,
}

impl Means {
    /// Whether anybody asked for means.
    #[inline(always)]
    pub(super) fn wanted(&self) -> bool {
        !self.f32.is_null() || !self.f16.is_null()
    }

    /// Writes the mean number `at`, that of `count` values of this sum.
    ///
    /// # Safety
    /// The arrays have such an element.
    #[inline(always)]
    pub(super) unsafe fn write(&self, at: usize, sum: f32, count: u32) {
        let mean = mean_from_sum(sum, count);
        // SAFETY: the caller's promise.
        unsafe {
            if !self.f32.is_null() {
                *self.f32.add(at) = mean;
            }
            if !self.f16.is_null() {
                *self.f16.add(at) = half::f16_bits_from_f32(mean);
            }
        }
    }
}

/// Arrays of a result that can be padded.
pub const PADDED: usize = 4;

/// Arguments of [`Emit`] and [`EmitFew`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EmitArgs {
    /// `[n, columns]`.
    pub points: *const f32,
    /// Values a point has, C.
    pub columns: u32,
    /// The number of rows, V.
    pub rows: Length,
    /// The points of each row; slots are emptied here.
    pub slots: Slots,
    /// For dynamic voxelization: the points of all rows, and where each row's start. Else null.
    pub lists: *const u32,
    /// See `lists`.
    pub list_splits: *const u32,
    /// `[rows]`: how many points a row has; written here but for dynamic voxelization.
    pub num_points: *mut u32,
    /// The means of each row.
    pub means: Means,
    /// `[rows, max_points, columns]`, zero-padded, for [`EmitFew`]; null if nobody asked or
    /// [`EmitPoints`] writes it.
    pub voxels: *mut u32,
    /// Arrays whose rows from V to the bound are filled, for padded results.
    pub padded: [Padded; PADDED],
    /// Counters.
    pub counters: *mut Counters,
}

kernel! {
    /// Writes counts and means, and empties the slots. Any number of blocks.
    Emit = "voxelize_emit", block BLOCK, shared COUNT_WORDS, cooperative true,
    fn(a: EmitArgs) {
        a.emit(|row, first_column, lanes| {
            let mut count = 0;
            let mut c = first_column;
            while c < a.columns {
                let (sum, n) = if a.slots.slots.is_null() { a.sum_of_list(row, c) } else { a.sum_of_slots(row, c) };
                count = n;
                a.means.write(row as usize * a.columns as usize + c as usize, sum, count);
                c += lanes;
            }
            count
        });
    }
}

impl EmitArgs {
    /// Writes all rows, by whole warps, and what a padded result has behind them. `write` writes
    /// the columns of a row that a lane has, given the first one and the distance of the others,
    /// and returns the number of points of the row.
    #[inline(always)]
    pub(super) unsafe fn emit(&self, write: impl Fn(u32, u32, u32) -> u32) {
        let rows_here = rows_per_warp(self.columns);
        let lanes = if self.columns < WARP { self.columns } else { WARP };
        let (r, first_column) = (lane() / lanes, lane() % lanes);
        // SAFETY: the launcher's promise about the length.
        let rows = unsafe { self.rows.get() };
        let mut kept = 0;
        let mut base = (global_index() / WARP) * rows_here;
        while base < rows {
            let row = base + r;
            let inside = r < rows_here && row < rows;
            let count = if inside { write(row, first_column, lanes) } else { 0 };
            // All values of the row have read its slots.
            sync_warp();
            if inside && first_column == 0 {
                // SAFETY: `row` is below V.
                unsafe { *self.num_points.add(row as usize) = count };
                kept += count;
                if !self.slots.slots.is_null() {
                    // SAFETY: `row` is below V, and its count is at most its slots.
                    unsafe { Slots::empty(self.slots.of(row), count) };
                }
            }
            base += grid_size() * (BLOCK / WARP) * rows_here;
        }
        for j in 0..PADDED {
            // SAFETY: padded arrays have room for as many rows as the bound.
            unsafe { self.padded[j].fill(rows as u64, self.rows.bound as u64) };
        }
        // SAFETY: the launcher gives counters.
        unsafe { count_in_block([&raw mut (*self.counters).kept], [warp_sum(kept)], Shared::at(0)) };
    }

    #[inline(always)]
    unsafe fn value(&self, i: u32, c: u32) -> f32 {
        // SAFETY: the caller promises that `i` is a point, and `c` a column.
        unsafe { *self.points.add(i as usize * self.columns as usize + c as usize) }
    }

    /// The sum over a row's points in order, and how many there are.
    #[inline(always)]
    unsafe fn sum_of_slots(&self, row: u32, c: u32) -> (f32, u32) {
        let wanted = self.means.wanted();
        // SAFETY: the caller promises that `row` is below V.
        let slots = unsafe { self.slots.of(row) };
        let (mut sum, mut count) = (0.0, 0);
        let mut k = 0;
        while k < self.slots.max_points {
            // Four slots in one read, then four points in flight; the sum stays in order.
            // SAFETY: a row has slots for `max_points` rounded up to four, aligned to 16 bytes.
            let Four(four) = unsafe { *(slots.add(k as usize) as *const Four) };
            let mut v = [0.0; 4];
            for j in 0..4 {
                if wanted && four[j] != NONE {
                    // SAFETY: a slot that is not empty holds a point.
                    v[j] = unsafe { self.value(four[j], c) };
                }
            }
            for j in 0..4 {
                if four[j] != NONE {
                    sum += v[j];
                    count += 1;
                }
            }
            if four[3] == NONE {
                break;
            }
            k += 4;
        }
        (sum, count)
    }

    #[inline(always)]
    unsafe fn sum_of_list(&self, row: u32, c: u32) -> (f32, u32) {
        // SAFETY: the caller promises that `row` is below V.
        let count = unsafe { *self.num_points.add(row as usize) };
        let mut sum = 0.0;
        if !self.lists.is_null() && self.means.wanted() {
            // SAFETY: there is a split for each row, within the lists.
            let list = unsafe { self.lists.add(*self.list_splits.add(row as usize) as usize) };
            // SAFETY: the row has `count` points in its list.
            sum = sum_in_order(0, count, |k| unsafe { self.value(*list.add(k as usize), c) });
        }
        (sum, count)
    }
}

/// The sum of `value(start)` to `value(end - 1)`, added in order from zero; four loads are in
/// flight at a time.
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
