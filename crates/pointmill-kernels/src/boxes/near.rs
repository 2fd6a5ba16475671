//! Pairs whose circles meet: each warp collects them, and measures 32 at a time.

use super::BLOCK;
use crate::simt::*;
use pointmill_core::boxes::BoxShape;

/// Columns of a tile of pairs.
pub const COLUMNS_OF_TILE: u32 = 256;
/// Warps of a block.
pub(super) const WARPS: u32 = BLOCK / WARP;
/// Words of the queues of all warps.
pub(super) const QUEUES: u32 = WARPS * 2 * WARP;
const CHUNKS: u32 = COLUMNS_OF_TILE / WARP;

/// The circles of up to `len` boxes in shared memory.
#[derive(Clone, Copy)]
pub(super) struct Circles {
    x: Doubles,
    y: Doubles,
    radius: Doubles,
}

impl Circles {
    /// Words that they take.
    pub(super) const fn words(len: u32) -> u32 {
        3 * 2 * len
    }

    #[inline(always)]
    pub(super) fn at(words: Shared, len: u32) -> Self {
        let part = |k: u32| Doubles::at(Shared::at_offset(words, k * 2 * len), len);
        Self { x: part(0), y: part(1), radius: part(2) }
    }

    /// Loads those of boxes from `first` to `end`; the rest overlap nothing. All threads call.
    ///
    /// # Safety
    /// The boxes are there.
    #[inline(always)]
    pub(super) unsafe fn load(self, len: u32, shapes: *const BoxShape, first: u32, end: u32) {
        let mut k = thread_index();
        while k < len {
            let [x, y, radius] = if first + k < end {
                // SAFETY: the caller's promise.
                unsafe { (*shapes.add((first + k) as usize)).circle() }
            } else {
                [0.0, 0.0, f64::NAN]
            };
            self.x.set(k, x);
            self.y.set(k, y);
            self.radius.set(k, radius);
            k += BLOCK;
        }
    }

    #[inline(always)]
    pub(super) fn get(self, k: u32) -> [f64; 3] {
        [self.x.get(k), self.y.get(k), self.radius.get(k)]
    }
}

/// Calls `is_wanted` with each pair of `rows` rows from `first` on and the columns of the tile, and
/// `measure` with those that it wants. All lanes of a warp call; `queues` has [`QUEUES`] words. A
/// column is read once, by `column`, for all rows.
///
/// Measuring a pair takes a hundred times as long as a test, and few pairs of a tile are near. So
/// pairs wait in a queue until there is one for each lane.
#[inline(always)]
pub(super) fn each_pair<C: Copy>(
    (first, rows): (u32, u32),
    queues: Shared,
    column: impl Fn(u32) -> C,
    mut is_wanted: impl FnMut(u32, u32, C) -> bool,
    mut measure: impl FnMut(u32, u32),
) {
    let queue = Shared::at_offset(queues, warp() * 2 * WARP);
    let (mut len, mut chunk, end) = (0, 0, first + rows);
    while chunk < CHUNKS {
        let j = chunk * WARP + lane();
        let (of_column, mut i) = (column(j), first);
        chunk += 1;
        while i < end {
            let found = is_wanted(i, j, of_column);
            let all = ballot(found);
            if found {
                queue.set(len + (all & lanes_before()).count_ones(), i << 16 | j);
            }
            len += all.count_ones();
            i += 1;
            while (len >= WARP) | ((chunk == CHUNKS) & (i == end) & (len > 0)) {
                sync_warp();
                let taken = if len < WARP { len } else { WARP };
                len -= taken;
                if lane() < taken {
                    let pair = queue.get(len + lane());
                    measure(pair >> 16, pair & 0xffff);
                }
                sync_warp();
            }
        }
    }
}
