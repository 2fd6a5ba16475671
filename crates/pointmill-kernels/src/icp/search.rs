//! Neighbours of queries, and normals.

use super::tree::{all, waiting_words, walk};
use super::*;
use pointmill_core::icp::{
    nearest::{distance_of, index_of, key},
    neighbour_set::{MAX_NEIGHBOURS, Nearest, NeighbourSet},
    neighbourhood::Neighbourhood,
};

/// The nearest keys so far, ascending. Places that are not asked for hold zero, which no key is
/// below, so that the last one is always the farthest.
struct Sorted([u64; MAX_NEIGHBOURS]);

impl Sorted {
    #[inline(always)]
    fn below(limit: u64, k: u32) -> Self {
        let mut keys = [limit; MAX_NEIGHBOURS];
        for j in 0..MAX_NEIGHBOURS {
            keys[j] = if (j as u32) < MAX_NEIGHBOURS as u32 - k { 0 } else { limit };
        }
        Self(keys)
    }
}

impl NeighbourSet for Sorted {
    #[inline(always)]
    fn max_distance(&self) -> f32 {
        distance_of(self.0[MAX_NEIGHBOURS - 1])
    }

    #[inline(always)]
    fn insert(&mut self, key: u64) {
        let keys = &mut self.0;
        if key >= keys[MAX_NEIGHBOURS - 1] {
            return;
        }
        // From the far end: what is above the key moves up by one, and the key takes the place that
        // is left.
        for j in 0..MAX_NEIGHBOURS - 1 {
            let j = MAX_NEIGHBOURS - 1 - j;
            let before = if keys[j - 1] > key { keys[j - 1] } else { key };
            keys[j] = if keys[j] > key { before } else { keys[j] };
        }
        keys[0] = if keys[0] > key { key } else { keys[0] };
    }

    #[inline(always)]
    fn prune(&mut self, _: f32) {}

    #[inline(always)]
    fn should_visit(&mut self, bound: f32, lowest: u32, _: impl FnOnce() -> bool) -> bool {
        key(bound, lowest) < self.0[MAX_NEIGHBOURS - 1]
    }
}

/// Arguments of [`NearestTree`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NearestTreeArgs {
    /// The points.
    pub tree: Tree,
    /// Queries.
    pub queries: *const Place4,
    /// The number of queries.
    pub len: u32,
    /// `[len]`: the key that the nearest point is to be below; then its key, if there is one.
    pub keys: *mut u64,
}

kernel! {
    /// The nearest point of each query. One thread a query.
    NearestTree = "icp_nearest_tree", block TREE, shared waiting_words(TREE), cooperative true, carveout 60,
    fn(a: NearestTreeArgs) {
        let i = global_index();
        if i < a.len {
            let (q, _) = load4(a.queries.add(i as usize));
            let mut nearest = Nearest::below(*a.keys.add(i as usize));
            walk(&a.tree, q, &mut nearest, Shared::at(0));
            *a.keys.add(i as usize) = nearest.best;
        }
    }
}

/// Arguments of [`Several`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SeveralArgs {
    /// The points; without nodes, all of them are looked at.
    pub tree: Tree,
    /// Neighbours of a query, 1 to 32.
    pub k: u32,
    /// The key that neighbours are below.
    pub limit: u64,
    /// Queries.
    pub queries: *const Place4,
    /// The number of queries.
    pub len: u32,
    /// `[len, k]`, ascending; the limit where there are fewer.
    pub keys: *mut u64,
}

#[inline(always)]
unsafe fn sorted(tree: &Tree, q: [f32; 3], limit: u64, k: u32) -> Sorted {
    let mut sorted = Sorted::below(limit, k);
    // SAFETY: the caller's promise about the tree.
    unsafe {
        if !tree.nodes.is_null() {
            walk(tree, q, &mut sorted, Shared::at(0));
        } else {
            all(tree, q, &mut sorted);
        }
    }
    sorted
}

kernel! {
    /// The nearest points of each query. One thread a query.
    Several = "icp_several", block TREE, shared waiting_words(TREE), cooperative true, carveout 60,
    fn(a: SeveralArgs) {
        let i = global_index();
        if i < a.len {
            let (q, _) = load4(a.queries.add(i as usize));
            let sorted = sorted(&a.tree, q, a.limit, a.k);
            for j in 0..MAX_NEIGHBOURS {
                let unused = MAX_NEIGHBOURS as u32 - a.k;
                if j as u32 >= unused {
                    *a.keys.add(i as usize * a.k as usize + (j as u32 - unused) as usize) = sorted.0[j];
                }
            }
        }
    }
}

/// Arguments of [`Normals`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NormalsArgs {
    /// The clouds.
    pub clouds: Clouds,
    /// Their points; without nodes, all of them are looked at.
    pub tree: Tree,
    /// Points of a neighbourhood, 1 to 32.
    pub k: u32,
    /// The key that neighbours are below.
    pub limit: u64,
    /// The points by their indices.
    pub cloud: *const Place4,
    /// The normals by index.
    pub normals: *mut Place4,
}

kernel! {
    /// The normal of each point of a tree. One thread a point.
    Normals = "icp_normals", block TREE, shared waiting_words(TREE), cooperative true, carveout 60,
    fn(a: NormalsArgs) {
        let share = a.clouds.share(TREE);
        let (i, n) = (share.index(), share.n());
        if i < n {
            let tree = Tree { n, ..a.tree.of(share.cloud, a.clouds.room) };
            let (p, index) = load4(tree.points.add(i as usize));
            let sorted = sorted(&tree, p, a.limit, a.k);
            let mut around = Neighbourhood::default();
            for j in 0..MAX_NEIGHBOURS {
                let key = sorted.0[j];
                // Places that were not asked for are zero; that is also the key of the first point
                // where it is.
                if j as u32 >= MAX_NEIGHBOURS as u32 - a.k && index_of(key) != u32::MAX {
                    around.add(p, load4(a.cloud.add(share.first + index_of(key) as usize)).0);
                }
            }
            let n = around.normal();
            *a.normals.add(share.first + index as usize) = [n[0], n[1], n[2], 0.0];
        }
    }
}
