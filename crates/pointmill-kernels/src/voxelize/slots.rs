//! The points of rows, while they are gathered.

use super::NONE;

/// The points of each row, while they are gathered.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// `[rows, stride]`: slots for the points of a row, empty before. Null for dynamic
    /// voxelization.
    pub slots: *mut u32,
    /// `[rows]`: where each row's slots are, where rows were put into another order than their
    /// slots. Else null.
    pub order: *const u32,
    /// Slots a row has: a multiple of four, so that four can be read at once.
    pub stride: u32,
    /// Most points of a row, M.
    pub max_points: u32,
}

impl Slots {
    /// Slots a row needs for `max_points` points.
    pub const fn stride(max_points: u32) -> u32 {
        max_points.next_multiple_of(4)
    }
}

impl Slots {
    /// The slots of a row.
    ///
    /// # Safety
    /// `row` is a row, and its place is known.
    #[inline(always)]
    pub(super) unsafe fn of(&self, row: u32) -> *mut u32 {
        // SAFETY: the caller promises that `row` is a row; each has a place.
        let place = if self.order.is_null() { row } else { unsafe { *self.order.add(row as usize) } };
        // SAFETY: each place has `stride` slots.
        unsafe { self.slots.add(place as usize * self.stride as usize) }
    }

    /// Empties the slots of a row of `count` points.
    ///
    /// # Safety
    /// As [`Slots::of`].
    #[inline(always)]
    pub(super) unsafe fn empty(slots: *mut u32, count: u32) {
        let mut k = 0;
        while k < count {
            // SAFETY: the caller promises a row, whose slots are whole quads of 16 bytes.
            unsafe { *(slots.add(k as usize) as *mut Four) = Four([NONE; 4]) };
            k += 4;
        }
    }
}

/// Sixteen bytes that are written at once.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub(super) struct Four(pub(super) [u32; 4]);
