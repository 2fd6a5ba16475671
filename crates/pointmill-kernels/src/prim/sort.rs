//! Stable radix sort of keys with `u32` values, eight bits a pass, each pass reading and writing
//! every pair once.
//!
//! One kernel counts the digits of all passes, one turns the counts into starts, then each pass
//! ranks a tile's keys, learns by look-back how many equal digits come before the tile, and writes
//! runs of equal digits side by side. Source: Adinets and Merrill, Onesweep: A Faster Least
//! Significant Digit Radix Sort for GPUs, 2022.

use super::length::{BLOCK, Length, WARPS};
use crate::simt::*;

/// Bits a pass sorts by.
pub const DIGIT_BITS: u32 = 8;
/// Values of a digit; one thread each.
pub const DIGITS: u32 = 1 << DIGIT_BITS;
/// Most passes: 64-bit keys.
pub const MAX_PASSES: u32 = 8;
/// Pairs a thread handles in a pass over keys of so many words: what shared memory has room for
/// without asking for more.
const fn items(key_words: u32) -> u32 {
    24 - 8 * key_words
}

/// Pairs a tile of a pass holds, for keys of `size` bytes.
pub const fn tile(size: u32) -> u32 {
    BLOCK * items(size / 4)
}

/// Most pairs: a look-back word has 30 bits for a count.
pub const MAX_LEN: u32 = (1 << 30) - 1;

/// Words of state that the passes of one sort share; all zero before.
///
/// First the digit counts of every pass, then one ticket a pass, then a look-back word for each
/// pass, tile and digit.
pub const fn state_words(n: u32, passes: u32, key_size: u32) -> u64 {
    let tiles = n.div_ceil(tile(key_size)) as u64;
    (MAX_PASSES * (DIGITS + 1)) as u64 + passes as u64 * tiles * DIGITS as u64
}

/// The word of `state` where the ticket of `pass` is.
pub const fn ticket_word(pass: u32) -> u32 {
    MAX_PASSES * DIGITS + pass
}

/// The word of `state` where the look-back words of `pass` begin.
pub const fn look_back_word(n: u32, pass: u32, key_size: u32) -> u64 {
    state_words(n, pass, key_size)
}

/// Arguments of [`CountU32`] and [`CountU64`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CountArgs<K> {
    /// Keys.
    pub keys: *const K,
    /// The number of keys.
    pub n: Length,
    /// How many digits of each key to count.
    pub passes: u32,
    /// [`DIGITS`] counts a pass, zero before.
    pub counts: *mut u32,
}

/// Arguments of [`Starts`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StartsArgs {
    /// [`DIGITS`] counts a pass; becomes the place where each digit's run starts.
    pub counts: *mut u32,
}

/// Arguments of [`PassU32`] and [`PassU64`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PassArgs<K> {
    /// Keys before the pass.
    pub keys_in: *const K,
    /// Values before the pass; null for 0, 1, 2, ...
    pub values_in: *const u32,
    /// Keys after the pass.
    pub keys_out: *mut K,
    /// Values after the pass.
    pub values_out: *mut u32,
    /// The number of pairs.
    pub n: Length,
    /// The lowest bit of the digit.
    pub shift: u32,
    /// Where each digit's run starts, [`DIGITS`] words.
    pub starts: *const u32,
    /// Ticket of this pass, zero before.
    pub ticket: *mut u32,
    /// Look-back words of this pass, [`DIGITS`] a tile, zero before.
    pub look_back: *mut u32,
}

const WARP_OFFSETS: u32 = 0;
const DIGIT_TARGETS: u32 = WARP_OFFSETS + WARPS * DIGITS;
const SMALL: u32 = DIGIT_TARGETS + DIGITS;
const STAGE: u32 = SMALL + WARPS + 2;

/// Words of shared memory of a pass over keys of `key_words` words: keys and values are staged.
const fn pass_shared_words(key_words: u32) -> u32 {
    STAGE + BLOCK * items(key_words) * (key_words + 1)
}

const OWN: u32 = 1 << 30;
const UP_TO_HERE: u32 = 2 << 30;
const VALUE: u32 = OWN - 1;
/// Predecessors that a look-back reads at once, to have that many loads in flight.
const STEP: usize = 4;

pub(super) trait Key: Copy {
    const LAST: Self;
    const WORDS: u32;
    fn digit(self, shift: u32) -> u32;
    /// Puts the key into place `i` of a tile.
    fn stage(self, at: Shared, i: u32);
    fn staged(at: Shared, i: u32) -> Self;
}

impl Key for u32 {
    const LAST: Self = u32::MAX;
    const WORDS: u32 = 1;
    #[inline(always)]
    fn digit(self, shift: u32) -> u32 {
        (self >> shift) % DIGITS
    }
    #[inline(always)]
    fn stage(self, at: Shared, i: u32) {
        at.set(i, self);
    }
    #[inline(always)]
    fn staged(at: Shared, i: u32) -> Self {
        at.get(i)
    }
}

impl Key for u64 {
    const LAST: Self = u64::MAX;
    const WORDS: u32 = 2;
    #[inline(always)]
    fn digit(self, shift: u32) -> u32 {
        (self >> shift) as u32 % DIGITS
    }
    #[inline(always)]
    fn stage(self, at: Shared, i: u32) {
        // Halves apart: neighbouring lanes meet neighbouring banks.
        at.set(i, self as u32);
        at.set(tile(8) + i, (self >> 32) as u32);
    }
    #[inline(always)]
    fn staged(at: Shared, i: u32) -> Self {
        at.get(i) as u64 | (at.get(tile(8) + i) as u64) << 32
    }
}

/// Keys a thread reads at once while counting.
const READS: u32 = 4;

#[inline(always)]
pub(super) unsafe fn count<K: Key>(a: CountArgs<K>) {
    let counts = Shared::at(0);
    let mut j = thread_index();
    while j < a.passes * DIGITS {
        counts.set(j, 0);
        j += BLOCK;
    }
    sync_block();
    // SAFETY: the launcher's promise about `n`.
    let n = unsafe { a.n.get() };
    let mut start = block_index() * (BLOCK * READS) + thread_index();
    while start < n {
        let mut keys = [K::LAST; READS as usize];
        for j in 0..READS as usize {
            let i = start + j as u32 * BLOCK;
            if i < n {
                // SAFETY: i < n.
                keys[j] = unsafe { *a.keys.add(i as usize) };
            }
        }
        for j in 0..READS as usize {
            let mut pass = 0;
            while pass < a.passes && start + (j as u32) * BLOCK < n {
                counts.add(pass * DIGITS + keys[j].digit(pass * DIGIT_BITS), 1);
                pass += 1;
            }
        }
        start += grid_size() * (BLOCK * READS);
    }
    sync_block();
    let mut j = thread_index();
    while j < a.passes * DIGITS {
        let sum = counts.get(j);
        if sum > 0 {
            // SAFETY: DIGITS counts a pass.
            unsafe { atomic_add(a.counts.add(j as usize), sum) };
        }
        j += BLOCK;
    }
}

/// Lanes of the warp whose digit is the same as this lane's, by eight votes: with `match_any` a
/// pass takes a third longer on an H200.
#[inline(always)]
fn peers(digit: u32) -> u32 {
    let mut same = u32::MAX;
    let mut bit = 0;
    while bit < DIGIT_BITS {
        let set = (digit >> bit) & 1 == 1;
        let votes = ballot(set);
        same &= if set { votes } else { !votes };
        bit += 1;
    }
    same
}

/// How many pairs of the tiles before this one have the digit whose look-back words `state` points
/// to.
#[inline(always)]
unsafe fn look_back(state: *mut u32, tile: u32) -> u32 {
    let (mut before, mut tries) = (0, 0);
    let mut next = tile as i32 - 1;
    while next >= 0 {
        back_off(tries);
        tries += 1;
        let mut words = [0; STEP];
        for j in 0..STEP {
            let t = next - j as i32;
            // SAFETY: one word a tile, DIGITS apart.
            let word = || unsafe { load_relaxed(state.add(t as usize * DIGITS as usize)) };
            words[j] = if t >= 0 { word() } else { UP_TO_HERE };
        }
        let mut open = true;
        for j in 0..STEP {
            open &= words[j] >= OWN;
            if open {
                before += words[j] & VALUE;
                next = if words[j] >= UP_TO_HERE { -1 } else { next - 1 };
                open = words[j] < UP_TO_HERE;
            }
        }
    }
    before
}

#[inline(always)]
pub(super) unsafe fn pass<K: Key, const ITEMS: usize>(a: PassArgs<K>) {
    // SAFETY: the launcher's promise about the buffers; indices are below n, or are digits.
    unsafe {
        let tile_len = BLOCK * ITEMS as u32;
        let offsets = Shared::at(WARP_OFFSETS + warp() * DIGITS);
        let (all_offsets, targets) = (Shared::at(WARP_OFFSETS), Shared::at(DIGIT_TARGETS));
        let (small, stage) = (Shared::at(SMALL), Shared::at(STAGE));
        let value_stage = Shared::at(STAGE + tile_len * K::WORDS);
        let t = thread_index();
        let n = a.n.get();
        if t == 0 {
            small.set(WARPS, atomic_add(a.ticket, 1));
        }
        for w in 0..WARPS {
            all_offsets.set(w * DIGITS + t, 0);
        }
        sync_block();
        let tile = small.get(WARPS);
        let first = tile * tile_len;
        if first >= n {
            return;
        }
        let count = if n - first < tile_len { n - first } else { tile_len };
        let start = warp() * (WARP * ITEMS as u32) + lane();

        let mut keys = [K::LAST; ITEMS];
        for j in 0..ITEMS {
            let i = start + j as u32 * WARP;
            if i < count {
                keys[j] = *a.keys_in.add((first + i) as usize);
            }
        }
        // Count first and publish, so that later tiles need not wait for the ranking.
        for j in 0..ITEMS {
            offsets.add(keys[j].digit(a.shift), 1);
        }
        sync_block();
        // From here to the next barrier thread t stands for digit t.
        let mut sum = 0;
        for w in 0..WARPS {
            let c = all_offsets.get(w * DIGITS + t);
            all_offsets.set(w * DIGITS + t, sum);
            sum += c;
        }
        // Rows past the end carry the last digit and are not real.
        let real = if t == DIGITS - 1 { sum - (tile_len - count) } else { sum };
        let state = a.look_back.add(t as usize);
        let own = state.add(tile as usize * DIGITS as usize);
        store_relaxed(own, if tile == 0 { UP_TO_HERE } else { OWN } | real);
        let inclusive = warp_inclusive_sum(sum);
        if lane() == WARP - 1 {
            small.set(warp(), inclusive);
        }
        sync_block();
        let mut local = inclusive - sum;
        for w in 0..WARPS {
            local += if w < warp() { small.get(w) } else { 0 };
        }
        for w in 0..WARPS {
            all_offsets.set(w * DIGITS + t, all_offsets.get(w * DIGITS + t) + local);
        }
        sync_block();

        // The place of each key in the tile, equal digits in input order.
        let mut place = [0; ITEMS];
        for j in 0..ITEMS {
            let digit = keys[j].digit(a.shift);
            let same = peers(digit);
            let before = (same & lanes_before()).count_ones();
            let mut base = 0;
            if before == 0 {
                base = offsets.add(digit, same.count_ones());
            }
            place[j] = shuffle(base, same.trailing_zeros()) + before;
            keys[j].stage(stage, place[j]);
        }
        // Into registers first: with loads that wait for the store of the one before, 10 M pairs
        // take 0.50 instead of 0.40 ms on an H200.
        let mut values = [0; ITEMS];
        for j in 0..ITEMS {
            let i = start + j as u32 * WARP;
            values[j] = first + i;
            if i < count && !a.values_in.is_null() {
                values[j] = *a.values_in.add((first + i) as usize);
            }
        }
        for j in 0..ITEMS {
            value_stage.set(place[j], values[j]);
        }
        let mut before = 0;
        if tile > 0 {
            before = look_back(state, tile);
            store_relaxed(own, UP_TO_HERE | (before + real));
        }
        targets.set(t, (*a.starts.add(t as usize) + before).wrapping_sub(local));
        sync_block();
        for j in 0..ITEMS {
            let i = t + j as u32 * BLOCK;
            if i < count {
                let key = K::staged(stage, i);
                let target = targets.get(key.digit(a.shift)).wrapping_add(i) as usize;
                *a.keys_out.add(target) = key;
                *a.values_out.add(target) = value_stage.get(i);
            }
        }
    }
}

kernel! {
    /// Counts the digits of 32-bit keys. Any number of blocks.
    CountU32 = "prim_sort_count_u32", block BLOCK, shared 4 * DIGITS, cooperative true,
    fn(a: CountArgs<u32>) { count(a) }
}

kernel! {
    /// Counts the digits of 64-bit keys. Any number of blocks.
    CountU64 = "prim_sort_count_u64", block BLOCK, shared MAX_PASSES * DIGITS, cooperative true,
    fn(a: CountArgs<u64>) { count(a) }
}

kernel! {
    /// Turns the counts of each pass into starts. One block a pass.
    Starts = "prim_sort_starts", block DIGITS, shared WARPS, cooperative true,
    fn(a: StartsArgs) {
        let sums = Shared::at(0);
        let word = a.counts.add(global_index() as usize);
        let own = *word;
        let inclusive = warp_inclusive_sum(own);
        if lane() == WARP - 1 {
            sums.set(warp(), inclusive);
        }
        sync_block();
        let mut start = inclusive - own;
        for w in 0..WARPS {
            start += if w < warp() { sums.get(w) } else { 0 };
        }
        *word = start;
    }
}

kernel! {
    /// Sorts pairs with 32-bit keys by one digit. One block a [`tile`].
    PassU32 = "prim_sort_pass_u32", block BLOCK, shared pass_shared_words(1), cooperative true,
    fn(a: PassArgs<u32>) { pass::<u32, { items(1) as usize }>(a) }
}

kernel! {
    /// Sorts pairs with 64-bit keys by one digit. One block a [`tile`].
    PassU64 = "prim_sort_pass_u64", block BLOCK, shared pass_shared_words(2), cooperative true,
    fn(a: PassArgs<u64>) { pass::<u64, { items(2) as usize }>(a) }
}
