//! Overlaps of pairs: of all, or of row with row.

use super::BLOCK;
use crate::simt::*;
use pointmill_core::boxes::{BoxShape, IouKind, near};

/// Boxes of a tile, along each side of the table.
pub const TILE: u32 = 64;
const PAIRS: u32 = TILE * TILE;
/// Words of the circles of one side: x, y and radius.
const CIRCLES: u32 = 3 * 2 * TILE;

/// Arguments of [`Iou`] and [`IouOfPairs`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct IouArgs {
    /// `[n]`.
    pub a: *const BoxShape,
    /// `[m]`; for pairs `[n]`.
    pub b: *const BoxShape,
    /// Boxes in `a`.
    pub n: u32,
    /// Boxes in `b`.
    pub m: u32,
    /// What is measured.
    pub kind: IouKind,
    /// `[n, m]`, for pairs `[n]`.
    pub out: *mut f32,
}

/// The circles of up to [`TILE`] boxes in shared memory.
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

kernel! {
    /// Overlaps of all pairs. A block for each tile of [`TILE`] x [`TILE`] pairs.
    Iou = "boxes_iou", block BLOCK, shared 2 * CIRCLES + PAIRS + 1, cooperative true,
    fn(a: IouArgs) {
        let of_a = Circles::at(Shared::at(0), TILE);
        let of_b = Circles::at(Shared::at(CIRCLES), TILE);
        let (list, len) = (Shared::at(2 * CIRCLES), Shared::at(2 * CIRCLES + PAIRS));
        let across = a.m.div_ceil(TILE);
        let (row, column) = (block_index() / across * TILE, block_index() % across * TILE);
        of_a.load(TILE, a.a, row, a.n);
        of_b.load(TILE, a.b, column, a.m);
        if thread_index() == 0 {
            len.set(0, 0);
        }
        sync_block();
        let whole = matches!(a.kind, IouKind::Giou);
        let mut pair = thread_index();
        while pair < PAIRS {
            let (i, j) = (pair / TILE, pair % TILE);
            if (row + i < a.n) & (column + j < a.m) {
                if whole || near(of_a.get(i), of_b.get(j)) {
                    list.set(len.add(0, 1), pair);
                } else {
                    *a.out.add((row + i) as usize * a.m as usize + (column + j) as usize) = 0.0;
                }
            }
            pair += BLOCK;
        }
        sync_block();
        let end = len.get(0);
        let mut k = thread_index();
        while k < end {
            let pair = list.get(k);
            let (i, j) = ((row + pair / TILE) as usize, (column + pair % TILE) as usize);
            *a.out.add(i * a.m as usize + j) = (*a.a.add(i)).iou(&*a.b.add(j), a.kind) as f32;
            k += BLOCK;
        }
    }
}

kernel! {
    /// The overlap of each box with the box of the same row. One thread a pair.
    IouOfPairs = "boxes_iou_of_pairs", block BLOCK, shared 0, cooperative false,
    fn(a: IouArgs) {
        let i = global_index() as usize;
        if i < a.n as usize {
            *a.out.add(i) = (*a.a.add(i)).iou(&*a.b.add(i), a.kind) as f32;
        }
    }
}
