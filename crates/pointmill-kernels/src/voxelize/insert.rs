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
}

/// Points a thread handles: their loads and their atomics are in flight together.
pub const POINTS_PER_THREAD: u32 = 1;

kernel! {
    /// Gives the cell of each point an entry. One thread for [`POINTS_PER_THREAD`] points, at least one block.
    Insert = "voxelize_insert", block BLOCK, shared 0, cooperative true,
    fn(a: InsertArgs) {
        let mut w = global_index();
        if w < COUNTER_WORDS {
            *(a.counters as *mut u32).add(w as usize) = 0;
        }
        while w < a.zero_words {
            *a.zero.add(w as usize) = 0;
            w += grid_size() * BLOCK;
        }
        let start = block_index() * (BLOCK * POINTS_PER_THREAD) + thread_index();
        let mut keys = [u64::MAX; POINTS_PER_THREAD as usize];
        let mut slots = [OUT_OF_RANGE; POINTS_PER_THREAD as usize];
        let mut points = [[f32::NAN; 3]; POINTS_PER_THREAD as usize];
        for j in 0..POINTS_PER_THREAD as usize {
            let i = start + j as u32 * BLOCK;
            if i < a.n {
                let p = a.points.add(i as usize * a.columns as usize);
                points[j] = [*p, *p.add(1), *p.add(2)];
            }
        }
        for j in 0..POINTS_PER_THREAD as usize {
            let p = points[j];
            let wanted = a.strict == 0 || a.grid.range().contains(p);
            match a.grid.cell(p) {
                Some(cell) if wanted => {
                    keys[j] = a.grid.id(cell);
                    if a.batch.samples > 1 {
                        keys[j] += a.batch.sample_of(start + j as u32 * BLOCK) as u64 * a.grid.num_cells();
                    }
                }
                _ if !(p[0].is_finite() & p[1].is_finite() & p[2].is_finite()) => slots[j] = NON_FINITE,
                _ => {}
            }
        }
        // Points that follow each other often share a cell; the first of such a run speaks for all. (`match_any` would find all equal keys of the
        // warp, and takes longer on an H200 than it saves.)
        let mut leaders = [0; POINTS_PER_THREAD as usize];
        for j in 0..POINTS_PER_THREAD as usize {
            let starts = starts_run(keys[j] as u32);
            leaders[j] = run_start(ballot(starts_run((keys[j] >> 32) as u32) | starts));
        }
        for j in 0..POINTS_PER_THREAD as usize {
            if keys[j] != u64::MAX && lane() == leaders[j] {
                slots[j] = a.table.enter(keys[j], start + j as u32 * BLOCK);
                if slots[j] == hash::NONE {
                    atomic_add(&raw mut (*a.counters).lost, 1);
                }
            }
        }
        for j in 0..POINTS_PER_THREAD as usize {
            let i = start + j as u32 * BLOCK;
            let shared = shuffle(slots[j], leaders[j]);
            if i < a.n {
                *a.slot_of_point.add(i as usize) = if keys[j] != u64::MAX { shared } else { slots[j] };
            }
        }
    }
}
