//! Points into records.

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use super::assign::{cascade, smaller};
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use super::insert::{NO_KEY, leader_of_run};
use super::*;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use crate::prim::hash;

/// Arguments of [`Collect`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CollectArgs {
    /// The points, of one sample.
    pub cloud: Cloud,
    /// What is zeroed.
    pub begin: Begin,
    /// Empty records.
    pub records: Records,
    /// Most points of a row, M, at most [`REST`] + 1.
    pub max_points: u32,
    /// `[n]`: the record of each point, or why it has none.
    pub slot_of_point: *mut u32,
}

kernel! {
    /// Gives the cell of each point a record, and the record the M first points of its cell. One thread a point, at least one block.
    ///
    /// The result does not depend on which thread comes first. An index is in one place at any time: the first point of a record, one of its slots, or in the hands of a
    /// thread. Each place only falls, and what a smaller index pushes out goes on to the next slot. When all threads are done no place could fall any more.
    Collect = "voxelize_collect", block BLOCK, shared 0, cooperative true,
    fn(a: CollectArgs) {
        a.begin.zero();
        let i = global_index();
        let (key, mut slot) = a.cloud.key(i);
        let leader = leader_of_run(key);
        // What this thread carries to the slots; the first of a run carries what it pushed out.
        let mut carried = if key != NO_KEY { i } else { NONE };
        if key != NO_KEY && lane() == leader {
            (slot, carried) = a.records.enter(key as u32, i);
            if slot == hash::NONE {
                atomic_add(a.begin.lost.0, 1);
            }
        }
        let shared = shuffle(slot, leader);
        if key != NO_KEY {
            slot = shared;
        }
        if i < a.cloud.n {
            *a.slot_of_point.add(i as usize) = slot;
        }
        let enters = slot < NON_FINITE && carried != NONE;
        let len = a.max_points - 1;
        let mut rest = core::ptr::null_mut();
        let mut start = 0;
        if enters {
            rest = a.records.rest(slot);
            // The points before this one in its run go to slots too, but for one that may be the cell's first.
            let before = lane() - leader;
            start = smaller(rest, len, carried) + if before > 0 { before - 1 } else { 0 };
        }
        // No point of this warp enters before all have looked, or it would be counted twice.
        sync_warp();
        if enters {
            cascade(rest, len, start, carried);
        }
    }
}
