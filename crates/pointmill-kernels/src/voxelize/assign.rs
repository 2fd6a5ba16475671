//! Points into rows.

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
    pub table: Table,
    /// Where points go, but for dynamic voxelization.
    pub slots: Slots,
    /// For dynamic voxelization: `[rows]` counts, zero before. Else null.
    pub num_points: *mut u32,
    /// `[n]`: the row of each point or -1; null if nobody asked.
    pub point_to_voxel: *mut i32,
    /// Counters.
    pub counters: *mut Counters,
}

kernel! {
    /// Gives each point its row and the M first points of a row their slots. One thread a point.
    Assign = "voxelize_assign", block BLOCK, shared COUNT_WORDS, cooperative true,
    fn(a: AssignArgs) {
        let i = global_index();
        let slot = if i < a.n { *a.slot_of_point.add(i as usize) } else { OUT_OF_RANGE };
        let row = if slot < NON_FINITE { a.table.row(slot) } else { NONE };
        let is_first = row != NONE && *a.slots.first.add(row as usize) == i;
        let dropped = a.assign(i, slot, row, is_first);
        count_in_block([&raw mut (*a.counters).dropped_voxel], [dropped], Shared::at(0));
    }
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
impl AssignArgs {
    /// Enters point `i` of table entry `slot` into `row`. All lanes of a warp call, with consecutive points. Returns how many points of the warp
    /// have a cell without a row.
    ///
    /// # Safety
    /// As the kernel.
    #[inline(always)]
    pub(super) unsafe fn assign(&self, i: u32, slot: u32, row: u32, is_first: bool) -> u32 {
        // SAFETY: the launcher's promise about the sizes; rows are below their bound.
        unsafe {
            if i < self.n && !self.point_to_voxel.is_null() {
                *self.point_to_voxel.add(i as usize) = row as i32;
            }
            let dropped = ballot(slot < NON_FINITE && row == NONE);
            // Points of the row just before this one in the warp.
            let starts = ballot(starts_run(row));
            let firsts = ballot(is_first);
            let leader = run_start(starts);
            let before = lanes_before() & !((1 << leader) - 1);
            let enters = row != NONE && !is_first && self.num_points.is_null();
            let mut slots = core::ptr::null_mut();
            let mut start = 0;
            if enters {
                slots = self.slots.rest.add(row as usize * self.slots.stride as usize);
                start = smaller(slots, self.slots.max_points - 1, i) + (before & !firsts).count_ones();
            }
            // No point of this warp enters before all have looked, or it would be counted twice.
            sync_warp();
            if enters {
                cascade(slots, self.slots.max_points - 1, start, i);
            } else if row != NONE && before == 0 && !self.num_points.is_null() {
                // The run ends where the next one starts.
                let after = (starts >> lane()) >> 1;
                let len = if after == 0 { WARP - lane() } else { after.trailing_zeros() + 1 };
                atomic_add(self.num_points.add(row as usize), len);
            }
            dropped.count_ones()
        }
    }
}

/// How many of the first slots hold smaller points than `i`; at least that many points come before it for good, because a slot's value only
/// falls. Stops at the first four that are not all smaller.
///
/// The last slot is read with the first four: slots ascend or will, so a smaller point there says that the row is full of smaller ones. Most points of a large cloud end there.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
pub(super) unsafe fn smaller(slots: *const u32, len: u32, i: u32) -> u32 {
    if len == 0 {
        return 0;
    }
    // Four slots in one read: a row's length is a multiple of four. What lies past `len` is empty.
    // SAFETY: the caller's promise, and k < len.
    let quad = |k: u32| unsafe { load_relaxed_x4(slots.add(k as usize)) };
    // SAFETY: len > 0.
    let (last, mut four) = (unsafe { load_relaxed(slots.add(len as usize - 1)) }, quad(0));
    if last < i {
        return len;
    }
    let mut k = 0;
    loop {
        let found = (four[0] < i) as u32 + (four[1] < i) as u32 + (four[2] < i) as u32 + (four[3] < i) as u32;
        k += found;
        if found < 4 || k >= len {
            return k;
        }
        four = quad(k);
    }
}

/// Enters point `i` into the slots of its row from slot `start` on, where at least `start` points of the row are smaller.
///
/// Slot k only ever keeps the smallest of what reaches it, so with that many smaller points this one would be passed on from all earlier
/// slots anyway. A point that comes late to a full row starts past its end and needs no atomic.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
pub(super) unsafe fn cascade(slots: *mut u32, len: u32, start: u32, i: u32) {
    let mut k = start;
    let mut carried = i;
    while k < len {
        // SAFETY: k < len.
        let found = unsafe { atomic_min(slots.add(k as usize), carried) };
        if found == NONE {
            return;
        }
        carried = if found > carried { found } else { carried };
        k += 1;
    }
}
