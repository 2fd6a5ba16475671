//! Larger cells, stage by stage.

use super::BLOCK;
use super::serialize::CellRows;
use crate::prim::compact::rank_tile;
use crate::prim::scan::{SHARED_WORDS, Tiles, take_tile};
use crate::simt::*;

/// Rows a thread looks at.
const ITEMS: usize = 4;
/// Rows of a tile of [`Parents`] and [`NextOrders`].
pub const STAGE_TILE: u32 = BLOCK * ITEMS as u32;

/// What a stage counts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StageCounts {
    /// Larger cells that there is room for.
    pub cells: u32,
    /// Larger cells that there is no room for.
    pub dropped: u32,
    /// Rows of the stage before.
    pub rows: u32,
}

/// Arguments of [`Parents`], [`Heads`] and [`NextOrders`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StageArgs {
    /// The cells of the stage before.
    pub rows: CellRows,
    /// `[orders, bound]`.
    pub codes: *const u64,
    /// `[orders, bound]`.
    pub order: *const u32,
    /// How many orders there are.
    pub orders: u32,
    /// How many times the size of a cell is doubled.
    pub doubled: u32,
    /// Larger cells that there is room for.
    pub capacity: u32,
    /// For each order `1 + tiles` words, zero before.
    pub tiles: Tiles,
    /// `[bound]`: the larger cell of each row, or -1.
    pub cluster: *mut i32,
    /// `[bound]`: the same without -1, for a sort; null where rows are in the first order.
    pub keys: *mut u32,
    /// `[capacity + 1]`: where the rows of each larger cell start.
    pub indptr: *mut u32,
    /// `[bound]`: rows by larger cell.
    pub indices: *mut u32,
    /// `[capacity]`: the first row of each larger cell.
    pub head: *mut u32,
    /// `[capacity, 3]`.
    pub next_coords: *mut i32,
    /// `[capacity]`.
    pub next_batch: *mut i32,
    /// `[orders, capacity]`.
    pub next_codes: *mut u64,
    /// `[orders, capacity]`.
    pub next_order: *mut u32,
    /// `[orders, capacity]`.
    pub next_inverse: *mut u32,
    /// What is counted.
    pub counts: *mut StageCounts,
}

impl StageArgs {
    /// The code, in the first order, of the larger cell at place `i` of that order.
    ///
    /// # Safety
    /// There is such a place.
    #[inline(always)]
    unsafe fn parent(&self, i: u32) -> u64 {
        // SAFETY: the caller promises the place.
        unsafe { *self.codes.add(*self.order.add(i as usize) as usize) >> (3 * self.doubled) }
    }
}

kernel! {
    /// Finds larger cells along the first order. One block a tile, at least one.
    Parents = "sparse_parents", block BLOCK, shared SHARED_WORDS, cooperative true,
    fn(a: StageArgs) {
        let shared = Shared::at(0);
        let n = a.rows.n.get();
        let tile = take_tile(a.tiles, shared);
        if (tile > 0) & (tile * STAGE_TILE >= n) {
            return;
        }
        let starts = |i: u32| i < n && (i == 0 || a.parent(i) != a.parent(i - 1));
        let ranks = rank_tile::<ITEMS>(a.tiles, tile, shared, starts);
        for j in 0..ITEMS {
            let i = ranks.start + j as u32 * WARP;
            if i < n {
                let row = *a.order.add(i as usize);
                let id = if ranks.flagged[j] { ranks.rank[j] } else { ranks.rank[j] - 1 };
                *a.cluster.add(row as usize) = if id < a.capacity { id as i32 } else { -1 };
                if a.keys.is_null() {
                    *a.indices.add(i as usize) = row;
                } else {
                    *a.keys.add(row as usize) = id;
                }
                if ranks.flagged[j] & (id <= a.capacity) {
                    *a.indptr.add(id as usize) = i;
                }
            }
        }
        if (thread_index() == 0) & (n <= (tile + 1) * STAGE_TILE) {
            let cells = if ranks.end < a.capacity { ranks.end } else { a.capacity };
            (*a.counts).cells = cells;
            (*a.counts).dropped = ranks.end - cells;
            (*a.counts).rows = n;
            if ranks.end <= a.capacity {
                *a.indptr.add(ranks.end as usize) = n;
            }
        }
    }
}

kernel! {
    /// What larger cells have of their first row, and where the rows of those that are not there start.
    /// One thread a larger cell that there is room for.
    Heads = "sparse_heads", block BLOCK, shared 0, cooperative false,
    fn(a: StageArgs) {
        let id = global_index() as usize;
        if id >= (*a.counts).cells as usize {
            if id < a.capacity as usize {
                *a.indptr.add(id + 1) = (*a.counts).rows;
            }
            return;
        }
        let head = *a.indices.add(*a.indptr.add(id) as usize);
        *a.head.add(id) = head;
        let cell = a.rows.cell(head);
        for k in 0..3 {
            *a.next_coords.add(3 * id + k) = (cell[k] >> a.doubled) as i32;
        }
        *a.next_batch.add(id) = a.rows.item(head) as i32;
        *a.next_order.add(id) = id as u32;
        *a.next_inverse.add(id) = id as u32;
        let mut k = 0;
        while k < a.orders {
            let code = *a.codes.add(k as usize * a.rows.n.bound as usize + head as usize);
            *a.next_codes.add(k as usize * a.capacity as usize + id) = code >> (3 * a.doubled);
            k += 1;
        }
    }
}

kernel! {
    /// Finds larger cells along the other orders. The tiles of the second order, then those of the
    /// next.
    NextOrders = "sparse_next_orders", block BLOCK, shared SHARED_WORDS, cooperative true,
    fn(a: StageArgs) {
        let shared = Shared::at(0);
        let n = a.rows.n.get();
        let tiles = a.rows.n.bound.div_ceil(STAGE_TILE);
        let k = 1 + block_index() / tiles;
        let own = Tiles { words: a.tiles.words.add(k as usize * Tiles::words(tiles) as usize) };
        let tile = take_tile(own, shared);
        if tile * STAGE_TILE >= n {
            return;
        }
        let order = a.order.add(k as usize * a.rows.n.bound as usize);
        let parent = |i: u32| *a.cluster.add(*order.add(i as usize) as usize);
        let starts = |i: u32| i < n && parent(i) >= 0 && (i == 0 || parent(i) != parent(i - 1));
        let ranks = rank_tile::<ITEMS>(own, tile, shared, starts);
        let first = k as usize * a.capacity as usize;
        for j in 0..ITEMS {
            if ranks.flagged[j] {
                let id = parent(ranks.start + j as u32 * WARP);
                *a.next_order.add(first + ranks.rank[j] as usize) = id as u32;
                *a.next_inverse.add(first + id as usize) = ranks.rank[j];
            }
        }
    }
}
