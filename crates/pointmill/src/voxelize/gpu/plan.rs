//! Which kernels a call runs, and the sizes that they work on.

use super::super::{Job, Pick, RowOrder};
use super::cells::Cells;
use crate::prim::passes_for;
use pointmill_kernels::prim::BLOCK;
use pointmill_kernels::prim::scan::Tiles;
use pointmill_kernels::voxelize as kernels;

/// From here on larger tiles are faster: on an H200 small ones win by 3 % at 1 M points, large ones
/// take 0.60 instead of 0.72 ms at 10 M.
const MANY_POINTS: usize = if cfg!(test) { 1000 } else { 2_000_000 };
/// From here on first-seen rows are found by the bits of their cells: with fewer points the order
/// of rows takes longer than a table.
const MANY_IN_CELLS: usize = if cfg!(test) { 1000 } else { 8_000_000 };
/// The same for batches, whose rows move in a table too.
const MANY_IN_BATCH: usize = if cfg!(test) { 1000 } else { 1_000_000 };

/// How rows are found.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// Rows of cells in the order of their ids, and first-seen rows of many points.
    Cells(Cells),
    /// First-seen rows of one cloud.
    Rows,
    /// Rows that move after they were found: batches and sorted rows otherwise.
    Place,
}

/// Sizes of one call.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) n: u32,
    pub(super) columns: u32,
    pub(super) rows: usize,
    pub(super) way: Way,
    /// Entries of the table minus one.
    pub(super) mask: u32,
    pub(super) sorted: bool,
    /// Whether all keys fit 32 bits.
    pub(super) short_keys: bool,
    pub(super) passes: u32,
    /// Tiles of points, for kernels whose threads handle few or many.
    pub(super) tiles: u32,
    /// Tiles of rows, for lists.
    pub(super) list_tiles: u32,
    /// Words that the tiles take before those of lists.
    pub(super) tile_words: u32,
    /// M, or 0 where rows are found with all of their points: for dynamic voxelization, and for
    /// a choice.
    pub(super) max_points: u32,
    /// M, and how the points of a row are chosen, where these are not the first.
    pub(super) chosen: Option<(u32, Pick)>,
    /// Whether there are points enough for kernels whose threads handle several.
    pub(super) many: bool,
}

impl Plan {
    pub(super) fn new(job: &Job<'_>) -> Self {
        let (n, rows) = (job.input.len(), job.rows_bound());
        // Without samples there are no points, and no keys.
        let keys = (job.grid.num_cells() * job.samples() as u64).max(1);
        let (short_keys, chosen) = (keys <= 1 << 32, job.params.chosen());
        let max_points = job.params.max_points_per_voxel.filter(|_| chosen.is_none()).unwrap_or(0);
        let sorted = job.params.order == RowOrder::Sorted;
        let moves = sorted || job.row_splits.is_some();
        let many = n >= MANY_POINTS;
        let many_in_cells = if job.row_splits.is_some() { MANY_IN_BATCH } else { MANY_IN_CELLS };
        let by_cells = n >= many_in_cells && max_points > 0;
        let way = match Cells::new(n, keys, sorted) {
            Some(cells) if sorted || by_cells => Way::Cells(cells),
            _ if moves => Way::Place,
            _ => Way::Rows,
        };
        // At most half full: the 32 lanes of a warp wait for the longest of their searches.
        let entries = (n as u64).min(keys) * 2;
        let items = if many && !matches!(way, Way::Place) { kernels::MANY } else { kernels::FEW };
        let tiles = (n as u32).div_ceil(kernels::tile(items)).max(1);
        Self {
            n: n as u32,
            columns: job.input.columns() as u32,
            rows,
            way,
            mask: (entries + 1).next_power_of_two().max(4) as u32 - 1,
            sorted,
            short_keys,
            // An even number of passes sorts in place.
            passes: passes_for(keys - 1).next_multiple_of(2),
            tiles,
            list_tiles: rows as u32 / BLOCK + 1,
            tile_words: if let Way::Cells(cells) = way { cells.tile_words() } else { Tiles::words(tiles) },
            max_points,
            chosen,
            many,
        }
    }

    /// Words that the tiles of lists take: of all points, and of those that were chosen.
    pub(super) const fn list_words(&self) -> u32 {
        Tiles::words(self.list_tiles) * if self.chosen.is_some() { 2 } else { 1 }
    }

    /// M, however the points of a row are chosen; 0 for dynamic voxelization.
    pub(super) fn kept(&self) -> u32 {
        self.chosen.map_or(self.max_points, |(most, _)| most)
    }

    /// Rows that have slots.
    pub(super) fn slotted(&self) -> usize {
        match self.way {
            Way::Cells(cells) if cells.reorder() => cells.most,
            _ => self.rows,
        }
    }
}
