//! Rows that a result has besides its voxels.

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

/// Arguments of [`Pad`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PadArgs {
    /// The rows in use, and the bound that is filled to.
    pub rows: Length,
    /// Arrays of such rows.
    pub arrays: [Padded; 4],
}

kernel! {
    /// Fills the rows from V to the bound. Any number of blocks.
    Pad = "voxelize_pad", block BLOCK, shared 0, cooperative false,
    fn(a: PadArgs) {
        let rows = a.rows.get();
        for j in 0..4 {
            a.arrays[j].fill(rows as u64, a.rows.bound as u64);
        }
    }
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
impl Padded {
    #[inline(always)]
    unsafe fn fill(&self, from: u64, to: u64) {
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
