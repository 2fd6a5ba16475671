//! The pair of a source point, kept from pose to pose.

use super::nearest::{distance_of, index_of, key, squared_distance};
use super::neighbour_set::NearestAndOthers;
use crate::float::sqrt;

/// Part of a distance that rounding may have cost it, and more: an `f32` squared distance is within
/// 3e-7 of the true one.
const ROUNDING: f64 = 1e-6;
/// Squares below this may have lost digits by being small.
const SMALL: f32 = 1e-30;

/// The neighbour of a source point, from the last search for it.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct CachedCorrespondence {
    /// The key of the pair, or the limit where there is none.
    pub pair: u64,
    /// The nearest point at the last search, or `u32::MAX`.
    pub nearest: u32,
    /// A lower bound of the squared distances of all points but the nearest and its copies, from
    /// where the point was at the last search. Copies have higher indices, or they would be the
    /// nearest, and are as far from everywhere: none of them ever is.
    others: f32,
    /// Where it was.
    from: [f32; 3],
    _unused: u32,
}

impl CachedCorrespondence {
    /// Nothing, with pairs below a key.
    #[inline(always)]
    pub const fn nothing(limit: u64) -> Self {
        Self { pair: limit, nearest: u32::MAX, others: 0.0, from: [f32::NAN; 3], _unused: 0 }
    }

    /// The index of the target point, or `u32::MAX`.
    #[inline(always)]
    pub const fn index(&self, limit: u64) -> u32 {
        if self.pair < limit { index_of(self.pair) } else { u32::MAX }
    }

    /// Returns true if the cached neighbour, or that there is none, is provably still the nearest;
    /// then the pair is that of `q`.
    ///
    /// All other points were at least `others` away; moving by a step they are at least that less
    /// the step. Every distance carries what rounding may have cost it.
    #[inline(always)]
    pub fn is_still_valid(&mut self, q: [f32; 3], target: impl FnOnce(u32) -> [f32; 3], limit: u64) -> bool {
        // False for NaN, which is where the first search is still to be made.
        let is_far = self.others > SMALL;
        if !is_far {
            return false;
        }
        let step =
            [q[0] as f64 - self.from[0] as f64, q[1] as f64 - self.from[1] as f64, q[2] as f64 - self.from[2] as f64];
        let step = sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
        let others = sqrt(self.others as f64) * (1.0 - ROUNDING) - step * (1.0 + ROUNDING);
        let here =
            if self.nearest == u32::MAX { limit } else { key(squared_distance(q, target(self.nearest)), self.nearest) };
        let proved = others > sqrt(distance_of(here) as f64) * (1.0 + ROUNDING) + 1e-18;
        if proved {
            self.pair = if here < limit { here } else { limit };
        }
        proved
    }

    /// Takes what a search from `q` found.
    #[inline(always)]
    pub fn found<P>(&mut self, q: [f32; 3], found: &NearestAndOthers<P>, limit: u64) {
        self.found_without_others(q, found.best, limit);
        self.others = found.others;
    }

    /// Takes the key that a search from `q` found, which says nothing of other points: the next
    /// pose needs a search again.
    #[inline(always)]
    pub fn found_without_others(&mut self, q: [f32; 3], best: u64, limit: u64) {
        self.pair = best;
        self.nearest = if best < limit { index_of(best) } else { u32::MAX };
        (self.from, self.others) = (q, 0.0);
    }
}

/// What the pair of source point `i` adds to a number that all pairs make together; sums of these
/// wrap around, and their order does not matter.
#[inline(always)]
pub const fn hash(i: u32, index: u32) -> u64 {
    // Two rounds of multiplying and folding, so that each bit of both decides about all others.
    let mut x = ((i as u64) << 32 | index as u64) ^ 0x9e37_79b9_7f4a_7c15;
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 32
}
