//! Sums over keys and their pairs.

use super::map::{Map, load4};
use super::sample::Timed;
use super::*;
use crate::prim::sum::{TREE, write_tree};
use pointmill_core::icp::pairs::{Linearization, STEP_TERMS};
use pointmill_core::linear::Square;
use pointmill_core::odometry::motion::Motion;
use pointmill_core::odometry::order::place_of;
use pointmill_core::{
    odometry::{
        pairs::{by_plane, by_point, seen},
        surface::Normal,
    },
    rigid::dot,
};

/// Sums of [`Place`].
pub const PLACE_TERMS: usize = 4;

/// Whether points are moved, and how.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Deskew {
    motion: Motion,
    moves: u64,
}

impl Deskew {
    /// By a motion, if there is one.
    pub const fn new(motion: Option<Motion>) -> Self {
        match motion {
            Some(motion) => Self { motion, moves: 1 },
            None => Self { motion: Motion::NONE, moves: 0 },
        }
    }

    /// Where a point is at the moment of the motion.
    #[inline(always)]
    pub(super) fn apply(&self, [x, y, z, time]: Timed) -> [f64; 3] {
        if self.moves == 0 { [x, y, z] } else { self.motion.apply([x, y, z], time) }
    }
}

/// Arguments of [`Place`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PlaceArgs {
    /// Keys.
    pub keys: *const Timed,
    /// The number of keys.
    pub n: u32,
    /// How they move.
    pub deskew: Deskew,
    /// Where they are then, each followed by a zero, in the order of [`place_of`].
    pub placed: *mut [f64; 4],
    /// Sums of trees.
    pub sums: *mut [f64; PLACE_TERMS],
}

kernel! {
    /// Moves keys, and adds up their coordinates and squared ranges. One block a tree.
    Place = "odometry_place", block TREE, shared 2 * PLACE_TERMS as u32, cooperative true,
    fn(a: PlaceArgs) {
        let i = global_index();
        let mut terms = [0.0; PLACE_TERMS];
        if i < a.n {
            let p = a.deskew.apply(*a.keys.add(i as usize));
            *a.placed.add(place_of(i, a.n) as usize) = [p[0], p[1], p[2], 0.0];
            terms = [p[0], p[1], p[2], dot(p, p)];
        }
        write_tree(terms, Shared::at(0), a.sums.add(block_index() as usize));
    }
}

/// Arguments of [`Terms`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TermsArgs {
    /// Where the step is taken.
    pub at: Linearization,
    /// Width of the robust weight in metres.
    pub width: f64,
    /// Where the keys are at the moment of the sweep.
    pub keys: *const [f64; 4],
    /// The neighbour of each, or [`NONE`].
    pub targets: *const u32,
    /// The number of keys.
    pub n: u32,
    /// Not zero for point-to-plane; else point-to-point.
    pub plane: u32,
    /// The map.
    pub map: Map,
    /// Sums of trees.
    pub sums: *mut [f64; STEP_TERMS],
}

/// A pair: the source, the target in the world, and its normal; none where this thread has none.
#[inline(always)]
unsafe fn pair(a: &TermsArgs) -> Option<([f64; 3], [f64; 3], Normal)> {
    let i = global_index();
    if i >= a.n {
        return None;
    }
    // SAFETY: the caller's promise about the arguments.
    unsafe {
        let target = *a.targets.add(i as usize);
        if target == NONE {
            return None;
        }
        let [x, y, z, _] = *a.keys.add(i as usize);
        let n = load4(a.map.normals.add(target as usize));
        Some(([x, y, z], a.map.point(target), Normal { direction: [n[0], n[1], n[2]], tilt: n[3] }))
    }
}

kernel! {
    /// Adds up what pairs say. One block a tree.
    Terms = "odometry_terms", block TREE, shared 2 * STEP_TERMS as u32, cooperative true,
    fn(a: TermsArgs) {
        let mut terms = [0.0; STEP_TERMS];
        if let Some((source, target, normal)) = pair(&a) {
            terms = if a.plane != 0 {
                by_plane(&a.at, a.width, source, target, &normal)
            } else {
                by_point(&a.at, a.width, source, target)
            };
        }
        write_tree(terms, Shared::at(0), a.sums.add(block_index() as usize));
    }
}

/// Arguments of [`Support`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SupportArgs {
    /// The pairs; their sums are not used.
    pub of: TermsArgs,
    /// Six directions.
    pub directions: Square<6>,
    /// Sums of trees.
    pub sums: *mut [f64; 12],
}

kernel! {
    /// Adds up what pairs see of six directions. One block a tree.
    Support = "odometry_support", block TREE, shared 2 * 12, cooperative true,
    fn(a: SupportArgs) {
        let mut terms = [0.0; 12];
        if let Some((source, target, normal)) = pair(&a.of) {
            terms = seen(&a.of.at, a.of.width, source, target, &normal, &a.directions);
        }
        write_tree(terms, Shared::at(0), a.sums.add(block_index() as usize));
    }
}
