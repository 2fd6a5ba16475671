//! The empty part of a dense result.

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use super::Four;
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

/// What shares are counted in.
pub const SHARES: u32 = 64;

/// Arguments of [`Fill`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FillArgs {
    /// The arrays.
    pub regions: [Region; 3],
    /// The share of each that is written, from and to, in 64ths.
    pub share: [u32; 2],
    /// The first blocks of the launch that do nothing else, so that memory is busy from the start.
    pub blocks: u32,
    /// How much of the share each of them writes, and each of the others once its own work is done: any units.
    pub units: [u32; 2],
}

impl FillArgs {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.regions.iter().all(|region| region.len == 0)
    }
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
impl FillArgs {
    /// The part of this block: a run of its own, so that memory sees long runs.
    ///
    /// # Safety
    /// The regions are valid.
    #[inline(always)]
    pub(super) unsafe fn part_of_block<const THREADS: u32>(&self) {
        let (block, blocks) = (block_index() as u64, self.blocks as u64);
        let (of_writers, of_others) = (self.units[0] as u64, self.units[1] as u64);
        let units = blocks * of_writers + (grid_size() as u64 - blocks) * of_others;
        let (own, count) = if block < blocks {
            (block * of_writers, of_writers)
        } else {
            (blocks * of_writers + (block - blocks) * of_others, of_others)
        };
        if count == 0 {
            return;
        }
        for r in 0..3 {
            let Region { words, len, value } = self.regions[r];
            let quads = len / 4;
            let part = |share: u32| quads * share as u64 / SHARES as u64;
            let (from, to) = (part(self.share[0]), part(self.share[1]));
            let at = |unit: u64| from + (to - from) * unit / units;
            let (first, end) = (at(own), at(own + count));
            let mut q = first + thread_index() as u64;
            // SAFETY: the caller's promise; q is below a fourth of the length.
            unsafe {
                while q < end {
                    *words.cast::<Four>().add(q as usize) = Four([value; 4]);
                    q += THREADS as u64;
                }
                let rest = quads * 4 + thread_index() as u64;
                if block_index() == 0 && self.share[1] == SHARES && rest < len {
                    *words.add(rest as usize) = value;
                }
            }
        }
    }
}

kernel! {
    /// Sets arrays to their values. Any number of blocks.
    Fill = "roi_fill", block THREADS, shared 0, cooperative false,
    fn(a: FillArgs) {
        a.part_of_block::<THREADS>();
    }
}
