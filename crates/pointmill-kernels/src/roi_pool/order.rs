//! A stable sort within one block: the points of a box by their voxel.

use super::block::{SUM_WORDS, THREADS, WARPS, exclusive_sum};
use crate::simt::*;

/// Most bits of a digit.
pub const DIGIT_BITS: u32 = 7;
/// Bits of a pair that name its point, where both are in one word.
pub(super) const PLACE_BITS: u32 = 13;
/// Counters of a digit lie this far apart; not a power of two, so that digits start in different
/// banks.
const STRIDE: u32 = WARPS + 1;
/// Words of shared memory that a pass uses: a counter for each digit and warp.
pub(super) const WORDS: u32 = (1 << DIGIT_BITS) * STRIDE + SUM_WORDS;

/// Pairs of a point and its voxel: few in shared memory, a word each, with the place of the point
/// in a list; many in global memory.
#[derive(Clone, Copy)]
pub(super) struct Pairs {
    pub(super) shared: Shared,
    /// Null for few.
    pub(super) points: *mut u32,
    pub(super) voxels: *mut u32,
}

impl Pairs {
    #[inline(always)]
    pub(super) fn few(&self) -> bool {
        self.points.is_null()
    }

    #[inline(always)]
    pub(super) unsafe fn voxel(&self, e: u32) -> u32 {
        // SAFETY: the caller promises that `e` is a pair; many pairs are in global memory.
        if self.few() { self.shared.get(e) >> PLACE_BITS } else { unsafe { *self.voxels.add(e as usize) } }
    }

    /// The point of pair `e`; of few its place in their list.
    #[inline(always)]
    pub(super) unsafe fn point(&self, e: u32) -> u32 {
        // SAFETY: the caller promises that `e` is a pair; many pairs are in global memory.
        if self.few() { self.shared.get(e) & ((1 << PLACE_BITS) - 1) } else { unsafe { *self.points.add(e as usize) } }
    }

    #[inline(always)]
    unsafe fn copy(&self, e: u32, to: &Self, at: u32) {
        if self.few() {
            to.shared.set(at, self.shared.get(e));
        } else {
            // SAFETY: the caller promises that `e` is a pair and that `to` has room for pair `at`.
            unsafe {
                *to.points.add(at as usize) = *self.points.add(e as usize);
                *to.voxels.add(at as usize) = *self.voxels.add(e as usize);
            }
        }
    }
}

/// Moves `n` pairs from `a` to `b`, ordered by the digit of `bits` bits of their voxels at `shift`,
/// equal ones in the order they had. All threads call.
///
/// # Safety
/// Both have room for `n` pairs; `counts` has [`WORDS`] words.
#[inline(always)]
pub(super) unsafe fn pass(a: &Pairs, b: &Pairs, n: u32, shift: u32, bits: u32, counts: Shared) {
    let sums = Shared::at_offset(counts, (1 << DIGIT_BITS) * STRIDE);
    // Each warp has a segment, of whole groups of 32.
    let segment = n.div_ceil(THREADS) * WARP;
    let first = warp() * segment;
    let end = if first + segment < n { first + segment } else { n };
    // SAFETY: the caller's promise; `e` is below `n`.
    let digit = |e: u32| unsafe { a.voxel(e) >> shift } & ((1 << bits) - 1);
    let mut word = thread_index();
    while word < STRIDE << bits {
        counts.set(word, 0);
        word += THREADS;
    }
    sync_block();
    let mut e = first + lane();
    while e < end {
        counts.add(digit(e) * STRIDE + warp(), 1);
        e += WARP;
    }
    sync_block();
    // Counts of the digits before, and of the same digit in the warps before; some counters that
    // follow each other a thread.
    let counters = WARPS << bits;
    let own = counters.div_ceil(THREADS);
    let mut sum = 0;
    for k in 0..(1 << DIGIT_BITS) / (THREADS / WARPS) {
        let c = thread_index() * own + k;
        if k < own && c < counters {
            sum += counts.get(c + c / WARPS);
        }
    }
    let (mut before, _) = exclusive_sum(sum, sums);
    for k in 0..(1 << DIGIT_BITS) / (THREADS / WARPS) {
        let c = thread_index() * own + k;
        if k < own && c < counters {
            let count = counts.get(c + c / WARPS);
            counts.set(c + c / WARPS, before);
            before += count;
        }
    }
    sync_block();
    let mut group = first;
    while group < end {
        let e = group + lane();
        let live = e < end;
        let d = if live { digit(e) } else { 0 };
        let mut peers = ballot(live);
        let mut bit = 0;
        while bit < bits {
            let set = ballot((d >> bit) & 1 != 0);
            peers &= if (d >> bit) & 1 != 0 { set } else { !set };
            bit += 1;
        }
        let rank = (peers & lanes_before()).count_ones();
        let at = d * STRIDE + warp();
        let base = if live { counts.get(at) } else { 0 };
        sync_warp();
        if live {
            if rank == 0 {
                counts.set(at, base + peers.count_ones());
            }
            // SAFETY: as above; the place is one of `n` too.
            unsafe { a.copy(e, b, base + rank) };
        }
        sync_warp();
        group += WARP;
    }
    sync_block();
}
