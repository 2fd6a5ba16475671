//! The pair of each source point, kept from pose to pose.

use super::search::{Index, Scratch};
use crate::icp::register::Matched;
use crate::prim::BLOCK;
use crate::{Result, memory, par};
use pointmill_core::icp::correspondence::{CachedCorrespondence, hash};
use pointmill_core::icp::nearest::{key, squared_distance};
use pointmill_core::icp::neighbour_set::NearestAndOthers;
use pointmill_core::rigid::Rigid;
use rayon::prelude::*;

/// The pose of the source, and the target among whose points neighbours are searched.
pub(in crate::icp) struct Among<'a> {
    pub(in crate::icp) pose: Rigid,
    pub(in crate::icp) target: &'a [[f32; 3]],
    pub(in crate::icp) index: &'a Index,
    /// Metres by which a search looks farther than the nearest point, so that the next poses can do
    /// without.
    pub(in crate::icp) margin: f32,
}

#[derive(Clone, Debug)]
pub(in crate::icp) struct Pairs {
    known: Vec<CachedCorrespondence>,
    limit: u64,
}

impl Pairs {
    /// For `n` source points, and target points below a key.
    pub(in crate::icp) fn new(n: usize, limit: u64) -> Result<Self> {
        Ok(Self { known: memory::filled(n, CachedCorrespondence::nothing(limit))?, limit })
    }

    /// The index of the target point of a source point, if it has one.
    #[inline]
    pub(in crate::icp) fn target(&self, i: usize) -> Option<usize> {
        let index = self.known[i].index(self.limit);
        (index != u32::MAX).then_some(index as usize)
    }

    /// Finds the pairs of all source points.
    pub(in crate::icp) fn update(&mut self, source: &[[f32; 3]], among: &Among<'_>) -> Matched {
        let limit = self.limit;
        self.known
            .par_chunks_mut(BLOCK)
            .zip(source.par_chunks(BLOCK))
            .with_min_len(par::grain(1))
            .enumerate()
            .map_init(Scratch::default, |scratch, (block, (known, source))| {
                par::check();
                let mut matched = Matched::default();
                let mut hint = u32::MAX;
                for (i, (known, s)) in (block * BLOCK..).zip(known.iter_mut().zip(source)) {
                    let q = among.pose.apply(s.map(f64::from)).map(|x| x as f32);
                    let before = known.index(limit);
                    if !known.is_still_valid(q, |index| among.target[index as usize], limit) {
                        matched.searched += 1;
                        search(known, q, among, limit, hint, scratch);
                    }
                    hint = known.nearest;
                    let now = known.index(limit);
                    matched.changed += usize::from(now != before);
                    matched.hash = matched.hash.wrapping_add(hash(i as u32, now));
                }
                matched
            })
            // Of whole numbers, so that any order of blocks gives the same.
            .reduce(Matched::default, |all, block| Matched {
                changed: all.changed + block.changed,
                searched: all.searched + block.searched,
                hash: all.hash.wrapping_add(block.hash),
            })
    }
}

fn search(
    known: &mut CachedCorrespondence,
    q: [f32; 3],
    among: &Among<'_>,
    limit: u64,
    hint: u32,
    scratch: &mut Scratch,
) {
    // The last neighbour, and that of the point before along the curve, are points like others and
    // mostly near: boxes beyond them need no look.
    let key_of = |index: u32| match among.target.get(index as usize) {
        Some(point) => key(squared_distance(q, *point), index),
        None => limit,
    };
    let best = limit.min(key_of(known.nearest)).min(key_of(hint));
    let mut nearest = NearestAndOthers::below(best, among.margin, |index| among.target[index as usize]);
    among.index.find(q, &mut nearest, scratch);
    known.found(q, &nearest, limit);
}
