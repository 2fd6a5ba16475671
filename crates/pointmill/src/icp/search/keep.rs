//! What searches keep: the nearest point, or the k nearest.

use super::tree::Keep;
use pointmill_core::icp::nearest::{distance_of, index_of};

/// Most neighbours of a search.
pub const MAX_NEIGHBOURS: usize = 32;

/// The nearest point, and how near any other can be.
#[derive(Clone, Copy, Debug)]
pub(in crate::icp) struct Nearest {
    pub(in crate::icp) best: u64,
    /// A lower bound of the squared distances of all other points.
    pub(in crate::icp) others: f32,
    /// By how much farther than the best the search looks, so that `others` is that much larger.
    margin: f32,
    reach: f32,
}

impl Nearest {
    /// Of points below a key.
    #[inline]
    pub(in crate::icp) fn below(limit: u64, margin: f32) -> Self {
        let mut nearest = Self { best: limit, others: f32::INFINITY, margin, reach: 0.0 };
        nearest.widen();
        nearest
    }

    #[inline]
    fn widen(&mut self) {
        let square = distance_of(self.best);
        self.reach = square;
        if self.margin > 0.0 {
            let wide = square.sqrt() + self.margin;
            // A limit is wide enough as it is; and rounding must not make the reach shorter than the best.
            self.reach = (wide * wide).clamp(square, f32::MAX);
        }
    }

    #[inline]
    fn other(&mut self, square: f32) {
        self.others = if square < self.others { square } else { self.others };
    }
}

impl Keep for Nearest {
    #[inline]
    fn reach(&self) -> f32 {
        self.reach
    }

    #[inline]
    fn offer(&mut self, key: u64) {
        if key < self.best {
            if index_of(self.best) != u32::MAX {
                self.other(distance_of(self.best));
            }
            self.best = key;
            self.widen();
        } else if key != self.best {
            self.other(distance_of(key));
        }
    }

    #[inline]
    fn pass(&mut self, bound: f32) {
        self.other(bound);
    }
}

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
}
