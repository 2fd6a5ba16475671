//! From points to rows in first-seen order.

use super::*;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use crate::prim::{compact, hash};

/// Arguments of [`Insert`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InsertArgs {
    /// `[n, columns]`.
    pub points: *const f32,
    /// Values a point has.
    pub columns: u32,
    /// The number of points.
    pub n: u32,
    /// The grid.
    pub grid: VoxelGrid,
    /// Nonzero: points must also lie in `min <= p < max`.
    pub strict: u32,
    /// The samples.
    pub batch: Batch,
    /// `mask + 1` empty entries.
    pub table: *mut Entry,
    /// Entries minus one.
    pub mask: u32,
    /// `[n]`: the entry of each point, or why it has none.
    pub slot_of_point: *mut u32,
    /// Words to zero for the kernels that follow.
    pub zero: *mut u32,
    /// How many.
    pub zero_words: u32,
    /// Zeroed here.
    pub counters: *mut Counters,
}

kernel! {
    /// Gives the cell of each point an entry. One thread a point, at least one block.
    Insert = "voxelize_insert", block BLOCK, shared 0, cooperative true,
    fn(a: InsertArgs) {
        let i = global_index();
        let mut w = i;
        while w < a.zero_words {
            *a.zero.add(w as usize) = 0;
            w += grid_size() * BLOCK;
        }
        if i < COUNTER_WORDS {
            *(a.counters as *mut u32).add(i as usize) = 0;
        }

        let mut key = u64::MAX;
        let mut slot = OUT_OF_RANGE;
        if i < a.n {
            let p = a.points.add(i as usize * a.columns as usize);
            let p = [*p, *p.add(1), *p.add(2)];
            let wanted = a.strict == 0 || a.grid.range().contains(p);
            match a.grid.cell(p) {
                Some(cell) if wanted => {
                    key = a.batch.sample_of(i) as u64 * a.grid.num_cells() + a.grid.id(cell);
                }
                _ if !(p[0].is_finite() & p[1].is_finite() & p[2].is_finite()) => slot = NON_FINITE,
                _ => {}
            }
        }
        // Points that follow each other often share a cell; the first of them in the warp speaks for all.
        let peers = match_any_u64(key);
        let leader = peers.trailing_zeros();
        if key != u64::MAX && lane() == leader {
            slot = hash::find_or_insert(a.table as *mut u64, 2, a.mask, key);
            if slot != hash::NONE {
                let first = &raw mut (*a.table.add(slot as usize)).first;
                if load_relaxed(first) > i {
                    atomic_min(first, i);
                }
            }
        }
        let shared_slot = shuffle(slot, leader);
        if i < a.n {
            if key != u64::MAX {
                slot = shared_slot;
                if slot == hash::NONE {
                    atomic_add(&raw mut (*a.counters).lost, 1);
                }
            }
            *a.slot_of_point.add(i as usize) = slot;
        }
    }
}

/// Arguments of [`Rank`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RankArgs {
    /// From [`Insert`].
    pub slot_of_point: *const u32,
    /// The number of points.
    pub n: u32,
    /// The grid.
    pub grid: VoxelGrid,
    /// The samples.
    pub batch: Batch,
    /// From [`Insert`]; emptied here but for the rows.
    pub table: *mut Entry,
    /// Look-back state, zero before.
    pub tiles: scan::Tiles,
    /// Counters.
    pub counters: *mut Counters,
    /// If rows stay where they are: `[rows, 3]` z, y, x. Null if [`Place`] follows.
    pub coords: *mut i32,
    /// If [`Place`] follows: the key of each row found, ...
    pub row_keys: *mut u64,
    /// ... or here, if all keys fit. Else null.
    pub row_keys_u32: *mut u32,
    /// If [`Place`] follows: the entry of each row found. Else null.
    pub row_slots: *mut u32,
    /// For batches: the rows found before each sample's first point, `samples + 1`. Else null.
    pub sample_found: *mut u32,
    /// For dynamic voxelization: each row's count, zeroed here. Else null.
    pub num_points: *mut u32,
}

kernel! {
    /// Numbers the cells in first-seen order. One block a tile of [`crate::prim::compact::TILE`], at least one.
    Rank = "voxelize_rank", block BLOCK, shared scan::SHARED_WORDS, cooperative true,
    fn(a: RankArgs) {
        let shared = Shared::at(0);
        let tile = scan::take_tile(a.tiles, shared);
        let mut slots = [OUT_OF_RANGE; compact::ITEMS as usize];
        let start = tile * compact::TILE + warp() * (WARP * compact::ITEMS) + lane();
        for j in 0..compact::ITEMS as usize {
            let i = start + j as u32 * WARP;
            if i < a.n {
                slots[j] = *a.slot_of_point.add(i as usize);
            }
        }
        for j in 0..compact::ITEMS as usize {
            let i = start + j as u32 * WARP;
            count_in_warp(&raw mut (*a.counters).non_finite, slots[j] == NON_FINITE);
            count_in_warp(&raw mut (*a.counters).out_of_range, slots[j] == OUT_OF_RANGE && i < a.n);
        }
        let r = compact::rank_tile(a.tiles, tile, shared, |i| {
            let slot = slots[((i - start) / WARP) as usize];
            slot < NON_FINITE && (*a.table.add(slot as usize)).first == i
        });
        for j in 0..compact::ITEMS as usize {
            let i = start + j as u32 * WARP;
            let row = r.rank[j];
            if r.flagged[j] {
                open_row(&a, slots[j], row);
            }
            if !a.sample_found.is_null() && i < a.n {
                mark_samples(&a, i, row);
            }
        }
        if thread_index() == 0 && a.n <= tile * compact::TILE + compact::TILE {
            (*a.counters).found = r.end;
            if a.row_slots.is_null() {
                (*a.counters).voxels = if r.end < a.batch.max_voxels { r.end } else { a.batch.max_voxels };
            }
            if !a.sample_found.is_null() {
                mark_samples(&a, a.n, r.end);
            }
        }
    }
}

/// Writes what belongs to a new row, and empties its entry.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn open_row(a: &RankArgs, slot: u32, row: u32) {
    // SAFETY: the launcher's promise; slots come from the table, rows stay below the number of points.
    unsafe {
        let entry = a.table.add(slot as usize);
        let key = (*entry).key;
        let kept = !a.row_slots.is_null() || row < a.batch.max_voxels;
        // No other point compares equal to the emptied `first`, so emptying it now disturbs nobody in this launch.
        *entry = Entry { key: u64::MAX, first: u32::MAX, row: if kept { row } else { NONE } };
        if a.row_slots.is_null() {
            if kept {
                let cell = a.grid.cell_of_id(key);
                let coords = a.coords.add(row as usize * 3);
                *coords = cell[2] as i32;
                *coords.add(1) = cell[1] as i32;
                *coords.add(2) = cell[0] as i32;
                if !a.num_points.is_null() {
                    *a.num_points.add(row as usize) = 0;
                }
            }
        } else {
            *a.row_slots.add(row as usize) = slot;
            if a.row_keys_u32.is_null() {
                *a.row_keys.add(row as usize) = key;
            } else {
                *a.row_keys_u32.add(row as usize) = key as u32;
            }
        }
    }
}

/// If point `i` is where samples start, notes the rows found before them.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn mark_samples(a: &RankArgs, i: u32, found: u32) {
    // SAFETY: the launcher's promise about `row_splits` and `sample_found`.
    unsafe {
        // Empty samples start where the next one does; the search finds the last of them. At the end that is the total.
        let mut sample = if i == a.n { a.batch.samples } else { a.batch.sample_of(i) };
        while *a.batch.row_splits.add(sample as usize) == i {
            *a.sample_found.add(sample as usize) = found;
            if sample == 0 {
                break;
            }
            sample -= 1;
        }
    }
}
