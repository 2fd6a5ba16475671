//! Marks turned round: the boxes of each point.

use super::*;
use crate::prim::scan::{self, Tiles};
use crate::prim::{BLOCK, WARPS};

/// Points of a tile of [`PointBoxes`], one a thread.
pub const TILE: u32 = BLOCK;

/// Arguments of [`PointBoxes`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PointBoxesArgs {
    /// The number of boxes.
    pub boxes: u32,
    /// The number of points.
    pub n: u32,
    /// Tiles of points, as [`Mark`] has them.
    pub tiles: u32,
    /// See [`MarkArgs`].
    pub marks: *const u32,
    /// `[n, ceil(boxes / 32)]`: bit `b % 32` of word `b / 32` is set if box `b` holds the point.
    pub words: *mut u32,
    /// Nonzero: `words` has two words in place of each, the second of which says how many boxes of
    /// the words before hold the point. It is aligned to 16 bytes then.
    pub ranked: u32,
    /// `[n + 1]`: how many pairs the points before have. Null if nobody asked.
    pub offsets: *mut u32,
    /// State for the offsets, zero before; whoever uses the offsets first clears it.
    pub scan: ScanState,
}

/// Memory for a scan, and how much there is of it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ScanState {
    /// The state.
    pub tiles: Tiles,
    /// Its words.
    pub words: u32,
}

impl ScanState {
    /// Makes the state zero again, by the threads of the whole launch. The scan must be done.
    #[inline(always)]
    pub(super) unsafe fn clear(&self) {
        let mut w = global_index();
        while w < self.words {
            // SAFETY: the launcher's promise about the length.
            unsafe { *self.tiles.words.add(w as usize) = 0 };
            w += grid_size() * BLOCK;
        }
    }
}

/// Groups of boxes that a block takes at a time, one a warp; and from one point to the next in
/// shared memory, which is odd so that lanes use different banks.
const GROUPS: u32 = WARPS;
const POINT_ROW: u32 = GROUPS + 1;
/// Where the words of points begin in shared memory, and how many boxes of the words before hold
/// each.
const WORDS_AT: u32 = scan::SHARED_WORDS;
const RANKS_AT: u32 = WORDS_AT + TILE * POINT_ROW;

kernel! {
    /// Turns marks round: the boxes of each point. One block for each [`POINT_TILE`] points, at
    /// least one.
    PointBoxes = "roi_point_boxes", block BLOCK, shared RANKS_AT + TILE * POINT_ROW, cooperative true,
    fn(a: PointBoxesArgs) {
        const BLOCKS_OF_TILE: u32 = super::TILE / TILE;
        let (shared, words, ranks) = (Shared::at(0), Shared::at(WORDS_AT), Shared::at(RANKS_AT));
        let block = if a.offsets.is_null() { block_index() } else { scan::take_tile(a.scan.tiles, shared) };
        let i = block * TILE + thread_index();
        let (tile, first_word) = (block / BLOCKS_OF_TILE, block % BLOCKS_OF_TILE * (TILE / WARP));
        let groups = a.boxes.div_ceil(BOXES);
        let mut count = 0;
        let mut group = 0;
        while group < groups {
            // A lane reads what a box has of all the block's points: eight words side by side. A
            // warp turns them round, 32 points at a time.
            let mut marks = [[0; 4]; 2];
            let b = (group + warp()) * BOXES + lane();
            if b < a.boxes && tile < a.tiles {
                let at = (b as usize * a.tiles as usize + tile as usize) * WORDS_OF_TILE as usize + first_word as usize;
                let quads = a.marks.add(at).cast::<Four>();
                marks = [(*quads).0, (*quads.add(1)).0];
            }
            for k in 0..TILE / WARP {
                let word = transposed(marks[k as usize / 4][k as usize % 4]);
                words.set((k * WARP + lane()) * POINT_ROW + warp(), word);
            }
            sync_block();
            for j in 0..GROUPS {
                let at = thread_index() * POINT_ROW + j;
                ranks.set(at, count);
                count += words.get(at).count_ones();
            }
            sync_block();
            let left = groups - group;
            a.write(block * TILE, group, if left < GROUPS { left } else { GROUPS }, words, ranks);
            // The words have been read.
            sync_block();
            group += GROUPS;
        }
        if !a.offsets.is_null() {
            let inclusive = warp_inclusive_sum(count);
            let (before, end) = scan::prefix_of_warp(a.scan.tiles, block, shuffle(inclusive, WARP - 1), shared);
            if i < a.n {
                *a.offsets.add(i as usize) = before + inclusive - count;
            }
            if thread_index() == 0 && a.n <= block * TILE + TILE {
                *a.offsets.add(a.n as usize) = end;
            }
        }
    }
}

const _: () = assert!(GROUPS == 8 && TILE / 32 == 8 && super::TILE.is_multiple_of(TILE));

/// Turns 32 x 32 bits round: bit l of lane k becomes bit k of lane l. All lanes call.
#[inline(always)]
fn transposed(mut bits: u32) -> u32 {
    // Squares beside the diagonal change places, smaller ones with each step.
    let (mut distance, mut low) = (WARP / 2, 0x0000_ffff);
    while distance > 0 {
        let other = shuffle(bits, lane() ^ distance);
        bits = if lane() & distance == 0 {
            bits & low | (other & low) << distance
        } else {
            bits & !low | (other & !low) >> distance
        };
        distance /= 2;
        low ^= low << distance;
    }
    bits
}

impl PointBoxesArgs {
    /// Writes `len` words of each point of a tile, from word `group` on. All threads call.
    ///
    /// # Safety
    /// They are words of the points.
    #[inline(always)]
    unsafe fn write(&self, first: u32, group: u32, len: u32, words: Shared, ranks: Shared) {
        let groups = self.boxes.div_ceil(BOXES);
        // A word of the result is a word of the point, or the rank beside it.
        let ranked = self.ranked != 0;
        let each = if ranked { 2 } else { 1 };
        let value = |point: u32, word: u32| {
            let at = point * POINT_ROW + word / each;
            if ranked && word % 2 == 1 { ranks.get(at) } else { words.get(at) }
        };
        let to = |point: u32, word: u32| {
            let row = (first + point) as usize * groups as usize + group as usize;
            // SAFETY: the caller's promise.
            unsafe { self.words.add(row * each as usize + word as usize) }
        };
        // Lanes that follow each other write quads that do: whole sectors of memory.
        let whole = groups.is_multiple_of(4) && (self.words as usize).is_multiple_of(16);
        let quads = len * each / 4;
        let mut q = thread_index();
        while whole && q < TILE * quads {
            let (point, word) = (q >> quads.trailing_zeros(), (q & (quads - 1)) * 4);
            if first + point < self.n {
                let quad =
                    Four([value(point, word), value(point, word + 1), value(point, word + 2), value(point, word + 3)]);
                // SAFETY: as above; it is aligned.
                unsafe { *to(point, word).cast::<Four>() = quad };
            }
            q += BLOCK;
        }
        let (point, mut word) = (thread_index(), 0);
        while !whole && first + point < self.n && word < len * each {
            // SAFETY: as above.
            unsafe { *to(point, word) = value(point, word) };
            word += 1;
        }
    }
}
