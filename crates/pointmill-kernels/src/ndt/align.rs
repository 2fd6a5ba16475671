//! The next step of alignments: sums over the points of their scans, and what follows from them.

use super::near::{NEAR_WORDS, NOTED, NearSums, each_near, near_words};
use super::*;
use crate::cloud::StoredPoints;
use pointmill_core::ndt::{
    NEAR_TERMS, NdtAlignment, NdtHold, NdtLimits, NearTerms, PreparedPose, TERMS, TERMS_PARTS, state,
};

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

plain!(StoredAlignment: (3 + 10 * 9 + 18 + TERMS) * 8 + 16 + size_of::<StoredPoints>() + 5 * 8);

const _: () = assert!(tree_words(TERMS) <= NEAR_WORDS && TERMS_PARTS as u32 * TREE == BLOCK);

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

/// The points of a block's tree and the alignment, unless that has ended or has no such tree.
#[inline(always)]
unsafe fn tree_of(a: &DeriveArgs) -> Option<(Points, u32, *const PreparedPose)> {
    let (which, tree) = (block_index() / a.trees, block_index() % a.trees);
    // SAFETY: the caller's promise about the alignments, and that there is a block for each.
    unsafe {
        let alignment = a.alignments.add(which as usize);
        // What an alignment names is a read more in a row of reads.
        let points = if a.many != 0 { (*alignment).points.get() } else { a.points };
        let ended = (*alignment).alignment.state != state::RUNNING || tree * TREE >= points.n;
        if ended { None } else { Some((points, tree * TREE, &raw const (*alignment).alignment.prepared)) }
    }
}

kernel! {
    /// Adds up scores, gradients and Hessians at the candidates of alignments, where there are few
    /// points in all. One block for each alignment and tree, those of an alignment side by side.
    Derive = "ndt_derive", block BLOCK, shared NEAR_WORDS + near_words(NEAR_TERMS), cooperative true, min_blocks 3,
    fn(a: DeriveArgs) {
        let Some((points, first, prepared)) = tree_of(&a) else { return };
        let prepared = &*prepared;
        let point = |p: u32| points.get(first + p);
        let p = thread_index();
        let x = if p < TREE && first + p < points.n { Some(prepared.apply(point(p))) } else { None };
        let sums = NearSums::new(a.map, x, Shared::at(0), |x: [f64; 3], mean: [f64; 3], inverse: &[f64; 6]| {
            NearTerms::of(&a.score, x, mean, inverse)
        });
        let values = Doubles::at(Shared::at(0), TERMS as u32 * TREE_ROW);
        // Whole warps have one part of the terms.
        let (p, part) = (thread_index() % TREE, thread_index() / TREE);
        let mut near = NearTerms { found: sums.found(p), largest: sums.largest(p), ..NearTerms::default() };
        for k in 0..NEAR_TERMS {
            near.sums[k] = sums.sum(p, k as u32);
        }
        let from = if near.found { point(p) } else { [0.0; 3] };
        prepared.part_of_terms(part as usize, from, &near, |at, term| values.set(at as u32 * TREE_ROW + p, term));
        sync_block();
        write_shared_tree(values, a.sums.add(block_index() as usize));
    }
}

/// Adds up one part of the terms over each warp, into the warp's share of `sums`. All threads call.
#[inline(always)]
fn add_part<const G: usize>(prepared: &PreparedPose, part: usize, p: [f64; 3], near: &NearTerms, sums: Doubles) {
    let (mut values, mut places, mut len) = ([0.0; G], [0; G], 0);
    prepared.part_of_terms(part, p, near, |at, term| {
        (values[len], places[len]) = (term, at as u32);
        len += 1;
    });
    let sum = warp_tree_sums(values);
    let lanes = WARP / G as u32;
    let (own, mut place) = (lane() / lanes, 0);
    for k in 0..G {
        place = if own == k as u32 { places[k] } else { place };
    }
    if lane().is_multiple_of(lanes) && own < len as u32 {
        sums.set(warp() * TERMS as u32 + place, sum);
    }
}

kernel! {
    /// As [`Derive`], for many points.
    DeriveMany = "ndt_derive_many", block TREE, shared 4 * TERMS as u32 + NOTED * TREE, cooperative true,
    fn(a: DeriveArgs) {
        let Some((points, first, prepared)) = tree_of(&a) else { return };
        let (i, prepared) = (first + thread_index(), &*prepared);
        let (mut p, mut near) = ([0.0; 3], NearTerms::default());
        if i < points.n {
            p = points.get(i);
            let x = prepared.apply(p);
            each_near(a.map, x, Shared::at(4 * TERMS as u32), |row| {
                let row = row as usize;
                near.add(&NearTerms::of(&a.score, x, *a.map.mean.add(row), &*a.map.inverse.add(row)));
            });
        }
        // Part by part, so that few terms wait at a time.
        let sums = Doubles::at(Shared::at(0), 2 * TERMS as u32);
        add_part::<16>(prepared, 3, p, &near, sums);
        add_part::<8>(prepared, 0, p, &near, sums);
        add_part::<8>(prepared, 1, p, &near, sums);
        add_part::<8>(prepared, 2, p, &near, sums);
        sync_block();
        let k = thread_index();
        if k < TERMS as u32 {
            let to = a.sums.add(block_index() as usize).cast::<f64>();
            *to.add(k as usize) = sums.get(k) + sums.get(TERMS as u32 + k);
        }
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
        let sums = Doubles::at(shared, BLOCK);
        if thread_index() < TERMS as u32 {
            sums.set(thread_index(), sum);
        }
        sync_block();
        if thread_index() == 0 {
            let mut terms = [0.0; TERMS];
            for k in 0..TERMS {
                terms[k] = sums.get(k as u32);
            }
            (*alignment).alignment.advance(&terms, &limits);
        }
    }
}
