//! Stable compaction: the indices of set flags, in order.

use super::length::{BLOCK, Length};
use super::scan::{SHARED_WORDS, Tiles};
use crate::{prim::scan, simt::*};

/// Elements a thread of [`Compact`] handles.
const ITEMS: usize = 4;
/// Elements a tile of [`Compact`] holds.
pub const TILE: u32 = BLOCK * ITEMS as u32;

/// Arguments of [`Compact`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CompactArgs {
    /// Nonzero where an element stays.
    pub flags: *const u32,
    /// The indices of the elements that stay, ascending; room for n.
    pub indices: *mut u32,
    /// How many stay.
    pub count: *mut u32,
    /// The number of elements, n.
    pub n: Length,
    /// State, zero before.
    pub tiles: Tiles,
}

/// The elements of one tile as one thread sees them: which it has, which are flagged, how many
/// flagged ones come before.
#[derive(Clone, Copy, Debug)]
pub struct Ranks<const ITEMS: usize> {
    /// The thread's first element; the others follow at distances of a warp.
    pub start: u32,
    /// Whether the thread's elements are flagged.
    pub flagged: [bool; ITEMS],
    /// Flagged elements before each of the thread's elements, in all tiles.
    pub rank: [u32; ITEMS],
    /// Flagged elements up to the end of this tile.
    pub end: u32,
}

/// The first element of this thread in a tile of `ITEMS` elements a thread.
#[inline(always)]
pub fn first_element<const ITEMS: usize>(tile: u32) -> u32 {
    (tile * (BLOCK / WARP) + warp()) * (WARP * ITEMS as u32) + lane()
}

/// Ranks the elements of `tile` by flag. All threads of the block call.
///
/// # Safety
/// `tiles` is valid and was zero before the launch; `tile` came from [`scan::take_tile`].
#[inline(always)]
pub unsafe fn rank_tile<const ITEMS: usize>(
    tiles: Tiles,
    tile: u32,
    shared: Shared,
    flag: impl Fn(u32) -> bool,
) -> Ranks<ITEMS> {
    let start = first_element::<ITEMS>(tile);
    let mut flagged = [false; ITEMS];
    // All loads first, so that they are in flight together.
    for j in 0..ITEMS {
        flagged[j] = flag(start + j as u32 * WARP);
    }
    let mut rank = [0; ITEMS];
    let mut sum = 0;
    for j in 0..ITEMS {
        let set = ballot(flagged[j]);
        rank[j] = sum + (set & lanes_before()).count_ones();
        sum += set.count_ones();
    }
    // SAFETY: the caller's promise.
    let (before, end) = unsafe { scan::prefix_of_warp(tiles, tile, sum, shared) };
    for j in 0..ITEMS {
        rank[j] += before;
    }
    Ranks { start, flagged, rank, end }
}

kernel! {
    /// Writes the indices of set flags. One block a tile of [`TILE`], at least one.
    Compact = "prim_compact", block BLOCK, shared SHARED_WORDS, cooperative true,
    fn(a: CompactArgs) {
        let shared = Shared::at(0);
        let n = a.n.get();
        let tile = scan::take_tile(a.tiles, shared);
        if tile > 0 && tile * TILE >= n {
            return;
        }
        let r = rank_tile::<ITEMS>(a.tiles, tile, shared, |i| i < n && *a.flags.add(i as usize) != 0);
        for j in 0..ITEMS {
            if r.flagged[j] {
                *a.indices.add(r.rank[j] as usize) = r.start + j as u32 * WARP;
            }
        }
        if thread_index() == 0 && n <= tile * TILE + TILE {
            *a.count = r.end;
        }
    }
}
