//! A kd-tree: parts of equal size, split at the median of their widest axis.

use super::tree::{Entry, LEAF, Tree};
use crate::icp::cloud::around;
use crate::{Result, par};

/// Parts of fewer points are not worth another thread.
const ALONE: usize = 4096;

/// The tree over some points. Its boxes are tight around the points: where these lie on surfaces,
/// most of the room between splitting planes is empty.
pub(super) fn build(mut entries: Vec<Entry>) -> Result<Tree> {
    order(&mut entries);
    Tree::new(&entries, &|first, end| first + middle(end - first))
}

/// Where a part splits: the first half has whole leaves, so that all leaves but the last are full.
pub(in crate::icp) fn middle(len: usize) -> usize {
    len.div_ceil(LEAF).div_ceil(2) * LEAF
}

/// Puts entries in the order of the tree's leaves.
pub(in crate::icp) fn order(entries: &mut [Entry]) {
    if entries.len() <= LEAF {
        return;
    }
    let (low, high) = around(entries.iter().map(|entry| entry.point));
    let width = |axis: usize| high[axis] - low[axis];
    let axis = (1..3).fold(0, |widest, axis| if width(axis) > width(widest) { axis } else { widest });
    let middle = middle(entries.len());
    // What is equal along the axis is split along the others, and copies by their indices: so parts
    // do not lie in each other, and of copies the lowest indices lie together.
    entries.select_nth_unstable_by(middle, |a, b| {
        let along = |k: usize| a.point[(axis + k) % 3].total_cmp(&b.point[(axis + k) % 3]);
        along(0).then_with(|| along(1)).then_with(|| along(2)).then_with(|| a.index.cmp(&b.index))
    });
    let (left, right) = entries.split_at_mut(middle);
    if left.len() + right.len() < ALONE {
        order(left);
        order(right);
    } else {
        par::check();
        par::join(|| order(left), || order(right));
    }
}
