//! How the points of one cloud fit among those of another, at many poses.

use crate::icp::{Place4, Tree, load4, waiting_words, walk};
use crate::simt::*;
use pointmill_core::icp::neighbour_set::Nearest;
use pointmill_core::rigid::{Rigid, wide};

/// Threads a block.
pub const OVERLAPS_BLOCK: u32 = 64;

/// Arguments of [`Overlaps`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OverlapsArgs {
    /// Points that are looked at.
    pub probes: *const Place4,
    /// How many, at least one.
    pub len: u32,
    /// Poses that bring them into the other cloud's frame.
    pub poses: *const Rigid,
    /// How many.
    pub num_poses: u32,
    /// The other cloud.
    pub surface: Tree,
    /// Those of its points that stand out.
    pub rough: Tree,
    /// The key below which a point of the other cloud is its part of the scene.
    pub seen: u64,
    /// The key below which a point that stands out is the same.
    pub met: u64,
    /// `[num_poses, 2]`, first zeros: how many are seen, and met.
    pub counts: *mut u32,
}

/// Whether a tree has a point below a key.
#[inline(always)]
unsafe fn has(tree: &Tree, q: [f32; 3], limit: u64) -> bool {
    if tree.n == 0 {
        return false;
    }
    let mut nearest = Nearest::below(limit);
    // SAFETY: the caller's promise: the tree is valid; it has a point.
    unsafe { walk(tree, q, &mut nearest, Shared::at(0)) };
    nearest.best < limit
}

kernel! {
    /// Counts what is seen and met. Blocks of one pose after those of another, one thread a point.
    Overlaps = "registration_overlaps", block OVERLAPS_BLOCK, shared waiting_words(OVERLAPS_BLOCK), cooperative true, carveout 60,
    fn(a: OverlapsArgs) {
        let blocks = a.len.div_ceil(OVERLAPS_BLOCK);
        let (pose, i) = (block_index() / blocks, block_index() % blocks * OVERLAPS_BLOCK + thread_index());
        let (mut seen, mut met) = (0, 0);
        if i < a.len {
            let p = (*a.poses.add(pose as usize)).apply(wide(load4(a.probes.add(i as usize)).0));
            let q = [p[0] as f32, p[1] as f32, p[2] as f32];
            seen = if has(&a.surface, q, a.seen) { 1 } else { 0 };
            met = if has(&a.rough, q, a.met) { 1 } else { 0 };
        }
        (seen, met) = (warp_sum(seen), warp_sum(met));
        if lane() == 0 {
            atomic_add(a.counts.add(pose as usize * 2), seen);
            atomic_add(a.counts.add(pose as usize * 2 + 1), met);
        }
    }
}
