//! From rows back to points: each point's row, and its slot there.

use super::*;

/// Arguments of [`Assign`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AssignArgs {
    /// From [`Insert`].
    pub slot_of_point: *const u32,
    /// The number of points.
    pub n: u32,
    /// Entries with their rows.
    pub table: *const Entry,
    /// `[rows, max_points]` slots, empty before. Null for dynamic voxelization.
    pub slots: *mut u32,
    /// Most points of a row, M.
    pub max_points: u32,
    /// For dynamic voxelization: `[rows]` counts. Else null.
    pub num_points: *mut u32,
    /// `[n]`: the row of each point or -1; null if nobody asked.
    pub point_to_voxel: *mut i32,
    /// Counters.
    pub counters: *mut Counters,
}

kernel! {
    /// Gives each point its row and the M first points of a row their slots. One thread a point.
    Assign = "voxelize_assign", block BLOCK, shared 0, cooperative true,
    fn(a: AssignArgs) {
        let i = global_index();
        let mut row = NONE;
        let mut dropped = false;
        if i < a.n {
            let slot = *a.slot_of_point.add(i as usize);
            if slot < NON_FINITE {
                row = (*a.table.add(slot as usize)).row;
                dropped = row == NONE;
            }
            if !a.point_to_voxel.is_null() {
                *a.point_to_voxel.add(i as usize) = row as i32;
            }
        }
        count_in_warp(&raw mut (*a.counters).dropped_voxel, dropped);
        let peers = match_any(row);
        let before = (peers & lanes_before()).count_ones();
        if row != NONE {
            if a.slots.is_null() {
                if before == 0 {
                    atomic_add(a.num_points.add(row as usize), peers.count_ones());
                }
            } else if before < a.max_points {
                cascade(a.slots.add(row as usize * a.max_points as usize), a.max_points, before, i);
            }
        }
    }
}

/// Enters point `i` into the slots of its row, given that `before` points of the row with smaller indices enter too.
///
/// Starting at slot `before` is right because slot k only ever keeps the smallest of what reaches it: with the smaller
/// points there, this one would be passed on from all earlier slots anyway.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn cascade(slots: *mut u32, max_points: u32, before: u32, i: u32) {
    let mut k = before;
    let mut carried = i;
    while k < max_points {
        // SAFETY: k < max_points, the length of the row.
        let slot = unsafe { slots.add(k as usize) };
        // A slot's value only falls, so one that is smaller already stays smaller: pass on without an atomic. A point that comes
        // late to a full row leaves this way.
        // SAFETY: as above.
        if unsafe { load_relaxed(slot) } > carried {
            // SAFETY: as above.
            let found = unsafe { atomic_min(slot, carried) };
            if found == NONE {
                return;
            }
            carried = if found > carried { found } else { carried };
        }
        k += 1;
    }
}
