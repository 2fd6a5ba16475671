//! Which candidates are kept: one walk along the order.

use super::suppress::{Item, LAST};
use super::{BLOCK, NONE};
use crate::simt::*;

/// Most candidates of an item: a bit each in shared memory.
pub const MAX_CANDIDATES: u32 = 1 << 18;
const REMOVED: u32 = MAX_CANDIDATES / 32;
const WARPS: u32 = BLOCK / WARP;

/// Arguments of [`Keep`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KeepArgs {
    /// `[n]`: keys in order.
    pub keys: *const u64,
    /// `[n]`: rows in order.
    pub order: *const u32,
    /// `[items]`.
    pub items: *const Item,
    /// See [`SuppressArgs`](super::SuppressArgs).
    pub bits: *const u32,
    /// Most rows that an item keeps.
    pub capacity: u32,
    /// `[items, capacity]`: the rows that are kept, in order, and -1 behind them.
    pub rows: *mut i32,
    /// `[items]`: how many.
    pub num_kept: *mut i32,
}

kernel! {
    /// Keeps the candidates that no kept one suppresses. One block an item.
    Keep = "boxes_keep", block BLOCK, shared REMOVED + 1, cooperative true,
    fn(a: KeepArgs) {
        let (removed, chosen) = (Shared::at(0), Shared::at(REMOVED));
        let item = *a.items.add(block_index() as usize);
        let words = item.len.div_ceil(32);
        let bits = a.bits.add(item.bits as usize);
        let rows = a.rows.add(block_index() as usize * a.capacity as usize);
        let mut word = thread_index();
        while word < words {
            removed.set(word, 0);
            word += BLOCK;
        }
        sync_block();
        let (mut kept, mut word, mut more) = (0, 0, true);
        while more & (word < words) & (kept < a.capacity) {
            let i = word * 32 + lane();
            let at = (item.first + i) as usize;
            let candidate = i < item.len && *a.keys.add(at) as u32 != LAST;
            let candidates = ballot(candidate);
            if warp() == 0 {
                // Bits of this warp's own candidates.
                let own = if candidate { *bits.add(i as usize * words as usize + word as usize) } else { 0 };
                let mut alive = candidates & !removed.get(word);
                let mut rest = ballot(own != 0);
                while rest != 0 {
                    let from = rest.trailing_zeros();
                    let other = shuffle(own, from);
                    if alive >> from & 1 != 0 {
                        alive &= !other;
                    }
                    rest &= rest - 1;
                }
                let rank = kept + (alive & lanes_before()).count_ones();
                if (alive >> lane() & 1 != 0) & (rank < a.capacity) {
                    *rows.add(rank as usize) = *a.order.add(at) as i32;
                }
                if lane() == 0 {
                    chosen.set(0, alive);
                }
            }
            sync_block();
            let alive = chosen.get(0);
            // Each warp takes every eighth of the kept ones.
            let mut later = word + 1 + lane();
            while later < words {
                let mut hit = 0;
                for k in 0..32 / WARPS {
                    let from = warp() + k * WARPS;
                    if alive >> from & 1 != 0 {
                        hit |= *bits.add((word * 32 + from) as usize * words as usize + later as usize);
                    }
                }
                if hit != 0 {
                    removed.or(later, hit);
                }
                later += WARP;
            }
            kept += alive.count_ones();
            more = candidates == NONE;
            word += 1;
            sync_block();
        }
        kept = if kept < a.capacity { kept } else { a.capacity };
        if thread_index() == 0 {
            *a.num_kept.add(block_index() as usize) = kept as i32;
        }
        let mut rank = kept + thread_index();
        while rank < a.capacity {
            *rows.add(rank as usize) = -1;
            rank += BLOCK;
        }
    }
}
