//! Cells into rows.

use super::*;
use crate::prim::compact;

/// Arguments of [`Rank`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RankArgs {
    /// From [`Insert`].
    pub slot_of_point: *const u32,
    /// The number of points.
    pub n: u32,
    /// The samples.
    pub batch: Batch,
    /// From [`Insert`]; emptied here but for what [`Place`] needs.
    pub table: Table,
    /// Look-back state, zero before.
    pub tiles: scan::Tiles,
    /// Counters.
    pub counters: *mut Counters,
    /// The key of each row found, ...
    pub row_keys: *mut u64,
    /// ... or here, if all keys fit. Else null.
    pub row_keys_u32: *mut u32,
    /// The entry of each row found.
    pub row_slots: *mut u32,
    /// For batches: the rows found before each sample's first point, `samples + 1`. Else null.
    pub sample_found: *mut u32,
}

/// Arguments of [`Rows`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RowsArgs {
    /// What the points need.
    pub assign: AssignArgs,
    /// Most rows.
    pub max_voxels: u32,
    /// Look-back state, zero before.
    pub tiles: scan::Tiles,
    /// The coordinates of the rows.
    pub coords: Coords,
    /// From [`Insert`]; zeroed here.
    pub lost: Lost,
    /// See [`ForHost`].
    pub for_host: ForHost,
}

/// Words of shared memory of [`Rows`] and [`Rank`].
const SHARED_WORDS: u32 = scan::SHARED_WORDS + 3 * COUNT_WORDS;

/// The points of a tile as one thread sees them: their entries, and which of them are their cell's
/// first.
struct Ranked<const ITEMS: usize> {
    slots: [u32; ITEMS],
    ranks: compact::Ranks<ITEMS>,
    /// Whether all points are in this tile or in those before.
    last: bool,
}

/// Ranks the first points of the next tile, and counts points without a cell.
///
/// # Safety
/// The pointers are valid; the tiles were zero before the launch.
#[inline(always)]
unsafe fn rank_next_tile<const ITEMS: usize>(
    slot_of_point: *const u32,
    n: u32,
    table: Table,
    tiles: scan::Tiles,
    counters: *mut Counters,
) -> Ranked<ITEMS> {
    let shared = Shared::at(0);
    // SAFETY: the launcher's promise; slots of points come from the table.
    unsafe {
        let tile = scan::take_tile(tiles, shared);
        let mut slots = [OUT_OF_RANGE; ITEMS];
        let start = compact::first_element::<ITEMS>(tile);
        for j in 0..ITEMS {
            let i = start + j as u32 * WARP;
            if i < n {
                slots[j] = *slot_of_point.add(i as usize);
            }
        }
        let ranks = compact::rank_tile(tiles, tile, shared, |i| {
            let slot = slots[((i - start) / WARP) as usize];
            slot < NON_FINITE && table.first(slot) == i
        });
        let mut without_cell = [0; 2];
        for j in 0..ITEMS {
            let i = start + j as u32 * WARP;
            without_cell[0] += ballot(slots[j] == NON_FINITE).count_ones();
            without_cell[1] += ballot(slots[j] == OUT_OF_RANGE && i < n).count_ones();
        }
        let counters = [&raw mut (*counters).non_finite, &raw mut (*counters).out_of_range];
        count_in_block(counters, without_cell, Shared::at(scan::SHARED_WORDS));
        Ranked { slots, ranks, last: n <= (tile + 1) * super::tile(ITEMS) }
    }
}

kernel! {
    /// Numbers the cells in first-seen order and gives points their rows and slots. One block a
    /// tile of [`tile`], at least one.
    Rows<ITEMS> = { FEW: "voxelize_rows" min_blocks 8, MANY: "voxelize_rows_of_many" },
    block BLOCK, shared SHARED_WORDS, cooperative true,
    fn(a: RowsArgs) { a.rows::<ITEMS>() }
}

impl RowsArgs {
    #[inline(always)]
    unsafe fn rows<const ITEMS: usize>(&self) {
        let p = self.assign;
        // SAFETY: the launcher's promise; rows that are opened are below `max_voxels`.
        unsafe {
            let Ranked { slots, ranks, last } =
                rank_next_tile::<ITEMS>(p.slot_of_point, p.members.n, p.table, self.tiles, p.counters);
            let mut rows = [NONE; ITEMS];
            for j in 0..ITEMS {
                if ranks.flagged[j] {
                    let key = p.table.key(slots[j]);
                    let row = ranks.rank[j];
                    if row < self.max_voxels {
                        rows[j] = row;
                    }
                    // No other point compares equal to the emptied entry's first, so emptying it
                    // now disturbs nobody.
                    p.table.close(slots[j], rows[j]);
                    if row < self.max_voxels {
                        p.members.open(ranks.start + j as u32 * WARP, row);
                        self.coords.write(row, key);
                    }
                }
            }
            if thread_index() == 0 && last {
                report_rows(ranks.end, self.max_voxels, p.counters, self.lost, self.for_host);
            }
            // A row is opened in this tile or in one before, which has started: waiting for it
            // cannot last.
            sync_block();
            for j in 0..ITEMS {
                if !ranks.flagged[j] && slots[j] < NON_FINITE {
                    rows[j] = p.table.row(slots[j]);
                }
            }
            let mut dropped = 0;
            for j in 0..ITEMS {
                let i = ranks.start + j as u32 * WARP;
                dropped += ballot(slots[j] < NON_FINITE && rows[j] == NONE).count_ones();
                p.members.note(i, rows[j]);
                p.members.enter::<true>(i, rows[j], ranks.flagged[j]);
            }
            let shared = Shared::at(scan::SHARED_WORDS + 2 * COUNT_WORDS);
            count_in_block([&raw mut (*p.counters).dropped_voxel], [dropped], shared);
        }
    }
}

kernel! {
    /// Numbers the cells in first-seen order. One block a tile of `tile(FEW)`, at least one.
    Rank = "voxelize_rank", block BLOCK, shared SHARED_WORDS, cooperative true,
    fn(a: RankArgs) {
        let Ranked { slots, ranks, last } =
            rank_next_tile::<FEW>(a.slot_of_point, a.n, a.table, a.tiles, a.counters);
        for j in 0..FEW {
            let i = ranks.start + j as u32 * WARP;
            let row = ranks.rank[j] as usize;
            if ranks.flagged[j] {
                let key = a.table.key(slots[j]);
                // Its row is not known before [`Place`].
                a.table.close(slots[j], PENDING);
                *a.row_slots.add(row) = slots[j];
                if a.row_keys_u32.is_null() {
                    *a.row_keys.add(row) = key;
                } else {
                    *a.row_keys_u32.add(row) = key as u32;
                }
            }
            if !a.sample_found.is_null() && i < a.n {
                mark_samples(&a, i, ranks.rank[j]);
            }
        }
        if thread_index() == 0 && last {
            (*a.counters).found = ranks.end;
            if !a.sample_found.is_null() {
                mark_samples(&a, a.n, ranks.end);
            }
        }
    }
}

/// If point `i` is where samples start, notes the rows found before them.
#[inline(always)]
unsafe fn mark_samples(a: &RankArgs, i: u32, found: u32) {
    // SAFETY: the launcher's promise about `row_splits` and `sample_found`.
    unsafe {
        // Empty samples start where the next one does; the search finds the last of them. At the
        // end that is the total.
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
