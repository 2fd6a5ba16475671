//! Which points lie in which box.

use super::*;
use crate::simt::WARP;

/// Threads a block.
const THREADS: u32 = 256;
/// Points of a thread.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
const ITEMS: usize = (TILE / THREADS) as usize;
/// Words of shared memory that a box's marks take; one more than there are, so that boxes start in different banks.
const MARK_WORDS: u32 = TILE / WARP + 1;
const MARKS: u32 = BOXES * STAGED_WORDS;

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
    /// `[boxes, BOX_WORDS]`: boxes ready for tests. Null if nobody asked.
    pub prepared: *mut u32,
    /// `[boxes, tiles, 32]`: bit `i % 32` of word `i / 32` of a tile is set if point `i` of it is inside; written where `counts` is not zero. Null if nobody asked.
    pub marks: *mut u32,
    /// `[boxes, tiles]`: points inside.
    pub counts: *mut u32,
    /// Set to zero. Null if nobody asked.
    pub zero: *mut u64,
}

kernel! {
    /// Tests all points with all boxes. Any number of blocks.
    Mark = "roi_mark", block THREADS, shared MARKS + BOXES * MARK_WORDS, cooperative true,
    fn(a: MarkArgs) {
        let (boxes, marks) = (Staged(Shared::at(0)), Shared::at(MARKS));
        let groups = a.boxes.count.div_ceil(BOXES);
        let end = a.tiles as u64 * groups as u64;
        if global_index() == 0 && !a.zero.is_null() {
            *a.zero = 0;
        }
        let mut item = block_index() as u64;
        while item < end {
            let (tile, first_box) = ((item % a.tiles as u64) as u32, (item / a.tiles as u64) as u32 * BOXES);
            if warp() == 0 {
                let b = first_box + lane();
                let prepared = a.boxes.prepare(b);
                boxes.put(lane(), &prepared, a.boxes.range(b));
                if tile == 0 && b < a.boxes.count && !a.prepared.is_null() {
                    let words = prepared.to_words();
                    for i in 0..BOX_WORDS {
                        *a.prepared.add(b as usize * BOX_WORDS + i) = words[i];
                    }
                }
            }
            // A warp's points follow each other.
            let first_point = tile * TILE + warp() * (WARP * ITEMS as u32);
            let mut points = [[0.0; 3]; ITEMS];
            for j in 0..ITEMS {
                points[j] = a.points.xyz(first_point + j as u32 * WARP + lane());
            }
            let (low, high) = warp_bounds(&points);
            let mut word = thread_index();
            while word < BOXES * MARK_WORDS {
                marks.set(word, 0);
                word += THREADS;
            }
            sync_block();
            let mut candidates = boxes.candidates(0, low, high);
            while candidates != 0 {
                let k = candidates.trailing_zeros();
                candidates &= candidates - 1;
                let reach = boxes.reach(k);
                let mut near = false;
                for j in 0..ITEMS {
                    near |= reach.may_contain(points[j][0], points[j][1]);
                }
                if ballot(near) == 0 {
                    continue;
                }
                let (oriented, first, end) = boxes.get(k);
                for j in 0..ITEMS {
                    let i = first_point + j as u32 * WARP + lane();
                    let set = ballot(oriented.contains(points[j]) & (i >= first) & (i < end));
                    if lane() == 0 && set != 0 {
                        marks.set(k * MARK_WORDS + warp() * ITEMS as u32 + j as u32, set);
                    }
                }
            }
            sync_block();
            let mut k = warp();
            while k < BOXES && first_box + k < a.boxes.count {
                let set = marks.get(k * MARK_WORDS + lane());
                let count = warp_sum(set.count_ones());
                let at = (first_box + k) as usize * a.tiles as usize + tile as usize;
                if lane() == 0 {
                    *a.counts.add(at) = count;
                }
                if count > 0 && !a.marks.is_null() {
                    *a.marks.add(at * WARP as usize + lane() as usize) = set;
                }
                k += THREADS / WARP;
            }
            sync_block();
            item += grid_size() as u64;
        }
    }
}
