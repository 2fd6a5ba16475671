//! Overlaps of pairs: of all, or of row with row.

use super::BLOCK;
use super::near::{COLUMNS_OF_TILE, Circles, QUEUES, WARPS, each_pair};
use crate::simt::*;
use pointmill_core::boxes::{BoxShape, IouKind, near};

/// Rows of a tile of pairs.
pub const TILE: u32 = WARPS * ROWS_OF_WARP;
const ROWS_OF_WARP: u32 = 8;
/// Where the circles of the columns start in shared memory.
const OF_COLUMNS: u32 = Circles::words(TILE);

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

kernel! {
    /// Overlaps of all pairs. A block for each tile of [`TILE`] x [`COLUMNS_OF_TILE`] pairs.
    Iou = "boxes_iou", block BLOCK, shared OF_COLUMNS + Circles::words(COLUMNS_OF_TILE) + QUEUES, cooperative true,
    fn(a: IouArgs) {
        let of_rows = Circles::at(Shared::at(0), TILE);
        let of_columns = Circles::at(Shared::at(OF_COLUMNS), COLUMNS_OF_TILE);
        let queues = Shared::at(OF_COLUMNS + Circles::words(COLUMNS_OF_TILE));
        let across = a.m.div_ceil(COLUMNS_OF_TILE);
        let (row, column) = (block_index() / across * TILE, block_index() % across * COLUMNS_OF_TILE);
        of_rows.load(TILE, a.a, row, a.n);
        of_columns.load(COLUMNS_OF_TILE, a.b, column, a.m);
        sync_block();
        let whole = matches!(a.kind, IouKind::Giou);
        let place = |i: u32, j: u32| a.out.add((row + i) as usize * a.m as usize + (column + j) as usize);
        each_pair(
            (warp() * ROWS_OF_WARP, ROWS_OF_WARP),
            queues,
            |j| of_columns.get(j),
            |i, j, other| {
                let inside = (row + i < a.n) & (column + j < a.m);
                let wanted = inside & (whole || near(of_rows.get(i), other));
                if inside & !wanted {
                    *place(i, j) = 0.0;
                }
                wanted
            },
            |i, j| {
                let (one, other) = (&*a.a.add((row + i) as usize), &*a.b.add((column + j) as usize));
                *place(i, j) = one.iou(other, a.kind) as f32;
            },
        );
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
