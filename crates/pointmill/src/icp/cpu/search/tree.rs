//! A tree of boxes, four to a node and eight points to a leaf, and the walk through it that all
//! searches share.
//!
//! How points were put in order and split is the builder's; what is found does not depend on it.

use super::{Crowd, Several};
use crate::{Result, memory};
use pointmill_core::icp::nearest::{bound, distance_of, index_of, key, squared_distance};
use pointmill_core::icp::neighbour_set::{Nearest, NearestAndOthers, NeighbourSet};

/// Boxes of a node.
const WIDTH: usize = 4;
/// Points of a leaf.
pub(super) const LEAF: usize = 8;
/// A child that is a leaf has this bit.
const IS_LEAF: u32 = 1 << 31;
/// A child whose points lie at one place has this one. There are fewer nodes, and fewer leaves,
/// than it counts.
const ONE_PLACE: u32 = 1 << 30;
/// Most children that wait. The deepest tree is one over Morton codes that all differ in their last
/// bits, with copies below: 63 + 27 splits, two a node, and each node leaves three children behind.
const WAITING: usize = 3 * 46 + WIDTH;

/// A point and its index in the cloud.
#[derive(Clone, Copy, Debug)]
pub(in crate::icp) struct Entry {
    pub(in crate::icp) point: [f32; 3],
    pub(in crate::icp) index: u32,
}

/// Boxes axis by axis, so that four are tested at a time. A box that is not there begins at
/// infinity: its bound is above every limit. Two lines of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Node {
    low: [[f32; WIDTH]; 3],
    high: [[f32; WIDTH]; 3],
    /// The lowest index of the points in each: of equally near points it decides.
    lowest: [u32; WIDTH],
    child: [u32; WIDTH],
}

/// Points axis by axis; those that are not there lie at infinity. Two lines of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Leaf {
    axes: [[f32; LEAF]; 3],
    index: [u32; LEAF],
}

#[derive(Clone, Debug, Default)]
pub(in crate::icp) struct Tree {
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
}

/// A search that may count what it looks at.
pub(in crate::icp) trait Looks: NeighbourSet {
    /// So many boxes are tested next.
    #[inline]
    fn boxes(&mut self, _: usize) {}
    /// So many points, likewise.
    #[inline]
    fn points(&mut self, _: usize) {}
    /// The points of a leaf, of which at least one is within the reach.
    #[inline(always)]
    fn leaf(&mut self, squares: &[f32; LEAF], index: &[u32; LEAF]) {
        for i in 0..LEAF {
            if squares[i] <= self.max_distance() {
                self.insert(key(squares[i], index[i]));
            } else {
                self.prune(squares[i]);
            }
        }
    }
}

impl Looks for Nearest {}

impl<P: Fn(u32) -> [f32; 3]> Looks for NearestAndOthers<P> {}

impl Looks for Several {}

impl Looks for Crowd {
    #[inline(always)]
    fn leaf(&mut self, squares: &[f32; LEAF], index: &[u32; LEAF]) {
        squares.iter().zip(index).for_each(|(&square, &index)| self.insert(key(square, index)));
    }
}

/// The box around some points, and the lowest of their indices.
struct Around {
    low: [f32; 3],
    high: [f32; 3],
    lowest: u32,
}

/// Children that wait for their turn, each with its bound and its lowest index as a key; kept
/// between queries.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    entries: [(u64, u32); WAITING],
    len: usize,
}

impl Default for Waiting {
    fn default() -> Self {
        Self { entries: [(0, 0); WAITING], len: 0 }
    }
}

impl Tree {
    /// A tree over entries in their order; `split(first, end)` is where more than [`LEAF`] of them
    /// part.
    pub(super) fn new(entries: &[Entry], split: &impl Fn(usize, usize) -> usize) -> Result<Self> {
        let mut tree = Self::default();
        if !entries.is_empty() {
            tree.node(entries, 0, entries.len(), split)?;
        }
        Ok(tree)
    }

    /// The node of some entries, and their box.
    fn node(
        &mut self,
        entries: &[Entry],
        first: usize,
        end: usize,
        split: &impl Fn(usize, usize) -> usize,
    ) -> Result<u32> {
        let at = self.nodes.len();
        let (far, none) = ([f32::INFINITY; WIDTH], [f32::NEG_INFINITY; WIDTH]);
        memory::push(
            &mut self.nodes,
            Node { low: [far; 3], high: [none; 3], lowest: [u32::MAX; WIDTH], child: [u32::MAX; WIDTH] },
        )?;
        // One split makes two parts, and each that is too large for a leaf is split once more.
        let mut cuts = [first; WIDTH + 1];
        let mut parts = 0;
        let mut cut = |end: usize| {
            parts += 1;
            cuts[parts] = end;
        };
        if end - first <= LEAF {
            cut(end);
        } else {
            let middle = split(first, end);
            for (first, end) in [(first, middle), (middle, end)] {
                if end - first > LEAF {
                    cut(split(first, end));
                }
                cut(end);
            }
        }
        for part in 0..parts {
            let (first, end) = (cuts[part], cuts[part + 1]);
            let child = if end - first > LEAF {
                self.node(entries, first, end, split)?
            } else {
                self.leaf(&entries[first..end])?
            };
            // The box of a node is that of its children's boxes, so each point is looked at once.
            let around = self.around(child);
            let node = &mut self.nodes[at];
            node.child[part] = child | if around.low == around.high { ONE_PLACE } else { 0 };
            node.lowest[part] = around.lowest;
            for axis in 0..3 {
                (node.low[axis][part], node.high[axis][part]) = (around.low[axis], around.high[axis]);
            }
        }
        Ok(at as u32)
    }

    fn leaf(&mut self, entries: &[Entry]) -> Result<u32> {
        let mut leaf = Leaf { axes: [[f32::INFINITY; LEAF]; 3], index: [u32::MAX; LEAF] };
        for (lane, entry) in entries.iter().enumerate() {
            leaf.index[lane] = entry.index;
            (0..3).for_each(|axis| leaf.axes[axis][lane] = entry.point[axis]);
        }
        memory::push(&mut self.leaves, leaf)?;
        Ok((self.leaves.len() - 1) as u32 | IS_LEAF)
    }

    fn around(&self, child: u32) -> Around {
        let least = |values: &[f32]| values.iter().copied().fold(f32::INFINITY, f32::min);
        let most = |values: &[f32]| values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let lowest = |indices: &[u32]| indices.iter().copied().fold(u32::MAX, u32::min);
        if child & IS_LEAF == 0 {
            let node = &self.nodes[child as usize];
            let (low, high) = (node.low.each_ref().map(|x| least(x)), node.high.each_ref().map(|x| most(x)));
            return Around { low, high, lowest: lowest(&node.lowest) };
        }
        let leaf = &self.leaves[(child & !IS_LEAF) as usize];
        let there = leaf.index.iter().filter(|i| **i != u32::MAX).count();
        let (low, high) =
            (leaf.axes.each_ref().map(|x| least(&x[..there])), leaf.axes.each_ref().map(|x| most(&x[..there])));
        Around { low, high, lowest: lowest(&leaf.index) }
    }

    /// The number of leaves.
    pub(super) fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// The points of a leaf.
    pub(super) fn entries(&self, leaf: usize) -> impl Iterator<Item = Entry> + '_ {
        let leaf = &self.leaves[leaf];
        let entry = |lane: usize| Entry { point: [0, 1, 2].map(|a| leaf.axes[a][lane]), index: leaf.index[lane] };
        (0..LEAF).map(entry).filter(|e| e.index != u32::MAX)
    }

    /// Shows `keep` every point that may count for it, near ones first, without recursion.
    #[inline]
    pub(super) fn walk(&self, q: [f32; 3], keep: &mut impl Looks, waiting: &mut Waiting) {
        if self.nodes.is_empty() || !q.iter().all(|x| x.is_finite()) {
            return;
        }
        waiting.len = 0;
        let mut at = 0u32;
        loop {
            let place = (at & !(IS_LEAF | ONE_PLACE)) as usize;
            if at & IS_LEAF == 0 {
                keep.boxes(WIDTH);
                self.nodes[place].visit(q, keep, waiting);
            } else {
                keep.points(LEAF);
                self.leaves[place].visit(q, keep);
            }
            loop {
                if waiting.len == 0 {
                    return;
                }
                waiting.len -= 1;
                let (least, child) = waiting.entries[waiting.len];
                if keep.should_visit(distance_of(least), index_of(least), || child & ONE_PLACE != 0) {
                    at = child;
                    break;
                }
            }
        }
    }
}

impl Node {
    /// Lets the children wait that are to be looked into, on top the nearest, of equally near ones
    /// that of the lowest index.
    #[inline]
    fn visit(&self, q: [f32; 3], keep: &mut impl NeighbourSet, waiting: &mut Waiting) {
        // A closure for each lane would not always become vector code.
        let mut bounds = [0.0; WIDTH];
        for (i, least) in bounds.iter_mut().enumerate() {
            let [low, high] = [&self.low, &self.high].map(|of| [of[0][i], of[1][i], of[2][i]]);
            *least = bound(q, low, high);
        }
        let first = waiting.len;
        for i in 0..WIDTH {
            let child = self.child[i];
            if keep.should_visit(bounds[i], self.lowest[i], || child & ONE_PLACE != 0) {
                let least = key(bounds[i], self.lowest[i]);
                let mut at = waiting.len;
                waiting.len += 1;
                while at > first && waiting.entries[at - 1].0 < least {
                    waiting.entries[at] = waiting.entries[at - 1];
                    at -= 1;
                }
                waiting.entries[at] = (least, child);
            }
        }
    }
}

impl Leaf {
    #[inline]
    fn visit(&self, q: [f32; 3], keep: &mut impl Looks) {
        let squares: [f32; LEAF] =
            std::array::from_fn(|i| squared_distance(q, [self.axes[0][i], self.axes[1][i], self.axes[2][i]]));
        let least = squares.iter().fold(f32::INFINITY, |least, d| if *d < least { *d } else { least });
        if least > keep.max_distance() {
            keep.prune(least);
            return;
        }
        keep.leaf(&squares, &self.index);
    }
}
