//! Which boxes a point may lie in: those that reach both of its lines, across x and across y.
//!
//! A reach is a rectangle along the axes, so the boxes of a place are those of its line along x
//! that are also those of its line along y: two words for 32 boxes, however the points are ordered.

use crate::simt::WARP;
use crate::simt::*;
use pointmill_core::{BOX_LINES as LINES, Reach, line_of};

/// Words of shared memory for so many boxes.
pub(super) const fn words(boxes: u32) -> u32 {
    2 * LINES * stride(boxes)
}

/// Words of a line; one more than there are, so that lines start in different banks.
const fn stride(boxes: u32) -> u32 {
    boxes / WARP + 1
}

/// The boxes of each line, a bit each.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    shared: Shared,
    stride: u32,
}

/// The lines of a point.
#[derive(Clone, Copy)]
pub(super) struct LinesOf([u32; 2]);

impl Lines {
    /// Lines of at most so many boxes, a multiple of 32, in [`words`] words.
    #[inline(always)]
    pub(super) fn at(shared: Shared, boxes: u32) -> Self {
        Self { shared, stride: stride(boxes) }
    }

    /// Takes all boxes away. All threads of the block call; boxes may be put after the next
    /// barrier.
    #[inline(always)]
    pub(super) fn clear(self) {
        let mut word = thread_index();
        while word < 2 * LINES * self.stride {
            self.shared.set(word, 0);
            word += block_size();
        }
    }

    /// Puts a box in place `k`; it is there after the next barrier.
    #[inline(always)]
    pub(super) fn put(self, k: u32, reach: &Reach) {
        for axis in 0..2 {
            let (first, count) = reach.lines(axis);
            let mut line = 0;
            while line < count {
                let at = axis as u32 * LINES + (first + line) % LINES;
                self.shared.or(at * self.stride + k / WARP, 1 << (k % WARP));
                line += 1;
            }
        }
    }

    /// The lines of a point.
    #[inline(always)]
    pub(super) fn of(self, p: [f32; 3]) -> LinesOf {
        LinesOf([line_of(p[0]) * self.stride, (LINES + line_of(p[1])) * self.stride])
    }

    /// Which of the 32 boxes from place `k` on, a multiple of 32, may hold a point.
    #[inline(always)]
    pub(super) fn candidates(self, LinesOf([x, y]): LinesOf, k: u32) -> u32 {
        self.shared.get(x + k / WARP) & self.shared.get(y + k / WARP)
    }
}
