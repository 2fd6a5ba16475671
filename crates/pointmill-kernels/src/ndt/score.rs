//! How well scans fit a grid. Values of points are added in the tree of [`crate::prim::sum`].

use super::near::{NEAR_WORDS, NOTED, NearSums, each_near, near_words};
use super::*;
use pointmill_core::rigid::Rigid;

/// Values that [`Score`] adds up: the terms, the largest of each point, and whether it has one.
pub const SCORES: usize = 3;

/// A pose in memory of a device.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct StoredPose(pub Rigid);

plain!(StoredPose: 12 * 8);

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

/// A point in the frame of the map, if there is one.
#[inline(always)]
unsafe fn placed(points: &Points, i: u32, pose: *const StoredPose) -> Option<[f64; 3]> {
    // SAFETY: i < n, and the caller's promise about the pose.
    if i < points.n { Some(unsafe { (*pose).0.apply(points.get(i)) }) } else { None }
}

/// The term of a row at a point.
#[inline(always)]
fn term(score: &NdtScore, x: [f64; 3], mean: [f64; 3], inverse: &[f64; 6]) -> f64 {
    score.term([x[0] - mean[0], x[1] - mean[1], x[2] - mean[2]], inverse)
}

/// The sum of a point's terms, the largest, and whether there is one.
#[inline(always)]
unsafe fn scores_of(map: Map, score: &NdtScore, x: Option<[f64; 3]>, shared: Shared) -> [f64; SCORES] {
    let mut scores = [0.0; SCORES];
    if let Some(x) = x {
        // SAFETY: the caller's promise about the map, whose rows are visited.
        unsafe {
            each_near(map, x, shared, |row| {
                let term = term(score, x, *map.mean.add(row as usize), &*map.inverse.add(row as usize));
                scores[0] += term;
                scores[1] = if term > scores[1] { term } else { scores[1] };
            });
        }
        scores[2] = if scores[1] > 0.0 { 1.0 } else { 0.0 };
    }
    scores
}

kernel! {
    /// Adds up the scores of a scan at poses, where there are few points in all. One block for each
    /// pose and tree, those of a pose side by side.
    Score = "ndt_score", block BLOCK, shared NEAR_WORDS + near_words(1), cooperative true,
    fn(a: ScoreArgs) {
        let (pose, tree, p) = (block_index() / a.trees, block_index() % a.trees, thread_index());
        let x = if p < TREE { placed(&a.points, tree * TREE + p, a.poses.add(pose as usize)) } else { None };
        let near = NearSums::new(a.map, x, Shared::at(0), |x: [f64; 3], mean: [f64; 3], inverse: &[f64; 6]| {
            [term(&a.score, x, mean, inverse)]
        });
        let values = Doubles::at(Shared::at(0), SCORES as u32 * TREE_ROW);
        if p < TREE {
            let (sum, largest) = (near.sum(p, 0), near.largest(p));
            values.set(p, sum);
            values.set(TREE_ROW + p, largest);
            values.set(2 * TREE_ROW + p, if largest > 0.0 { 1.0 } else { 0.0 });
        }
        sync_block();
        write_shared_tree::<SCORES>(values, a.sums.add(block_index() as usize));
    }
}

kernel! {
    /// As [`Score`], for many points.
    ScoreMany = "ndt_score_many", block TREE, shared 2 * SCORES as u32 + NOTED * TREE, cooperative true,
    fn(a: ScoreArgs) {
        let (pose, tree) = (block_index() / a.trees, block_index() % a.trees);
        let x = placed(&a.points, tree * TREE + thread_index(), a.poses.add(pose as usize));
        let scores = scores_of(a.map, &a.score, x, Shared::at(2 * SCORES as u32));
        write_tree(scores, Shared::at(0), a.sums.add(block_index() as usize));
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
    /// The score of each point. One thread a point.
    PointScores = "ndt_point_scores", block BLOCK, shared NOTED * BLOCK, cooperative true,
    fn(a: PointScoresArgs) {
        let i = global_index();
        if i < a.points.n {
            let scores = scores_of(a.map, &a.score, placed(&a.points, i, a.pose), Shared::at(0));
            *a.scores.add(i as usize) = [scores[0], scores[1]];
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
