//! The table of cells that hold their points.

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use super::*;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use crate::prim::hash;
use pointmill_core::hash::Seed;

/// Points that a record holds after the first.
pub const REST: u32 = 12;

/// A cell with its points, all ones when empty: 64 bytes, so that a row is made of one line of the cache.
///
/// `[first, key, row, -]`, then the points after the first, ascending once all have come. `row` is the cell's row once it has one, and stays when the record is emptied.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_arch = "nvptx64"), derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Record(pub [u32; 16]);

/// A table of records; keys fit 32 bits.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Records {
    /// `mask + 1` records.
    pub records: *mut Record,
    /// Records minus one; records are a power of two, at least 4.
    pub mask: u32,
    /// By which keys are spread.
    pub seed: Seed,
}

/// Words of a record.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
const ROW: usize = 2;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
const FIRST_OF_REST: usize = 4;

// SAFETY (all blocks below): slots come from the table and are at most `mask`; the caller promises valid records.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[allow(clippy::undocumented_unsafe_blocks)]
impl Records {
    #[inline(always)]
    unsafe fn word(&self, slot: u32, word: usize) -> *mut u32 {
        unsafe { self.records.cast::<u32>().add(slot as usize * 16 + word) }
    }

    /// Enters a cell with point `i`. Returns its slot and the point that goes on to the record's other points: the larger one of `i` and the first point so far, or [`NONE`] if there was
    /// none. The slot is [`hash::NONE`] if the table is full.
    ///
    /// Key and first point travel in one word, so that one compare-and-swap enters both, and one minimum lowers the point.
    ///
    /// # Safety
    /// The table's records are valid.
    #[inline(always)]
    pub(super) unsafe fn enter(&self, key: u32, i: u32) -> (u32, u32) {
        let packed = (key as u64) << 32 | i as u64;
        let mut slot = pointmill_core::hash::first_slot(key as u64, self.mask, self.seed);
        let mut left = self.mask;
        loop {
            let entry = unsafe { self.word(slot, 0) }.cast::<u64>();
            // Look first: a read is cheaper than an atomic, and most cells are there already.
            let mut old = unsafe { load_relaxed_u64(entry) };
            if old == u64::MAX {
                old = unsafe { compare_and_swap_u64(entry, u64::MAX, packed) };
                if old == u64::MAX {
                    unsafe { store_relaxed(self.word(slot, ROW), PENDING) };
                    return (slot, NONE);
                }
            }
            if (old >> 32) as u32 == key {
                if old > packed {
                    old = unsafe { atomic_min_u64(entry, packed) };
                }
                let first = old as u32;
                return (slot, if first > i { first } else { i });
            }
            if left == 0 {
                return (hash::NONE, NONE);
            }
            left -= 1;
            slot = (slot + 1) & self.mask;
        }
    }

    /// The first point of a cell; no point's index if the record is empty, which another block does meanwhile.
    ///
    /// # Safety
    /// As [`Records::enter`]; the slot came from there.
    #[inline(always)]
    pub(super) unsafe fn first(&self, slot: u32) -> u32 {
        unsafe { load_relaxed(self.word(slot, 0)) }
    }

    /// The points of a cell after the first: [`REST`] slots.
    ///
    /// # Safety
    /// As [`Records::first`].
    #[inline(always)]
    pub(super) unsafe fn rest(&self, slot: u32) -> *mut u32 {
        unsafe { self.word(slot, FIRST_OF_REST) }
    }

    /// A whole record, which no other block writes.
    ///
    /// # Safety
    /// As [`Records::first`].
    #[inline(always)]
    pub(super) unsafe fn get(&self, slot: u32) -> [[u32; 4]; 4] {
        let quads = unsafe { self.word(slot, 0) }.cast::<Four>();
        // All four reads are in flight together.
        let quads = unsafe { [*quads, *quads.add(1), *quads.add(2), *quads.add(3)] };
        [quads[0].0, quads[1].0, quads[2].0, quads[3].0]
    }

    /// Empties a record but for its row, which other blocks may be waiting for.
    ///
    /// # Safety
    /// As [`Records::first`].
    #[inline(always)]
    pub(super) unsafe fn close(&self, slot: u32, row: u32) {
        unsafe {
            store_relaxed_x4(self.word(slot, 0), [u32::MAX, u32::MAX, row, u32::MAX]);
            for quad in 1..4 {
                store_relaxed_x4(self.word(slot, quad * 4), [NONE; 4]);
            }
        }
    }

    /// The row of a cell; waits for it if another block is about to write it.
    ///
    /// # Safety
    /// As [`Records::first`]; the block that writes the row has started, or all threads of this block that write rows have.
    #[inline(always)]
    pub(super) unsafe fn row(&self, slot: u32) -> u32 {
        unsafe { await_row(self.word(slot, ROW)) }
    }
}
