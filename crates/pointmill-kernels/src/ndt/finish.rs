//! Sums into rows of statistics, by (z, y, x) of the cell.

use super::*;
use crate::prim::compact::rank_tile;
use crate::prim::scan::Tiles;
use pointmill_core::ndt::{CellStats, Moments, StatsParams, cell_of};

/// Arguments of [`SortKeysShort`] and [`SortKeysLong`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SortKeysArgs<K> {
    /// The sums.
    pub table: Records,
    /// How many records have cells.
    pub n: u32,
    /// The least coordinate plus 2^20 of all cells, along x, y, z.
    pub low: [u32; 3],
    /// Bits that the distance from it takes, along x and y.
    pub bits: [u32; 2],
    /// `[n]`.
    pub keys: *mut K,
    /// `[n]`: the records.
    pub slots: *mut u32,
}

/// The key of a cell about the least coordinates: order as before, fewer bits.
#[inline(always)]
unsafe fn sort_key<K>(a: &SortKeysArgs<K>, i: u32) -> u64 {
    // SAFETY: i < n, and the caller's promise about the table.
    unsafe {
        let slot = *a.table.list.add(i as usize);
        *a.slots.add(i as usize) = slot;
        let key = *a.table.word(slot, 0) - 1;
        let c = |axis: usize| (coordinate(key, axis) - a.low[axis]) as u64;
        (c(2) << (a.bits[0] + a.bits[1])) | (c(1) << a.bits[0]) | c(0)
    }
}

kernel! {
    /// The keys of cells whose keys fit 32 bits. One thread a record.
    SortKeysShort = "ndt_sort_keys_u32", block BLOCK, shared 0, cooperative false,
    fn(a: SortKeysArgs<u32>) {
        let i = global_index();
        if i < a.n {
            *a.keys.add(i as usize) = sort_key(&a, i) as u32;
        }
    }
}

kernel! {
    /// The keys of any cells. One thread a record.
    SortKeysLong = "ndt_sort_keys_u64", block BLOCK, shared 0, cooperative false,
    fn(a: SortKeysArgs<u64>) {
        let i = global_index();
        if i < a.n {
            *a.keys.add(i as usize) = sort_key(&a, i);
        }
    }
}

/// Where rows go, a value or several a row.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CellArrays {
    /// `[V]`: the cell, along x, y, z.
    pub coords: *mut [i32; 3],
    /// `[V]`: its points.
    pub counts: *mut u32,
    /// `[V]`: the mean about the cell's centre.
    pub mean_local: *mut [f64; 3],
    /// `[V]`: the mean.
    pub mean: *mut [f64; 3],
    /// `[V]`: the covariance.
    pub covariance: *mut [f64; 6],
    /// `[V]`: its inverse.
    pub inverse: *mut [f64; 6],
    /// `[V]`: its eigenvalues.
    pub eigenvalues: *mut [f64; 3],
    /// `[V]`: the normal.
    pub normal: *mut [f64; 3],
}

/// What became of cells, zero before.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct FinishTotals {
    /// Rows.
    pub voxels: u32,
    /// Cells whose points were all taken away.
    pub empty: u32,
    /// Cells of too few points.
    pub sparse: u32,
    /// Cells without extent.
    pub degenerate: u32,
    /// Rows with a raised eigenvalue.
    pub clamped: u32,
}

/// Arguments of [`Finish`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FinishArgs {
    /// The sums.
    pub table: Records,
    /// `[n]`: records, in the order of rows.
    pub slots: *const u32,
    /// How many.
    pub n: u32,
    /// The lattice.
    pub lattice: NdtLattice,
    /// How statistics are made.
    pub params: StatsParams,
    /// Cells of fewer points get no row.
    pub min_points: u32,
    /// Rows; room for n.
    pub cells: CellArrays,
    /// Gets the rows.
    pub lines: Lines,
    /// State of the ranks, one tile for each [`BLOCK`] records, zero before.
    pub tiles: Tiles,
    /// What became of cells.
    pub totals: *mut FinishTotals,
}

kernel! {
    /// Makes rows of cells. One thread a record.
    Finish = "ndt_finish", block BLOCK, shared scan::SHARED_WORDS, cooperative true,
    fn(a: FinishArgs) {
        let shared = Shared::at(0);
        let tile = scan::take_tile(a.tiles, shared);
        let i = tile * BLOCK + thread_index();
        let (mut key, mut stats, mut moments) = (0, None, Moments::default());
        let (mut empty, mut sparse) = (false, false);
        if i < a.n {
            let words = a.table.word(*a.slots.add(i as usize), 0);
            key = *words - 1;
            moments.count = *words.add(1) as u32;
            for w in 0..3 {
                moments.sum[w] = *words.add(2 + w) as i64;
            }
            for w in 0..6 {
                moments.products[w] = *words.add(5 + w) as i64;
            }
            empty = moments.count == 0;
            sparse = !empty && moments.count < a.min_points;
            if !empty && !sparse {
                stats = CellStats::new(&moments, &a.lattice, &a.params);
            }
        }
        let ranks = rank_tile::<1>(a.tiles, tile, shared, |_| stats.is_some());
        let count = |flag: bool, word: *mut u32| {
            let votes = ballot(flag);
            if lane() == 0 && votes != 0 {
                atomic_add(word, votes.count_ones());
            }
        };
        count(empty, &raw mut (*a.totals).empty);
        count(sparse, &raw mut (*a.totals).sparse);
        count(i < a.n && !empty && !sparse && stats.is_none(), &raw mut (*a.totals).degenerate);
        count(stats.is_some_and(|s| s.clamped), &raw mut (*a.totals).clamped);
        if let Some(stats) = stats {
            let row = ranks.rank[0] as usize;
            let cell = cell_of(key);
            let center = a.lattice.center(cell);
            *a.cells.coords.add(row) = cell;
            *a.cells.counts.add(row) = moments.count;
            *a.cells.mean_local.add(row) = stats.mean_local;
            let m = stats.mean_local;
            *a.cells.mean.add(row) = [center[0] + m[0], center[1] + m[1], center[2] + m[2]];
            *a.cells.covariance.add(row) = stats.covariance;
            *a.cells.inverse.add(row) = stats.inverse;
            *a.cells.eigenvalues.add(row) = stats.eigenvalues;
            *a.cells.normal.add(row) = stats.normal;
            a.lines.enter(cell, row as u32);
        }
        if thread_index() == 0 && tile * BLOCK < a.n && a.n <= tile * BLOCK + BLOCK {
            (*a.totals).voxels = ranks.end;
        }
    }
}
