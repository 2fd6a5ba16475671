//! Sums of `f64` in one tree, the same on every device: values of [`TREE`] threads by halves of a warp and then its two warps, these sums in [`SEGMENTS`] chains, and the
//! chains by halves.

use super::length::BLOCK;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use crate::simt::*;

/// Points whose values are added in one tree; threads of a block that does so.
pub const TREE: u32 = 64;
/// Chains in which the sums of trees are added: tree `b` belongs to chain `b % SEGMENTS`.
pub const SEGMENTS: u32 = 8;
/// Sums of a chain that are read together.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
const AHEAD: u32 = 16;

/// Adds the values of a block's points and writes the sums. All threads of a block of [`TREE`] call; `shared` has 2 x K words.
///
/// # Safety
/// `to` is valid for a write.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
pub unsafe fn write_tree<const K: usize>(values: [f64; K], shared: Shared, to: *mut [f64; K]) {
    let mut sums = values;
    for k in 0..K {
        sums[k] = warp_tree_sum(values[k]);
    }
    if thread_index() == WARP {
        for k in 0..K {
            shared.set(k as u32, sums[k].to_bits() as u32);
            shared.set((K + k) as u32, (sums[k].to_bits() >> 32) as u32);
        }
    }
    sync_block();
    if thread_index() == 0 {
        for k in 0..K {
            let other = shared.get(k as u32) as u64 | (shared.get((K + k) as u32) as u64) << 32;
            // SAFETY: the caller's promise.
            unsafe { (*to)[k] = sums[k] + f64::from_bits(other) };
        }
    }
}

/// Adds the sums of trees; thread k gets value k. All threads of a block of [`BLOCK`] call; `shared` has 512 words.
///
/// # Safety
/// `sums` has so many trees.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
pub unsafe fn fold<const K: usize>(sums: *const [f64; K], trees: u32, shared: Shared) -> f64 {
    let (segment, k) = (thread_index() / WARP, lane());
    let mut sum = 0.0;
    if k < K as u32 {
        // SAFETY: tree < trees and k < K wherever this is called.
        let value = |tree: u32| unsafe { *sums.add(tree as usize).cast::<f64>().add(k as usize) };
        let mut tree = segment;
        // The order is one by one; the reads need not wait for each other.
        while tree < trees {
            let mut values = [0.0; AHEAD as usize];
            for j in 0..AHEAD {
                let at = tree + j * SEGMENTS;
                values[j as usize] = if at < trees { value(at) } else { 0.0 };
            }
            for j in 0..AHEAD {
                if tree + j * SEGMENTS < trees {
                    sum += values[j as usize];
                }
            }
            tree += AHEAD * SEGMENTS;
        }
    }
    shared.set(thread_index(), sum.to_bits() as u32);
    shared.set(BLOCK + thread_index(), (sum.to_bits() >> 32) as u32);
    sync_block();
    let value = |segment: u32| {
        let at = segment * WARP + lane();
        f64::from_bits(shared.get(at) as u64 | (shared.get(BLOCK + at) as u64) << 32)
    };
    let pair = |s: u32| value(s) + value(s + 4);
    (pair(0) + pair(2)) + (pair(1) + pair(3))
}

const _: () = assert!(SEGMENTS * 32 == BLOCK && SEGMENTS == 8 && TREE == 64);
