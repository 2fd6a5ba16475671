//! A stable sort within one block: the points of a box by their voxel.

use super::block::{SUM_WORDS, WARPS};
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use super::block::{THREADS, exclusive_sum};
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use crate::simt::*;

/// Bits of a digit.
pub const DIGIT_BITS: u32 = 7;
const DIGITS: u32 = 1 << DIGIT_BITS;
/// Words of shared memory that a pass uses: for each warp a counter a digit, and the start of each digit.
pub(super) const WORDS: u32 = WARPS * DIGITS + DIGITS + SUM_WORDS;

/// Pairs of a point and its voxel, in shared or in global memory.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[derive(Clone, Copy)]
pub(super) struct Pairs {
    /// Where they are if they are few.
    pub(super) shared: Shared,
    /// The voxels follow so many words behind the points.
    pub(super) stride: u32,
    /// Where they are if they are many; else null.
    pub(super) points: *mut u32,
    pub(super) voxels: *mut u32,
}

// SAFETY (all blocks below): the launcher's promise about the sizes; `e` is below the number of pairs that there is room for.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[allow(clippy::undocumented_unsafe_blocks)]
impl Pairs {
    #[inline(always)]
    pub(super) unsafe fn point(&self, e: u32) -> u32 {
        if self.points.is_null() { self.shared.get(e) } else { unsafe { *self.points.add(e as usize) } }
    }

    #[inline(always)]
    pub(super) unsafe fn voxel(&self, e: u32) -> u32 {
        if self.points.is_null() { self.shared.get(self.stride + e) } else { unsafe { *self.voxels.add(e as usize) } }
    }

    #[inline(always)]
    pub(super) unsafe fn set_point(&self, e: u32, point: u32) {
        if self.points.is_null() {
            self.shared.set(e, point);
        } else {
            unsafe { *self.points.add(e as usize) = point };
        }
    }

    #[inline(always)]
    pub(super) unsafe fn set_voxel(&self, e: u32, voxel: u32) {
        if self.points.is_null() {
            self.shared.set(self.stride + e, voxel);
        } else {
            unsafe { *self.voxels.add(e as usize) = voxel };
        }
    }
}

/// Moves `n` pairs from `a` to `b`, ordered by one digit of their voxels, equal ones in the order they had. All threads call.
///
/// # Safety
/// Both have room for `n` pairs; `shared` has [`WORDS`] words.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
pub(super) unsafe fn pass(a: &Pairs, b: &Pairs, n: u32, shift: u32, shared: Shared) {
    let counts = Shared::at_offset(shared, warp() * DIGITS);
    let starts = Shared::at_offset(shared, WARPS * DIGITS);
    let sums = Shared::at_offset(shared, WARPS * DIGITS + DIGITS);
    // Each warp has a segment, of whole groups of 32.
    let segment = n.div_ceil(THREADS) * WARP;
    let first = warp() * segment;
    let end = if first + segment < n { first + segment } else { n };
    let digit = |e: u32| unsafe { a.voxel(e) >> shift } & (DIGITS - 1);
    let mut word = thread_index();
    while word < WARPS * DIGITS {
        shared.set(word, 0);
        word += THREADS;
    }
    sync_block();
    let mut e = first + lane();
    while e < end {
        counts.add(digit(e), 1);
        e += WARP;
    }
    sync_block();
    // For each digit: counts of the warps before, and where the digit starts.
    let d = thread_index();
    let mut total = 0;
    if d < DIGITS {
        for w in 0..WARPS {
            let count = shared.get(w * DIGITS + d);
            shared.set(w * DIGITS + d, total);
            total += count;
        }
    }
    let (before, _) = exclusive_sum(total, sums);
    if d < DIGITS {
        starts.set(d, before);
    }
    sync_block();
    let mut group = first;
    while group < end {
        let e = group + lane();
        let live = e < end;
        let d = if live { digit(e) } else { 0 };
        let mut peers = ballot(live);
        for bit in 0..DIGIT_BITS {
            let set = ballot((d >> bit) & 1 != 0);
            peers &= if (d >> bit) & 1 != 0 { set } else { !set };
        }
        let rank = (peers & lanes_before()).count_ones();
        let base = if live { counts.get(d) } else { 0 };
        sync_warp();
        if live {
            if rank == 0 {
                counts.set(d, base + peers.count_ones());
            }
            let to = starts.get(d) + base + rank;
            unsafe {
                b.set_point(to, a.point(e));
                b.set_voxel(to, a.voxel(e));
            }
        }
        sync_warp();
        group += WARP;
    }
    sync_block();
}
