//! Iterative closest point: clouds about a centre, trees of boxes along the Morton curve, exact
//! neighbours, sums over pairs, and the next pose.
//!
//! [`Keep`], [`Centre`] and [`Local`] make a cloud ready; [`Codes`], a radix sort, [`Gather`], [`OrderCubes`] and [`Build`] a tree of it. [`NearestTree`], [`NearestBrute`] and [`Several`] search,
//! [`Normals`] looks at neighbourhoods. An iteration of the loop is [`Look`], one of [`ReducePoints`], [`ReducePlanes`] and [`ReducePatches`], and [`AdvancePoints`] or
//! [`AdvanceSteps`]; many are queued at once, and those behind the end do nothing. Each of these takes one cloud or many side by side, see [`Clouds`]. Neighbours are exact and sums are added in one tree, so that every run gives the same bits.
//!
#![doc = include_str!("README.md")]

mod advance;
mod brute;
mod cloud;
mod curve;
mod look;
mod reduce;
mod search;
mod spread;
mod tree;

pub use advance::{
    AdvanceArgs, AdvancePoints, AdvanceSteps, BATCH, Iteration, IterationBatch, IterationStats, LoopState, STATS_PLACES,
};
pub use brute::{NearestBrute, NearestBruteArgs, SPARSE};
pub use cloud::{Centre, CentreArgs, Clouds, Head, KEEP_TILE, Keep, KeepArgs, Local, LocalArgs};
pub use curve::{Codes, CodesArgs, Gather, GatherArgs, OrderCubes, OrderCubesArgs, Owners, OwnersArgs};
pub use look::{Look, LookArgs, LookBrute, Place, PlaceArgs, StoredCorrespondence};
pub use reduce::{ReduceArgs, ReducePatches, ReducePlanes, ReducePoints, Weights};
pub use search::{NearestTree, NearestTreeArgs, Normals, NormalsArgs, Several, SeveralArgs};
pub use spread::{SpreadArgs, SpreadCovariance, SpreadMean, StoredSpread};
pub use tree::{Build, BuildArgs, Half, LEAF, Node, Tree};
pub(crate) use tree::{waiting_words, walk};

use crate::prim::BLOCK;
use crate::prim::sum::{TREE, fold, fold_words, is_last, write_tree};
use crate::simt::*;
use cloud::Share;
use pointmill_core::rigid::wide;

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = properties![
    Keep,
    Centre,
    Local,
    Codes,
    Owners,
    Gather,
    OrderCubes,
    Build,
    NearestTree,
    NearestBrute,
    Several,
    Normals,
    SpreadMean,
    SpreadCovariance,
    Look,
    LookBrute,
    Place,
    ReducePoints,
    ReducePlanes,
    ReducePatches,
    AdvancePoints,
    AdvanceSteps,
];

/// The sums of a cloud's trees, where those of all clouds are side by side.
#[inline(always)]
const fn sums_of<const K: usize>(sums: *const f64, clouds: &Clouds, cloud: usize) -> *const [f64; K] {
    sums.cast::<[f64; K]>().wrapping_add(cloud * clouds.room.div_ceil(TREE) as usize)
}

/// A point or a normal, and behind it a word of its own: the index of a point in its cloud.
pub type Place4 = [f32; 4];

/// Reads a point and its word at once.
///
/// # Safety
/// `p` is valid and aligned to 16 bytes.
#[inline(always)]
pub(crate) unsafe fn load4(p: *const Place4) -> ([f32; 3], u32) {
    // SAFETY: the caller's promise; the type is as wide as its alignment here.
    let v = unsafe { *p.cast::<Aligned>() };
    ([v.0[0], v.0[1], v.0[2]], v.0[3].to_bits())
}

#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Aligned(Place4);

#[inline(always)]
const fn narrow(p: [f64; 3]) -> [f32; 3] {
    [p[0] as f32, p[1] as f32, p[2] as f32]
}
