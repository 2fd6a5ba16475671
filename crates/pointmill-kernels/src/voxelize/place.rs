//! Final rows, where they are not the first-seen rows of one sample.

use super::*;

/// Arguments of [`Samples`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SamplesArgs {
    /// The samples.
    pub batch: Batch,
    /// Rows found before each sample, `samples + 1`; null for one sample.
    pub sample_found: *const u32,
    /// Rows kept before each sample, `samples + 1`.
    pub voxel_splits: *mut u32,
    /// Gets the number of rows kept.
    pub counters: *mut Counters,
    /// From [`Insert`]; zeroed here.
    pub lost: Lost,
    /// See [`ForHost`].
    pub for_host: ForHost,
}

kernel! {
    /// Where each sample's rows start in the result. One block.
    Samples = "voxelize_samples", block BLOCK, shared scan::SHARED_WORDS, cooperative true,
    fn(a: SamplesArgs) {
        let sums = Shared::at(0);
        let mut kept_before = 0;
        let mut chunk = 0;
        while chunk < a.batch.samples {
            let b = chunk + thread_index();
            let mut kept = 0;
            if b < a.batch.samples {
                let found = if a.sample_found.is_null() {
                    (*a.counters).found
                } else {
                    *a.sample_found.add(b as usize + 1) - *a.sample_found.add(b as usize)
                };
                kept = if found < a.batch.max_voxels { found } else { a.batch.max_voxels };
            }
            let inclusive = warp_inclusive_sum(kept);
            if lane() == WARP - 1 {
                sums.set(warp(), inclusive);
            }
            sync_block();
            let mut before = kept_before + inclusive - kept;
            for w in 0..BLOCK / WARP {
                before += if w < warp() { sums.get(w) } else { 0 };
                kept_before += sums.get(w);
            }
            if b < a.batch.samples {
                *a.voxel_splits.add(b as usize) = before;
            }
            chunk += BLOCK;
            sync_block();
        }
        if thread_index() == 0 {
            *a.voxel_splits.add(a.batch.samples as usize) = kept_before;
            (*a.counters).voxels = kept_before;
            a.for_host.tell(kept_before, a.lost.take(a.counters));
        }
    }
}

/// Arguments of [`Place`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PlaceArgs {
    /// The samples.
    pub batch: Batch,
    /// The number of rows found.
    pub found: Length,
    /// The key of each row, in the wanted order, ...
    pub keys: *const u64,
    /// ... or here, if they are short. Else null.
    pub keys_u32: *const u32,
    /// The entry of each row, in the wanted order.
    pub slots: *const u32,
    /// Rows found before each sample; null for one sample.
    pub sample_found: *const u32,
    /// From [`Samples`].
    pub voxel_splits: *const u32,
    /// Entries get their final row.
    pub table: Table,
    /// The coordinates of the rows.
    pub coords: Coords,
}

kernel! {
    /// Gives each row found its final place, or none. One thread a row.
    Place = "voxelize_place", block BLOCK, shared 0, cooperative false,
    fn(a: PlaceArgs) {
        let r = global_index();
        if r < a.found.get() {
            let key = if a.keys_u32.is_null() { *a.keys.add(r as usize) } else { *a.keys_u32.add(r as usize) as u64 };
            let sample = if a.coords.batched != 0 { key / a.coords.grid.num_cells() } else { 0 };
            let row = a.batch.row_of(r, sample as u32, a.sample_found, a.voxel_splits);
            if row != NONE {
                a.coords.write(row, key);
            }
            a.table.close(*a.slots.add(r as usize), row);
        }
    }
}
