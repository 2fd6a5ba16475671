//! Sums over a block.

use crate::simt::WARP;
use crate::simt::*;

/// Threads of the blocks that add up with `exclusive_sum`.
pub(super) const THREADS: u32 = 512;
/// Warps of such a block.
pub(super) const WARPS: u32 = THREADS / WARP;
/// Words of shared memory that a sum uses.
pub(super) const SUM_WORDS: u32 = WARPS;

/// The sum of the values of all threads before this one, and of all, in blocks of [`THREADS`]. All
/// threads call; `shared` may be used again after the next barrier.
#[inline(always)]
pub(super) fn exclusive_sum(value: u32, shared: Shared) -> (u32, u32) {
    let inclusive = warp_inclusive_sum(value);
    if lane() == WARP - 1 {
        shared.set(warp(), inclusive);
    }
    sync_block();
    // Each warp adds up the others for itself: one lane a warp of the block.
    let sums = warp_inclusive_sum(if lane() < WARPS { shared.get(lane()) } else { 0 });
    let before = shuffle(sums, if warp() > 0 { warp() - 1 } else { 0 });
    let before = if warp() > 0 { before } else { 0 };
    (before + inclusive - value, shuffle(sums, WARPS - 1))
}

/// The sum of the values of all threads, in blocks of any size. All threads call; `shared` may be
/// used again at once.
#[inline(always)]
pub(super) fn block_sum(value: u32, shared: Shared) -> u32 {
    let sum = warp_sum(value);
    if lane() == 0 {
        shared.set(warp(), sum);
    }
    sync_block();
    let sum = warp_sum(if lane() < block_size() / WARP { shared.get(lane()) } else { 0 });
    sync_block();
    sum
}
