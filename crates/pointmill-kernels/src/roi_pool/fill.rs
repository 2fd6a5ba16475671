//! The empty part of a dense result.

use super::block::THREADS;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use crate::simt::*;

/// An array to be set to one value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// The words, aligned to 16 bytes.
    pub words: *mut u32,
    /// How many.
    pub len: u64,
    /// What they become.
    pub value: u32,
}

/// Arguments of [`Fill`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FillArgs {
    /// The arrays.
    pub regions: [Region; 3],
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
impl FillArgs {
    /// The part of this block. Blocks write parts of equal size, each in order, so that memory sees long runs.
    ///
    /// # Safety
    /// The regions are valid.
    #[inline(always)]
    pub(super) unsafe fn part_of_block(&self) {
        for r in 0..3 {
            let Region { words, len, value } = self.regions[r];
            let quads = len / 4;
            let share = quads.div_ceil(grid_size() as u64);
            let first = block_index() as u64 * share;
            let end = if first + share < quads { first + share } else { quads };
            let mut q = first + thread_index() as u64;
            // SAFETY: the caller's promise; q is below a fourth of the length.
            unsafe {
                while q < end {
                    *words.cast::<Four>().add(q as usize) = Four([value; 4]);
                    q += THREADS as u64;
                }
                let rest = quads * 4 + thread_index() as u64;
                if block_index() == 0 && rest < len {
                    *words.add(rest as usize) = value;
                }
            }
        }
    }
}

/// Sixteen bytes that are written at once.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Four([u32; 4]);

kernel! {
    /// Sets arrays to their values. Any number of blocks.
    Fill = "roi_fill", block THREADS, shared 0, cooperative false,
    fn(a: FillArgs) {
        a.part_of_block();
    }
}
