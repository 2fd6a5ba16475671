//! The points of a box, sorted by voxel, into rows.

use super::block::{THREADS, exclusive_sum};
use super::*;

impl CollectArgs {
    /// Sorted pairs into rows. `starts` is shared memory for the starts of few.
    #[inline(always)]
    pub(super) unsafe fn rows(&self, b: u32, n: u32, start: u32, pairs: &order::Pairs, starts: Shared) {
        let sums = Shared::at(collect::SUMS);
        // SAFETY: the box's records begin there.
        let records = unsafe { self.lists.records.add(start as usize) };
        let mut rows = 0;
        let mut first = 0;
        while first < n {
            let e = first + thread_index();
            // SAFETY: `e` is below `n`.
            let heads = e < n && (e == 0 || unsafe { pairs.voxel(e - 1) != pairs.voxel(e) });
            let (rank, sum) = exclusive_sum(heads as u32, sums);
            if heads {
                if pairs.few() {
                    starts.set(rows + rank, e);
                } else {
                    // SAFETY: there are no more rows than pairs, and room for as many.
                    unsafe { (*records.add((rows + rank) as usize)).start = e };
                }
            }
            rows += sum;
            first += THREADS;
            sync_block();
        }
        let start_of = |r: u32| {
            if r >= rows {
                n
            } else if pairs.few() {
                starts.get(r)
            } else {
                // SAFETY: `r` is below the number of rows.
                unsafe { (*records.add(r as usize)).start }
            }
        };
        let mut kept = 0;
        let mut first = 0;
        while first < rows {
            let r = first + thread_index();
            let own = start_of(r);
            let count = start_of(r + 1) - own;
            let count = if count < self.keep { count } else { self.keep };
            let (before, sum) = exclusive_sum(count, sums);
            if r < rows {
                // SAFETY: a row starts at a pair.
                let voxel = unsafe { pairs.voxel(own) };
                let record = Record { voxel, start: own, kept_start: kept + before, count };
                // SAFETY: `r` is below the number of rows.
                unsafe { *records.add(r as usize) = record };
            }
            kept += sum;
            first += THREADS;
            sync_block();
        }
        if thread_index() == 0 {
            // SAFETY: the caller promises that `b` is a box.
            unsafe { self.finish(b, start, n, rows, kept) };
        }
    }
}
