//! Which kernels a call runs, and the sizes that they work on.

use super::super::{Job, RowOrder};
use crate::prim::passes_for;
use pointmill_kernels::prim::BLOCK;
use pointmill_kernels::voxelize as kernels;

/// From here on larger tiles are faster: on an H200 small ones win by 3 % at 1 M points, large ones take 0.60 instead of 0.72 ms at 10 M.
const MANY_POINTS: usize = if cfg!(test) { 1000 } else { 2_000_000 };
/// Up to here the records of a call take at most 64 MiB.
const MOST_IN_RECORDS: usize = 1 << 19;

/// Sizes of one call.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) n: u32,
    pub(super) columns: u32,
    pub(super) rows: usize,
    pub(super) mask: u32,
    /// Whether cells keep their points in records.
    pub(super) records: bool,
    /// Whether rows move after they were found: batches and sorted rows.
    pub(super) place: bool,
    pub(super) sorted: bool,
    /// Whether all keys fit 32 bits.
    pub(super) short_keys: bool,
    pub(super) passes: u32,
    /// Whether there are points enough for the kernel with larger tiles.
    pub(super) many: bool,
    pub(super) rank_tiles: u32,
    pub(super) list_tiles: u32,
    /// M, or 0 for dynamic voxelization.
    pub(super) max_points: u32,
}

impl Plan {
    pub(super) fn new(job: &Job<'_>) -> Self {
        let (n, rows) = (job.input.len(), job.rows_bound());
        // Without samples there are no points, and no keys.
        let keys = (job.grid.num_cells() * job.samples() as u64).max(1);
        let sorted = job.params.order == RowOrder::Sorted;
        let place = sorted || job.row_splits.is_some();
        let (short_keys, max_points) = (keys <= 1 << 32, job.params.max_points_per_voxel.unwrap_or(0));
        let fit = (1..=kernels::REST + 1).contains(&max_points) && n <= MOST_IN_RECORDS;
        let records = fit && short_keys && !place && !job.params.needs_lists();
        let most = (n as u64).min(keys);
        // At most half full: the 32 lanes of a warp wait for the longest of their searches. Records are larger and may fill three quarters.
        let entries = if records { most * 4 / 3 } else { most * 2 };
        let many = n >= MANY_POINTS && !place && !records;
        Self {
            n: n as u32,
            columns: job.input.columns() as u32,
            rows,
            mask: (entries + 1).next_power_of_two().max(4) as u32 - 1,
            records,
            place,
            sorted,
            short_keys,
            // An even number of passes sorts in place.
            passes: passes_for(keys - 1).next_multiple_of(2),
            many,
            rank_tiles: (n as u32).div_ceil(if many { kernels::LARGE_TILE } else { kernels::TILE }).max(1),
            list_tiles: rows as u32 / BLOCK + 1,
            max_points,
        }
    }
}
