//! Rows that move once all are known: batches and sorted rows.

use super::super::{VoxelArray, Voxels};
use super::{Call, Workspace};
use crate::Result;
use crate::prim::Pairs;
use pointmill_kernels::prim::{BLOCK, Length};
use pointmill_kernels::voxelize as kernels;
use std::ptr::null_mut;

impl Workspace {
    /// Finds the rows, puts them into their final order and keeps what the caps leave.
    ///
    /// # Safety
    /// There is room for what the plan says, and points are in the table.
    pub(super) unsafe fn place_rows(
        &mut self,
        call: &Call<'_>,
        table: kernels::Table,
        for_host: kernels::ForHost,
        out: &Voxels,
    ) -> Result<()> {
        let &Call { ref plan, job, counters, tiles, lost, .. } = call;
        let (stream, batch) = (self.stream.clone(), call.cloud.batch);
        let sample_found = if job.row_splits.is_some() { self.sample_found.pointer() } else { null_mut() };
        let short_keys = plan.sorted && plan.short_keys;
        let rank = kernels::RankArgs {
            slot_of_point: self.slot_of_point.pointer(),
            n: plan.n,
            batch,
            table,
            tiles,
            counters,
            row_keys: if short_keys { null_mut() } else { self.row_keys.pointer() },
            row_keys_u32: if short_keys { self.row_keys_u32.pointer() } else { null_mut() },
            row_slots: self.row_slots.pointer(),
            sample_found,
        };
        let arrays = &out.arrays;
        let voxel_splits = match job.row_splits {
            Some(_) => arrays.pointer(VoxelArray::VoxelSplits),
            None => self.voxel_splits.pointer(),
        };
        let samples = kernels::SamplesArgs { batch, sample_found, voxel_splits, counters, lost, for_host };
        // SAFETY: the caller's promise about the sizes.
        unsafe {
            stream.launch::<kernels::Rank>(plan.tiles, rank)?;
            stream.launch::<kernels::Samples>(1, samples)?;
        }
        // SAFETY: a field of the counters.
        let found = Length { bound: plan.n, exact: unsafe { &raw const (*counters).found } };
        if short_keys {
            let pairs = Pairs { keys: rank.row_keys_u32, values: rank.row_slots };
            // SAFETY: as above, and the number of passes is even.
            unsafe { self.sorter_u32.enqueue(pairs, pairs, found, plan.passes) }?;
        } else if plan.sorted {
            let pairs = Pairs { keys: rank.row_keys, values: rank.row_slots };
            // SAFETY: as above, and the number of passes is even.
            unsafe { self.sorter.enqueue(pairs, pairs, found, plan.passes) }?;
        }
        let place = kernels::PlaceArgs {
            batch,
            found,
            keys: rank.row_keys,
            keys_u32: rank.row_keys_u32,
            slots: rank.row_slots,
            sample_found,
            voxel_splits,
            table,
            coords: call.coords(out),
        };
        // SAFETY: as above.
        unsafe { stream.launch::<kernels::Place>(plan.n.div_ceil(BLOCK).max(1), place) }
    }
}
