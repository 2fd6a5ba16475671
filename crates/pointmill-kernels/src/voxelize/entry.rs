//! The table of cells.

use super::*;
use crate::prim::hash;
use pointmill_core::hash::Seed;

/// An entry of the table, all ones when empty: 16 bytes, so that all of it comes with one 32-byte
/// sector.
///
/// Short keys: `[first, key, -, row]`. Long keys: `[key, key, first, row]`. `first` is the smallest
/// index of the cell's points, `row` the cell's row once it has one.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Entry(pub [u32; 4]);

/// A table of cells.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// `mask + 1` entries.
    pub entries: *mut Entry,
    /// Entries minus one; entries are a power of two, at least 4.
    pub mask: u32,
    /// By which keys are spread.
    pub seed: Seed,
    /// Nonzero: all keys fit 32 bits.
    pub short: u32,
}

/// The words of an entry.
const ROW: usize = 3;
/// Where a long entry has its first point.
const LONG_FIRST: usize = 2;

impl Table {
    #[inline(always)]
    unsafe fn word(&self, slot: u32, word: usize) -> *mut u32 {
        // SAFETY: the caller promises that `slot` is at most `mask`; an entry has four words.
        unsafe { self.entries.cast::<u32>().add(slot as usize * 4 + word) }
    }

    /// Enters a cell with point `i` and returns its slot; [`hash::NONE`] if the table is full.
    ///
    /// # Safety
    /// The table's entries are valid.
    #[inline(always)]
    pub(super) unsafe fn enter(&self, key: u64, i: u32) -> u32 {
        // SAFETY: the caller's promise about the entries.
        if self.short != 0 { unsafe { self.enter_short(key as u32, i) } } else { unsafe { self.enter_long(key, i) } }
    }

    /// Key and first point travel in one word, so that one compare-and-swap enters both, and one
    /// minimum lowers the point.
    #[inline(always)]
    unsafe fn enter_short(&self, key: u32, i: u32) -> u32 {
        let packed = (key as u64) << 32 | i as u64;
        let mut slot = pointmill_core::hash::first_slot(key as u64, self.mask, self.seed);
        let mut left = self.mask;
        loop {
            // SAFETY: `slot` is at most `mask`.
            let entry = unsafe { self.word(slot, 0) }.cast::<u64>();
            // Look first: a read is cheaper than an atomic, and most cells are there already.
            // SAFETY: the first two words of an entry, aligned to 16 bytes.
            let mut old = unsafe { load_relaxed_u64(entry) };
            if old == u64::MAX {
                // SAFETY: as above.
                old = unsafe { compare_and_swap_u64(entry, u64::MAX, packed) };
                if old == u64::MAX {
                    // SAFETY: `slot` is at most `mask`.
                    unsafe { store_relaxed(self.word(slot, ROW), PENDING) };
                    return slot;
                }
            }
            if (old >> 32) as u32 == key {
                if old > packed {
                    // SAFETY: the first two words of an entry, as before.
                    unsafe { atomic_min_u64(entry, packed) };
                }
                return slot;
            }
            if left == 0 {
                return hash::NONE;
            }
            left -= 1;
            slot = (slot + 1) & self.mask;
        }
    }

    #[inline(always)]
    unsafe fn enter_long(&self, key: u64, i: u32) -> u32 {
        // SAFETY: the caller promises `mask + 1` entries, of two double words each.
        let slot = unsafe { hash::find_or_insert(self.entries.cast::<u64>(), 2, self.mask, self.seed, key) };
        if slot != hash::NONE {
            // SAFETY: `slot` came from the table.
            unsafe {
                // All that enter write the same.
                store_relaxed(self.word(slot, ROW), PENDING);
                atomic_min(self.word(slot, LONG_FIRST), i);
            }
        }
        slot
    }

    /// The first point of a cell.
    ///
    /// # Safety
    /// As [`Table::enter`]; the slot came from there.
    #[inline(always)]
    pub(super) unsafe fn first(&self, slot: u32) -> u32 {
        // Other blocks empty entries meanwhile; what they leave there is no point's index.
        // SAFETY: the caller promises that `slot` came from the table.
        unsafe { load_relaxed(self.word(slot, if self.short != 0 { 0 } else { LONG_FIRST })) }
    }

    /// The key of a cell.
    ///
    /// # Safety
    /// As [`Table::first`].
    #[inline(always)]
    pub(super) unsafe fn key(&self, slot: u32) -> u64 {
        if self.short != 0 {
            // SAFETY: the caller promises that `slot` came from the table.
            unsafe { *self.word(slot, 1) as u64 }
        } else {
            // SAFETY: as above.
            unsafe { *self.entries.cast::<u64>().add(slot as usize * 2) }
        }
    }

    /// Empties an entry but for its row, which other blocks may be waiting for.
    ///
    /// # Safety
    /// As [`Table::first`].
    #[inline(always)]
    pub(super) unsafe fn close(&self, slot: u32, row: u32) {
        // SAFETY: the caller promises that `slot` came from the table.
        unsafe { store_relaxed_x4(self.word(slot, 0), [u32::MAX, u32::MAX, u32::MAX, row]) };
    }

    /// The row of a cell; waits for it if another block is about to write it.
    ///
    /// # Safety
    /// As [`Table::first`]; the block that writes the row has started.
    #[inline(always)]
    pub(super) unsafe fn row(&self, slot: u32) -> u32 {
        let mut tries = 0;
        loop {
            // SAFETY: the caller promises that `slot` came from the table.
            let row = unsafe { load_relaxed(self.word(slot, ROW)) };
            if row != PENDING {
                return row;
            }
            back_off(tries);
            tries += 1;
        }
    }
}
