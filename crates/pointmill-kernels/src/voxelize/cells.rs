//! Points into the rows of cells in the order of their ids.

use super::bits::Bits;
use super::insert::NO_KEY;
use super::*;

/// Arguments of [`Mark`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MarkArgs {
    /// The points.
    pub cloud: Cloud,
    /// What is zeroed.
    pub begin: Begin,
    /// Gets the keys of all cells with a point.
    pub cells: Bits,
    /// `[n]`: the key of each point's cell, or why it has none.
    pub key_of_point: *mut u32,
}

kernel! {
    /// Marks the cells of points. One block a tile of [`tile`], at least one.
    Mark<ITEMS> = { FEW: "voxelize_mark", MANY: "voxelize_mark_many" },
    block BLOCK, shared 0, cooperative true,
    fn(a: MarkArgs) { a.mark::<ITEMS>() }
}

/// Point number `j` of this thread where each has `ITEMS`.
#[inline(always)]
fn item<const ITEMS: usize>(j: usize) -> u32 {
    (block_index() * ITEMS as u32 + j as u32) * BLOCK + thread_index()
}

impl MarkArgs {
    #[inline(always)]
    unsafe fn mark<const ITEMS: usize>(&self) {
        // SAFETY: the launcher's promise about the sizes; keys are below the bound of the set.
        unsafe {
            self.begin.zero();
            let mut points = [[0.0; 3]; ITEMS];
            for j in 0..ITEMS {
                points[j] = self.cloud.point(item::<ITEMS>(j));
            }
            // The key, or why there is none.
            let mut keys = [0; ITEMS];
            let mut unseen = [false; ITEMS];
            for j in 0..ITEMS {
                let (key, none) = self.cloud.key(item::<ITEMS>(j), points[j]);
                keys[j] = if key == NO_KEY { none } else { key as u32 };
                let leader = run_start(ballot(starts_run(keys[j])));
                unseen[j] = keys[j] < NON_FINITE && lane() == leader;
            }
            // Look first: a read is cheaper than an atomic, and most cells are there already.
            for j in 0..ITEMS {
                unseen[j] = unseen[j] && !self.cells.seen(keys[j]);
            }
            for j in 0..ITEMS {
                let i = item::<ITEMS>(j);
                if unseen[j] {
                    self.cells.set(keys[j]);
                }
                if i < self.cloud.n {
                    *self.key_of_point.add(i as usize) = keys[j];
                }
            }
        }
    }
}

/// Arguments of [`AssignCells`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AssignCellsArgs {
    /// From [`Mark`].
    pub key_of_point: *const u32,
    /// From [`Mark`] and [`RankBits`].
    pub cells: Bits,
    /// The samples.
    pub batch: Batch,
    /// For batches of sorted rows: the cells found before each sample, and the rows. Else null.
    pub sample_found: *const u32,
    /// See `sample_found`.
    pub voxel_splits: *const u32,
    /// Nonzero: each cell gets a row here, whatever the cap; [`Order`] puts them into their order.
    pub all: u32,
    /// Where points go.
    pub members: Members,
    /// The coordinates of the rows.
    pub coords: Coords,
    /// Counters.
    pub counters: *mut Counters,
}

kernel! {
    /// Gives each point the row of its cell and the M first points of a row their slots. One block
    /// a tile of [`tile`].
    AssignCells<ITEMS> = { FEW: "voxelize_assign_cells", MANY: "voxelize_assign_cells_many" },
    block BLOCK, shared 3 * COUNT_WORDS, cooperative true,
    fn(a: AssignCellsArgs) { a.assign::<ITEMS>() }
}

impl AssignCellsArgs {
    #[inline(always)]
    unsafe fn assign<const ITEMS: usize>(&self) {
        // SAFETY: the launcher's promise; rows are below their bound.
        unsafe {
            let mut keys = [OUT_OF_RANGE; ITEMS];
            for j in 0..ITEMS {
                let i = item::<ITEMS>(j);
                if i < self.members.n {
                    keys[j] = *self.key_of_point.add(i as usize);
                }
            }
            let mut rows = [NONE; ITEMS];
            for j in 0..ITEMS {
                if keys[j] < NON_FINITE {
                    rows[j] = self.row_of(keys[j]);
                }
            }
            let mut of_warp = [0; 3];
            for j in 0..ITEMS {
                let i = item::<ITEMS>(j);
                of_warp[0] += ballot(keys[j] == NON_FINITE).count_ones();
                of_warp[1] += ballot(keys[j] == OUT_OF_RANGE && i < self.members.n).count_ones();
                of_warp[2] += ballot(keys[j] < NON_FINITE && rows[j] == NONE).count_ones();
                self.members.note(i, rows[j]);
            }
            // Most of many points come to a row that is full.
            if ITEMS > FEW {
                for j in 0..ITEMS {
                    if rows[j] != NONE && self.members.passes(item::<ITEMS>(j), rows[j]) {
                        rows[j] = NONE;
                    }
                }
            }
            for j in 0..ITEMS {
                if self.members.enter::<false>(item::<ITEMS>(j), rows[j], false) && self.all == 0 {
                    self.coords.write(rows[j], keys[j] as u64);
                }
            }
            let c = self.counters;
            let counters = [&raw mut (*c).non_finite, &raw mut (*c).out_of_range, &raw mut (*c).dropped_voxel];
            count_in_block(counters, of_warp, Shared::at(0));
        }
    }

    /// The row of a cell.
    #[inline(always)]
    unsafe fn row_of(&self, key: u32) -> u32 {
        // SAFETY: the launcher's promise; the key is of a cell that was marked.
        unsafe {
            let found = self.cells.rank(key);
            if self.all != 0 {
                return found;
            }
            let sample = if self.sample_found.is_null() { 0 } else { key / self.coords.grid.num_cells() as u32 };
            self.batch.row_of(found, sample, self.sample_found, self.voxel_splits)
        }
    }
}
