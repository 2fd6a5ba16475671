//! Sums over pairs.

use super::advance::LoopState;
use super::look::StoredCorrespondence;
use super::spread::StoredSpread;
use super::*;
use pointmill_core::icp::Robust;
use pointmill_core::icp::nearest::FARTHEST;
use pointmill_core::icp::pairs::{POINT_TERMS, STEP_TERMS, generalized, point_to_plane, point_to_point};

/// How pairs are weighted, in a layout that both compilers share.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    kind: u64,
    width: f64,
}

impl Weights {
    /// Of a kernel.
    pub const fn new(robust: &Robust) -> Self {
        let (kind, width) = match *robust {
            Robust::None => (0, 0.0),
            Robust::Huber(width) => (1, width),
            Robust::Cauchy(width) => (2, width),
            Robust::GemanMcClure(width) => (3, width),
            Robust::Tukey(width) => (4, width),
        };
        Self { kind, width }
    }

    #[inline(always)]
    fn get(&self) -> Robust {
        match self.kind {
            1 => Robust::Huber(self.width),
            2 => Robust::Cauchy(self.width),
            3 => Robust::GemanMcClure(self.width),
            4 => Robust::Tukey(self.width),
            _ => Robust::None,
        }
    }
}

/// Arguments of [`ReducePoints`], [`ReducePlanes`] and [`ReducePatches`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ReduceArgs {
    /// The sources.
    pub clouds: Clouds,
    /// Their points, and the normals of these.
    pub source: [*const Place4; 2],
    /// Points of the targets, and their normals, by index.
    pub target: [*const Place4; 2],
    /// Places of each target.
    pub room: u32,
    /// The key that pairs are below.
    pub limit: u64,
    /// What is known of each point of the sources.
    pub known: *const StoredCorrespondence,
    /// Where each source is.
    pub spread: *const StoredSpread,
    /// Weights of residuals.
    pub weights: Weights,
    /// The loop of each source.
    pub state: *mut LoopState,
    /// Sums of trees.
    pub sums: *mut f64,
}

const _: () = assert!(FARTHEST < u64::MAX);

/// Adds up the terms of this block's pairs, given the places of both points, if the loop of its
/// source runs.
#[inline(always)]
unsafe fn reduce<const K: usize>(a: &ReduceArgs, of: impl FnOnce(&LoopState, &StoredSpread, usize, usize) -> [f64; K]) {
    let share = a.clouds.share(TREE);
    // SAFETY: the caller's promise.
    unsafe {
        let (i, state) = (share.index(), a.state.add(share.cloud));
        // Two reads under way at once.
        let n = hidden(share.n());
        if (*state).running == 0 {
            return;
        }
        if i == 0 {
            (*state).times[1] = nanoseconds();
        }
        let mut terms = [0.0; K];
        if i < n {
            let at = share.first + i as usize;
            let index = (*a.known.add(at)).0.index(a.limit);
            if index != u32::MAX {
                let to = share.cloud * a.room as usize + index as usize;
                terms = of(&*state, &*a.spread.add(share.cloud), at, to);
            }
        }
        write_tree(terms, Shared::at(0), a.sums.cast::<[f64; K]>().add(block_index() as usize));
    }
}

kernel! {
    /// Adds up point-to-point. One block a tree.
    ReducePoints = "icp_reduce_points", block TREE, shared 2 * POINT_TERMS as u32, cooperative true,
    fn(a: ReduceArgs) {
        reduce::<POINT_TERMS>(&a, |state, _, i, j| {
            let (s, q) = (load4(a.source[0].add(i)).0, load4(a.target[0].add(j)).0);
            point_to_point(&state.pose, &a.weights.get(), wide(s), wide(q))
        });
    }
}

kernel! {
    /// Adds up point-to-plane. One block a tree.
    ReducePlanes = "icp_reduce_planes", block TREE, shared 2 * STEP_TERMS as u32, cooperative true,
    fn(a: ReduceArgs) {
        reduce::<STEP_TERMS>(&a, |state, spread, i, j| {
            let (s, q) = (load4(a.source[0].add(i)).0, load4(a.target[0].add(j)).0);
            let n = load4(a.target[1].add(j)).0;
            point_to_plane(&spread.0.at(state.pose), &a.weights.get(), wide(s), wide(q), n)
        });
    }
}

kernel! {
    /// Adds up GICP. One block a tree.
    ReducePatches = "icp_reduce_patches", block TREE, shared 2 * STEP_TERMS as u32, cooperative true,
    fn(a: ReduceArgs) {
        reduce::<STEP_TERMS>(&a, |state, spread, i, j| {
            let (s, q) = (load4(a.source[0].add(i)).0, load4(a.target[0].add(j)).0);
            let normals = [load4(a.source[1].add(i)).0, load4(a.target[1].add(j)).0];
            generalized(&spread.0.at(state.pose), &a.weights.get(), wide(s), wide(q), normals)
        });
    }
}
