//! How well scans fit a grid, and the next step of an alignment. Values of points are added in the tree of [`crate::prim::sum`].

use super::*;
use crate::points::StoredPoints;
use pointmill_core::ndt::{NdtAlignment, NdtHold, NdtLimits, TERMS};
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use pointmill_core::ndt::{NearTerms, state};
use pointmill_core::rigid::Rigid;

/// Values that [`Score`] adds up: the terms, the largest of each point, and whether it has one.
pub const SCORES: usize = 3;

/// A pose in memory of a device.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct StoredPose(pub Rigid);

/// An alignment of a scan in memory of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StoredAlignment {
    /// Where the alignment is.
    pub alignment: NdtAlignment,
    /// The scan.
    pub points: StoredPoints,
    /// What holds the pose beside the scan.
    pub hold: NdtHold,
}

#[cfg(not(target_arch = "nvptx64"))]
const _: () = {
    use pointmill_core::ndt::PreparedPose;
    // Four u32 behind the numbers leave no gap.
    assert!(size_of::<NdtAlignment>() == size_of::<PreparedPose>() + (6 + TERMS + 6 + 3 + 3) * 8 + 16);
    // SAFETY: f64 in an order that C gives them, valid whatever their bits are.
    unsafe impl bytemuck::Zeroable for StoredPose {}
    // SAFETY: as above.
    unsafe impl bytemuck::Pod for StoredPose {}
    // SAFETY: as above, and whole numbers behind them, without a gap.
    unsafe impl bytemuck::Zeroable for StoredAlignment {}
    // SAFETY: as above.
    unsafe impl bytemuck::Pod for StoredAlignment {}
};

/// Rows that a thread notes before it computes their terms. Lanes of a warp have rows in different lines; with notes, all that have another row compute at once.
const NOTES: u32 = 27;

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

/// Calls `visit` with the rows near a point of a scan, ascending; `shared` has [`NOTES`] words for each thread of the block.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn each_near(map: Map, point: [f64; 3], shared: Shared, mut visit: impl FnMut(u32)) {
    let place = |note: u32| note * block_size() + thread_index();
    // A number that the compiler does not know: it would write out the loop over it.
    let most = if block_size() < NOTES { block_size() } else { NOTES };
    let mut notes = 0;
    // SAFETY: the caller's promise about the map.
    let rows = unsafe { map.rows() };
    rows.each_within(point, map.lattice.unit(), |row, _| {
        if notes == most {
            // So many only where a wall of cells rounds oddly.
            let mut note = 0;
            while note < most {
                visit(shared.get(place(note)));
                note += 1;
            }
            notes = 0;
        }
        shared.set(place(notes), row);
        notes += 1;
    });
    let mut note = 0;
    while note < notes {
        visit(shared.get(place(note)));
        note += 1;
    }
}

/// The sum of a point's terms, the largest, and whether there is one.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn scores_of(
    points: &Points,
    i: u32,
    map: Map,
    score: &NdtScore,
    pose: *const StoredPose,
    shared: Shared,
) -> [f64; SCORES] {
    let mut scores = [0.0; SCORES];
    if i < points.n {
        // SAFETY: i < n, and the caller's promise about the map and the pose.
        unsafe {
            let x = (*pose).0.apply(points.get(i));
            each_near(map, x, shared, |row| {
                let mean = *map.mean.add(row as usize);
                let term =
                    score.term([x[0] - mean[0], x[1] - mean[1], x[2] - mean[2]], &*map.inverse.add(row as usize));
                scores[0] += term;
                scores[1] = if term > scores[1] { term } else { scores[1] };
            });
        }
        scores[2] = if scores[1] > 0.0 { 1.0 } else { 0.0 };
    }
    scores
}

kernel! {
    /// Adds up the scores of a scan at poses. One block for each pose and tree, those of a pose side by side.
    Score = "ndt_score", block TREE, shared 2 * SCORES as u32 + NOTES * TREE, cooperative true,
    fn(a: ScoreArgs) {
        let (pose, tree) = (block_index() / a.trees, block_index() % a.trees);
        let notes = Shared::at(2 * SCORES as u32);
        let pose = a.poses.add(pose as usize);
        let scores = scores_of(&a.points, tree * TREE + thread_index(), a.map, &a.score, pose, notes);
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
    PointScores = "ndt_point_scores", block BLOCK, shared NOTES * BLOCK, cooperative true,
    fn(a: PointScoresArgs) {
        let i = global_index();
        if i < a.points.n {
            let scores = scores_of(&a.points, i, a.map, &a.score, a.pose, Shared::at(0));
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

/// Arguments of [`Derive`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DeriveArgs {
    /// The scan of all alignments, if they have one.
    pub points: Points,
    /// Nonzero: each alignment has a scan of its own.
    pub many: u32,
    /// The grid.
    pub map: Map,
    /// Constants of the score.
    pub score: NdtScore,
    /// Alignments; those that have ended are passed over.
    pub alignments: *const StoredAlignment,
    /// Trees of the largest scan.
    pub trees: u32,
    /// `[alignments, trees, TERMS]`.
    pub sums: *mut [f64; TERMS],
}

kernel! {
    /// Adds up scores, gradients and Hessians at the candidates of alignments. One block for each alignment and tree, those of an alignment side by side.
    Derive = "ndt_derive", block TREE, shared 2 * TERMS as u32 + NOTES * TREE, cooperative true,
    fn(a: DeriveArgs) {
        let (which, tree) = (block_index() / a.trees, block_index() % a.trees);
        let alignment = a.alignments.add(which as usize);
        // What an alignment names is a read more in a row of reads.
        let points = if a.many != 0 { (*alignment).points.get() } else { a.points };
        if (*alignment).alignment.state != state::RUNNING || tree * TREE >= points.n {
            return;
        }
        let i = tree * TREE + thread_index();
        let mut terms = [0.0; TERMS];
        if i < points.n {
            let prepared = &(*alignment).alignment.prepared;
            let (p, mut near) = (points.get(i), NearTerms::default());
            let x = prepared.apply(p);
            each_near(a.map, x, Shared::at(2 * TERMS as u32), |row| {
                near.add(&a.score, x, *a.map.mean.add(row as usize), &*a.map.inverse.add(row as usize));
            });
            terms = prepared.terms(p, &near);
        }
        write_tree(terms, Shared::at(0), a.sums.add(block_index() as usize));
    }
}

/// Arguments of [`Advance`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AdvanceArgs {
    /// Alignments.
    pub alignments: *mut StoredAlignment,
    /// Limits of all.
    pub limits: NdtLimits,
    /// Nonzero: each alignment has a scan, and what holds its pose, of its own.
    pub many: u32,
    /// Trees of the largest scan.
    pub trees: u32,
    /// `[alignments, trees, TERMS]`.
    pub sums: *const [f64; TERMS],
}

kernel! {
    /// Makes the next step of alignments. One block an alignment.
    Advance = "ndt_advance", block BLOCK, shared 2 * BLOCK, cooperative true,
    fn(a: AdvanceArgs) {
        let which = block_index() as usize;
        let alignment = a.alignments.add(which);
        if (*alignment).alignment.state != state::RUNNING {
            return;
        }
        let (shared, mut trees, mut limits) = (Shared::at(0), a.trees, a.limits);
        if a.many != 0 {
            (trees, limits.hold) = ((*alignment).points.n.div_ceil(TREE), (*alignment).hold);
        }
        let sum = fold::<TERMS>(a.sums.add(which * a.trees as usize), trees, shared);
        // The words of the first two warps are read no more once all threads are here.
        sync_block();
        if thread_index() < TERMS as u32 {
            shared.set(thread_index(), sum.to_bits() as u32);
            shared.set(BLOCK + thread_index(), (sum.to_bits() >> 32) as u32);
        }
        sync_block();
        if thread_index() == 0 {
            let mut terms = [0.0; TERMS];
            for k in 0..TERMS {
                terms[k] = f64::from_bits(shared.get(k as u32) as u64 | (shared.get(BLOCK + k as u32) as u64) << 32);
            }
            (*alignment).alignment.advance(&terms, &limits);
        }
    }
}
