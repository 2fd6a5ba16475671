//! Which candidates are kept: one walk along the order.

use super::NONE;
use super::suppress::{Item, LAST};
use crate::simt::*;

/// Most candidates of an item: a bit each in shared memory.
pub const MAX_CANDIDATES: u32 = 1 << 18;
const REMOVED: u32 = MAX_CANDIDATES / 32;
/// Words of bits of a step: 128 candidates are decided at a time.
const WORDS: usize = 4;
/// Candidates of a step.
const STEP: u32 = 32 * WORDS as u32;
/// Rows of a step whose bits a warp spreads.
const ROWS_OF_WARP: u32 = 8;
/// Threads a block of [`Keep`]: a warp that decides, and those that spread.
const KEEP_BLOCK: u32 = WARP + STEP / ROWS_OF_WARP * WARP;

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
    /// The first warp decides about [`STEP`] candidates at a time, in order. The other warps spread
    /// what it kept before: which later candidates are removed. They are one step behind, so the
    /// first warp itself passes on what its last step means for the next.
    Keep = "boxes_keep", block KEEP_BLOCK, shared REMOVED + 2 * WORDS as u32 + 3, cooperative true, min_blocks 1,
    fn(a: KeepArgs) {
        let (removed, chosen) = (Shared::at(0), Shared::at(REMOVED));
        let (goes_on, total) = (Shared::at(REMOVED + 2 * WORDS as u32), Shared::at(REMOVED + 2 * WORDS as u32 + 2));
        let item = *a.items.add(block_index() as usize);
        let words = item.len.div_ceil(32);
        let bits = a.bits.add(item.bits as usize);
        let rows = a.rows.add(block_index() as usize * a.capacity as usize);
        let mut word = thread_index();
        while word < words.next_multiple_of(WORDS as u32) {
            removed.set(word, 0);
            word += KEEP_BLOCK;
        }
        if thread_index() == 0 {
            total.set(0, 0);
        }
        sync_block();
        let (mut kept, mut passed_on, mut first, mut more) = (0, [0; WORDS], 0, words > 0);
        let mut step = if (warp() == 0) & more { a.load(item, bits, words, 0) } else { Step::NONE };
        while more {
            let buffer = (first / WORDS as u32) & 1;
            let last = first + WORDS as u32 >= words;
            if warp() == 0 {
                let following = if last { Step::NONE } else { a.load(item, bits, words, first + WORDS as u32) };
                let mut gone = passed_on;
                let mut full = true;
                passed_on = [0; WORDS];
                for k in 0..WORDS {
                    let candidates = ballot(step.candidate[k]);
                    full &= candidates == NONE;
                    let mut alive = candidates & !(removed.get(first + k as u32) | gone[k]);
                    let mut rest = ballot(step.own[k][k] != 0);
                    while rest != 0 {
                        let from = rest.trailing_zeros();
                        let other = shuffle(step.own[k][k], from);
                        if alive >> from & 1 != 0 {
                            alive &= !other;
                        }
                        rest &= rest - 1;
                    }
                    let is_alive = alive >> lane() & 1 != 0;
                    let rank = kept + (alive & lanes_before()).count_ones();
                    if is_alive & (rank < a.capacity) {
                        let place = (item.first + (first + k as u32) * 32 + lane()) as usize;
                        *rows.add(rank as usize) = *a.order.add(place) as i32;
                    }
                    for later in k + 1..WORDS {
                        gone[later] |= warp_or(if is_alive { step.own[k][later] } else { 0 });
                    }
                    for later in 0..WORDS {
                        passed_on[later] |= if is_alive { step.next[k][later] } else { 0 };
                    }
                    kept += alive.count_ones();
                    if lane() == 0 {
                        chosen.set(buffer * WORDS as u32 + k as u32, alive);
                    }
                }
                for later in 0..WORDS {
                    passed_on[later] = warp_or(passed_on[later]);
                }
                if lane() == 0 {
                    goes_on.set(buffer, (full & (kept < a.capacity) & !last) as u32);
                    total.set(0, kept);
                }
                step = following;
            } else if first > 0 {
                // What was kept in the step before, for the words after those of this step.
                let of_warp = (warp() - 1) * ROWS_OF_WARP;
                let alive = chosen.get((buffer ^ 1) * WORDS as u32 + of_warp / 32) >> (of_warp % 32);
                let mut later = first + WORDS as u32 + lane();
                while (later < words) & (alive & ((1 << ROWS_OF_WARP) - 1) != 0) {
                    let mut hit = 0;
                    for k in 0..ROWS_OF_WARP {
                        let row = (first - WORDS as u32) * 32 + of_warp + k;
                        // A row that is not there is none that is kept; the first one stands for it.
                        let there = alive >> k & 1;
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
            more = goes_on.get(buffer) != 0;
            first += WORDS as u32;
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

/// What a lane knows of its candidates, one in each word of a step.
#[derive(Clone, Copy)]
struct Step {
    candidate: [bool; WORDS],
    /// Which of its own step each suppresses; words before its own are 0.
    own: [[u32; WORDS]; WORDS],
    /// Which of the next step.
    next: [[u32; WORDS]; WORDS],
}

impl Step {
    const NONE: Self = Self { candidate: [false; WORDS], own: [[0; WORDS]; WORDS], next: [[0; WORDS]; WORDS] };
}

impl KeepArgs {
    /// The step that starts at word `first`.
    ///
    /// # Safety
    /// The item and its bits are there.
    #[inline(always)]
    unsafe fn load(&self, item: Item, bits: *const u32, words: u32, first: u32) -> Step {
        let mut step = Step::NONE;
        for k in 0..WORDS {
            let i = (first + k as u32) * 32 + lane();
            if i < item.len {
                let row = i as usize * words as usize;
                let word = |later: u32| {
                    // SAFETY: a row of bits has words from that of its candidate on.
                    if later < words { unsafe { *bits.add(row + later as usize) } } else { 0 }
                };
                for later in k..WORDS {
                    step.own[k][later] = word(first + later as u32);
                }
                for later in 0..WORDS {
                    step.next[k][later] = word(first + (WORDS + later) as u32);
                }
                // SAFETY: the item has a key for each candidate.
                step.candidate[k] = unsafe { *self.keys.add((item.first + i) as usize) as u32 != LAST };
            }
        }
        step
    }
}

/// The bits that any lane has.
#[inline(always)]
fn warp_or(mut bits: u32) -> u32 {
    let mut distance = WARP / 2;
    while distance > 0 {
        bits |= shuffle(bits, lane() ^ distance);
        distance /= 2;
    }
    bits
}
