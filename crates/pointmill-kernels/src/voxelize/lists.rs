//! Rows into lists.

use super::*;

/// Arguments of [`Lists`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ListsArgs {
    /// From [`Rows`] or [`Assign`].
    pub slots: Slots,
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
        let mut slots = core::ptr::null_mut();
        let mut count = 0;
        if row < rows {
            slots = a.slots.of(row);
            while count < a.slots.max_points && *slots.add(count as usize) != NONE {
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
