//! Marks of a box into the indices of its points, in order.

use super::block::{SUM_WORDS, THREADS};
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use super::{
    TILE,
    block::{WARPS, exclusive_sum},
};
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use crate::simt::*;

/// Words of shared memory that this uses.
pub(super) const WORDS: u32 = 2 * THREADS + SUM_WORDS;

/// Calls `put` with place and index of each point of a box; places count from zero in the order of the indices. All threads of the block call.
///
/// # Safety
/// `counts` and `marks` are those of the box, for `tiles` tiles.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
pub(super) unsafe fn each_point(
    counts: *const u32,
    marks: *const u32,
    tiles: u32,
    shared: Shared,
    put: impl Fn(u32, u32),
) {
    let (before, here) = (shared, Shared::at_offset(shared, THREADS));
    let sums = Shared::at_offset(shared, 2 * THREADS);
    let mut carry = 0;
    let mut first = 0;
    while first < tiles {
        let tile = first + thread_index();
        // SAFETY: the caller's promise.
        let count = if tile < tiles { unsafe { *counts.add(tile as usize) } } else { 0 };
        let (prefix, sum) = exclusive_sum(count, sums);
        before.set(thread_index(), carry + prefix);
        here.set(thread_index(), count);
        sync_block();
        // A tile a warp, a word a lane.
        let mut k = warp();
        while k < THREADS && first + k < tiles {
            if here.get(k) > 0 {
                let tile = first + k;
                // SAFETY: the caller's promise.
                let mut set = unsafe { *marks.add(tile as usize * WARP as usize + lane() as usize) };
                let mut at = before.get(k) + warp_inclusive_sum(set.count_ones()) - set.count_ones();
                while set != 0 {
                    put(at, tile * TILE + lane() * WARP + set.trailing_zeros());
                    set &= set - 1;
                    at += 1;
                }
            }
            k += WARPS;
        }
        carry += sum;
        first += THREADS;
        sync_block();
    }
}
