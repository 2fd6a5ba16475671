//! Sums, means and maxima over all points of a voxel, from lists sorted by row.

use super::*;
use pointmill_core::mean::{canonical, mean_from_sum};

/// What [`Scatter`] computes.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScatterMode {
    /// The sum, added in point order.
    Sum = 0,
    /// The sum divided once by the number of points.
    Mean = 1,
    /// The largest value that is not NaN; NaN if there is none.
    Max = 2,
}

pointmill_core::names!(ScatterMode { Sum = "sum", Mean = "mean", Max = "max" });

/// Arguments of [`RowKeys`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RowKeysArgs {
    /// `[n]` rows or -1.
    pub point_to_voxel: *const i32,
    /// `[n]` keys: the row, or `last` for -1.
    pub keys: *mut u32,
    /// A key after all rows.
    pub last: u32,
    /// The number of points.
    pub n: u32,
}

kernel! {
    /// Turns rows into sort keys, with the points that have none at the end. One thread a point.
    RowKeys = "voxelize_row_keys", block BLOCK, shared 0, cooperative false,
    fn(a: RowKeysArgs) {
        let i = global_index();
        if i < a.n {
            let row = *a.point_to_voxel.add(i as usize) as u32;
            *a.keys.add(i as usize) = if row < a.last { row } else { a.last };
        }
    }
}

/// Arguments of [`Scatter`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ScatterArgs {
    /// `[n, columns]`.
    pub features: *const f32,
    /// Values a point has.
    pub columns: u32,
    /// The number of rows.
    pub rows: Length,
    /// `[rows + 1]`: where each row's points start in `indices`.
    pub row_splits: *const u32,
    /// Points, row after row, ascending in each.
    pub indices: *const u32,
    /// What to compute.
    pub mode: ScatterMode,
    /// `[rows, columns]`.
    pub output: *mut f32,
}

kernel! {
    /// Reduces the features of each row's points. One thread a value.
    Scatter = "voxelize_scatter", block BLOCK, shared 0, cooperative false,
    fn(a: ScatterArgs) {
        let e = block_index() as u64 * BLOCK as u64 + thread_index() as u64;
        if e < a.rows.get() as u64 * a.columns as u64 {
            let (row, c) = ((e / a.columns as u64) as usize, (e % a.columns as u64) as usize);
            let (start, end) = (*a.row_splits.add(row), *a.row_splits.add(row + 1));
            let value = |k: u32| *a.features.add(*a.indices.add(k as usize) as usize * a.columns as usize + c);
            *a.output.add(e as usize) = match a.mode {
                ScatterMode::Max => {
                    let mut best = f32::NAN;
                    let mut k = start;
                    while k < end {
                        best = pointmill_core::mean::larger(best, value(k));
                        k += 1;
                    }
                    canonical(best)
                }
                mode => {
                    let sum = sum_in_order(start, end, value);
                    if let ScatterMode::Mean = mode { mean_from_sum(sum, end - start) } else { canonical(sum) }
                }
            };
        }
    }
}

/// The sum of `value(start)` to `value(end - 1)`, added in order from zero; four loads are in
/// flight at a time.
#[inline(always)]
pub(super) fn sum_in_order(start: u32, end: u32, value: impl Fn(u32) -> f32) -> f32 {
    let mut sum = 0.0;
    let mut k = start;
    while k + 4 <= end {
        let v = [value(k), value(k + 1), value(k + 2), value(k + 3)];
        sum = sum + v[0] + v[1] + v[2] + v[3];
        k += 4;
    }
    while k < end {
        sum += value(k);
        k += 1;
    }
    sum
}
