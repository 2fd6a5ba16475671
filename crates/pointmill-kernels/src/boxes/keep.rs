//! Which candidates are kept: walks along the order, a round of them at a time.

use super::suppress::{Item, LAST};
use super::{BLOCK, NONE};
use crate::prim::last_where;
use crate::simt::*;

/// Most candidates of an item: their bits take 8 GiB.
pub const MAX_CANDIDATES: u32 = 1 << 18;
/// Candidates that one launch of [`Keep`] decides about: a word of bits for each lane.
pub const ROUND: u32 = 32 * WARP;
/// Rows of a step whose bits a warp of [`Keep`] spreads.
const ROWS_OF_WARP: u32 = 2;
/// Threads a block of [`Keep`]: a warp that decides, and those that spread.
const KEEP_BLOCK: u32 = WARP + 32 / ROWS_OF_WARP * WARP;
/// Rows of a round whose bits a warp of [`Spread`] spreads.
const ROWS_OF_SPREAD: u32 = 16;
/// Blocks of [`Spread`] for each place of [`spread_places`].
pub const PARTS: u32 = ROUND / (BLOCK / WARP * ROWS_OF_SPREAD);

/// Words of [`KeepArgs::removed`] for all items together.
pub const fn removed_words(n: u32, num_items: u32) -> u32 {
    n / 32 + num_items
}

/// Places of [`WARP`] words that [`Spread`] looks at, for all items together.
pub const fn spread_places(n: u32, num_items: u32) -> u32 {
    n / (32 * WARP) + num_items
}

/// Arguments of [`Keep`] and [`Spread`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KeepArgs {
    /// `[n]`: keys in order.
    pub keys: *const u64,
    /// `[n]`: rows in order.
    pub order: *const u32,
    /// `[items]`.
    pub items: *const Item,
    /// How many items there are.
    pub num_items: u32,
    /// See [`SuppressArgs`](super::SuppressArgs).
    pub bits: *const u32,
    /// Which round this is.
    pub round: u32,
    /// How many there are.
    pub rounds: u32,
    /// [`removed_words`]: from word `first / 32 + i` on the candidates of item `i` that rounds before
    /// removed, a bit each. Zero before the first round; null where there is one round.
    pub removed: *mut u32,
    /// `[items, WARP]`: the candidates of the round that are kept, a bit each; null where there is one
    /// round.
    pub chosen: *mut u32,
    /// Most rows that an item keeps.
    pub capacity: u32,
    /// `[items, capacity]`: the rows that are kept, in order, and after the last round -1 behind them.
    pub rows: *mut i32,
    /// `[items]`: how many so far.
    pub num_kept: *mut i32,
}

kernel! {
    /// Keeps the candidates of a round that no kept one suppresses. One block an item.
    ///
    /// The first warp decides about 32 candidates at a time, in order. The other warps spread what
    /// it kept before: which later candidates of the round are removed. They are one step behind, so
    /// the first warp itself passes on what its last step means for the next.
    Keep = "boxes_keep", block KEEP_BLOCK, shared 2 * WARP + 3, cooperative true,
    fn(a: KeepArgs) {
        let (removed, chosen) = (Shared::at(0), Shared::at(WARP));
        let (goes_on, total) = (Shared::at(2 * WARP), Shared::at(2 * WARP + 2));
        let number = block_index();
        let item = *a.items.add(number as usize);
        let rows = a.rows.add(number as usize * a.capacity as usize);
        let words = item.len.div_ceil(32);
        let span = Span { first: a.round * WARP, end: least(words, (a.round + 1) * WARP), words };
        let bits = a.bits.add(item.bits as usize);
        let mut kept = if a.round == 0 { 0 } else { *a.num_kept.add(number as usize) as u32 };
        // Behind the first row that is no candidate there is none.
        let mut more = span.first < words
            && kept < a.capacity
            && *a.keys.add((item.first + span.first * 32) as usize) as u32 != LAST;
        if thread_index() < WARP {
            let known = more & (a.round > 0) & (span.first + lane() < words);
            let before = if known { *a.removed.add((a.place(item, number) + span.first + lane()) as usize) } else { 0 };
            removed.set(lane(), before);
            chosen.set(lane(), 0);
        }
        if thread_index() == 0 {
            total.set(0, kept);
        }
        sync_block();
        let (mut passed_on, mut word) = (0, span.first);
        let mut step = if (warp() == 0) & more { a.load(item, bits, span, word) } else { Step::NONE };
        let mut ready = [0; ROWS_OF_WARP as usize];
        while more {
            let at = word - span.first;
            if warp() == 0 {
                let following = if word + 1 < span.end { a.load(item, bits, span, word + 1) } else { Step::NONE };
                let candidates = ballot(step.candidate);
                let mut alive = candidates & !(removed.get(at) | passed_on);
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
                    chosen.set(at, alive);
                    goes_on.set(at & 1, (candidates == NONE && kept < a.capacity && word + 1 < span.end) as u32);
                    total.set(0, kept);
                }
                step = following;
            } else {
                // The bits of this step, for the next; and what was kept in the step before, for the
                // words after the next.
                let first = (warp() - 1) * ROWS_OF_WARP;
                let mut following = [0; ROWS_OF_WARP as usize];
                let column = span.first + lane();
                for k in 0..ROWS_OF_WARP {
                    let row = word * 32 + first + k;
                    if (row < item.len) & (column > word + 1) & (column < span.end) {
                        following[k as usize] = *bits.add(row as usize * words as usize + column as usize);
                    }
                }
                if at > 0 {
                    let (alive, mut hit) = (chosen.get(at - 1) >> first, 0);
                    for k in 0..ROWS_OF_WARP {
                        hit |= ready[k as usize] & 0u32.wrapping_sub(alive >> k & 1);
                    }
                    if hit != 0 {
                        removed.or(lane(), hit);
                    }
                }
                ready = following;
            }
            sync_block();
            more = goes_on.get(at & 1) != 0;
            word += 1;
        }
        kept = least(total.get(0), a.capacity);
        if thread_index() == 0 {
            *a.num_kept.add(number as usize) = kept as i32;
        }
        if (thread_index() < WARP) & (a.round + 1 < a.rounds) {
            *a.chosen.add((number * WARP + lane()) as usize) = chosen.get(lane());
        }
        if a.round + 1 == a.rounds {
            let mut rank = kept + thread_index();
            while rank < a.capacity {
                *rows.add(rank as usize) = -1;
                rank += KEEP_BLOCK;
            }
        }
    }
}

kernel! {
    /// Notes which candidates of later rounds those suppress that a round kept. [`PARTS`] blocks for
    /// each of the [`spread_places`].
    Spread = "boxes_spread", block BLOCK, shared 0, cooperative false,
    fn(a: KeepArgs) {
        let (place, part) = (block_index() / PARTS, block_index() % PARTS);
        // The last item whose places start at or before this one.
        let starts = |item: u32| spread_places((*a.items.add(item as usize)).first, item);
        let number = last_where(a.num_items, |item| starts(item) <= place);
        let item = *a.items.add(number as usize);
        let words = item.len.div_ceil(32);
        let word = (place - spread_places(item.first, number)) * WARP + lane();
        if (word < (a.round + 1) * WARP) | (word >= words) | (*a.num_kept.add(number as usize) as u32 >= a.capacity) {
            return;
        }
        let first = part * (BLOCK / WARP * ROWS_OF_SPREAD) + warp() * ROWS_OF_SPREAD;
        let chosen = *a.chosen.add((number * WARP + first / 32) as usize) >> (first % 32);
        if chosen & ((1 << ROWS_OF_SPREAD) - 1) == 0 {
            return;
        }
        let bits = a.bits.add(item.bits as usize);
        let mut hit = 0;
        for k in 0..ROWS_OF_SPREAD {
            // A row that is not kept is not read, and may not be there; the first one stands for it.
            let there = chosen >> k & 1;
            let row = (a.round * ROUND + first + k) * there;
            hit |= *bits.add(row as usize * words as usize + word as usize) & 0u32.wrapping_sub(there);
        }
        if hit != 0 {
            atomic_or(a.removed.add((a.place(item, number) + word) as usize), hit);
        }
    }
}

#[inline(always)]
fn least(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

/// The words of a round.
#[derive(Clone, Copy)]
struct Span {
    first: u32,
    end: u32,
    /// Those of the item.
    words: u32,
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
    /// Where the removed candidates of an item start.
    #[inline(always)]
    fn place(&self, item: Item, number: u32) -> u32 {
        removed_words(item.first, number)
    }

    /// # Safety
    /// The item and its bits are there.
    #[inline(always)]
    unsafe fn load(&self, item: Item, bits: *const u32, span: Span, word: u32) -> Step {
        let i = word * 32 + lane();
        if i >= item.len {
            return Step::NONE;
        }
        // SAFETY: the item has a key for each candidate, and a row of bits from its own word on.
        unsafe {
            let row = bits.add(i as usize * span.words as usize + word as usize);
            Step {
                candidate: *self.keys.add((item.first + i) as usize) as u32 != LAST,
                own: *row,
                next: if word + 1 < span.end { *row.add(1) } else { 0 },
            }
        }
    }
}
