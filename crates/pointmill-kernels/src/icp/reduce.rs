//! Sums over pairs.

use super::advance::LoopState;
use super::look::StoredKnown;
use super::spread::StoredSpread;
use super::*;
use pointmill_core::icp::Robust;
use pointmill_core::icp::nearest::FARTHEST;
use pointmill_core::icp::pairs::{POINT_TERMS, STEP_TERMS};
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use pointmill_core::icp::pairs::{generalized, point_to_plane, point_to_point};

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

    #[cfg(any(target_arch = "nvptx64", feature = "twin"))]
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
    /// Points of the source, and their normals.
    pub source: [*const Place4; 2],
    /// Points of the target, and their normals, by index.
    pub target: [*const Place4; 2],
    /// Source points.
    pub n: u32,
    /// The key that pairs are below.
    pub limit: u64,
    /// `[n]`.
    pub known: *const StoredKnown,
    /// Where the source is.
    pub spread: *const StoredSpread,
    /// Weights of residuals.
    pub weights: Weights,
    /// The loop.
    pub state: *mut LoopState,
    /// Sums of trees.
    pub sums: *mut f64,
}

const _: () = assert!(FARTHEST < u64::MAX);

/// The terms of this thread's pair, none where it has no pair.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn terms_of<const K: usize>(a: &ReduceArgs, of: impl FnOnce(u32, u32) -> [f64; K]) -> [f64; K] {
    let i = global_index();
    // SAFETY: the caller's promise.
    unsafe {
        if i == 0 {
            (*a.state).times[1] = nanoseconds();
        }
        if i < a.n {
            let index = (*a.known.add(i as usize)).0.index(a.limit);
            if index != u32::MAX {
                return of(i, index);
            }
        }
    }
    [0.0; K]
}

kernel! {
    /// Adds up point-to-point. One block a tree.
    ReducePoints = "icp_reduce_points", block TREE, shared 2 * POINT_TERMS as u32, cooperative true,
    fn(a: ReduceArgs) {
        if (*a.state).running == 0 {
            return;
        }
        let terms = terms_of::<POINT_TERMS>(&a, |i, j| {
            let (s, q) = (load4(a.source[0].add(i as usize)).0, load4(a.target[0].add(j as usize)).0);
            point_to_point(&(*a.state).pose, &a.weights.get(), wide(s), wide(q))
        });
        write_tree(terms, Shared::at(0), a.sums.cast::<[f64; POINT_TERMS]>().add(block_index() as usize));
    }
}

kernel! {
    /// Adds up point-to-plane. One block a tree.
    ReducePlanes = "icp_reduce_planes", block TREE, shared 2 * STEP_TERMS as u32, cooperative true,
    fn(a: ReduceArgs) {
        if (*a.state).running == 0 {
            return;
        }
        let terms = terms_of::<STEP_TERMS>(&a, |i, j| {
            let (s, q) = (load4(a.source[0].add(i as usize)).0, load4(a.target[0].add(j as usize)).0);
            let n = load4(a.target[1].add(j as usize)).0;
            point_to_plane(&(*a.spread).0.at((*a.state).pose), &a.weights.get(), wide(s), wide(q), n)
        });
        write_tree(terms, Shared::at(0), a.sums.cast::<[f64; STEP_TERMS]>().add(block_index() as usize));
    }
}

kernel! {
    /// Adds up GICP. One block a tree.
    ReducePatches = "icp_reduce_patches", block TREE, shared 2 * STEP_TERMS as u32, cooperative true,
    fn(a: ReduceArgs) {
        if (*a.state).running == 0 {
            return;
        }
        let terms = terms_of::<STEP_TERMS>(&a, |i, j| {
            let (s, q) = (load4(a.source[0].add(i as usize)).0, load4(a.target[0].add(j as usize)).0);
            let normals = [load4(a.source[1].add(i as usize)).0, load4(a.target[1].add(j as usize)).0];
            generalized(&(*a.spread).0.at((*a.state).pose), &a.weights.get(), wide(s), wide(q), normals)
        });
        write_tree(terms, Shared::at(0), a.sums.cast::<[f64; STEP_TERMS]>().add(block_index() as usize));
    }
}
