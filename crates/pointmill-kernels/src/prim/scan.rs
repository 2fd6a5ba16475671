//! Exclusive prefix sums in one pass: each tile adds up its own elements, then looks back at the tiles before it.
//!
//! A tile publishes one word: two bits say whether it holds the tile's own sum or the sum of everything up to the tile's
//! end, thirty bits hold the number. Flag and value travel together, so no fence is needed; sums stay below 2^30. Tiles are
//! taken by ticket, so every tile before this one has started, whatever order the GPU runs blocks in.
//! Source: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016.

use super::{BLOCK, Length, WARPS};
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use crate::simt::*;

/// Elements a thread handles in [`Scan`].
pub const ITEMS: u32 = 8;
/// Elements a tile of [`Scan`] holds.
pub const TILE: u32 = BLOCK * ITEMS;
/// Largest sum plus one.
pub const MAX_SUM: u32 = 1 << 30;
/// Words of shared memory that [`take_tile`] and [`prefix_of_warp`] use.
pub const SHARED_WORDS: u32 = WARPS + 2;

/// What the tiles of one pass share: one ticket, then one word a tile. All zero before the pass.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Tiles {
    /// `1 + number of tiles` words.
    pub words: *mut u32,
}

impl Tiles {
    /// Words that a pass over `tiles` tiles needs.
    pub const fn words(tiles: u32) -> u32 {
        1 + tiles
    }
}

/// Arguments of [`Scan`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ScanArgs {
    /// Elements to add up.
    pub input: *const u32,
    /// `n + 1` prefix sums: `output[i]` is the sum of the first `i` elements.
    pub output: *mut u32,
    /// The number of elements, n.
    pub n: Length,
    /// State, zero before.
    pub tiles: Tiles,
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
mod device {
    use super::*;

    const OWN: u32 = 1 << 30;
    const UP_TO_HERE: u32 = 2 << 30;
    const VALUE: u32 = MAX_SUM - 1;
    /// The word that holds the block's tile.
    const TILE_WORD: u32 = WARPS + 1;

    /// The tile this block works on. All threads call; `shared` has [`SHARED_WORDS`] words.
    ///
    /// # Safety
    /// `tiles` is valid and was zero before the launch.
    #[inline(always)]
    pub unsafe fn take_tile(tiles: Tiles, shared: Shared) -> u32 {
        if thread_index() == 0 {
            // SAFETY: word 0 is the ticket.
            shared.set(TILE_WORD, unsafe { atomic_add(tiles.words, 1) });
        }
        sync_block();
        shared.get(TILE_WORD)
    }

    /// Publishes this tile's sum and returns the sum of all tiles before it. All lanes of one warp call.
    ///
    /// # Safety
    /// As [`take_tile`]; `tile` came from there.
    #[inline(always)]
    unsafe fn look_back(tiles: Tiles, tile: u32, sum: u32) -> u32 {
        // SAFETY: one word a tile follows the ticket.
        let state = |t: u32| unsafe { tiles.words.add(1 + t as usize) };
        if lane() == 0 && tile > 0 {
            // SAFETY: as above.
            unsafe { store_relaxed(state(tile), OWN | sum) };
        }
        let mut before = 0;
        let mut end = tile;
        while end > 0 {
            // 32 tiles at once, the nearest in lane 0.
            let word = if lane() < end {
                // SAFETY: as above.
                unsafe { load_relaxed(state(end - 1 - lane())) }
            } else {
                UP_TO_HERE
            };
            let missing = ballot(word < OWN);
            let complete = ballot(word >= UP_TO_HERE);
            // The lanes up to and including the first that knows everything before it.
            let wanted = complete ^ complete.wrapping_sub(1);
            if missing & wanted == 0 {
                let value = if (wanted >> lane()) & 1 == 1 { word & VALUE } else { 0 };
                before += warp_sum(value);
                end = if complete != 0 || end < WARP { 0 } else { end - WARP };
            }
        }
        if lane() == 0 {
            // SAFETY: as above.
            unsafe { store_relaxed(state(tile), UP_TO_HERE | (before + sum)) };
        }
        before
    }

    /// The sum of what all warps before this one hold, in all tiles, and the sum up to the end of this tile. All threads
    /// call, with the same `sum` in all lanes of a warp.
    ///
    /// # Safety
    /// As [`take_tile`]; `tile` came from there.
    #[inline(always)]
    pub unsafe fn prefix_of_warp(tiles: Tiles, tile: u32, sum: u32, shared: Shared) -> (u32, u32) {
        if lane() == 0 {
            shared.set(warp(), sum);
        }
        sync_block();
        if warp() == 0 {
            let own = if lane() < WARPS { shared.get(lane()) } else { 0 };
            let inclusive = warp_inclusive_sum(own);
            let total = shuffle(inclusive, WARP - 1);
            // SAFETY: the caller's promise.
            let before = unsafe { look_back(tiles, tile, total) };
            sync_warp();
            if lane() < WARPS {
                shared.set(lane(), before + inclusive - own);
            }
            if lane() == 0 {
                shared.set(WARPS, before + total);
            }
        }
        sync_block();
        (shared.get(warp()), shared.get(WARPS))
    }
}
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
pub use device::*;

kernel! {
    /// Exclusive prefix sums of `n` elements, and their total. One block a tile of [`TILE`], at least one.
    Scan = "prim_scan", block BLOCK, shared SHARED_WORDS, cooperative true,
    fn(a: ScanArgs) {
        let shared = Shared::at(0);
        let n = a.n.get();
        let tile = take_tile(a.tiles, shared);
        if tile * TILE > n {
            return;
        }
        // A warp's elements are consecutive, so that its sums are too.
        let start = tile * TILE + warp() * (WARP * ITEMS) + lane();
        let mut prefix = [0; ITEMS as usize];
        let mut sum = 0;
        for j in 0..ITEMS as usize {
            let i = start + j as u32 * WARP;
            prefix[j] = if i < n { *a.input.add(i as usize) } else { 0 };
        }
        for j in 0..ITEMS as usize {
            let inclusive = warp_inclusive_sum(prefix[j]);
            prefix[j] = sum + inclusive - prefix[j];
            sum += shuffle(inclusive, WARP - 1);
        }
        let (before, _) = prefix_of_warp(a.tiles, tile, sum, shared);
        for j in 0..ITEMS as usize {
            let i = start + j as u32 * WARP;
            // One past the end is the total.
            if i <= n {
                *a.output.add(i as usize) = before + prefix[j];
            }
        }
    }
}
