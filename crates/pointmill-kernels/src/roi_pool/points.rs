//! The boxes of each point.

use super::*;
use crate::prim::BLOCK;
use crate::prim::scan::{self, Tiles};
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use lines::Lines;

/// Points of a tile of [`PointBoxes`], one a thread.
pub const TILE: u32 = BLOCK;
/// Boxes that lie in shared memory at a time, one a thread.
const STAGE: u32 = BLOCK;
const LINES: u32 = STAGE * STAGED_WORDS;
/// Points of a thread.
const POINTS: usize = 2;

/// Words of a point that are made together, and written at once if they are aligned.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
const AHEAD: usize = 4;

/// Arguments of [`FirstBox`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FirstBoxArgs {
    /// The boxes.
    pub boxes: BoxesArg,
    /// The points.
    pub points: PointsArg,
    /// Points that a block takes: a multiple of its threads, at most [`FirstBoxArgs::MOST_POINTS`].
    pub points_of_block: u32,
    /// Boxes that it tests with them: all, or a multiple of [`FirstBoxArgs::BOXES`].
    pub boxes_of_block: u32,
    /// `[n]`: the lowest box that holds the point, or -1; where blocks share the boxes of a point, -1 before.
    pub first: *mut i32,
}

impl FirstBoxArgs {
    /// Most points of a block.
    pub const MOST_POINTS: u32 = POINTS as u32 * BLOCK;
    /// Boxes that a block tests together.
    pub const BOXES: u32 = STAGE;
}

kernel! {
    /// Finds the first box of each point. One block for each `points_of_block` points and `boxes_of_block` boxes, those of the same boxes behind each other.
    FirstBox = "roi_first_box", block BLOCK, shared LINES + lines::words(STAGE), cooperative true,
    fn(a: FirstBoxArgs) {
        let (staged, lines) = (Staged(Shared::at(0)), Lines::at(Shared::at(LINES), STAGE));
        let runs = a.points.n.div_ceil(a.points_of_block);
        let runs = if runs > 1 { runs } else { 1 };
        let first_point = block_index() % runs * a.points_of_block + thread_index();
        let first_box = block_index() / runs * a.boxes_of_block;
        let shared_boxes = a.boxes_of_block < a.boxes.count;
        let end_box = if shared_boxes && first_box + a.boxes_of_block < a.boxes.count {
            first_box + a.boxes_of_block
        } else {
            a.boxes.count
        };
        let (mut points, mut first) = ([[f32::NAN; 3]; POINTS], [NONE; POINTS]);
        for j in 0..POINTS {
            if j as u32 * BLOCK < a.points_of_block {
                points[j] = a.points.xyz(first_point + j as u32 * BLOCK);
            }
        }
        let mut base = first_box;
        while base < end_box {
            // All have done with the boxes before.
            sync_block();
            lines.clear();
            let prepared = a.boxes.prepare(base + thread_index());
            staged.put(thread_index(), &prepared, a.boxes.range(base + thread_index()));
            sync_block();
            lines.put(thread_index(), prepared.reach());
            sync_block();
            for j in 0..POINTS {
                let (p, i) = (points[j], first_point + j as u32 * BLOCK);
                let of_point = lines.of(p);
                let mut group = 0;
                while group < STAGE && base + group < end_box && first[j] == NONE {
                    let mut candidates = lines.candidates(of_point, group);
                    while candidates != 0 {
                        let b = group + candidates.trailing_zeros();
                        candidates &= candidates - 1;
                        if staged.holds(b, p, i) {
                            first[j] = base + b;
                            candidates = 0;
                        }
                    }
                    group += BOXES;
                }
            }
            base += STAGE;
        }
        for j in 0..POINTS {
            let i = first_point + j as u32 * BLOCK;
            if j as u32 * BLOCK < a.points_of_block && i < a.points.n {
                let out = a.first.add(i as usize);
                if !shared_boxes {
                    *out = first[j] as i32;
                } else if first[j] != NONE {
                    // No box is the greatest number.
                    atomic_min(out.cast(), first[j]);
                }
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
    /// `[n, ceil(boxes / 32)]`: bit `b % 32` of word `b / 32` is set if box `b` holds the point.
    pub words: *mut u32,
    /// As `words`: how many boxes of the words before hold the point. Null if nobody asked.
    pub ranks: *mut u32,
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

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
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

kernel! {
    /// Turns marks round: the boxes of each point. One block for each [`POINT_TILE`] points, at least one.
    PointBoxes = "roi_point_boxes", block BLOCK, shared scan::SHARED_WORDS, cooperative true,
    fn(a: PointBoxesArgs) {
        const BLOCKS_OF_TILE: u32 = super::TILE / TILE;
        let shared = Shared::at(0);
        let block = if a.offsets.is_null() { block_index() } else { scan::take_tile(a.scan.tiles, shared) };
        let i = block * TILE + thread_index();
        // The points of a warp are one word of marks.
        let (tile, word_of_tile) = (block / BLOCKS_OF_TILE, block % BLOCKS_OF_TILE * (TILE / WARP) + warp());
        let groups = a.boxes.div_ceil(BOXES);
        let mut count = 0;
        let mut group = 0;
        while group < groups {
            let mut marks = [0; AHEAD];
            for j in 0..AHEAD {
                let b = (group + j as u32) * BOXES + lane();
                if b < a.boxes && tile < a.tiles {
                    let at = b as usize * a.tiles as usize + tile as usize;
                    marks[j] = *a.marks.add(at * WORDS_OF_TILE as usize + word_of_tile as usize);
                }
            }
            let (mut words, mut ranks) = ([0; AHEAD], [0; AHEAD]);
            for j in 0..AHEAD {
                ranks[j] = count;
                if ballot(marks[j] != 0) != 0 {
                    for k in 0..WARP {
                        let boxes_of_point = ballot((marks[j] >> k) & 1 != 0);
                        words[j] = if lane() == k { boxes_of_point } else { words[j] };
                    }
                }
                count += words[j].count_ones();
            }
            if i < a.n {
                let at = i as usize * groups as usize + group as usize;
                if groups.is_multiple_of(AHEAD as u32) && (a.words as usize).is_multiple_of(16) {
                    *a.words.add(at).cast::<Four>() = Four(words);
                    if !a.ranks.is_null() {
                        *a.ranks.add(at).cast::<Four>() = Four(ranks);
                    }
                } else {
                    for j in 0..AHEAD {
                        if group + (j as u32) < groups {
                            *a.words.add(at + j) = words[j];
                            if !a.ranks.is_null() {
                                *a.ranks.add(at + j) = ranks[j];
                            }
                        }
                    }
                }
            }
            group += AHEAD as u32;
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
    /// See [`PointBoxesArgs`]; zero again afterwards.
    pub scan: ScanState,
    /// `[n + 1]`: where each point's boxes start.
    pub row_splits: *mut i64,
    /// The boxes of all points, ascending in each.
    pub indices: *mut i32,
}

kernel! {
    /// Lists the boxes of each point. One thread a point, and one more.
    PointLists = "roi_point_lists", block BLOCK, shared 0, cooperative false,
    fn(a: PointListsArgs) {
        a.scan.clear();
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
