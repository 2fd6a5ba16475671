//! The table by which rows are found.

use super::*;
use pointmill_core::hash::Seed;
use pointmill_core::ndt::{CellRows, Line, LineBox, LinePlace, line_key};

/// The key of a line plus one in two words, the mask, and the complement of the first row; all zero
/// when empty. An array over a [`LineBox`] has two lines in each, of two words: the mask, and the
/// complement of the first row.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
pub struct LinesEntry(pub [u32; 4]);

/// A line of an array.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct LineWords([u32; 2]);

/// A table of lines, or an array over the box around them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    /// Zero before. A table has `mask + 1` entries; an array has room for the places of the box.
    pub entries: *mut LinesEntry,
    /// Entries minus one; entries are a power of two, at least 4, and more than there are lines.
    pub mask: u32,
    /// By which keys are spread.
    pub seed: Seed,
    /// Nonzero: an array.
    pub boxed: u32,
    /// The box of an array.
    pub around: LineBox,
}

/// A grid as kernels search it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Map {
    /// The lattice.
    pub lattice: NdtLattice,
    /// The number of rows, V.
    pub len: u32,
    /// Where they are.
    pub lines: Lines,
    /// `[V]`: the mean.
    pub mean: *const [f64; 3],
    /// `[V]`: the inverse covariance.
    pub inverse: *const [f64; 6],
}

impl Lines {
    /// Enters the row of a cell.
    #[inline(always)]
    pub(super) unsafe fn enter(&self, cell: [i32; 3], row: u32) {
        let (place, bit) = Line::of(cell);
        if self.boxed != 0 {
            if let Some(at) = self.around.at(place) {
                // SAFETY: `at` is a place of the box, and the array has two words for each.
                let words = unsafe { self.entries.cast::<u32>().add(at as usize * 2) };
                // SAFETY: as above.
                unsafe {
                    atomic_or(words, 1 << bit);
                    atomic_max(words.add(1), !row);
                }
            }
            return;
        }
        let line = line_key(place);
        let stored = line + 1;
        let mut slot = pointmill_core::hash::first_slot(line, self.mask, self.seed);
        loop {
            // SAFETY: `slot` is at most `mask`, and there are `mask + 1` entries.
            let entry = unsafe { self.entries.add(slot as usize) }.cast::<u32>();
            // SAFETY: the first two words of an entry, which is aligned to 16 bytes.
            let mut found = unsafe { load_relaxed_u64(entry.cast()) };
            if found == 0 {
                // SAFETY: as above.
                found = unsafe { compare_and_swap_u64(entry.cast(), 0, stored) };
            }
            if found == 0 || found == stored {
                // SAFETY: the last two words of it.
                unsafe {
                    atomic_or(entry.add(2), 1 << bit);
                    atomic_max(entry.add(3), !row);
                }
                return;
            }
            slot = (slot + 1) & self.mask;
        }
    }

    /// The line at a place; an empty one where there is none.
    #[inline(always)]
    pub(super) unsafe fn get(&self, place: LinePlace) -> Line {
        if self.boxed != 0 {
            let Some(at) = self.around.at(place) else { return Line { mask: 0, row: 0 } };
            // SAFETY: `at` is a place of the box, and the array has a line for each.
            let LineWords([mask, row]) = unsafe { *self.entries.cast::<LineWords>().add(at as usize) };
            return Line { mask, row: !row };
        }
        let line = line_key(place);
        let stored = line + 1;
        let mut slot = pointmill_core::hash::first_slot(line, self.mask, self.seed);
        loop {
            // SAFETY: `slot` is at most `mask`, and there are `mask + 1` entries.
            let LinesEntry([low, high, mask, row]) = unsafe { *self.entries.add(slot as usize) };
            let found = low as u64 | (high as u64) << 32;
            if found == stored {
                return Line { mask, row: !row };
            }
            if found == 0 {
                return Line { mask: 0, row: 0 };
            }
            slot = (slot + 1) & self.mask;
        }
    }
}

impl Map {
    /// What core's searches look at.
    ///
    /// # Safety
    /// The map is valid for reads.
    #[inline(always)]
    pub(super) unsafe fn rows(self) -> CellRows<impl Fn(LinePlace) -> Line, impl Fn(u32) -> [f64; 3]> {
        CellRows {
            lattice: self.lattice,
            len: self.len,
            // SAFETY: the caller's promise.
            line: move |place| unsafe { self.lines.get(place) },
            // SAFETY: rows are below `len`.
            mean: move |row| unsafe { *self.mean.add(row as usize) },
        }
    }
}
