//! Which points lie in which box.

use super::*;
use crate::prim::{BLOCK, WARPS};

/// Most boxes of an item.
const MOST_BOXES: u32 = 4 * BOXES;
/// Words of shared memory that a box's marks take in most tiles; one more than there are, so that
/// boxes start in different banks.
const MOST_MARK_WORDS: u32 = tile::MOST / 32 + 1;
const MARKS: u32 = MOST_BOXES * STAGED_WORDS;
const SORT: u32 = MARKS + MOST_BOXES * MOST_MARK_WORDS;

/// Arguments of [`Mark`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MarkArgs {
    /// The boxes.
    pub boxes: BoxesArg,
    /// The points.
    pub points: PointsArg,
    /// Tiles of points.
    pub tiles: u32,
    /// Tiles that a block takes at a time, at most [`MarkArgs::MOST_TILES`].
    pub tiles_of_item: u32,
    /// Boxes that it tests with them: [`BOXES`], or up to four times as many.
    pub boxes_of_item: u32,
    /// `[boxes, BOX_WORDS]`: boxes ready for tests. Null if nobody asked.
    pub prepared: *mut u32,
    /// `[boxes, tiles, WORDS_OF_TILE]`: bit `i % 32` of word `i / 32` of a tile is set if point `i`
    /// of it is inside. Null if nobody asked.
    pub marks: *mut u32,
    /// `[boxes, tiles]`: points inside.
    pub counts: *mut u32,
    /// Set to zero. Null if nobody asked.
    pub zero: *mut u64,
}

impl MarkArgs {
    /// Most tiles that a block takes at a time: the more points are sorted, the nearer lie those of
    /// a warp.
    pub const MOST_TILES: u32 = tile::MOST / TILE;
}

kernel! {
    /// Tests all points with all boxes. Any number of blocks.
    Mark = "roi_mark", block BLOCK, shared SORT + tile::WORDS, cooperative true,
    fn(a: MarkArgs) {
        let (boxes, marks) = (Staged(Shared::at(0)), Shared::at(MARKS));
        let runs = a.tiles.div_ceil(a.tiles_of_item);
        let items = runs as u64 * a.boxes.count.div_ceil(a.boxes_of_item) as u64;
        let (points_of_item, words_of_box) = (a.tiles_of_item * TILE, a.tiles_of_item * WORDS_OF_TILE + 1);
        if global_index() == 0 && !a.zero.is_null() {
            *a.zero = 0;
        }
        let mut item = block_index() as u64;
        while item < items {
            let first_tile = (item % runs as u64) as u32 * a.tiles_of_item;
            let first_box = (item / runs as u64) as u32 * a.boxes_of_item;
            let mut word = thread_index();
            while word < a.boxes_of_item * words_of_box {
                marks.set(word, 0);
                word += BLOCK;
            }
            let stage = || a.stage(first_box, first_tile == 0, boxes);
            let sorted = tile::sort(&a.points, first_tile * TILE, points_of_item, Shared::at(SORT), stage);
            sync_block();
            let mut k = thread_index();
            while k < points_of_item {
                let (p, index) = sorted.get(k);
                a.test(p, first_tile * TILE + index, boxes, |b| {
                    marks.or(b * words_of_box + index / 32, 1 << (index % 32));
                });
                k += BLOCK;
            }
            sync_block();
            let mut tile = 0;
            while tile < a.tiles_of_item && first_tile + tile < a.tiles {
                let of_tile = Shared::at_offset(marks, tile * WORDS_OF_TILE);
                a.write(first_box, first_tile + tile, of_tile, words_of_box);
                tile += 1;
            }
            sync_block();
            item += grid_size() as u64;
        }
    }
}

impl MarkArgs {
    /// Calls `found` with each of the item's boxes that holds the point. All lanes of a warp call.
    #[inline(always)]
    unsafe fn test(&self, p: [f32; 3], i: u32, boxes: Staged, found: impl Fn(u32)) {
        let (low, high) = tile::bounds_of_warp(p);
        let mut group = 0;
        while group < self.boxes_of_item {
            let mut candidates = boxes.candidates(group, low, high);
            while candidates != 0 {
                let k = group + candidates.trailing_zeros();
                candidates &= candidates - 1;
                if boxes.holds(k, p, i) {
                    found(k);
                }
            }
            group += BOXES;
        }
    }

    /// Makes the item's boxes ready, a thread a box.
    #[inline(always)]
    unsafe fn stage(&self, first_box: u32, keep: bool, boxes: Staged) {
        let k = thread_index();
        if k >= self.boxes_of_item {
            return;
        }
        let b = first_box + k;
        // SAFETY: past the last box it reads nothing.
        let prepared = unsafe { self.boxes.prepare(b) };
        // SAFETY: as above.
        boxes.put(k, &prepared, unsafe { self.boxes.range(b) });
        if keep && b < self.boxes.count && !self.prepared.is_null() {
            // SAFETY: `b` is a box, and there is room for each.
            unsafe { store_box(self.prepared, b, &prepared) };
        }
    }

    /// Marks and counts of a tile, some boxes a warp.
    #[inline(always)]
    unsafe fn write(&self, first_box: u32, tile: u32, marks: Shared, words_of_box: u32) {
        const BOXES_OF_WARP: u32 = WARP / WORDS_OF_TILE;
        let word = lane() % WORDS_OF_TILE;
        let mut group = warp() * BOXES_OF_WARP;
        while group < self.boxes_of_item {
            let k = group + lane() / WORDS_OF_TILE;
            let set = marks.get(k * words_of_box + word);
            let mut count = set.count_ones();
            let mut distance = WORDS_OF_TILE / 2;
            while distance > 0 {
                count += shuffle(count, lane() ^ distance);
                distance /= 2;
            }
            if first_box + k < self.boxes.count {
                let at = (first_box + k) as usize * self.tiles as usize + tile as usize;
                // SAFETY: each tile of a box has a count and [`WORDS_OF_TILE`] marks.
                unsafe {
                    if word == 0 {
                        *self.counts.add(at) = count;
                    }
                    if !self.marks.is_null() {
                        *self.marks.add(at * WORDS_OF_TILE as usize + word as usize) = set;
                    }
                }
            }
            group += WARPS * BOXES_OF_WARP;
        }
    }
}
