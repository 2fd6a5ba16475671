//! The boxes of each point.

use super::*;
use crate::prim::BLOCK;
use crate::prim::scan::{self, Tiles};

/// Points of a tile of [`PointBoxes`], one a thread.
pub const TILE: u32 = BLOCK;
/// Boxes that lie in shared memory at a time, one a thread.
const STAGE: u32 = BLOCK;
/// Points of a thread of [`FirstBox`].
const ITEMS: usize = 2;

/// Arguments of [`FirstBox`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FirstBoxArgs {
    /// The boxes.
    pub boxes: BoxesArg,
    /// The points.
    pub points: PointsArg,
    /// `[n]`: the lowest box that holds the point, or -1.
    pub first: *mut i32,
}

impl FirstBoxArgs {
    /// Points that a block handles.
    pub const TILE: u32 = BLOCK * ITEMS as u32;
}

kernel! {
    /// Finds the first box of each point. One block for each [`FirstBoxArgs::TILE`] points.
    FirstBox = "roi_first_box", block BLOCK, shared STAGE * STAGED_WORDS, cooperative true,
    fn(a: FirstBoxArgs) {
        let staged = Staged(Shared::at(0));
        // A warp's points follow each other.
        let first_point = (block_index() * (BLOCK / WARP) + warp()) * (WARP * ITEMS as u32) + lane();
        let mut points = [[0.0; 3]; ITEMS];
        for j in 0..ITEMS {
            points[j] = a.points.xyz(first_point + j as u32 * WARP);
        }
        let (low, high) = warp_bounds(&points);
        let mut found = [NONE; ITEMS];
        let mut base = 0;
        while base < a.boxes.count {
            // All have done with the boxes before.
            sync_block();
            let b = base + thread_index();
            staged.put(thread_index(), &a.boxes.prepare(b), a.boxes.range(b));
            sync_block();
            let mut group = 0;
            while group < STAGE && base + group < a.boxes.count {
                let mut candidates = staged.candidates(group, low, high);
                while candidates != 0 {
                    let k = group + candidates.trailing_zeros();
                    candidates &= candidates - 1;
                    let reach = staged.reach(k);
                    let mut near = false;
                    for j in 0..ITEMS {
                        near |= found[j] == NONE && reach.may_contain(points[j][0], points[j][1]);
                    }
                    if ballot(near) != 0 {
                        let (oriented, first, end) = staged.get(k);
                        for j in 0..ITEMS {
                            let i = first_point + j as u32 * WARP;
                            if (found[j] == NONE) & (i >= first) & (i < end) & oriented.contains(points[j]) {
                                found[j] = base + k;
                            }
                        }
                    }
                }
                group += BOXES;
            }
            base += STAGE;
        }
        for j in 0..ITEMS {
            let i = first_point + j as u32 * WARP;
            if i < a.points.n {
                *a.first.add(i as usize) = found[j] as i32;
            }
        }
    }
}

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
    /// See [`MarkArgs`].
    pub counts: *const u32,
    /// `[n, ceil(boxes / 32)]`: bit `b % 32` of word `b / 32` is set if box `b` holds the point.
    pub words: *mut u32,
    /// `[n + 1]`: how many pairs the points before have. Null if nobody asked.
    pub offsets: *mut u32,
    /// State for the offsets, zero before.
    pub scan: Tiles,
}

kernel! {
    /// Turns marks round: the boxes of each point. One block for each [`POINT_TILE`] points, at least one.
    PointBoxes = "roi_point_boxes", block BLOCK, shared scan::SHARED_WORDS, cooperative true,
    fn(a: PointBoxesArgs) {
        const BLOCKS_OF_TILE: u32 = super::TILE / TILE;
        let shared = Shared::at(0);
        let block = if a.offsets.is_null() { block_index() } else { scan::take_tile(a.scan, shared) };
        let i = block * TILE + thread_index();
        // The points of a warp are one word of marks.
        let (tile, word_of_tile) = (block / BLOCKS_OF_TILE, block % BLOCKS_OF_TILE * (TILE / WARP) + warp());
        let groups = a.boxes.div_ceil(BOXES);
        let mut count = 0;
        let mut group = 0;
        while group < groups {
            let b = group * BOXES + lane();
            let mut marks = 0;
            if b < a.boxes && tile < a.tiles {
                let at = b as usize * a.tiles as usize + tile as usize;
                if *a.counts.add(at) > 0 {
                    marks = *a.marks.add(at * WARP as usize + word_of_tile as usize);
                }
            }
            let mut word = 0;
            if ballot(marks != 0) != 0 {
                for k in 0..WARP {
                    let boxes_of_point = ballot((marks >> k) & 1 != 0);
                    word = if lane() == k { boxes_of_point } else { word };
                }
            }
            if i < a.n {
                *a.words.add(i as usize * groups as usize + group as usize) = word;
            }
            count += word.count_ones();
            group += 1;
        }
        if !a.offsets.is_null() {
            let inclusive = warp_inclusive_sum(count);
            let (before, end) = scan::prefix_of_warp(a.scan, block, shuffle(inclusive, WARP - 1), shared);
            if i < a.n {
                *a.offsets.add(i as usize) = before + inclusive - count;
            }
            if thread_index() == 0 && a.n <= block * TILE + TILE {
                *a.offsets.add(a.n as usize) = end;
            }
        }
    }
}

/// Arguments of [`PointLists`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PointListsArgs {
    /// The number of points.
    pub n: u32,
    /// The number of boxes.
    pub boxes: u32,
    /// See [`PointBoxesArgs`].
    pub words: *const u32,
    /// See [`PointBoxesArgs`].
    pub offsets: *const u32,
    /// `[n + 1]`: where each point's boxes start.
    pub row_splits: *mut i64,
    /// The boxes of all points, ascending in each.
    pub indices: *mut i32,
}

kernel! {
    /// Lists the boxes of each point. One thread a point, and one more.
    PointLists = "roi_point_lists", block BLOCK, shared 0, cooperative false,
    fn(a: PointListsArgs) {
        let i = global_index();
        if i > a.n {
            return;
        }
        let mut at = *a.offsets.add(i as usize);
        *a.row_splits.add(i as usize) = at as i64;
        if i == a.n {
            return;
        }
        let groups = a.boxes.div_ceil(BOXES);
        let mut group = 0;
        while group < groups {
            let mut word = *a.words.add(i as usize * groups as usize + group as usize);
            while word != 0 {
                *a.indices.add(at as usize) = (group * BOXES + word.trailing_zeros()) as i32;
                word &= word - 1;
                at += 1;
            }
            group += 1;
        }
    }
}
