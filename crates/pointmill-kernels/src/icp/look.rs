//! The pairs at a pose.

use super::advance::{LoopState, STATS_PLACES};
use super::tree::{waiting_words, walk};
use super::*;
use pointmill_core::icp::correspondence::CachedCorrespondence;
use pointmill_core::icp::{
    correspondence::hash,
    nearest::{key, squared_distance},
    neighbour_set::NearestAndOthers,
};

/// A [`CachedCorrespondence`] in memory of a device.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct StoredCorrespondence(pub CachedCorrespondence);

plain!(StoredCorrespondence: 32);

/// Arguments of [`Place`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PlaceArgs {
    /// Points.
    pub source: *const Place4,
    /// The number of points.
    pub n: u32,
    /// Where the pose is.
    pub state: *mut LoopState,
    /// The key that neighbours are below.
    pub limit: u64,
    /// The target's points by their indices.
    pub target: *const Place4,
    /// `[n]`.
    pub known: *const StoredCorrespondence,
    /// `[n]`: where the points are at the pose.
    pub queries: *mut Place4,
    /// `[n]`: the key of the last neighbour, where there is one below the limit; else that.
    pub keys: *mut u64,
}

#[inline(always)]
unsafe fn placed(source: *const Place4, i: u32, state: *const LoopState) -> [f32; 3] {
    // SAFETY: the caller's promise.
    unsafe { narrow((*state).pose.apply(wide(load4(source.add(i as usize)).0))) }
}

/// The key of the last neighbour, if it is below the limit: it is a point like others, and mostly
/// near, so that what is beyond it needs no look.
#[inline(always)]
unsafe fn last_key(q: [f32; 3], last: u32, target: *const Place4, limit: u64) -> u64 {
    if last == u32::MAX {
        return limit;
    }
    // SAFETY: the caller's promise: the index is one of the target's.
    let found = key(squared_distance(q, unsafe { load4(target.add(last as usize)) }.0), last);
    if found < limit { found } else { limit }
}

kernel! {
    /// Points at the pose of the loop, for a search that takes queries. One thread a point.
    Place = "icp_place", block BLOCK, shared 0, cooperative false,
    fn(a: PlaceArgs) {
        let i = global_index();
        if i < a.n && (*a.state).running != 0 {
            if i == 0 {
                (*a.state).times[0] = nanoseconds();
            }
            let q = placed(a.source, i, a.state);
            *a.queries.add(i as usize) = [q[0], q[1], q[2], 0.0];
            let last = if (*a.state).fresh != 0 { u32::MAX } else { (*a.known.add(i as usize)).0.nearest };
            *a.keys.add(i as usize) = last_key(q, last, a.target, a.limit);
        }
    }
}

/// Arguments of [`Look`] and [`LookBrute`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LookArgs {
    /// The sources.
    pub clouds: Clouds,
    /// Their points, along a curve.
    pub source: *const Place4,
    /// The key that neighbours are below.
    pub limit: u64,
    /// The targets' points by their indices.
    pub target: *const Place4,
    /// The targets' points as [`Look`] searches among them.
    pub tree: Tree,
    /// Places of each target.
    pub room: u32,
    /// What [`LookBrute`] is told.
    pub keys: *const u64,
    /// What is known of each point of the sources.
    pub known: *mut StoredCorrespondence,
    /// The loop of each source.
    pub state: *mut LoopState,
}

/// Adds what the lanes of a warp found to the statistics of the iteration. All lanes call.
#[inline(always)]
unsafe fn add_stats(state: *mut LoopState, block: u32, changed: bool, searched: bool, hash: u64) {
    let (changed, searched) = (ballot(changed).count_ones(), ballot(searched).count_ones());
    let sum = warp_sum_u64(hash);
    if lane() == 0 {
        // SAFETY: the caller's promise about the state.
        unsafe {
            let place = &raw mut (*state).stats[block as usize % STATS_PLACES];
            atomic_add_u64(&raw mut (*place).hash, sum);
            if changed > 0 {
                atomic_add_u64(&raw mut (*place).changed, changed as u64);
            }
            if searched > 0 {
                atomic_add_u64(&raw mut (*place).searched, searched as u64);
            }
        }
    }
}

kernel! {
    /// The pair of each source point: kept where nothing can have changed, else searched for in a
    /// tree. One thread a point.
    Look = "icp_look", block TREE, shared waiting_words(TREE), cooperative true, carveout 60,
    fn(a: LookArgs) {
        let share = a.clouds.share(TREE);
        let (i, state) = (share.index(), a.state.add(share.cloud));
        if (*state).running == 0 {
            return;
        }
        if i == 0 {
            (*state).times[0] = nanoseconds();
        }
        let (mut changed, mut searched, mut print) = (false, false, 0);
        if i < share.n() {
            let at = &mut (*a.known.add(share.first + i as usize)).0;
            let mut known = if (*state).fresh != 0 { CachedCorrespondence::nothing(a.limit) } else { *at };
            let q = placed(a.source.add(share.first), i, state);
            let before = known.index(a.limit);
            let points = a.target.add(share.cloud * a.room as usize);
            let target = |index: u32| load4(points.add(index as usize)).0;
            if !known.is_still_valid(q, target, a.limit) {
                searched = true;
                let best = last_key(q, known.nearest, points, a.limit);
                let mut nearest = NearestAndOthers::below(best, (*state).margin, target);
                walk(&a.tree.of(share.cloud, a.room), q, &mut nearest, Shared::at(0));
                known.found(q, &nearest, a.limit);
            }
            *at = known;
            changed = known.index(a.limit) != before;
            print = hash(i, known.index(a.limit));
        }
        add_stats(state, share.block, changed, searched, print);
    }
}

kernel! {
    /// Takes the pairs of one source that a search through all points found. One thread a point.
    LookBrute = "icp_look_brute", block BLOCK, shared 0, cooperative true,
    fn(a: LookArgs) {
        if (*a.state).running == 0 {
            return;
        }
        let share = a.clouds.share(BLOCK);
        let (i, n) = (share.index(), share.n());
        let (mut changed, mut print) = (false, 0);
        if i < n {
            let at = &mut (*a.known.add(i as usize)).0;
            let mut known = if (*a.state).fresh != 0 { CachedCorrespondence::nothing(a.limit) } else { *at };
            let before = known.index(a.limit);
            known.found_without_others([0.0; 3], *a.keys.add(i as usize), a.limit);
            *at = known;
            changed = known.index(a.limit) != before;
            print = hash(i, known.index(a.limit));
        }
        add_stats(a.state, share.block, changed, i < n, print);
    }
}
