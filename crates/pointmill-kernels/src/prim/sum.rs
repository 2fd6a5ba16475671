//! Sums of `f64` in one tree, the same on every device: values of [`TREE`] threads by halves of a
//! warp and then its two warps, these sums in [`SEGMENTS`] chains, and the chains by halves.

use super::length::BLOCK;
use crate::simt::*;

/// Points whose values are added in one tree; threads of a block that does so.
pub const TREE: u32 = 64;
/// Chains in which the sums of trees are added: tree `b` belongs to chain `b % SEGMENTS`.
pub const SEGMENTS: u32 = 8;
/// Sums of a chain that are read together.
const AHEAD: u32 = 32;

/// Adds the values of a block's points and writes the sums. All threads of a block of [`TREE`]
/// call; `shared` has 2 x K words.
///
/// # Safety
/// `to` is valid for a write.
#[inline(always)]
pub unsafe fn write_tree<const K: usize>(values: [f64; K], shared: Shared, to: *mut [f64; K]) {
    const { assert!(K <= WARP as usize) };
    // SAFETY: the caller's promise.
    unsafe {
        if K <= 4 {
            write_padded::<K, 4>(values, shared, to);
        } else if K <= 16 {
            write_padded::<K, 16>(values, shared, to);
        } else {
            write_padded::<K, { WARP as usize }>(values, shared, to);
        }
    }
}

/// [`write_tree`] of at most G values.
#[inline(always)]
unsafe fn write_padded<const K: usize, const G: usize>(values: [f64; K], shared: Shared, to: *mut [f64; K]) {
    let mut padded = [0.0; G];
    for k in 0..K {
        if k < G {
            padded[k] = values[k];
        }
    }
    let sum = warp_tree_sums(padded);
    // Lanes that have the same sum lie side by side.
    let lanes = WARP / G as u32;
    let k = lane() / lanes;
    let has = lane().is_multiple_of(lanes) && k < K as u32;
    let others = Doubles::at(shared, K as u32);
    if warp() > 0 && has {
        others.set(k, sum);
    }
    sync_block();
    if warp() == 0 && has {
        // SAFETY: the caller's promise, and k < K.
        unsafe { *to.cast::<f64>().add(k as usize) = sum + others.get(k) };
    }
}

/// From one value of a point to the next in the memory of [`write_shared_tree`]: four values of
/// eight points lie in different banks.
pub const TREE_ROW: u32 = TREE + 8;

/// Words of the memory of [`write_shared_tree`].
pub const fn tree_words(values: usize) -> u32 {
    2 * TREE_ROW * values as u32
}

/// As [`write_tree`], of values in shared memory: value `k` of point `p` is element
/// `k * TREE_ROW + p`. All threads of a block of [`BLOCK`] call, behind a barrier.
///
/// # Safety
/// `to` is valid for a write.
#[inline(always)]
pub unsafe fn write_shared_tree<const K: usize>(values: Doubles, to: *mut [f64; K]) {
    const { assert!(K as u32 * LANES <= BLOCK) };
    // Eight threads a value begin where a tree of a warp has come down to eight lanes.
    const LANES: u32 = 8;
    let (k, first) = (thread_index() / LANES, thread_index() % LANES);
    let mut halves = [0.0; 2];
    for half in 0..2 {
        if k < K as u32 {
            let value = |lanes: u32| values.get(k * TREE_ROW + half * WARP + lanes * LANES + first);
            halves[half as usize] = (value(0) + value(2)) + (value(1) + value(3));
        }
        let mut distance = LANES / 2;
        while distance > 0 {
            let other = shuffle_u64(halves[half as usize].to_bits(), lane() ^ distance);
            halves[half as usize] += f64::from_bits(other);
            distance /= 2;
        }
    }
    if k < K as u32 && first == 0 {
        // SAFETY: the caller's promise, and k < K.
        unsafe { *to.cast::<f64>().add(k as usize) = halves[0] + halves[1] };
    }
}

/// Whether all of so many blocks have come here, this one as the last: then it sees what each wrote
/// before. All threads of a block call; `shared` has a word.
///
/// # Safety
/// `arrived` is valid, and zero before the first of the blocks; it is zero again after the last.
#[inline(always)]
pub unsafe fn is_last(arrived: *mut u32, blocks: u32, shared: Shared) -> bool {
    sync_block();
    if thread_index() == 0 {
        // What this block wrote is seen by whoever sees its arrival, and what the others wrote from
        // here on.
        fence();
        // SAFETY: the caller's promise.
        let last = unsafe { atomic_add(arrived, 1) } == blocks - 1;
        fence();
        if last {
            // SAFETY: as above.
            unsafe { store_relaxed(arrived, 0) };
        }
        shared.set(0, if last { 1 } else { 0 });
    }
    sync_block();
    shared.get(0) != 0
}

/// Words of the memory of [`fold`].
pub const fn fold_words(values: usize) -> u32 {
    2 * SEGMENTS * values as u32
}

/// Adds the sums of trees; thread k gets value k. All threads of a block of K or more call;
/// `shared` has [`fold_words`].
///
/// # Safety
/// `sums` has so many trees.
#[inline(always)]
pub unsafe fn fold<const K: usize>(sums: *const [f64; K], trees: u32, shared: Shared) -> f64 {
    let chains = SEGMENTS * K as u32;
    let values = Doubles::at(shared, chains);
    let mut chain = thread_index();
    while chain < chains {
        let (segment, k) = (chain / K as u32, chain % K as u32);
        // SAFETY: tree < trees and k < K wherever this is called.
        let value = |tree: u32| unsafe { *sums.add(tree as usize).cast::<f64>().add(k as usize) };
        let (mut tree, mut sum) = (segment, 0.0);
        // The order is one by one; the reads need not wait for each other.
        while tree < trees {
            let mut ahead = [0.0; AHEAD as usize];
            for j in 0..AHEAD {
                let at = tree + j * SEGMENTS;
                ahead[j as usize] = if at < trees { value(at) } else { 0.0 };
            }
            for j in 0..AHEAD {
                if tree + j * SEGMENTS < trees {
                    sum += ahead[j as usize];
                }
            }
            tree += AHEAD * SEGMENTS;
        }
        values.set(chain, sum);
        chain += block_size();
    }
    sync_block();
    let mut total = 0.0;
    if thread_index() < K as u32 {
        let value = |segment: u32| values.get(segment * K as u32 + thread_index());
        let pair = |s: u32| value(s) + value(s + 4);
        total = (pair(0) + pair(2)) + (pair(1) + pair(3));
    }
    total
}

const _: () = assert!(SEGMENTS == 8 && TREE == 64);
