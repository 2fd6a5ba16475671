//! The rows near the points of a scan.
//!
//! Few points leave most of a GPU idle. [`NearSums`] adds up what the rows add, in blocks of
//! [`TREE`] points. A thread a point finds out where to look, and four threads a point look. Then
//! each thread computes what one row adds at one point, and the threads of a point add it up in
//! ascending order of rows. For many points this is more work than [`each_near`], where a thread
//! does all for its point.

use super::*;
use crate::prim::WARPS;
use pointmill_core::ndt::Reach;

/// Rows that a thread notes before it visits them: see [`each_near`].
pub(super) const NOTED: u32 = 27;

/// Calls `visit` with the rows near a point of a scan, ascending; `shared` has [`NOTED`] words for
/// each thread of the block.
///
/// Lanes of a warp have rows in different lines. With notes, all that have another row compute at
/// once.
///
/// # Safety
/// The map is valid for reads.
#[inline(always)]
pub(super) unsafe fn each_near(map: Map, point: [f64; 3], shared: Shared, mut visit: impl FnMut(u32)) {
    let place = |note: u32| note * block_size() + thread_index();
    // A number that the compiler does not know: it would write out the loop over it.
    let most = if block_size() < NOTED { block_size() } else { NOTED };
    let mut notes = 0;
    // SAFETY: the caller's promise about the map.
    let rows = unsafe { map.rows() };
    rows.each_within(point, map.lattice.unit(), |row, _| {
        if notes == most {
            // So many only where a wall of cells rounds oddly.
            let mut note = 0;
            while note < most {
                visit(shared.get(place(note)));
                note += 1;
            }
            notes = 0;
        }
        shared.set(place(notes), row);
        notes += 1;
    });
    let mut note = 0;
    while note < notes {
        visit(shared.get(place(note)));
        note += 1;
    }
}

/// Threads that look for the rows near a point.
const LOOKERS: u32 = BLOCK / TREE;
/// Most rows that one of them finds, as [`pointmill_core::ndt::CellRows::each_in_reach`] says.
const NOTES: u32 = 16;
/// From one value of pairs to the next: a warp adds up four values of eight points, which lie in
/// different banks.
const PAIR_ROW: u32 = BLOCK + 8;
/// Values that a thread adds up: those of ten that one of four threads has.
const OWN: usize = 3;

mod words {
    use super::*;

    /// The sum of each warp.
    pub(super) const WARPS_AT: u32 = NOTES * BLOCK;
    /// The pairs at hand: rows, and then points.
    pub(super) const PAIRS: u32 = WARPS_AT + WARPS;
    /// The points in the frame of the map.
    pub(super) const PLACES: u32 = PAIRS + 2 * BLOCK;
    /// Where to look around each point: whether there is anything, and the words of a [`Reach`].
    pub(super) const REACHES: u32 = PLACES + 2 * 3 * TREE;
}

/// Words of shared memory that a block may use for something else once there are sums.
pub(super) const NEAR_WORDS: u32 = NOTES * BLOCK + WARPS + 2 * BLOCK + 2 * 3 * TREE + 8 * TREE;

/// Words of shared memory behind [`NEAR_WORDS`] for rows that add so many values.
pub(super) const fn near_words(values: usize) -> u32 {
    2 * PAIR_ROW * values as u32
}

/// The sums of a block's points, in shared memory.
#[derive(Clone, Copy)]
pub(super) struct NearSums<const K: usize> {
    /// K sums, the largest of the first value, and whether there is a row, each of all points.
    values: Doubles,
}

impl<const K: usize> NearSums<K> {
    /// Adds up `value` of the rows within an edge of each point; `x` is point `thread_index()` in
    /// the frame of the map, if there is one, for the first [`TREE`] threads. All threads of a
    /// block of [`BLOCK`] call; `shared` has [`NEAR_WORDS`] and [`near_words`] of K words.
    ///
    /// # Safety
    /// The map is valid for reads.
    #[inline(always)]
    pub(super) unsafe fn new(
        map: Map,
        x: Option<[f64; 3]>,
        shared: Shared,
        value: impl Fn([f64; 3], [f64; 3], &[f64; 6]) -> [f64; K],
    ) -> Self {
        const { assert!(K <= OWN * LOOKERS as usize && K as u32 * PAIR_ROW >= (K as u32 + 2) * TREE) };
        let (point, looker) = (thread_index() / LOOKERS, thread_index() % LOOKERS);
        let of = |word: u32| Shared::at_offset(shared, word);
        let (notes, warps, pairs) = (shared, of(words::WARPS_AT), of(words::PAIRS));
        let places = Doubles::at(of(words::PLACES), 3 * TREE);
        let values = Doubles::at(of(NEAR_WORDS), K as u32 * PAIR_ROW);
        let reaches = of(words::REACHES);
        // SAFETY: the caller's promise.
        let rows = unsafe { map.rows() };
        let place = |of: u32| [places.get(of), places.get(TREE + of), places.get(2 * TREE + of)];
        if thread_index() < TREE {
            let to = |word: u32| word * TREE + thread_index();
            let reach = x.and_then(|x| rows.reach(x, map.lattice.unit()));
            reaches.set(to(0), reach.is_some() as u32);
            if let (Some(x), Some(reach)) = (x, reach) {
                for axis in 0..3 {
                    places.set(to(axis), x[axis as usize]);
                    reaches.set(to(1 + axis), reach.low[axis as usize] as u32);
                    reaches.set(to(4 + axis), reach.high[axis as usize] as u32);
                }
                reaches.set(to(7), reach.strips);
            }
        }
        sync_block();
        let mut found = 0;
        let word = |word: u32| reaches.get(word * TREE + point);
        if word(0) != 0 {
            let cell = |first: u32| [word(first) as i32, word(first + 1) as i32, word(first + 2) as i32];
            let reach = Reach { low: cell(1), high: cell(4), strips: word(7) };
            rows.each_in_reach(&reach, looker, LOOKERS, place(point), map.lattice.unit(), |row, _| {
                // There are no more.
                if found < NOTES {
                    notes.set(found * BLOCK + thread_index(), row);
                    found += 1;
                }
            });
        }
        let up_to_here = warp_inclusive_sum(found);
        if lane() == WARP - 1 {
            warps.set(warp(), up_to_here);
        }
        sync_block();
        let (mut first, mut all) = (up_to_here - found, 0);
        for w in 0..WARPS {
            let other = warps.get(w);
            first += if w < warp() { other } else { 0 };
            all += other;
        }
        // The pairs of this thread's point.
        let start = shuffle(first, lane() - looker);
        let end = shuffle(first + found, lane() - looker + LOOKERS - 1);
        let (mut sums, mut largest) = ([0.0; OWN], 0.0);
        let mut from = 0;
        while from < all {
            let to = from + BLOCK;
            let mut pair = if first > from { first } else { from };
            while pair < first + found && pair < to {
                pairs.set(pair - from, notes.get((pair - first) * BLOCK + thread_index()));
                pairs.set(BLOCK + pair - from, point);
                pair += 1;
            }
            sync_block();
            if from + thread_index() < all {
                let (row, of) = (pairs.get(thread_index()) as usize, pairs.get(BLOCK + thread_index()));
                // SAFETY: a row of the map, and the caller's promise.
                let added = unsafe { value(place(of), *map.mean.add(row), &*map.inverse.add(row)) };
                for k in 0..K {
                    values.set(k as u32 * PAIR_ROW + thread_index(), added[k]);
                }
            }
            sync_block();
            let mut pair = if start > from { start } else { from };
            while pair < end && pair < to {
                for own in 0..OWN {
                    let k = looker + own as u32 * LOOKERS;
                    if k < K as u32 {
                        let added = values.get(k * PAIR_ROW + pair - from);
                        sums[own] += added;
                        largest = if k == 0 && added > largest { added } else { largest };
                    }
                }
                pair += 1;
            }
            from = to;
        }
        // All values have been read.
        sync_block();
        for own in 0..OWN {
            let k = looker + own as u32 * LOOKERS;
            if k < K as u32 {
                values.set(k * TREE + point, sums[own]);
            }
        }
        if looker == 0 {
            values.set(K as u32 * TREE + point, largest);
            values.set((K as u32 + 1) * TREE + point, if end > start { 1.0 } else { 0.0 });
        }
        sync_block();
        Self { values }
    }

    /// The sum of value `k` at a point.
    #[inline(always)]
    pub(super) fn sum(self, point: u32, k: u32) -> f64 {
        self.values.get(k * TREE + point)
    }

    /// The largest first value at a point, or 0.
    #[inline(always)]
    pub(super) fn largest(self, point: u32) -> f64 {
        self.values.get(K as u32 * TREE + point)
    }

    /// Whether a row is near a point.
    #[inline(always)]
    pub(super) fn found(self, point: u32) -> bool {
        self.values.get((K as u32 + 1) * TREE + point) > 0.0
    }
}
