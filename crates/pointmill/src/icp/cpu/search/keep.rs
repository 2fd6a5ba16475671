//! The k nearest points of a search.

use pointmill_core::icp::keep::{Keep, MAX_NEIGHBOURS};
use pointmill_core::icp::nearest::{distance_of, index_of, key};

/// The k nearest points, the nearest first.
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

impl Keep for Several {
    #[inline]
    fn reach(&self) -> f32 {
        distance_of(self.keys[self.k - 1])
    }

    #[inline]
    fn offer(&mut self, key: u64) {
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
    fn pass(&mut self, _: f32) {}
    #[inline]
    fn enters(&mut self, bound: f32, lowest: u32, _: impl FnOnce() -> bool) -> bool {
        key(bound, lowest) < self.keys[self.k - 1]
    }
}
