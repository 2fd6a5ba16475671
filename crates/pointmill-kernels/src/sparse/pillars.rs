//! Features of the points of pillars.

use super::BLOCK;
use crate::prim::Length;
use crate::simt::*;
use pointmill_core::sparse::{PillarGrid, features_of_point, mean};

/// Pillars that a block works on.
pub const PILLARS_OF_BLOCK: u32 = 64;
/// Sums of a block: three a pillar.
const SUMS: u32 = PILLARS_OF_BLOCK * 3;

/// Arguments of [`Pillars`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PillarsArgs {
    /// `[rows, slots, columns]` of `f32`.
    pub voxels: *const f32,
    /// `[rows]`.
    pub num_points: *const i32,
    /// `[rows, cell_columns]`, of which z, y, x are the last three.
    pub cells: *const i32,
    /// 3, or 4 with the item first.
    pub cell_columns: u32,
    /// Pillars; rows behind them are 0.
    pub n: Length,
    /// Rows of the arrays.
    pub rows: u32,
    /// Slots of a pillar, T.
    pub slots: u32,
    /// Columns of a point.
    pub columns: u32,
    /// Features of a point: as many as columns, and 5 or 6.
    pub features: u32,
    /// Where pillars stand.
    pub grid: PillarGrid,
    /// `[rows, slots, features]`.
    pub out: *mut f32,
}

kernel! {
    /// Makes features. One block 64 pillars.
    Pillars = "sparse_pillars", block BLOCK, shared SUMS * 2, cooperative true,
    fn(a: PillarsArgs) {
        let sums = Doubles::at(Shared::at(0), SUMS);
        let first = block_index() * PILLARS_OF_BLOCK;
        let n = a.n.get();
        let columns = a.columns as usize;
        // Points of a pillar: no more than it has slots for.
        let points_of = |pillar: u32| {
            let points = if pillar < n { *a.num_points.add(pillar as usize) } else { 0 };
            if points < 0 { 0 } else if points as u32 > a.slots { a.slots } else { points as u32 }
        };
        if thread_index() < SUMS {
            let (pillar, axis) = (first + thread_index() / 3, thread_index() % 3);
            let from = pillar as usize * a.slots as usize * columns + axis as usize;
            let value = |i: u32| *a.voxels.add(from + i as usize * columns);
            sums.set(thread_index(), mean(points_of(pillar), value));
        }
        sync_block();
        let left = a.rows - first;
        let pillars = if left < PILLARS_OF_BLOCK { left } else { PILLARS_OF_BLOCK };
        let all = pillars * a.slots * a.features;
        let mut at = thread_index();
        while at < all {
            let (point, k) = (at / a.features, at % a.features);
            let (pillar, slot) = (point / a.slots, point % a.slots);
            let row = first + pillar;
            let mut feature = 0.0;
            if slot < points_of(row) {
                let from = (row as usize * a.slots as usize + slot as usize) * columns;
                let cell = (row as usize + 1) * a.cell_columns as usize - 1;
                feature = features_of_point(
                    k as usize,
                    columns,
                    |c| *a.voxels.add(from + c),
                    |axis| sums.get(pillar * 3 + axis as u32),
                    |axis| a.grid.center(axis, *a.cells.add(cell - axis)),
                );
            }
            *a.out.add(first as usize * (a.slots * a.features) as usize + at as usize) = feature;
            at += BLOCK;
        }
    }
}
