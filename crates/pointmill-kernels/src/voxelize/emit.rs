//! From slots to the arrays of the result.

use super::*;
use crate::prim::WARPS;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use pointmill_core::{half, mean::mean_from_sum};

/// Rows a block of [`Emit`] handles at a time: with four columns, one thread a mean.
pub const ROWS_PER_BLOCK: u32 = 64;

/// Arguments of [`Emit`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EmitArgs {
    /// `[n, columns]`.
    pub points: *const f32,
    /// Values a point has, C.
    pub columns: u32,
    /// The number of rows, V.
    pub rows: Length,
    /// Nonzero: rows from V to the bound are written too, as empty.
    pub fill: u32,
    /// Values a row of `coords` has.
    pub coord_columns: u32,
    /// Rows past V get -1 here, if filled.
    pub coords: *mut i32,
    /// `[rows, max_points]` from [`Assign`]; emptied here. Null for dynamic voxelization.
    pub slots: *mut u32,
    /// Most points of a row, M.
    pub max_points: u32,
    /// For dynamic voxelization: the points of all rows, and where each row's start. Else null.
    pub lists: *const u32,
    /// See `lists`.
    pub list_splits: *const u32,
    /// `[rows]`: how many points a row has; written here but for dynamic voxelization.
    pub num_points: *mut u32,
    /// `[rows, max_points, columns]`, zero-padded; null if nobody asked.
    pub voxels: *mut f32,
    /// `[rows, columns]`; null if nobody asked.
    pub mean: *mut f32,
    /// `[rows, columns]` in `f16`; null if nobody asked.
    pub mean_f16: *mut u16,
    /// Counters.
    pub counters: *mut Counters,
}

kernel! {
    /// Writes counts, means and padded points from the slots. Any number of blocks.
    Emit = "voxelize_emit", block BLOCK, shared ROWS_PER_BLOCK + WARPS, cooperative true,
    fn(a: EmitArgs) {
        let counts = Shared::at(0);
        let t = thread_index();
        let rows = a.rows.get();
        let end = if a.fill != 0 { a.rows.bound } else { rows };
        let m = a.max_points;
        let mut kept = 0;
        let mut base = block_index() * ROWS_PER_BLOCK;
        while base < end {
            let here = if end - base < ROWS_PER_BLOCK { end - base } else { ROWS_PER_BLOCK };
            if t < here {
                let row = base + t;
                let mut count = 0;
                if row < rows {
                    if a.slots.is_null() {
                        count = *a.num_points.add(row as usize);
                    } else {
                        let slots = a.slots.add(row as usize * m as usize);
                        while count < m && *slots.add(count as usize) != NONE {
                            count += 1;
                        }
                    }
                } else {
                    let mut c = 0;
                    while c < a.coord_columns {
                        *a.coords.add((row * a.coord_columns + c) as usize) = -1;
                        c += 1;
                    }
                }
                counts.set(t, count);
                kept += count;
                *a.num_points.add(row as usize) = count;
            }
            sync_block();
            if !a.mean.is_null() || !a.mean_f16.is_null() {
                write_means(&a, counts, base, here);
            }
            if !a.slots.is_null() {
                if !a.voxels.is_null() {
                    write_voxels(&a, counts, base, here);
                }
                sync_block();
                let mut e = t;
                while e < here * m {
                    *a.slots.add(base as usize * m as usize + e as usize) = NONE;
                    e += BLOCK;
                }
            }
            base += grid_size() * ROWS_PER_BLOCK;
            sync_block();
        }
        let kept = warp_sum(kept);
        if lane() == 0 && kept > 0 {
            atomic_add(&raw mut (*a.counters).kept, kept);
        }
    }
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn write_means(a: &EmitArgs, counts: Shared, base: u32, here: u32) {
    let mut e = thread_index();
    while e < here * a.columns {
        let (r, c) = (e / a.columns, e % a.columns);
        let count = counts.get(r);
        let mut sum = 0.0;
        // SAFETY: the launcher's promise; the first `count` slots of a row hold indices of points.
        unsafe {
            let row = (base + r) as usize;
            let slots = if a.lists.is_null() {
                a.slots.add(row * a.max_points as usize) as *const u32
            } else if count > 0 {
                a.lists.add(*a.list_splits.add(row) as usize)
            } else {
                a.lists
            };
            let mut k = 0;
            // Four loads in flight; the sum stays in slot order.
            while k + 4 <= count {
                let mut v = [0.0; 4];
                for j in 0..4 {
                    let i = *slots.add((k + j) as usize);
                    v[j as usize] = *a.points.add(i as usize * a.columns as usize + c as usize);
                }
                for j in 0..4 {
                    sum += v[j];
                }
                k += 4;
            }
            while k < count {
                let i = *slots.add(k as usize);
                sum += *a.points.add(i as usize * a.columns as usize + c as usize);
                k += 1;
            }
            let mean = if count == 0 { 0.0 } else { mean_from_sum(sum, count) };
            let at = base as usize * a.columns as usize + e as usize;
            if !a.mean.is_null() {
                *a.mean.add(at) = mean;
            }
            if !a.mean_f16.is_null() {
                *a.mean_f16.add(at) = half::f16_bits_from_f32(mean);
            }
        }
        e += BLOCK;
    }
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn write_voxels(a: &EmitArgs, counts: Shared, base: u32, here: u32) {
    let row_len = a.max_points * a.columns;
    let mut e = thread_index();
    while e < here * row_len {
        let (r, rest) = (e / row_len, e % row_len);
        let (k, c) = (rest / a.columns, rest % a.columns);
        let mut value = 0;
        // SAFETY: the launcher's promise; the first `count` slots of a row hold indices of points.
        unsafe {
            if k < counts.get(r) {
                let i = *a.slots.add((base + r) as usize * a.max_points as usize + k as usize);
                // As bits, so that a NaN keeps its payload.
                value = *(a.points as *const u32).add(i as usize * a.columns as usize + c as usize);
            }
            *(a.voxels as *mut u32).add(base as usize * row_len as usize + e as usize) = value;
        }
        e += BLOCK;
    }
}

/// Arguments of [`Lists`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ListsArgs {
    /// `[rows, max_points]` from [`Assign`].
    pub slots: *const u32,
    /// Most points of a row, M.
    pub max_points: u32,
    /// The number of rows, V.
    pub rows: Length,
    /// `[V + 1]`: where each row's points start.
    pub row_splits: *mut u32,
    /// The kept points of all rows.
    pub indices: *mut u32,
    /// Look-back state, zero before.
    pub tiles: scan::Tiles,
}

kernel! {
    /// Writes the used slots without padding. One block a tile of [`BLOCK`] rows, at least one.
    Lists = "voxelize_lists", block BLOCK, shared scan::SHARED_WORDS, cooperative true,
    fn(a: ListsArgs) {
        let shared = Shared::at(0);
        let rows = a.rows.get();
        let tile = scan::take_tile(a.tiles, shared);
        if tile * BLOCK > rows {
            return;
        }
        let row = tile * BLOCK + thread_index();
        let slots = a.slots.add(row as usize * a.max_points as usize);
        let mut count = 0;
        if row < rows {
            while count < a.max_points && *slots.add(count as usize) != NONE {
                count += 1;
            }
        }
        let inclusive = warp_inclusive_sum(count);
        let (before, _) = scan::prefix_of_warp(a.tiles, tile, shuffle(inclusive, WARP - 1), shared);
        let start = before + inclusive - count;
        if row <= rows {
            *a.row_splits.add(row as usize) = start;
        }
        let mut k = 0;
        while k < count {
            *a.indices.add((start + k) as usize) = *slots.add(k as usize);
            k += 1;
        }
    }
}
