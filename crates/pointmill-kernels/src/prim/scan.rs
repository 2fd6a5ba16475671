//! Exclusive prefix sums in one pass: each tile adds up its own elements, then looks back at the
//! tiles before it.
//!
//! A tile publishes one word: two bits say whether it holds the tile's own sum or the sum of
//! everything up to the tile's end, thirty bits hold the number. Flag and value travel together, so
//! no fence is needed; sums stay below 2^30. Tiles are taken by ticket, so every tile before this
//! one has started, whatever order the GPU runs blocks in. Source: Merrill and Garland, Single-pass
//! Parallel Prefix Scan with Decoupled Look-back, 2016.

use super::length::{BLOCK, Length, WARPS};
use crate::simt::*;

/// Elements a thread handles in [`Scan`].
pub const ITEMS: u32 = 8;
/// Elements a tile of [`Scan`] holds.
pub const TILE: u32 = BLOCK * ITEMS;
/// Largest sum plus one.
pub const MAX_SUM: u32 = 1 << 30;
/// Words of shared memory that [`take_tile`] and [`prefix_of_warp`] use.
pub const SHARED_WORDS: u32 = 2 * WARPS + 1;

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

const OWN: u32 = 1 << 30;
const UP_TO_HERE: u32 = 2 << 30;
const VALUE: u32 = MAX_SUM - 1;
/// The word that holds the block's tile.
const TILE_WORD: u32 = 2 * WARPS;
/// Words that a thread reads of the tiles before: a block looks back at 512 tiles at once. (By
/// warps, 32 tiles at a time, the chain is long when all tiles run at once; with 1,024 tiles the
/// registers of `Rows` no longer fit.)
const WORDS: usize = 2;

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

/// The sum of what all warps before this one hold, in all tiles, and the sum up to the end of this
/// tile. All threads call, with the same `sum` in all lanes of a warp.
///
/// # Safety
/// As [`take_tile`]; `tile` came from there.
#[inline(always)]
pub unsafe fn prefix_of_warp(tiles: Tiles, tile: u32, sum: u32, shared: Shared) -> (u32, u32) {
    if lane() == 0 {
        shared.set(warp(), sum);
    }
    sync_block();
    let (mut total, mut before_in_tile) = (0, 0);
    for w in 0..WARPS {
        let other = shared.get(w);
        before_in_tile += if w < warp() { other } else { 0 };
        total += other;
    }
    // SAFETY: one word a tile follows the ticket; `tile` is one of them.
    unsafe {
        let own = tiles.words.add(1 + tile as usize);
        if thread_index() == 0 && tile > 0 {
            store_relaxed(own, OWN | total);
        }
        let before = look_back(tiles, tile, shared);
        if thread_index() == 0 {
            store_relaxed(own, UP_TO_HERE | (before + total));
        }
        (before + before_in_tile, before + total)
    }
}

/// The sum of all tiles before `tile`. All threads call.
///
/// # Safety
/// As [`take_tile`]; `tile` came from there, and its own sum is published.
#[inline(always)]
unsafe fn look_back(tiles: Tiles, tile: u32, shared: Shared) -> u32 {
    let (nearest, sums) = (shared, Shared::at_offset(shared, WARPS));
    let mut before = 0;
    let mut end = tile;
    while end > 0 {
        // Words of the tiles before `end`, the nearest in the first thread. Each tile publishes its
        // own sum without waiting for anyone.
        let mut words = [0; WORDS];
        let (mut ready, mut tries) = (false, 0);
        while !ready {
            ready = true;
            back_off(tries);
            tries += 1;
            for j in 0..WORDS {
                let distance = j as u32 * BLOCK + thread_index();
                if words[j] < OWN {
                    // SAFETY: one word a tile follows the ticket.
                    let word = || unsafe { load_relaxed(tiles.words.add((end - distance) as usize)) };
                    words[j] = if distance < end { word() } else { UP_TO_HERE };
                    ready &= words[j] >= OWN;
                }
            }
        }
        // The nearest tile that knows everything before it.
        let mut distance = u32::MAX;
        for j in 0..WORDS {
            let complete = ballot(words[WORDS - 1 - j] >= UP_TO_HERE);
            if complete != 0 {
                distance = (WORDS - 1 - j) as u32 * BLOCK + warp() * WARP + complete.trailing_zeros();
            }
        }
        sync_block();
        if lane() == 0 {
            nearest.set(warp(), distance);
        }
        sync_block();
        for w in 0..WARPS {
            let other = nearest.get(w);
            distance = if other < distance { other } else { distance };
        }
        let mut sum = 0;
        for j in 0..WORDS {
            let wanted = j as u32 * BLOCK + thread_index() <= distance;
            sum += if wanted { words[j] & VALUE } else { 0 };
        }
        let sum = warp_sum(sum);
        if lane() == 0 {
            sums.set(warp(), sum);
        }
        sync_block();
        for w in 0..WARPS {
            before += sums.get(w);
        }
        end = if distance != u32::MAX { 0 } else { end - WORDS as u32 * BLOCK };
    }
    before
}

kernel! {
    /// Exclusive prefix sums of `n` elements, and their total. One block a tile of [`TILE`], at
    /// least one.
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
