//! A tree of boxes over points along the Morton curve, split where the codes' highest bit changes.

use super::tree::{Entry, LEAF, Tree};
use crate::icp::cloud::around;
use crate::{Result, memory, par};
use pointmill_core::icp::morton::{CubeOrder, MortonGrid, split};
use rayon::prelude::*;

/// Points that a thread takes at a time.
const CODES: usize = 1024;

/// The tree over some points. Splitting by the highest bit that differs, rather than in the middle,
/// looks at a fifth of the boxes.
pub(super) fn build(entries: &[Entry]) -> Result<Tree> {
    let codes = order_along_curve(entries.len(), |i| entries[i].point)?;
    let mut entries = memory::collect(codes.iter().map(|(_, at)| entries[*at as usize]))?;
    let mut first = 0;
    for cube in codes.chunk_by(|a, b| a.0 == b.0) {
        order_within(&mut entries[first..first + cube.len()]);
        first += cube.len();
    }
    Tree::new(&entries, &|first, end| split(first, end, |i| codes[i].0))
}

/// Puts points of one code, which come in the order of their indices, into an order whose parts lie
/// together; copies stay in the order of their indices.
fn order_within(cube: &mut [Entry]) {
    if cube.len() <= LEAF {
        return;
    }
    let (low, high) = around(cube.iter().map(|entry| entry.point));
    if low != high {
        let order = CubeOrder::new(low, high);
        par::sort_unstable_by(cube, |a, b| order.of(a.point, b.point).then_with(|| a.index.cmp(&b.index)));
    }
}

/// Codes and indices of `n` finite points in the order of the Morton curve through the box around
/// them; of one code in the order of their indices.
pub(in crate::icp) fn order_along_curve(n: usize, point: impl Fn(usize) -> [f32; 3] + Sync) -> Result<Vec<(u64, u32)>> {
    let (low, high) = around((0..n).map(&point));
    let grid = MortonGrid::new(low, high);
    let codes = (0..n).into_par_iter().with_min_len(par::grain(CODES));
    let codes = codes.map(|i| (grid.code(point(i)), i as u32));
    let mut codes = memory::collect_parallel(codes)?;
    par::sort_unstable_by(&mut codes, Ord::cmp);
    Ok(codes)
}
