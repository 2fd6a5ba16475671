//! The pair of each source point, kept from pose to pose.

use super::search::{Nearest, Scratch, Searcher};
use crate::prim::BLOCK;
use pointmill_core::icp::nearest::{distance_of, index_of, key, squared_distance};
use pointmill_core::rigid::Rigid;
use rayon::prelude::*;

/// Part of a distance that rounding may have cost it, and more: an `f32` squared distance is within 3e-7 of the true one.
const ROUNDING: f64 = 1e-6;
/// Squares below this may have lost digits by being small.
const SMALL: f32 = 1e-30;

/// What is known of a source point's neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The key of the pair, or the limit where there is none.
    pub(super) pair: u64,
    /// The nearest point at the last search, or `u32::MAX`.
    nearest: u32,
    /// Where the point was at the last search.
    from: [f32; 3],
    /// A lower bound of the squared distances of all points but the nearest, from there.
    others: f32,
}

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
    pub(super) known: Vec<Known>,
    limit: u64,
}

impl Pairs {
    /// For `n` source points, and target points below a key.
    pub(super) fn new(n: usize, limit: u64) -> Self {
        let nothing = Known { pair: limit, nearest: u32::MAX, from: [f32::NAN; 3], others: 0.0 };
        Self { known: vec![nothing; n], limit }
    }

    /// The index of the target point of a source point, if it has one.
    #[inline]
    pub(super) fn target(&self, i: usize) -> Option<usize> {
        let pair = self.known[i].pair;
        (pair < self.limit).then(|| index_of(pair) as usize)
    }

    /// Finds the pairs of all source points.
    pub(super) fn look(&mut self, source: &[[f32; 3]], from: &Look<'_>) -> Looked {
        let limit = self.limit;
        let blocks: Vec<Looked> = self
            .known
            .par_chunks_mut(BLOCK)
            .zip(source.par_chunks(BLOCK))
            .map_init(Scratch::default, |scratch, (known, source)| {
                let mut looked = Looked::default();
                let mut hint = u32::MAX;
                for (known, s) in known.iter_mut().zip(source) {
                    let q = from.pose.apply(s.map(f64::from)).map(|x| x as f32);
                    let before = known.pair_index(limit);
                    if !known.still(q, from.target, limit) {
                        looked.searched += 1;
                        known.search(q, from, limit, hint, scratch);
                    }
                    hint = known.nearest;
                    let now = known.pair_index(limit);
                    looked.changed += usize::from(now != before);
                    looked.hash = (looked.hash.rotate_left(5) ^ u64::from(now)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                }
                looked
            })
            .collect();
        blocks.iter().fold(Looked::default(), |all, block| Looked {
            changed: all.changed + block.changed,
            searched: all.searched + block.searched,
            hash: (all.hash.rotate_left(5) ^ block.hash).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        })
    }
}

impl Known {
    #[inline]
    fn pair_index(&self, limit: u64) -> u32 {
        if self.pair < limit { index_of(self.pair) } else { u32::MAX }
    }

    /// Whether it is proved that the nearest point, or that there is none, is what it was; then the pair is that of `q`.
    ///
    /// All other points were at least `others` away; moving by a step they are at least that less the step. Every distance carries what rounding may have cost it.
    #[inline]
    fn still(&mut self, q: [f32; 3], target: &[[f32; 3]], limit: u64) -> bool {
        // False for NaN, which is where the first search is still to be made.
        let is_far = self.others > SMALL;
        if !is_far {
            return false;
        }
        let step = [0, 1, 2].map(|i| f64::from(q[i]) - f64::from(self.from[i]));
        let step = (step[0] * step[0] + step[1] * step[1] + step[2] * step[2]).sqrt();
        let others = f64::from(self.others).sqrt() * (1.0 - ROUNDING) - step * (1.0 + ROUNDING);
        let here = if self.nearest == u32::MAX {
            limit
        } else {
            key(squared_distance(q, target[self.nearest as usize]), self.nearest)
        };
        let proved = others > f64::from(distance_of(here)).sqrt() * (1.0 + ROUNDING) + 1e-18;
        if proved {
            self.pair = here.min(limit);
        }
        proved
    }

    #[inline]
    fn search(&mut self, q: [f32; 3], from: &Look<'_>, limit: u64, hint: u32, scratch: &mut Scratch) {
        // The last neighbour, and that of the point before along the curve, are points like others and mostly near: boxes beyond them need no look.
        let known = |index: u32| match from.target.get(index as usize) {
            Some(point) => key(squared_distance(q, *point), index),
            None => limit,
        };
        let best = limit.min(known(self.nearest)).min(known(hint));
        let mut nearest = Nearest::below(best, from.margin);
        from.searcher.find(q, &mut nearest, scratch);
        self.pair = nearest.best;
        self.nearest = if nearest.best < limit { index_of(nearest.best) } else { u32::MAX };
        (self.from, self.others) = (q, nearest.others);
    }
}
