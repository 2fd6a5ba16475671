//! A tree of boxes over points along the Morton curve, split where the codes' highest bit changes.

use super::tree::{Entry, Tree};
use pointmill_core::icp::morton::{MortonGrid, split};
use rayon::prelude::*;

/// The tree over some points. Splitting by the highest bit that differs, rather than in the middle, looks at a fifth of the boxes.
pub(super) fn build(entries: Vec<Entry>) -> Tree {
    let codes = sorted(&entries);
    let entries: Vec<Entry> = codes.iter().map(|(_, at)| entries[*at as usize]).collect();
    Tree::new(&entries, &|first, end| split(first, end, |i| codes[i].0))
}

/// Codes and places of points, by code and then by place.
fn sorted(entries: &[Entry]) -> Vec<(u64, u32)> {
    order_along_curve(entries.len(), |i| entries[i].point)
}

/// Codes and indices of `n` finite points in the order of the Morton curve through the box around them; of one code in the order of their indices.
pub(in crate::icp) fn order_along_curve(n: usize, point: impl Fn(usize) -> [f32; 3] + Sync) -> Vec<(u64, u32)> {
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for i in 0..n {
        let p = point(i);
        for axis in 0..3 {
            low[axis] = low[axis].min(p[axis]);
            high[axis] = high[axis].max(p[axis]);
        }
    }
    let grid = MortonGrid::new(low, high);
    let mut codes: Vec<(u64, u32)> = (0..n).into_par_iter().map(|i| (grid.code(point(i)), i as u32)).collect();
    codes.par_sort_unstable();
    codes
}
