//! Points into cells.

use super::*;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use crate::prim::hash;

/// Arguments of [`Insert`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InsertArgs {
    /// `[n, columns]`.
    pub points: *const f32,
    /// Values a point has.
    pub columns: u32,
    /// The number of points.
    pub n: u32,
    /// The grid.
    pub grid: VoxelGrid,
    /// Nonzero: points must also lie in `min <= p < max`.
    pub strict: u32,
    /// The samples.
    pub batch: Batch,
    /// Empty entries.
    pub table: Table,
    /// `[n]`: the entry of each point, or why it has none.
    pub slot_of_point: *mut u32,
    /// Words to zero for the kernels that follow.
    pub zero: *mut u32,
    /// How many.
    pub zero_words: u32,
    /// Zeroed here.
    pub counters: *mut Counters,
    /// Points that find the table full are counted here: zero before, and again once the next kernel has taken it.
    pub lost: Lost,
}

kernel! {
    /// Gives the cell of each point an entry. One thread a point, at least one block. (Two points a thread take 10.0 instead of 7.1 us for a sweep
    /// of 111k points on an H200.)
    Insert = "voxelize_insert", block BLOCK, shared 0, cooperative true,
    fn(a: InsertArgs) {
        let i = global_index();
        if i < COUNTER_WORDS {
            *(a.counters as *mut u32).add(i as usize) = 0;
        }
        let mut w = i;
        while w < a.zero_words {
            *a.zero.add(w as usize) = 0;
            w += grid_size() * BLOCK;
        }

        let mut key = u64::MAX;
        let mut slot = OUT_OF_RANGE;
        if i < a.n {
            let p = a.points.add(i as usize * a.columns as usize);
            let p = [*p, *p.add(1), *p.add(2)];
            let wanted = a.strict == 0 || a.grid.range().contains(p);
            match a.grid.cell(p) {
                Some(cell) if wanted => {
                    key = a.grid.id(cell);
                    if a.batch.samples > 1 {
                        key += a.batch.sample_of(i) as u64 * a.grid.num_cells();
                    }
                }
                _ if !(p[0].is_finite() & p[1].is_finite() & p[2].is_finite()) => slot = NON_FINITE,
                _ => {}
            }
        }
        // Points that follow each other often share a cell; the first of such a run speaks for all. (`match_any` would find all equal keys of the
        // warp, and takes longer on an H200 than it saves.)
        let starts = starts_run(key as u32);
        let leader = run_start(ballot(starts_run((key >> 32) as u32) | starts));
        if key != u64::MAX && lane() == leader {
            slot = a.table.enter(key, i);
            if slot == hash::NONE {
                atomic_add(a.lost.0, 1);
            }
        }
        let shared = shuffle(slot, leader);
        if i < a.n {
            *a.slot_of_point.add(i as usize) = if key != u64::MAX { shared } else { slot };
        }
    }
}
