//! Points into the rows of cells in the order of their ids.

use super::bits::Bits;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use super::insert::{NO_KEY, leader_of_run};
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
    /// Marks the cells of points. One thread a point, at least one block.
    Mark = "voxelize_mark", block BLOCK, shared 0, cooperative true,
    fn(a: MarkArgs) {
        a.begin.zero();
        let i = global_index();
        let (key, none) = a.cloud.key(i);
        let leader = leader_of_run(key);
        if key != NO_KEY && lane() == leader {
            a.cells.set(key as u32);
        }
        if i < a.cloud.n {
            *a.key_of_point.add(i as usize) = if key != NO_KEY { key as u32 } else { none };
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
    /// Gives each point the row of its cell and the M first points of a row their slots. One thread a point.
    AssignCells = "voxelize_assign_cells", block BLOCK, shared 3 * COUNT_WORDS, cooperative true,
    fn(a: AssignCellsArgs) {
        let i = global_index();
        let key = if i < a.members.n { *a.key_of_point.add(i as usize) } else { OUT_OF_RANGE };
        let row = if key < NON_FINITE { a.row_of(key) } else { NONE };
        if a.members.enter(i, row) && a.all == 0 {
            a.coords.write(row, key as u64);
        }
        let of_warp = [
            ballot(key == NON_FINITE).count_ones(),
            ballot(key == OUT_OF_RANGE && i < a.members.n).count_ones(),
            ballot(key < NON_FINITE && row == NONE).count_ones(),
        ];
        let c = a.counters;
        let counters = [&raw mut (*c).non_finite, &raw mut (*c).out_of_range, &raw mut (*c).dropped_voxel];
        count_in_block(counters, of_warp, Shared::at(0));
    }
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
impl AssignCellsArgs {
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
