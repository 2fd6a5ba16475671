//! Which candidates are kept: one walk along the order.

use super::NONE;
use super::suppress::{Item, LAST};
use crate::simt::*;

/// Most candidates of an item: a bit each in shared memory.
pub const MAX_CANDIDATES: u32 = 1 << 18;
const REMOVED: u32 = MAX_CANDIDATES / 32;
/// Rows of a step whose bits a warp spreads.
const ROWS_OF_WARP: u32 = 2;
/// Threads a block of [`Keep`]: a warp that decides, and those that spread.
const KEEP_BLOCK: u32 = WARP + 32 / ROWS_OF_WARP * WARP;

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
    ///
    /// The first warp decides about 32 candidates at a time, in order. The other warps spread what
    /// it kept before: which later candidates are removed. They are one step behind, so the first
    /// warp itself passes on what its last step means for the next.
    Keep = "boxes_keep", block KEEP_BLOCK, shared REMOVED + 5, cooperative true,
    fn(a: KeepArgs) {
        let (removed, chosen) = (Shared::at(0), Shared::at(REMOVED));
        let (goes_on, total) = (Shared::at(REMOVED + 2), Shared::at(REMOVED + 4));
        let item = *a.items.add(block_index() as usize);
        let words = item.len.div_ceil(32);
        let bits = a.bits.add(item.bits as usize);
        let rows = a.rows.add(block_index() as usize * a.capacity as usize);
        let mut word = thread_index();
        while word < words {
            removed.set(word, 0);
            word += KEEP_BLOCK;
        }
        if thread_index() == 0 {
            total.set(0, 0);
        }
        sync_block();
        let (mut kept, mut passed_on, mut word, mut more) = (0, 0, 0, words > 0);
        let mut step = if (warp() == 0) & more { a.load(item, bits, words, 0) } else { Step::NONE };
        while more {
            if warp() == 0 {
                let following = if word + 1 < words { a.load(item, bits, words, word + 1) } else { Step::NONE };
                let candidates = ballot(step.candidate);
                let mut alive = candidates & !(removed.get(word) | passed_on);
                let mut rest = ballot(step.own != 0);
                while rest != 0 {
                    let from = rest.trailing_zeros();
                    let other = shuffle(step.own, from);
                    if alive >> from & 1 != 0 {
                        alive &= !other;
                    }
                    rest &= rest - 1;
                }
                let is_alive = alive >> lane() & 1 != 0;
                let rank = kept + (alive & lanes_before()).count_ones();
                if is_alive & (rank < a.capacity) {
                    *rows.add(rank as usize) = *a.order.add((item.first + word * 32 + lane()) as usize) as i32;
                }
                passed_on = 0;
                let mut from_next = ballot(is_alive & (step.next != 0));
                while from_next != 0 {
                    passed_on |= shuffle(step.next, from_next.trailing_zeros());
                    from_next &= from_next - 1;
                }
                kept += alive.count_ones();
                if lane() == 0 {
                    chosen.set(word & 1, alive);
                    goes_on.set(word & 1, (candidates == NONE && kept < a.capacity && word + 1 < words) as u32);
                    total.set(0, kept);
                }
                step = following;
            } else if word > 0 {
                // What was kept in the step before, for the words after the next.
                let alive = chosen.get((word - 1) & 1);
                let first = (warp() - 1) * ROWS_OF_WARP;
                let mut later = word + 1 + lane();
                while (later < words) & (alive >> first & ((1 << ROWS_OF_WARP) - 1) != 0) {
                    let mut hit = 0;
                    for k in 0..ROWS_OF_WARP {
                        let row = (word - 1) * 32 + first + k;
                        // A row that is not there is none that is kept; the first one stands for it.
                        let there = alive >> (first + k) & 1;
                        let found = *bits.add((row * there) as usize * words as usize + later as usize);
                        hit |= found & 0u32.wrapping_sub(there);
                    }
                    if hit != 0 {
                        removed.or(later, hit);
                    }
                    later += WARP;
                }
            }
            sync_block();
            more = goes_on.get(word & 1) != 0;
            word += 1;
        }
        kept = total.get(0);
        kept = if kept < a.capacity { kept } else { a.capacity };
        if thread_index() == 0 {
            *a.num_kept.add(block_index() as usize) = kept as i32;
        }
        let mut rank = kept + thread_index();
        while rank < a.capacity {
            *rows.add(rank as usize) = -1;
            rank += KEEP_BLOCK;
        }
    }
}

/// What a lane knows of its candidate.
#[derive(Clone, Copy)]
struct Step {
    candidate: bool,
    /// Which of the 32 of its own step it suppresses.
    own: u32,
    /// Which of the 32 of the next step.
    next: u32,
}

impl Step {
    const NONE: Self = Self { candidate: false, own: 0, next: 0 };
}

impl KeepArgs {
    /// # Safety
    /// The item and its bits are there.
    #[inline(always)]
    unsafe fn load(&self, item: Item, bits: *const u32, words: u32, word: u32) -> Step {
        let i = word * 32 + lane();
        if i >= item.len {
            return Step::NONE;
        }
        // SAFETY: the item has a key for each candidate, and a row of bits from its own word on.
        unsafe {
            let row = bits.add(i as usize * words as usize + word as usize);
            Step {
                candidate: *self.keys.add((item.first + i) as usize) as u32 != LAST,
                own: *row,
                next: if word + 1 < words { *row.add(1) } else { 0 },
            }
        }
    }
}
