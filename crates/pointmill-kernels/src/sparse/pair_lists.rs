//! The pairs of each offset as a list.

use super::{BLOCK, NONE};
use crate::prim::compact::rank_tile;
use crate::prim::scan::{SHARED_WORDS, Tiles, take_tile};
use crate::simt::*;

/// Places of the table that a thread looks at.
const ITEMS: usize = 4;
/// Places of a tile.
pub const PAIR_TILE: u32 = BLOCK * ITEMS as u32;

/// Arguments of [`PairLists`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PairListsArgs {
    /// `[offsets, rows]`: rows of inputs, or [`NONE`].
    pub table: *const u32,
    /// The number of offsets.
    pub offsets: u32,
    /// Rows of the table.
    pub rows: u32,
    /// `[offsets]`: how many pairs each offset has.
    pub counts: *const u32,
    /// State of the scan, zero before.
    pub tiles: Tiles,
    /// The number of inputs.
    pub inputs: u32,
    /// `[2, offsets, inputs]`: rows of inputs, and of outputs; [`NONE`] before.
    pub pairs: *mut u32,
}

kernel! {
    /// Lists the pairs of each offset by output. One block a tile of [`PAIR_TILE`] places.
    PairLists = "sparse_pair_lists", block BLOCK, shared SHARED_WORDS, cooperative true,
    fn(a: PairListsArgs) {
        let shared = Shared::at(0);
        let n = a.offsets * a.rows;
        let tile = take_tile(a.tiles, shared);
        let entry = |i: u32| if i < n { *a.table.add(i as usize) } else { NONE };
        let ranks = rank_tile::<ITEMS>(a.tiles, tile, shared, |i| entry(i) != NONE);
        // Pairs of the offsets before the tile's first one come first.
        let (of_tile, mut before) = (tile * PAIR_TILE / a.rows, 0);
        let mut other = 0;
        while other < of_tile {
            before += *a.counts.add(other as usize);
            other += 1;
        }
        for j in 0..ITEMS {
            if ranks.flagged[j] {
                let i = ranks.start + j as u32 * WARP;
                let (k, output) = (i / a.rows, i % a.rows);
                let (mut first, mut other) = (before, of_tile);
                while other < k {
                    first += *a.counts.add(other as usize);
                    other += 1;
                }
                let place = ranks.rank[j] - first;
                // An input twice is refused, but after this.
                if place < a.inputs {
                    let at = k as usize * a.inputs as usize + place as usize;
                    *a.pairs.add(at) = entry(i);
                    *a.pairs.add(a.offsets as usize * a.inputs as usize + at) = output;
                }
            }
        }
    }
}
