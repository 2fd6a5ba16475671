//! Points into cells.

use super::*;
use crate::prim::hash;

/// The points of a call and the cells that they fall into.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Cloud {
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
}

/// No cell.
pub(super) const NO_KEY: u64 = u64::MAX;

impl Cloud {
    /// Point `i`; NaN behind the last.
    ///
    /// # Safety
    /// The pointers are valid.
    #[inline(always)]
    pub(super) unsafe fn point(&self, i: u32) -> [f32; 3] {
        if i >= self.n {
            return [f32::NAN; 3];
        }
        // SAFETY: i < n.
        unsafe {
            let p = self.points.add(i as usize * self.columns as usize);
            [*p, *p.add(1), *p.add(2)]
        }
    }

    /// The key of the cell of point `i`, and 0; or [`NO_KEY`] and why the point has no cell.
    ///
    /// # Safety
    /// As [`Cloud::point`], where `p` comes from.
    #[inline(always)]
    pub(super) unsafe fn key(&self, i: u32, p: [f32; 3]) -> (u64, u32) {
        let wanted = self.strict == 0 || self.grid.range().contains(p);
        match self.grid.cell(p) {
            Some(cell) if wanted => {
                let mut key = self.grid.id(cell);
                if self.batch.samples > 1 {
                    // SAFETY: the caller's promise.
                    key += unsafe { self.batch.sample_of(i) } as u64 * self.grid.num_cells();
                }
                (key, 0)
            }
            _ if !(p[0].is_finite() & p[1].is_finite() & p[2].is_finite()) => (NO_KEY, NON_FINITE),
            _ => (NO_KEY, OUT_OF_RANGE),
        }
    }
}

/// The first lane of this lane's run of equal keys. All lanes call.
///
/// Points that follow each other often share a cell; the first of such a run does the work of all.
/// (`match_any` would find all equal keys of the warp, and takes longer on an H200 than it saves.)
#[inline(always)]
pub(super) fn leader_of_run(key: u64) -> u32 {
    let starts = starts_run(key as u32);
    run_start(ballot(starts_run((key >> 32) as u32) | starts))
}

/// What the first kernel of a call prepares for the others.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Begin {
    /// Words to zero for the kernels that follow.
    pub zero: *mut u32,
    /// How many.
    pub zero_words: u32,
    /// Zeroed here.
    pub counters: *mut Counters,
    /// Points that find the table full are counted here: zero before, and again once a later kernel
    /// has taken it.
    pub lost: Lost,
}

impl Begin {
    /// Zeroes counters and words. All threads of the launch call.
    ///
    /// # Safety
    /// The pointers are valid, and no other thread of the launch touches what they point to, but
    /// for `lost`.
    #[inline(always)]
    pub(super) unsafe fn zero(&self) {
        let i = global_index();
        // SAFETY: the caller's promise.
        unsafe {
            if i < COUNTER_WORDS {
                *(self.counters as *mut u32).add(i as usize) = 0;
            }
            let mut w = i;
            while w < self.zero_words {
                *self.zero.add(w as usize) = 0;
                w += grid_size() * BLOCK;
            }
        }
    }
}

/// Arguments of [`Insert`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InsertArgs {
    /// The points.
    pub cloud: Cloud,
    /// What is zeroed.
    pub begin: Begin,
    /// Empty entries.
    pub table: Table,
    /// `[n]`: the entry of each point, or why it has none.
    pub slot_of_point: *mut u32,
}

kernel! {
    /// Gives the cell of each point an entry. One thread a point, at least one block. (Two points a
    /// thread take 10.0 instead of 7.1 us for a sweep of 111k points on an H200.)
    Insert = "voxelize_insert", block BLOCK, shared 0, cooperative true,
    fn(a: InsertArgs) {
        a.begin.zero();
        let i = global_index();
        let (key, mut slot) = a.cloud.key(i, a.cloud.point(i));
        let leader = leader_of_run(key);
        if key != NO_KEY && lane() == leader {
            slot = a.table.enter(key, i);
            if slot == hash::NONE {
                atomic_add(a.begin.lost.0, 1);
            }
        }
        let shared = shuffle(slot, leader);
        if i < a.cloud.n {
            *a.slot_of_point.add(i as usize) = if key != NO_KEY { shared } else { slot };
        }
    }
}
