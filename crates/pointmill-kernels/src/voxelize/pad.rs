//! Rows that a padded result has behind its voxels.

use super::*;

/// An array whose last rows are filled.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Padded {
    /// `[rows]`; null for none.
    pub array: *mut u8,
    /// Bytes of a row, an even number.
    pub row_bytes: u64,
    /// What each word becomes: zero or all ones.
    pub value: u32,
}

impl Padded {
    /// Fills the rows from `from` to `to`, a part of them in each thread. All threads of the launch
    /// call.
    ///
    /// # Safety
    /// The array is null or has `to` rows.
    #[inline(always)]
    pub(super) unsafe fn fill(&self, from: u64, to: u64) {
        if self.array.is_null() {
            return;
        }
        let bytes = ((to - from) * self.row_bytes) as usize;
        let first = block_index() as usize * BLOCK as usize + thread_index() as usize;
        // SAFETY: the array has `to` rows, and everything below lies in its last `bytes`.
        unsafe {
            let start = self.array.add((from * self.row_bytes) as usize);
            // Sixteen bytes a thread; before and behind these at most seven halves of a word.
            let head = start.addr().wrapping_neg() % 16;
            let head = if head < bytes { head } else { bytes };
            let quads = (bytes - head) / 16;
            let mut q = first;
            while q < quads {
                *start.add(head).cast::<Four>().add(q) = Four([self.value; 4]);
                q += grid_size() as usize * BLOCK as usize;
            }
            let tail = head + quads * 16;
            if first < head / 2 {
                *start.cast::<u16>().add(first) = self.value as u16;
            }
            if first < (bytes - tail) / 2 {
                *start.add(tail).cast::<u16>().add(first) = self.value as u16;
            }
        }
    }
}
