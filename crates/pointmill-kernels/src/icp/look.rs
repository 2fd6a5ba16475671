//! The pairs at a pose.

use super::advance::LoopState;
use super::tree::WAITING;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use super::tree::walk;
use super::*;
use pointmill_core::icp::known::Known;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use pointmill_core::icp::{
    keep::Nearest,
    known::hash,
    nearest::{key, squared_distance},
};

/// A [`Known`] in memory of a device.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct StoredKnown(pub Known);

#[cfg(not(target_arch = "nvptx64"))]
const _: () = {
    assert!(size_of::<Known>() == 32);
    // SAFETY: numbers without a gap, valid whatever their bits are.
    unsafe impl bytemuck::Zeroable for StoredKnown {}
    // SAFETY: as above.
    unsafe impl bytemuck::Pod for StoredKnown {}
};

/// Arguments of [`Place`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PlaceArgs {
    /// Points.
    pub source: *const Place4,
    /// The number of points.
    pub n: u32,
    /// Where the pose is.
    pub state: *const LoopState,
    /// The key that neighbours are below.
    pub limit: u64,
    /// `[n]`: where the points are at the pose.
    pub queries: *mut Place4,
    /// `[n]`: set to the limit.
    pub keys: *mut u64,
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn placed(source: *const Place4, i: u32, state: *const LoopState) -> [f32; 3] {
    // SAFETY: the caller's promise.
    unsafe { narrow((*state).pose.apply(wide(load4(source.add(i as usize)).0))) }
}

kernel! {
    /// Points at the pose of the loop, for a search that takes queries. One thread a point.
    Place = "icp_place", block BLOCK, shared 0, cooperative false,
    fn(a: PlaceArgs) {
        let i = global_index();
        if i < a.n && (*a.state).running != 0 {
            let q = placed(a.source, i, a.state);
            *a.queries.add(i as usize) = [q[0], q[1], q[2], 0.0];
            *a.keys.add(i as usize) = a.limit;
        }
    }
}

/// Arguments of [`Look`] and [`LookBrute`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LookArgs {
    /// Points, along a curve.
    pub source: *const Place4,
    /// The number of points.
    pub n: u32,
    /// The key that neighbours are below.
    pub limit: u64,
    /// The target's points by their indices.
    pub target: *const Place4,
    /// The target's points as [`Look`] searches among them.
    pub tree: Tree,
    /// What [`LookBrute`] is told.
    pub keys: *const u64,
    /// `[n]`.
    pub known: *mut StoredKnown,
    /// The loop.
    pub state: *mut LoopState,
}

/// Adds what the lanes of a warp found to the totals of the turn. All lanes call.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn tell(a: &LookArgs, changed: bool, searched: bool, hash: u64) {
    let (changed, searched) = (ballot(changed).count_ones(), ballot(searched).count_ones());
    let mut sum = hash;
    let mut distance = WARP / 2;
    while distance > 0 {
        sum = sum.wrapping_add(shuffle_u64(sum, lane() ^ distance));
        distance /= 2;
    }
    if lane() == 0 {
        // SAFETY: the caller's promise about the state.
        unsafe {
            atomic_add_u64(&raw mut (*a.state).hash, sum);
            if changed > 0 {
                atomic_add_u64(&raw mut (*a.state).changed, changed as u64);
            }
            if searched > 0 {
                atomic_add_u64(&raw mut (*a.state).searched, searched as u64);
            }
        }
    }
}

kernel! {
    /// The pair of each source point: kept where nothing can have changed, else searched for in a tree. One thread a point.
    Look = "icp_look", block TREE, shared WAITING * TREE, cooperative true,
    fn(a: LookArgs) {
        if (*a.state).running == 0 {
            return;
        }
        if global_index() == 0 {
            (*a.state).times[0] = nanoseconds();
        }
        let i = global_index();
        let (mut changed, mut searched, mut print) = (false, false, 0);
        if i < a.n {
            let at = &mut (*a.known.add(i as usize)).0;
            let mut known = if (*a.state).fresh != 0 { Known::nothing(a.limit) } else { *at };
            let q = placed(a.source, i, a.state);
            let before = known.index(a.limit);
            let target = |index: u32| load4(a.target.add(index as usize)).0;
            if !known.still(q, target, a.limit) {
                searched = true;
                // The last neighbour is a point like others, and mostly near: boxes beyond it need no look.
                let mut best = a.limit;
                if known.nearest != u32::MAX {
                    let last = key(squared_distance(q, target(known.nearest)), known.nearest);
                    best = if last < best { last } else { best };
                }
                let mut nearest = Nearest::below(best, (*a.state).margin);
                walk(&a.tree, q, &mut nearest, Shared::at(0));
                known.found(q, &nearest, a.limit);
            }
            *at = known;
            changed = known.index(a.limit) != before;
            print = hash(i, known.index(a.limit));
        }
        tell(&a, changed, searched, print);
    }
}

kernel! {
    /// Takes the pairs that a search through all points found. One thread a point.
    LookBrute = "icp_look_brute", block BLOCK, shared 0, cooperative true,
    fn(a: LookArgs) {
        if (*a.state).running == 0 {
            return;
        }
        let i = global_index();
        let (mut changed, mut print) = (false, 0);
        if i < a.n {
            let at = &mut (*a.known.add(i as usize)).0;
            let mut known = if (*a.state).fresh != 0 { Known::nothing(a.limit) } else { *at };
            let before = known.index(a.limit);
            known.found_without_others([0.0; 3], *a.keys.add(i as usize), a.limit);
            *at = known;
            changed = known.index(a.limit) != before;
            print = hash(i, known.index(a.limit));
        }
        tell(&a, changed, i < a.n, print);
    }
}
