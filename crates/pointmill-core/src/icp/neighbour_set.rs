//! The neighbours that a search keeps.

use super::nearest::{distance_of, index_of, key};
use crate::float::sqrt_f32;

/// Most neighbours of a search.
pub const MAX_NEIGHBOURS: usize = 32;

/// The neighbours that a search keeps, of the points that it visits.
pub trait NeighbourSet {
    /// The squared distance above which points are of no interest.
    fn max_distance(&self) -> f32;
    /// Adds a point, if it is near enough.
    fn insert(&mut self, key: u64);
    /// A pruned subtree; `bound` is a lower bound of its squared distances.
    fn prune(&mut self, bound: f32);
    /// Returns true if a box must be visited, else prunes it. Its points are at least as far as
    /// `bound` and have no index below `lowest`; `one_place` returns true if all of them lie at one
    /// place.
    ///
    /// Of equally near points only the lowest indices count. So a box is pruned by its distance and
    /// its lowest index, or a search would visit all copies of a point.
    fn should_visit(&mut self, bound: f32, lowest: u32, one_place: impl FnOnce() -> bool) -> bool;
}

/// The nearest point.
#[derive(Clone, Copy, Debug)]
pub struct Nearest {
    /// The key of the nearest point so far, or that which points are to be below.
    pub best: u64,
}

impl Nearest {
    /// Of points below a key.
    #[inline(always)]
    pub const fn below(limit: u64) -> Self {
        Self { best: limit }
    }
}

impl NeighbourSet for Nearest {
    #[inline(always)]
    fn max_distance(&self) -> f32 {
        distance_of(self.best)
    }

    #[inline(always)]
    fn insert(&mut self, key: u64) {
        self.best = if key < self.best { key } else { self.best };
    }

    #[inline(always)]
    fn prune(&mut self, _: f32) {}

    #[inline(always)]
    fn should_visit(&mut self, bound: f32, lowest: u32, _: impl FnOnce() -> bool) -> bool {
        key(bound, lowest) < self.best
    }
}

/// All points below a key, each shown once, in the order of the search.
#[derive(Clone, Copy, Debug)]
pub struct Within<V> {
    /// The key that points are to be below.
    pub limit: u64,
    /// What is done with the key of a point.
    pub visit: V,
}

impl<V: FnMut(u64)> NeighbourSet for Within<V> {
    #[inline(always)]
    fn max_distance(&self) -> f32 {
        distance_of(self.limit)
    }

    #[inline(always)]
    fn insert(&mut self, key: u64) {
        if key < self.limit {
            (self.visit)(key);
        }
    }

    #[inline(always)]
    fn prune(&mut self, _: f32) {}

    #[inline(always)]
    fn should_visit(&mut self, bound: f32, lowest: u32, _: impl FnOnce() -> bool) -> bool {
        key(bound, lowest) < self.limit
    }
}

/// The nearest point, and how near a point at another place can be.
///
/// Copies of the nearest point are as far as it from everywhere and have higher indices: they are
/// never nearest, and are left out of account.
#[derive(Clone, Copy, Debug)]
pub struct NearestAndOthers<P> {
    /// The key of the nearest point so far, or that which points are to be below.
    pub best: u64,
    /// A lower bound of the squared distances of all points that are at another place.
    pub others: f32,
    /// By how much farther than the best the search looks, so that `others` is that much larger.
    margin: f32,
    reach: f32,
    /// Where the point of an index is.
    place: P,
}

impl<P: Fn(u32) -> [f32; 3]> NearestAndOthers<P> {
    /// Of points below a key.
    #[inline(always)]
    pub fn below(limit: u64, margin: f32, place: P) -> Self {
        let mut nearest = Self { best: limit, others: f32::INFINITY, margin, reach: 0.0, place };
        nearest.widen();
        nearest
    }

    #[inline(always)]
    fn widen(&mut self) {
        let square = distance_of(self.best);
        self.reach = square;
        if self.margin > 0.0 {
            let wide = sqrt_f32(square) + self.margin;
            let wide = wide * wide;
            // A limit is wide enough as it is; and rounding must not make the reach shorter than
            // the best.
            let most = if wide < f32::MAX { wide } else { f32::MAX };
            self.reach = if most > square { most } else { square };
        }
    }

    #[inline(always)]
    fn other(&mut self, square: f32) {
        self.others = if square < self.others { square } else { self.others };
    }

    /// Whether a point is at the place of the nearest one.
    #[inline(always)]
    fn is_copy(&self, key: u64) -> bool {
        // Points at one place are equally far; so mostly there is nothing to look up.
        distance_of(key) == distance_of(self.best) && (self.place)(index_of(key)) == (self.place)(index_of(self.best))
    }
}

impl<P: Fn(u32) -> [f32; 3]> NeighbourSet for NearestAndOthers<P> {
    #[inline(always)]
    fn max_distance(&self) -> f32 {
        self.reach
    }

    #[inline(always)]
    fn insert(&mut self, key: u64) {
        if key < self.best {
            if index_of(self.best) != u32::MAX && !self.is_copy(key) {
                self.other(distance_of(self.best));
            }
            self.best = key;
            self.widen();
        } else if key != self.best && !self.is_copy(key) {
            self.other(distance_of(key));
        }
    }

    #[inline(always)]
    fn prune(&mut self, bound: f32) {
        self.other(bound);
    }

    #[inline(always)]
    fn should_visit(&mut self, bound: f32, lowest: u32, one_place: impl FnOnce() -> bool) -> bool {
        let least = key(bound, lowest);
        if least < self.best {
            return true;
        }
        if bound > self.reach {
            self.other(bound);
            return false;
        }
        // None of these points is nearest. What is no nearer than others that are known says
        // nothing of them, and neither do copies; the box of one place has that point's distance as
        // its bound.
        bound < self.others && !(bound == distance_of(self.best) && one_place() && self.is_copy(least))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    const PLACES: [[f32; 3]; 5] =
        [[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [3.0, -0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 5.0]];

    fn keys() -> Vec<u64> {
        PLACES.iter().zip(0..).map(|(p, i)| key(p[0] * p[0] + p[1] * p[1] + p[2] * p[2], i)).collect()
    }

    fn alone(limit: u64, margin: f32) -> NearestAndOthers<impl Fn(u32) -> [f32; 3]> {
        NearestAndOthers::below(limit, margin, |i| PLACES[i as usize])
    }

    #[test]
    fn copies_of_the_nearest_are_no_others_in_any_order() {
        let keys = keys();
        for order in [[0, 2, 3, 4], [3, 2, 0, 4], [4, 3, 0, 2], [2, 4, 3, 0]] {
            let mut keep = alone(super::super::nearest::FARTHEST, 0.0);
            order.iter().for_each(|i| keep.insert(keys[*i]));
            assert_eq!((keep.best, keep.others), (keys[0], 25.0), "{order:?}");
        }
        // One that is as far at another place is one of them.
        let mut keep = alone(super::super::nearest::FARTHEST, 0.0);
        [1, 3].iter().for_each(|i| keep.insert(keys[*i]));
        assert_eq!((keep.best, keep.others), (keys[1], 9.0));
    }

    #[test]
    fn boxes_are_entered_by_distance_and_lowest_index() {
        let keys = keys();
        let mut nearest = Nearest::below(keys[2]);
        let mut entered = |bound, lowest| nearest.should_visit(bound, lowest, || true);
        assert!(entered(8.0, 9) && entered(9.0, 1));
        assert!(!entered(9.0, 2) && !entered(9.0, 3) && !entered(10.0, 0) && !entered(f32::NAN, 0));

        let mut keep = alone(super::super::nearest::FARTHEST, 1.0);
        keep.insert(keys[2]);
        assert!(keep.should_visit(8.0, 9, || false) && keep.should_visit(9.0, 1, || true));
        // Copies alone need no look and leave the others where they are; a box with more than
        // copies needs one.
        assert!(!keep.should_visit(9.0, 3, || true) && keep.others == f32::INFINITY);
        assert!(keep.should_visit(9.0, 3, || false) && keep.should_visit(15.9, 3, || false));
        assert!(!keep.should_visit(16.1, 0, || false) && keep.others == 16.1);
        // Beyond others that are known there is nothing to learn, but for lower indices.
        keep.insert(key(9.0, 4));
        assert_eq!(keep.others, 9.0);
        assert!(
            !keep.should_visit(9.0, 3, || false)
                && !keep.should_visit(12.0, 0, || false)
                && keep.should_visit(9.0, 1, || false)
        );
    }

    #[test]
    fn a_limit_has_no_copies() {
        let mut keep = alone(super::super::nearest::limit(3.0), 0.0);
        assert!(keep.should_visit(9.0, 4, || true));
        keep.insert(key(9.5, 4));
        assert_eq!((index_of(keep.best), keep.others), (u32::MAX, 9.5));
    }
}
