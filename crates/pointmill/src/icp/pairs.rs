//! The pair of each source point, kept from pose to pose.

use super::search::{Scratch, Searcher};
use crate::prim::BLOCK;
use crate::{Result, memory};
use pointmill_core::icp::keep::NearestAndOthers;
use pointmill_core::icp::known::{Known, hash};
use pointmill_core::icp::nearest::{key, squared_distance};
use pointmill_core::rigid::Rigid;
use rayon::prelude::*;

/// What a look at a pose did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looked {
    pub(super) changed: usize,
    pub(super) searched: usize,
    /// A number that the pairs as a whole make.
    pub(super) hash: u64,
}

/// Where neighbours are searched for.
pub(super) struct Look<'a> {
    pub(super) pose: Rigid,
    pub(super) target: &'a [[f32; 3]],
    pub(super) searcher: &'a Searcher,
    /// Metres by which a search looks farther than the nearest point, so that the next poses can do without.
    pub(super) margin: f32,
}

#[derive(Clone, Debug)]
pub(super) struct Pairs {
    known: Vec<Known>,
    limit: u64,
}

impl Pairs {
    /// For `n` source points, and target points below a key.
    pub(super) fn new(n: usize, limit: u64) -> Result<Self> {
        Ok(Self { known: memory::filled(n, Known::nothing(limit))?, limit })
    }

    /// The index of the target point of a source point, if it has one.
    #[inline]
    pub(super) fn target(&self, i: usize) -> Option<usize> {
        let index = self.known[i].index(self.limit);
        (index != u32::MAX).then_some(index as usize)
    }

    /// Finds the pairs of all source points.
    pub(super) fn look(&mut self, source: &[[f32; 3]], from: &Look<'_>) -> Looked {
        let limit = self.limit;
        self.known
            .par_chunks_mut(BLOCK)
            .zip(source.par_chunks(BLOCK))
            .enumerate()
            .map_init(Scratch::default, |scratch, (block, (known, source))| {
                let mut looked = Looked::default();
                let mut hint = u32::MAX;
                for (i, (known, s)) in (block * BLOCK..).zip(known.iter_mut().zip(source)) {
                    let q = from.pose.apply(s.map(f64::from)).map(|x| x as f32);
                    let before = known.index(limit);
                    if !known.still(q, |index| from.target[index as usize], limit) {
                        looked.searched += 1;
                        search(known, q, from, limit, hint, scratch);
                    }
                    hint = known.nearest;
                    let now = known.index(limit);
                    looked.changed += usize::from(now != before);
                    looked.hash = looked.hash.wrapping_add(hash(i as u32, now));
                }
                looked
            })
            // Of whole numbers, so that any order of blocks gives the same.
            .reduce(Looked::default, |all, block| Looked {
                changed: all.changed + block.changed,
                searched: all.searched + block.searched,
                hash: all.hash.wrapping_add(block.hash),
            })
    }
}

fn search(known: &mut Known, q: [f32; 3], from: &Look<'_>, limit: u64, hint: u32, scratch: &mut Scratch) {
    // The last neighbour, and that of the point before along the curve, are points like others and mostly near: boxes beyond them need no look.
    let key_of = |index: u32| match from.target.get(index as usize) {
        Some(point) => key(squared_distance(q, *point), index),
        None => limit,
    };
    let best = limit.min(key_of(known.nearest)).min(key_of(hint));
    let mut nearest = NearestAndOthers::below(best, from.margin, |index| from.target[index as usize]);
    from.searcher.find(q, &mut nearest, scratch);
    known.found(q, &nearest, limit);
}
