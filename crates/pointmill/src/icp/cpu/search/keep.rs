//! The k nearest points of a search, in two ways.

use pointmill_core::icp::nearest::{distance_of, index_of, key};
use pointmill_core::icp::neighbour_set::{MAX_NEIGHBOURS, NeighbourSet};

/// The k nearest points, the nearest first: right where nothing is known of how far they are.
#[derive(Clone, Debug)]
pub(in crate::icp) struct Several {
    keys: [u64; MAX_NEIGHBOURS],
    k: usize,
}

impl Several {
    /// Of points below a key; `k` is 1 to [`MAX_NEIGHBOURS`].
    #[inline]
    pub(in crate::icp) fn below(limit: u64, k: usize) -> Self {
        Self { keys: [limit; MAX_NEIGHBOURS], k }
    }

    /// The keys that were found.
    #[inline]
    pub(in crate::icp) fn found(&self) -> impl Iterator<Item = u64> + '_ {
        self.keys[..self.k].iter().copied().filter(|key| index_of(*key) != u32::MAX)
    }
}

impl NeighbourSet for Several {
    #[inline]
    fn max_distance(&self) -> f32 {
        distance_of(self.keys[self.k - 1])
    }

    #[inline]
    fn insert(&mut self, key: u64) {
        let mut at = self.k - 1;
        if key >= self.keys[at] {
            return;
        }
        while at > 0 && key < self.keys[at - 1] {
            self.keys[at] = self.keys[at - 1];
            at -= 1;
        }
        self.keys[at] = key;
    }

    #[inline]
    fn prune(&mut self, _: f32) {}
    #[inline]
    fn should_visit(&mut self, bound: f32, lowest: u32, _: impl FnOnce() -> bool) -> bool {
        key(bound, lowest) < self.keys[self.k - 1]
    }
}

/// Room for points that may be among the k nearest.
const ROOM: usize = 2 * MAX_NEIGHBOURS;

/// The k nearest points, in order only at the end: right where a limit near the farthest of them is
/// known.
#[derive(Clone, Debug)]
pub(in crate::icp) struct Crowd {
    keys: [u64; ROOM + 1],
    len: usize,
    /// The key that points are to be below.
    limit: u64,
    k: usize,
}

impl Crowd {
    /// Of points below a key; `k` is 1 to [`MAX_NEIGHBOURS`].
    #[inline]
    pub(in crate::icp) const fn below(limit: u64, k: usize) -> Self {
        Self { keys: [0; ROOM + 1], len: 0, limit, k }
    }

    /// The keys that were found, the least first.
    #[inline]
    pub(in crate::icp) fn sorted(&mut self) -> &[u64] {
        let keys = &mut self.keys[..self.len];
        keys.sort_unstable();
        &keys[..self.len.min(self.k)]
    }

    /// Forgets all but the k nearest.
    #[cold]
    fn shrink(&mut self) {
        let (_, last, _) = self.keys[..self.len].select_nth_unstable(self.k - 1);
        self.limit = *last;
        self.len = self.k;
    }
}

impl NeighbourSet for Crowd {
    #[inline]
    fn max_distance(&self) -> f32 {
        distance_of(self.limit)
    }

    #[inline]
    fn insert(&mut self, key: u64) {
        // Overwritten by the next point if this one is too far: there is no branch to mispredict.
        self.keys[self.len.min(ROOM)] = key;
        self.len += usize::from(key < self.limit);
        if self.len > ROOM {
            self.shrink();
        }
    }

    #[inline]
    fn prune(&mut self, _: f32) {}
    #[inline]
    fn should_visit(&mut self, bound: f32, lowest: u32, _: impl FnOnce() -> bool) -> bool {
        key(bound, lowest) < self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// In any order, with many at one distance, below any limit.
        #[test]
        fn both_keep_the_least_keys(
            squares in prop::collection::vec(0u32..40, 0..400), k in 1..=MAX_NEIGHBOURS, limit in prop_oneof![Just(u64::MAX), 0u64..40 << 32],
        ) {
            let keys: Vec<u64> = (0..).zip(&squares).map(|(index, &square)| u64::from(square) << 32 | index).collect();
            let (mut crowd, mut several) = (Crowd::below(limit, k), Several::below(limit, k));
            for &key in &keys {
                crowd.insert(key);
                if key < limit {
                    several.insert(key);
                }
            }
            let mut wanted: Vec<u64> = keys.into_iter().filter(|key| *key < limit).collect();
            wanted.sort_unstable();
            wanted.truncate(k);
            prop_assert_eq!(crowd.sorted(), &wanted[..]);
            prop_assert_eq!(&several.keys[..wanted.len()], &wanted[..]);
        }
    }
}
