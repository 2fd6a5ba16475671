//! One box and all points.

use super::block::WARPS;
use super::*;

/// Points of a lane whose coordinates are read together.
const AHEAD: usize = 8;

impl CollectArgs {
    /// Marks and counts of the box, as [`Mark`] makes them: a tile a warp. All threads call.
    #[inline(always)]
    pub(super) unsafe fn mark(&self, b: u32) {
        let (oriented, ..) = Staged(Shared::at(collect::BOX)).get(0);
        // SAFETY: the caller promises that `b` is a box.
        let (first, end) = unsafe { self.boxes.range(b) };
        let mut tile = warp();
        while tile < self.tiles {
            let mut own = 0;
            let mut word = 0;
            while word < WORDS_OF_TILE {
                let i = tile * TILE + word * WARP + lane();
                let mut p = [[0.0; 3]; AHEAD];
                for j in 0..AHEAD {
                    // SAFETY: past the last point it reads nothing.
                    p[j] = unsafe { self.points.xyz(i + j as u32 * WARP) };
                }
                for j in 0..AHEAD {
                    let i = i + j as u32 * WARP;
                    let set = ballot(oriented.contains(p[j]) & (i >= first) & (i < end));
                    own = if lane() == word + j as u32 { set } else { own };
                }
                word += AHEAD as u32;
            }
            let count = warp_sum(own.count_ones());
            let at = b as usize * self.tiles as usize + tile as usize;
            // SAFETY: `at` is a tile of the box, with a count and [`WORDS_OF_TILE`] marks.
            unsafe {
                if lane() == 0 {
                    *self.counts.add(at) = count;
                }
                if lane() < WORDS_OF_TILE {
                    *self.marks.add(at * WORDS_OF_TILE as usize + lane() as usize) = own;
                }
            }
            tile += WARPS;
        }
    }
}
