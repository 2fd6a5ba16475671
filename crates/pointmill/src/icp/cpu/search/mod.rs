//! Indices of points on the CPU: exact nearest neighbours, the same from every search.

mod brute;
mod kdtree;
mod keep;
mod lbvh;
mod many;
mod tree;

pub(in crate::icp) use kdtree::{middle, order};
pub(in crate::icp) use keep::{Crowd, Several};
pub(in crate::icp) use lbvh::order_along_curve;
pub(in crate::icp) use many::Many;
pub(in crate::icp) use tree::{Entry, Looks};

use crate::device::on_threads;
use crate::icp::params::Search;
use crate::{Result, memory};
use brute::Brute;
use tree::{Tree, Waiting};

/// Points made ready for queries.
#[derive(Debug)]
pub(in crate::icp) enum Index {
    Brute(Brute),
    KdTree(Tree),
    Lbvh(Tree),
}

impl Index {
    /// An index of the finite ones of some points.
    pub(in crate::icp) fn new(points: &[[f32; 3]], search: Search) -> Result<Self> {
        let finite = |p: &[f32; 3]| p.iter().all(|x| x.is_finite());
        let mut entries: Vec<Entry> = Vec::new();
        memory::room(&mut entries, points.len())?;
        let all = (0..).zip(points).filter(|(_, p)| finite(p));
        entries.extend(all.map(|(index, point)| Entry { point: *point, index }));
        on_threads(|| {
            Ok(match search {
                Search::Brute => Self::Brute(Brute::new(&entries)?),
                Search::Lbvh => Self::Lbvh(lbvh::build(&entries)?),
                // Measured on one core of an AMD EPYC, with as many queries as points, the kd-tree
                // was the fastest at every size from 8 to 262,144 points.
                Search::KdTree | Search::Auto => Self::KdTree(kdtree::build(entries)?),
            })
        })
    }

    /// The search of the index; never [`Search::Auto`].
    pub(in crate::icp) const fn search(&self) -> Search {
        match self {
            Self::Brute(_) => Search::Brute,
            Self::KdTree(_) => Search::KdTree,
            Self::Lbvh(_) => Search::Lbvh,
        }
    }

    /// One query.
    #[inline]
    pub(in crate::icp) fn find(&self, q: [f32; 3], keep: &mut impl Looks, scratch: &mut Scratch) {
        match self {
            Self::Brute(brute) => brute.walk(q, keep),
            Self::KdTree(tree) | Self::Lbvh(tree) => tree.walk(q, keep, &mut scratch.0),
        }
    }

    /// The number of groups of points that lie near each other.
    pub(in crate::icp) fn groups(&self) -> usize {
        match self {
            Self::Brute(brute) => brute.groups(),
            Self::KdTree(tree) | Self::Lbvh(tree) => tree.leaves(),
        }
    }

    /// Calls `visit` with the points of a group and their indices.
    pub(in crate::icp) fn each_of(&self, group: usize, mut visit: impl FnMut([f32; 3], u32)) {
        match self {
            Self::Brute(brute) => brute.entries(group).for_each(|e| visit(e.point, e.index)),
            Self::KdTree(tree) | Self::Lbvh(tree) => tree.entries(group).for_each(|e| visit(e.point, e.index)),
        }
    }
}

/// Memory that a thread keeps between queries.
#[derive(Clone, Debug, Default)]
pub(in crate::icp) struct Scratch(Waiting);
