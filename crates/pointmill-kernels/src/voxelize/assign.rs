//! Points into rows.

use super::*;

/// Where the points of rows go.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Members {
    /// The number of points.
    pub n: u32,
    /// Slots, but for dynamic voxelization.
    pub slots: Slots,
    /// For dynamic voxelization: `[rows]` counts, zero before. Else null.
    pub num_points: *mut u32,
    /// `[n]`: the row of each point or -1; null if nobody asked.
    pub point_to_voxel: *mut i32,
}

/// Arguments of [`Assign`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AssignArgs {
    /// From [`Insert`].
    pub slot_of_point: *const u32,
    /// Entries with their rows.
    pub table: Table,
    /// Where points go.
    pub members: Members,
    /// Counters.
    pub counters: *mut Counters,
}

kernel! {
    /// Gives each point its row and the M first points of a row their slots. One thread a point.
    Assign = "voxelize_assign", block BLOCK, shared COUNT_WORDS, cooperative true,
    fn(a: AssignArgs) {
        let i = global_index();
        let slot = if i < a.members.n { *a.slot_of_point.add(i as usize) } else { OUT_OF_RANGE };
        let row = if slot < NON_FINITE { a.table.row(slot) } else { NONE };
        let dropped = ballot(slot < NON_FINITE && row == NONE).count_ones();
        a.members.note(i, row);
        a.members.enter::<false>(i, row, false);
        count_in_block([&raw mut (*a.counters).dropped_voxel], [dropped], Shared::at(0));
    }
}

impl Members {
    /// Notes the row of point `i`, where somebody asked.
    ///
    /// # Safety
    /// The pointers are valid.
    #[inline(always)]
    pub(super) unsafe fn note(&self, i: u32, row: u32) {
        if i < self.n && !self.point_to_voxel.is_null() {
            // SAFETY: i < n.
            unsafe { *self.point_to_voxel.add(i as usize) = row as i32 };
        }
    }

    /// Whether `row` is known to be full of points before `i`: one read of its last slot. Slots
    /// only fall, so an older value is no smaller, and says no where it differs.
    ///
    /// # Safety
    /// The pointers are valid, and the row is below their bound.
    #[inline(always)]
    pub(super) unsafe fn passes(&self, i: u32, row: u32) -> bool {
        // SAFETY: the caller's promise; a row has a last slot.
        self.num_points.is_null()
            && unsafe { load_stale(self.slots.of(row).add(self.slots.max_points as usize - 1)) } < i
    }

    /// Gives a row its first point, which [`Members::enter`] must know of.
    ///
    /// # Safety
    /// As [`Members::passes`], and no other thread gives the row a first point.
    #[inline(always)]
    pub(super) unsafe fn open(&self, i: u32, row: u32) {
        if self.num_points.is_null() {
            // SAFETY: the caller's promise; a row has a first slot.
            unsafe { store_relaxed(self.slots.of(row), i) };
        }
    }

    /// Enters point `i` into `row`, if it has one. All lanes of a warp call, with consecutive
    /// points. Returns whether the row had no point before, which is true in one thread of a launch
    /// for each row.
    ///
    /// If `OPENED`, the first point of each row is known: it has the first slot by
    /// [`Members::open`], whether that is seen here or not, and other points go behind it. Such a
    /// point needs no atomic, and in a cloud of many small rows it is every second or third point.
    ///
    /// # Safety
    /// As [`Members::passes`].
    #[inline(always)]
    pub(super) unsafe fn enter<const OPENED: bool>(&self, i: u32, row: u32, is_first: bool) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            // Points of the row just before this one in the warp, but for its first.
            let starts = ballot(starts_run(row));
            let leader = run_start(starts);
            let before = if OPENED {
                let others = !ballot(is_first) & !((1 << leader) - 1);
                (lanes_before() & others).count_ones()
            } else {
                lane() - leader
            };
            let enters = row != NONE && !is_first && self.num_points.is_null();
            let mut slots = core::ptr::null_mut();
            let mut start = 0;
            if enters {
                slots = self.slots.of(row);
                start = smaller::<OPENED>(slots, self.slots.max_points, i) + before;
            }
            // No point of this warp enters before all have looked, or it would be counted twice.
            sync_warp();
            if enters {
                return cascade(slots, self.slots.max_points, start, i);
            }
            if row != NONE && leader == lane() && !self.num_points.is_null() {
                // The run ends where the next one starts.
                let after = (starts >> lane()) >> 1;
                let len = if after == 0 { WARP - lane() } else { after.trailing_zeros() + 1 };
                return atomic_add(self.num_points.add(row as usize), len) == 0;
            }
            false
        }
    }
}

/// How many of the first slots hold smaller points than `i`; at least that many points come before
/// it for good, because a slot's value only falls. Stops at the first four that are not all
/// smaller. If `OPENED`, the first slot counts, whatever is seen in it.
///
/// The last slot is read with the first four: slots ascend or will, so a smaller point there says
/// that the row is full of smaller ones. Most points of a large cloud end there.
#[inline(always)]
unsafe fn smaller<const OPENED: bool>(slots: *const u32, len: u32, i: u32) -> u32 {
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
    if OPENED {
        four[0] = 0;
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

/// Enters point `i` into the slots of its row from slot `start` on, where at least `start` points
/// of the row are smaller.
///
/// Slot k only ever keeps the smallest of what reaches it, so with that many smaller points this
/// one would be passed on from all earlier slots anyway. A point that comes late to a full row
/// starts past its end and needs no atomic. Returns whether no slot had a point: of all points of a
/// row one finds the first slot empty.
#[inline(always)]
unsafe fn cascade(slots: *mut u32, len: u32, start: u32, i: u32) -> bool {
    let mut k = start;
    let mut carried = i;
    while k < len {
        // SAFETY: k < len.
        let found = unsafe { atomic_min(slots.add(k as usize), carried) };
        if found == NONE {
            return k == 0;
        }
        carried = if found > carried { found } else { carried };
        k += 1;
    }
    false
}
