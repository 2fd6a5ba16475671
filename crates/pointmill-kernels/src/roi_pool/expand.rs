//! Marks of a box into the indices of its points, in order.

use super::block::{SUM_WORDS, THREADS};
use super::{
    TILE, WORDS_OF_TILE,
    block::{WARPS, exclusive_sum},
};
use crate::simt::*;

/// Words of shared memory that this uses.
pub(super) const WORDS: u32 = 2 * THREADS + SUM_WORDS;

/// Words of a lane that are read together.
const AHEAD: usize = 4;

/// The tiles of a box: how many points each holds, and their marks.
#[derive(Clone, Copy)]
pub(super) struct Tiles {
    pub(super) counts: *const u32,
    pub(super) marks: *const u32,
    pub(super) len: u32,
    /// [`WORDS`] words.
    pub(super) shared: Shared,
}

impl Tiles {
    /// How many points the box holds. All threads of the block call, before [`Tiles::each_point`].
    #[inline(always)]
    pub(super) unsafe fn count(&self) -> u32 {
        // SAFETY: it reads the counts of tiles below `len` only.
        let mut total = unsafe { self.stage(0, 0) };
        if self.len > THREADS {
            let mut own = 0;
            let mut tile = THREADS + thread_index();
            while tile < self.len {
                // SAFETY: `tile` is below `len`.
                own += unsafe { *self.counts.add(tile as usize) };
                tile += THREADS;
            }
            total += exclusive_sum(own, Shared::at_offset(self.shared, 2 * THREADS)).1;
            sync_block();
        }
        total
    }

    /// Counts of the tiles from `first` on, and how many points come before each; returns how many
    /// they hold.
    #[inline(always)]
    unsafe fn stage(&self, first: u32, carry: u32) -> u32 {
        let tile = first + thread_index();
        // SAFETY: `tile` is below `len`.
        let count = if tile < self.len { unsafe { *self.counts.add(tile as usize) } } else { 0 };
        let (prefix, sum) = exclusive_sum(count, Shared::at_offset(self.shared, 2 * THREADS));
        self.shared.set(thread_index(), carry + prefix);
        self.shared.set(THREADS + thread_index(), count);
        sync_block();
        sum
    }

    /// Calls `put` with place and index of each point of the box; places count from zero in the
    /// order of the indices. All threads of the block call.
    #[inline(always)]
    pub(super) unsafe fn each_point(&self, put: impl Fn(u32, u32)) {
        const TILES_OF_WARP: u32 = WARP / WORDS_OF_TILE;
        let (before, here) = (self.shared, Shared::at_offset(self.shared, THREADS));
        let mut first = 0;
        while first < self.len {
            // Some tiles a warp at a time, a word a lane; the words of several times are read
            // together.
            let mut k = warp() * TILES_OF_WARP;
            while k < THREADS && first + k < self.len {
                let mut sets = [0; AHEAD];
                for j in 0..AHEAD {
                    let k = k + j as u32 * (WARPS * TILES_OF_WARP);
                    if k < THREADS && here.get(k + lane() / WORDS_OF_TILE) > 0 {
                        let at = (first + k) as usize * WORDS_OF_TILE as usize + lane() as usize;
                        // SAFETY: a tile with a count is below `len`, and has its marks.
                        sets[j] = unsafe { *self.marks.add(at) };
                    }
                }
                for j in 0..AHEAD {
                    let mut set = sets[j];
                    if ballot(set != 0) != 0 {
                        let k = k + j as u32 * (WARPS * TILES_OF_WARP);
                        let mut at = before.get(k) + warp_inclusive_sum(set.count_ones()) - set.count_ones();
                        let start = (first + k) * TILE + lane() * WARP;
                        while set != 0 {
                            put(at, start + set.trailing_zeros());
                            set &= set - 1;
                            at += 1;
                        }
                    }
                }
                k += AHEAD as u32 * WARPS * TILES_OF_WARP;
            }
            first += THREADS;
            let carry = before.get(THREADS - 1) + here.get(THREADS - 1);
            sync_block();
            if first < self.len {
                // SAFETY: it reads the counts of tiles below `len` only.
                unsafe { self.stage(first, carry) };
            }
        }
    }
}
