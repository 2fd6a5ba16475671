//! The first box of each point, and all boxes of each in lists.

use super::*;
use crate::prim::BLOCK;
use lines::Lines;

/// Boxes that lie in shared memory at a time, one a thread.
const STAGE: u32 = BLOCK;
const LINES: u32 = STAGE * STAGED_WORDS;
/// Points of a thread.
const POINTS: usize = 2;

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
    /// `[n]`: the lowest box that holds the point, or -1; where blocks share the boxes of a point,
    /// -1 before.
    pub first: *mut i32,
}

impl FirstBoxArgs {
    /// Most points of a block.
    pub const MOST_POINTS: u32 = POINTS as u32 * BLOCK;
    /// Boxes that a block tests together.
    pub const BOXES: u32 = STAGE;
}

kernel! {
    /// Finds the first box of each point. One block for each `points_of_block` points and
    /// `boxes_of_block` boxes, those of the same boxes behind each other.
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
