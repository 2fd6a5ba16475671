//! Any number of nearest points.

use super::Looks;
use crate::{Error, Result, memory};
use pointmill_core::icp::nearest::{distance_of, key};
use pointmill_core::icp::neighbour_set::NeighbourSet;

/// The `k` nearest points of a search, in order only at the end. Its memory is kept between
/// queries.
#[derive(Debug, Default)]
pub(in crate::icp) struct Many {
    keys: Vec<u64>,
    /// The key that points are to be below.
    limit: u64,
    k: usize,
    /// Why the search ended early.
    refused: Option<Error>,
}

impl Many {
    /// Begins a search of points below a key; a `k` of `usize::MAX` keeps all of them.
    pub(in crate::icp) fn begin(&mut self, limit: u64, k: usize) {
        self.keys.clear();
        (self.limit, self.k, self.refused) = (limit, k, None);
    }

    /// The keys that were found, the least first.
    pub(in crate::icp) fn sorted(&mut self) -> Result<&[u64]> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        if self.keys.len() > self.k {
            self.shrink();
        }
        self.keys.sort_unstable();
        Ok(&self.keys)
    }

    /// Forgets all but the k nearest.
    fn shrink(&mut self) {
        let (_, last, _) = self.keys.select_nth_unstable(self.k - 1);
        self.limit = *last;
        self.keys.truncate(self.k);
    }
}

impl NeighbourSet for Many {
    fn max_distance(&self) -> f32 {
        distance_of(self.limit)
    }

    fn insert(&mut self, key: u64) {
        if key >= self.limit {
            return;
        }
        if self.keys.len() / 2 >= self.k {
            self.shrink();
            if key >= self.limit {
                return;
            }
        }
        if let Err(error) = memory::push(&mut self.keys, key) {
            // Nothing is below this limit, so the search ends.
            (self.limit, self.refused) = (0, Some(error));
        }
    }

    fn prune(&mut self, _: f32) {}

    fn should_visit(&mut self, bound: f32, lowest: u32, _: impl FnOnce() -> bool) -> bool {
        key(bound, lowest) < self.limit
    }
}

impl Looks for Many {}
