//! The table of sums: a record for each occupied cell.

use super::*;
use pointmill_core::hash::Seed;

/// Values of a record that are added up: the count, three sums and six products.
pub const SUMS: usize = 10;
/// Entries a search looks at before it says that the table is full.
const MAX_PROBES: u32 = 64;

/// A cell's key plus one, or zero without a cell; its count, sums and products; one word to fill
/// three sectors of 32 bytes, from the start of which a table begins.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Record(pub [u64; SUMS + 2]);

/// A table of records; all zero before.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Records {
    /// `mask + 1` records.
    pub records: *mut Record,
    /// Records minus one; records are a power of two, at least 4.
    pub mask: u32,
    /// By which keys are spread.
    pub seed: Seed,
    /// `[mask + 1]`: which records have cells, in no order.
    pub list: *mut u32,
    /// What was counted.
    pub totals: *mut Totals,
}

/// Counts of a table, zero before.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Totals {
    /// Runs of points, or records, that found no room.
    pub lost: u32,
    /// Points with a coordinate that is not finite.
    pub non_finite: u32,
    /// The complement of the first point that is finite and outside of the lattice; zero for none.
    pub outside: u32,
    /// Cells with too many points.
    pub full: u32,
    /// Records with a cell.
    pub cells: u32,
    /// For each axis, the greatest of 2^21 minus a cell's coordinate (from 0 to 2^21), ...
    pub below: [u32; 3],
    /// ... and the greatest of the coordinate plus one.
    pub above: [u32; 3],
}

impl Totals {
    /// The words that belong to one call: those before `cells`.
    pub const WORDS_OF_A_CALL: usize = 4;
}

/// Bits of a coordinate in a key.
const AXIS_BITS: u32 = 21;

/// A cell's coordinate plus 2^20, by its key.
#[inline(always)]
pub(super) fn coordinate(key: u64, axis: usize) -> u32 {
    (key >> (AXIS_BITS * axis as u32)) as u32 & ((1 << AXIS_BITS) - 1)
}

impl Records {
    /// The record of a cell, which gets one if it has none, and whether it just got it; `None`
    /// where the table is full.
    #[inline(always)]
    pub(super) unsafe fn enter(&self, key: u64) -> (Option<u32>, bool) {
        let stored = key + 1;
        let mut slot = pointmill_core::hash::first_slot(key, self.mask, self.seed);
        // The compiler writes out a loop of a known length: 64 searches, three times in each kernel
        // that adds points.
        let most = if self.mask < MAX_PROBES { self.mask + 1 } else { MAX_PROBES };
        let mut probe = 0;
        while probe < most {
            // SAFETY: `slot` is at most `mask`.
            let entry = unsafe { self.word(slot, 0) };
            // SAFETY: the first word of a record, aligned to 16 bytes.
            let mut found = unsafe { load_relaxed_u64(entry) };
            if found == 0 {
                // SAFETY: as above.
                found = unsafe { compare_and_swap_u64(entry, 0, stored) };
                if found == 0 {
                    return (Some(slot), true);
                }
            }
            if found == stored {
                return (Some(slot), false);
            }
            probe += 1;
            slot = (slot + 1) & self.mask;
        }
        (None, false)
    }

    #[inline(always)]
    pub(super) unsafe fn word(&self, slot: u32, word: usize) -> *mut u64 {
        // SAFETY: the caller promises that `slot` is at most `mask` and that `word` is below 12.
        unsafe { self.records.add(slot as usize).cast::<u64>().add(word) }
    }

    /// Notes records that were just entered. All lanes of a warp call.
    #[inline(always)]
    pub(super) unsafe fn note(&self, key: u64, slot: u32, fresh: bool) {
        let votes = ballot(fresh);
        if votes == 0 {
            return;
        }
        let mut base = 0;
        if lane() == votes.trailing_zeros() {
            // SAFETY: the caller promises valid totals.
            base = unsafe { atomic_add(&raw mut (*self.totals).cells, votes.count_ones()) };
        }
        base = shuffle(base, votes.trailing_zeros());
        if fresh {
            // SAFETY: there are no more fresh records than entries, and the list has room for all.
            unsafe { *self.list.add((base + (votes & lanes_before()).count_ones()) as usize) = slot };
            let mut axis = 0;
            while axis < 3 {
                let c = (key >> (AXIS_BITS * axis as u32)) as u32 & ((1 << AXIS_BITS) - 1);
                // SAFETY: the caller promises valid totals.
                unsafe {
                    raise(&raw mut (*self.totals).below[axis], (1 << AXIS_BITS) - c);
                    raise(&raw mut (*self.totals).above[axis], c + 1);
                }
                axis += 1;
            }
        }
    }
}

/// Makes a word at least as large; mostly it is already, and a look is cheaper than an atomic.
#[inline(always)]
unsafe fn raise(word: *mut u32, value: u32) {
    // SAFETY: the caller's promise that the word is valid.
    unsafe {
        if load_relaxed(word) < value {
            atomic_max(word, value);
        }
    }
}

/// Arguments of [`AddRecords`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AddRecordsArgs {
    /// What is added: records with cells.
    pub source: *const Record,
    /// `[n]`: which of them; null for the first n.
    pub source_list: *const u32,
    /// How many.
    pub n: u32,
    /// Where to.
    pub to: Records,
    /// Nonzero: they are taken away.
    pub take_away: u32,
}

kernel! {
    /// Adds records to a table. One thread a record; all lanes of a warp meet.
    AddRecords = "ndt_add_records", block BLOCK, shared 0, cooperative true,
    fn(a: AddRecordsArgs) {
        let i = global_index();
        let mut source = a.source;
        let (mut key, mut slot, mut fresh) = (0, None, false);
        if i < a.n {
            source = a.source.add(if a.source_list.is_null() { i } else { *a.source_list.add(i as usize) } as usize);
        }
        // A cell whose points were all taken away needs no record.
        if i < a.n && (*source).0[1] != 0 {
            key = (*source).0[0] - 1;
            (slot, fresh) = a.to.enter(key);
            if slot.is_none() {
                atomic_add(&raw mut (*a.to.totals).lost, 1);
            }
        }
        a.to.note(key, slot.unwrap_or(0), fresh);
        if let Some(slot) = slot {
            for w in 1..=SUMS {
                let value = (*source).0[w];
                atomic_add_u64(a.to.word(slot, w), if a.take_away != 0 { value.wrapping_neg() } else { value });
            }
        }
    }
}

/// Arguments of [`Clear`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ClearArgs {
    /// The table.
    pub table: Records,
    /// How many records have cells.
    pub n: u32,
}

kernel! {
    /// Empties the records that have cells. One thread a word.
    Clear = "ndt_clear", block BLOCK, shared 0, cooperative false,
    fn(a: ClearArgs) {
        let i = global_index();
        let words = SUMS as u32 + 2;
        if i / words < a.n {
            *a.table.word(*a.table.list.add((i / words) as usize), (i % words) as usize) = 0;
        }
    }
}

/// Arguments of [`CopyRecords`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CopyRecordsArgs {
    /// The table.
    pub table: Records,
    /// `[n]`: which records.
    pub slots: *const u32,
    /// How many.
    pub n: u32,
    /// `[n]`.
    pub to: *mut Record,
}

kernel! {
    /// Copies records side by side. One thread a word.
    CopyRecords = "ndt_copy_records", block BLOCK, shared 0, cooperative false,
    fn(a: CopyRecordsArgs) {
        let i = global_index();
        let words = SUMS as u32 + 2;
        if i / words < a.n {
            let from = a.table.word(*a.slots.add((i / words) as usize), (i % words) as usize);
            *a.to.cast::<u64>().add(i as usize) = *from;
        }
    }
}

/// Arguments of [`Full`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FullArgs {
    /// The table.
    pub table: Records,
    /// How many records have cells.
    pub n: u32,
    /// Most points of a cell.
    pub most: u64,
}

kernel! {
    /// Counts the cells with too many points. One thread a record.
    Full = "ndt_full", block BLOCK, shared 0, cooperative false,
    fn(a: FullArgs) {
        let i = global_index();
        if i < a.n && *a.table.word(*a.table.list.add(i as usize), 1) > a.most {
            atomic_add(&raw mut (*a.table.totals).full, 1);
        }
    }
}
