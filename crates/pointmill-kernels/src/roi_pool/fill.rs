//! The empty part of a dense result.

use super::block::THREADS;
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

kernel! {
    /// Sets arrays to their values. Any number of blocks; each writes a run of its own, so that
    /// memory sees long runs.
    Fill = "roi_fill", block THREADS, shared 0, cooperative false,
    fn(a: FillArgs) {
        for r in 0..3 {
            let Region { words, len, value } = a.regions[r];
            let quads = len / 4;
            let share = quads.div_ceil(grid_size() as u64);
            let first = block_index() as u64 * share;
            let end = if first + share < quads { first + share } else { quads };
            let mut q = first + thread_index() as u64;
            while q < end {
                store_streaming_x4(words.add(q as usize * 4), [value; 4]);
                q += THREADS as u64;
            }
            let rest = quads * 4 + thread_index() as u64;
            if block_index() == 0 && rest < len {
                *words.add(rest as usize) = value;
            }
        }
    }
}
