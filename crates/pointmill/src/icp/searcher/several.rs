//! The `k` nearest points of a query on the CPU.

use crate::Result;
use crate::icp::cpu::{Index, Many, Scratch, Several};
use crate::icp::params::Search;
use pointmill_core::icp::nearest::key;
use pointmill_core::icp::neighbour_set::MAX_NEIGHBOURS;

/// Memory that a thread keeps between queries.
#[derive(Debug, Default)]
pub(crate) struct Kept(Scratch, Many);

/// The finite ones of some points in host memory, ready for queries of other operators.
#[derive(Debug)]
pub(crate) struct HostIndex(Index);

impl HostIndex {
    pub(crate) fn new(points: &[[f32; 3]]) -> Result<Self> {
        Index::new(points, Search::Auto).map(Self)
    }

    /// Calls `visit` with the keys of the `k` nearest points, the nearest first; those whose squared
    /// distance overflows are the farthest.
    pub(crate) fn nearest(&self, q: [f32; 3], k: usize, kept: &mut Kept, visit: impl FnMut(u64)) -> Result<()> {
        // That of no point, which boxes and leaves are filled up with.
        several(&self.0, q, (k, key(f32::INFINITY, u32::MAX)), kept, visit)
    }
}

/// Calls `visit` with the keys of the `k` nearest points that are below a limit, the nearest first.
pub(super) fn several(
    index: &Index,
    q: [f32; 3],
    (k, limit): (usize, u64),
    Kept(scratch, many): &mut Kept,
    visit: impl FnMut(u64),
) -> Result<()> {
    if k <= MAX_NEIGHBOURS {
        let mut several = Several::below(limit, k);
        index.find(q, &mut several, scratch);
        several.found().for_each(visit);
    } else {
        many.begin(limit, k);
        index.find(q, many, scratch);
        many.sorted()?.iter().copied().for_each(visit);
    }
    Ok(())
}
