//! How well scans fit a grid. Values of points are added in the tree of [`crate::prim::sum`].

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use super::near::NearSums;
use super::near::{NEAR_WORDS, near_words};
use super::*;
use pointmill_core::rigid::Rigid;

/// Values that [`Score`] adds up: the terms, the largest of each point, and whether it has one.
pub const SCORES: usize = 3;

/// A pose in memory of a device.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct StoredPose(pub Rigid);

#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: f64 in an order that C gives them, valid whatever their bits are.
unsafe impl bytemuck::Zeroable for StoredPose {}
#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: as above.
unsafe impl bytemuck::Pod for StoredPose {}

/// Arguments of [`Score`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ScoreArgs {
    /// The scan.
    pub points: Points,
    /// The grid.
    pub map: Map,
    /// Constants of the score.
    pub score: NdtScore,
    /// Poses.
    pub poses: *const StoredPose,
    /// Trees of a scan.
    pub trees: u32,
    /// `[poses, trees, SCORES]`.
    pub sums: *mut [f64; SCORES],
}

/// What the terms of a block's points add up to at a pose.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn terms_of(points: &Points, block: u32, map: Map, score: &NdtScore, pose: *const StoredPose) -> NearSums<1> {
    let i = block * TREE + thread_index();
    // SAFETY: i < n, and the caller's promise about the map and the pose.
    let x = if thread_index() < TREE && i < points.n { Some(unsafe { (*pose).0.apply(points.get(i)) }) } else { None };
    let term = |x: [f64; 3], mean: [f64; 3], inverse: &[f64; 6]| {
        [score.term([x[0] - mean[0], x[1] - mean[1], x[2] - mean[2]], inverse)]
    };
    // SAFETY: the caller's promise about the map.
    unsafe { NearSums::new(map, x, Shared::at(0), term) }
}

kernel! {
    /// Adds up the scores of a scan at poses. One block for each pose and tree, those of a pose side by side.
    Score = "ndt_score", block BLOCK, shared NEAR_WORDS + near_words(1), cooperative true,
    fn(a: ScoreArgs) {
        let (pose, tree) = (block_index() / a.trees, block_index() % a.trees);
        let near = terms_of(&a.points, tree, a.map, &a.score, a.poses.add(pose as usize));
        let values = Doubles::at(Shared::at(0), SCORES as u32 * TREE_ROW);
        if thread_index() < TREE {
            let (sum, largest) = (near.sum(thread_index(), 0), near.largest(thread_index()));
            values.set(thread_index(), sum);
            values.set(TREE_ROW + thread_index(), largest);
            values.set(2 * TREE_ROW + thread_index(), if largest > 0.0 { 1.0 } else { 0.0 });
        }
        sync_block();
        write_shared_tree::<SCORES>(values, a.sums.add(block_index() as usize));
    }
}

/// Arguments of [`PointScores`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PointScoresArgs {
    /// The scan.
    pub points: Points,
    /// The grid.
    pub map: Map,
    /// Constants of the score.
    pub score: NdtScore,
    /// The pose.
    pub pose: *const StoredPose,
    /// `[n]`: the sum of each point's terms, and the largest.
    pub scores: *mut [f64; 2],
}

kernel! {
    /// The score of each point. One block for [`TREE`] points.
    PointScores = "ndt_point_scores", block BLOCK, shared NEAR_WORDS + near_words(1), cooperative true,
    fn(a: PointScoresArgs) {
        let near = terms_of(&a.points, block_index(), a.map, &a.score, a.pose);
        let i = block_index() * TREE + thread_index();
        if thread_index() < TREE && i < a.points.n {
            *a.scores.add(i as usize) = [near.sum(thread_index(), 0), near.largest(thread_index())];
        }
    }
}

/// Arguments of [`Fold`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FoldArgs {
    /// `[poses, trees, SCORES]`.
    pub sums: *const [f64; SCORES],
    /// Trees of a scan.
    pub trees: u32,
    /// `[poses, SCORES]`.
    pub totals: *mut [f64; SCORES],
}

kernel! {
    /// Adds up the scores of trees. One block a pose.
    Fold = "ndt_fold", block BLOCK, shared 2 * BLOCK, cooperative true,
    fn(a: FoldArgs) {
        let pose = block_index() as usize;
        let sum = fold::<SCORES>(a.sums.add(pose * a.trees as usize), a.trees, Shared::at(0));
        if thread_index() < SCORES as u32 {
            (*a.totals.add(pose))[thread_index() as usize] = sum;
        }
    }
}
