//! First-seen rows of cells that have slots in the order of their ids.

use super::bits::Bits;
use super::*;

/// Arguments of [`MarkFirsts`] and [`Order`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OrderArgs {
    /// The number of cells found.
    pub found: Length,
    /// The points of the cells.
    pub slots: Slots,
    /// The first points of cells.
    pub firsts: Bits,
    /// From [`Mark`].
    pub key_of_point: *const u32,
    /// The samples.
    pub batch: Batch,
    /// For batches: the cells found before each sample, and the rows. Else null.
    pub sample_found: *const u32,
    /// See `sample_found`.
    pub voxel_splits: *const u32,
    /// `[found]`: the row of each cell, or none.
    pub row_of_cell: *mut u32,
    /// `[rows]`: the cell of each row.
    pub order: *mut u32,
    /// The coordinates of the rows.
    pub coords: Coords,
}

kernel! {
    /// Marks the first point of each cell. Any number of blocks.
    MarkFirsts = "voxelize_mark_firsts", block BLOCK, shared 0, cooperative false,
    fn(a: OrderArgs) {
        let found = a.found.get();
        let mut cell = global_index();
        while cell < found {
            a.firsts.set(*a.slots.of(cell));
            cell += grid_size() * BLOCK;
        }
    }
}

kernel! {
    /// Gives each cell its row, which is the rank of its first point, or none; then its slots are
    /// emptied. Any number of blocks.
    Order = "voxelize_order", block BLOCK, shared 0, cooperative false,
    fn(a: OrderArgs) {
        let found = a.found.get();
        let mut cell = global_index();
        while cell < found {
            let slots = a.slots.of(cell);
            let first = *slots;
            let key = *a.key_of_point.add(first as usize);
            let sample = if a.sample_found.is_null() { 0 } else { key / a.coords.grid.num_cells() as u32 };
            let row = a.batch.row_of(a.firsts.rank(first), sample, a.sample_found, a.voxel_splits);
            *a.row_of_cell.add(cell as usize) = row;
            if row != NONE {
                *a.order.add(row as usize) = cell;
                a.coords.write(row, key as u64);
            } else {
                Slots::empty(slots, a.slots.max_points);
            }
            cell += grid_size() * BLOCK;
        }
    }
}

/// Arguments of [`FindRows`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FindRowsArgs {
    /// From [`Mark`].
    pub key_of_point: *const u32,
    /// The number of points.
    pub n: u32,
    /// From [`Mark`] and [`RankBits`].
    pub cells: Bits,
    /// From [`Order`].
    pub row_of_cell: *const u32,
    /// `[n]`: the row of each point or -1; null if nobody asked.
    pub point_to_voxel: *mut i32,
    /// Counters.
    pub counters: *mut Counters,
}

kernel! {
    /// Finds the row of each point, where somebody asked, and counts points whose cell has none.
    /// One thread a point.
    FindRows = "voxelize_find_rows", block BLOCK, shared COUNT_WORDS, cooperative true,
    fn(a: FindRowsArgs) {
        // The whole launch agrees: without a dropped cell there is no dropped point.
        if a.point_to_voxel.is_null() && (*a.counters).found == (*a.counters).voxels {
            return;
        }
        let i = global_index();
        let key = if i < a.n { *a.key_of_point.add(i as usize) } else { OUT_OF_RANGE };
        let row = if key < NON_FINITE { *a.row_of_cell.add(a.cells.rank(key) as usize) } else { NONE };
        if i < a.n && !a.point_to_voxel.is_null() {
            *a.point_to_voxel.add(i as usize) = row as i32;
        }
        let dropped = ballot(key < NON_FINITE && row == NONE).count_ones();
        count_in_block([&raw mut (*a.counters).dropped_voxel], [dropped], Shared::at(0));
    }
}
