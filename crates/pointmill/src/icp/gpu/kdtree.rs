//! A kd-tree as kernels walk it, made on the host.

use super::cloud::place;
use crate::device::on_threads;
use crate::icp::cloud::around;
use crate::icp::cpu::{Entry, middle, order};
use crate::{Result, memory};
use pointmill_kernels::icp::{Half, LEAF, Node, Place4};

/// What is made.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) nodes: Vec<Node>,
    pub(super) points: Vec<Place4>,
    pub(super) root: Half,
}

/// The tree over points, at least one, each with its index.
pub(super) fn build(places: &[Place4]) -> Result<Made> {
    let entry = |p: &Place4| Entry { point: [p[0], p[1], p[2]], index: p[3].to_bits() };
    let mut entries = memory::collect(places.iter().map(entry))?;
    on_threads(|| order(&mut entries));
    let points = memory::collect(entries.iter().map(|e| place(e.point, e.index)))?;
    let mut made = Made { points, ..Made::default() };
    made.root = made.part(&entries, 0)?;
    Ok(made)
}

impl Made {
    /// The part of entries that start at a place, with its box.
    fn part(&mut self, entries: &[Entry], first: u32) -> Result<Half> {
        if entries.len() <= LEAF as usize {
            let (low, high) = around(entries.iter().map(|entry| entry.point));
            let lowest = entries.iter().fold(u32::MAX, |lowest, entry| lowest.min(entry.index));
            return Ok(Half::of_leaf(low, high, first, entries.len() as u32, lowest));
        }
        let node = self.nodes.len();
        memory::push(&mut self.nodes, Node::default())?;
        let (left, right) = entries.split_at(middle(entries.len()));
        let both = [self.part(left, first)?, self.part(right, first + left.len() as u32)?];
        self.nodes[node] = both;
        let [a, b] = both;
        let (low, high) = ([0, 1, 2].map(|i| a.low[i].min(b.low[i])), [0, 1, 2].map(|i| a.high[i].max(b.high[i])));
        Ok(Half::of_node(low, high, node as u32, a.lowest().min(b.lowest())))
    }
}
