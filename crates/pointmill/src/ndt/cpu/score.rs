//! Scores of scans.

use super::Grid;
use crate::ndt::cloud::NdtCloud;
use pointmill_core::ndt::{NdtAlignment, NdtLimits, NdtScore, PreparedPose, TERMS, state};
use pointmill_kernels::ndt::{SCORES, SEGMENTS, TREE};
use rayon::prelude::*;

/// Points of a tree.
const BLOCK: usize = TREE as usize;

impl Grid {
    /// The sums of a scan's scores at a pose.
    pub(in crate::ndt) fn score(&self, scan: &NdtCloud<'_>, pose: &PreparedPose) -> [f64; SCORES] {
        let score = NdtScore::new(self.lattice.unit());
        sum(scan.len(), |i| {
            let [all, largest] = self.scores_of(&score, pose, scan.get(i));
            [all, largest, f64::from(u8::from(largest > 0.0))]
        })
    }

    /// The sum of each point's terms, and the largest.
    pub(in crate::ndt) fn point_scores(&self, scan: &NdtCloud<'_>, pose: &PreparedPose) -> Vec<[f64; 2]> {
        let score = NdtScore::new(self.lattice.unit());
        (0..scan.len()).into_par_iter().with_min_len(BLOCK).map(|i| self.scores_of(&score, pose, scan.get(i))).collect()
    }

    fn scores_of(&self, score: &NdtScore, pose: &PreparedPose, p: [f64; 3]) -> [f64; 2] {
        let x = pose.apply(p);
        let mut scores = [0.0, 0.0];
        self.rows().each_within(x, self.lattice.unit(), |row, _| {
            let mean = self.cells.mean[row as usize];
            let q = [x[0] - mean[0], x[1] - mean[1], x[2] - mean[2]];
            let term = score.term(q, &self.cells.inverse[row as usize]);
            scores[0] += term;
            scores[1] = if term > scores[1] { term } else { scores[1] };
        });
        scores
    }

    /// Runs an alignment to its end.
    pub(in crate::ndt) fn align(&self, scan: &NdtCloud<'_>, alignment: &mut NdtAlignment, limits: &NdtLimits) {
        let score = NdtScore::new(self.lattice.unit());
        while alignment.state == state::RUNNING {
            let terms = sum(scan.len(), |i| {
                let point = alignment.prepared.place(scan.get(i));
                let mut terms = [0.0; TERMS];
                self.rows().each_within(point.at, self.lattice.unit(), |row, _| {
                    let row = row as usize;
                    point.add(&score, self.cells.mean[row], &self.cells.inverse[row], &mut terms);
                });
                terms
            });
            alignment.advance(&terms, limits);
        }
    }
}

/// Sums over `n` points, in the order of the kernels: each half of a warp's values is added to the other, then those of the two warps of a tree; the trees in chains, and these by halves.
fn sum<const K: usize>(n: usize, of: impl Fn(usize) -> [f64; K] + Sync) -> [f64; K] {
    let trees: Vec<[f64; K]> = (0..n.div_ceil(BLOCK))
        .into_par_iter()
        .map(|tree| {
            let mut values = [[0.0; K]; BLOCK];
            for (i, value) in (tree * BLOCK..n.min((tree + 1) * BLOCK)).zip(&mut values) {
                *value = of(i);
            }
            values.chunks_exact_mut(32).for_each(halve);
            plus(values[0], &values[32])
        })
        .collect();
    let mut chains = [[0.0; K]; SEGMENTS as usize];
    for (tree, value) in trees.iter().enumerate() {
        let chain = &mut chains[tree % SEGMENTS as usize];
        *chain = plus(*chain, value);
    }
    halve(&mut chains);
    chains[0]
}

/// Adds the upper half to the lower one until the first element has the sum.
fn halve<const K: usize>(values: &mut [[f64; K]]) {
    let mut half = values.len() / 2;
    while half > 0 {
        let (low, high) = values.split_at_mut(half);
        low.iter_mut().zip(&*high).for_each(|(a, b)| *a = plus(*a, b));
        half /= 2;
    }
}

fn plus<const K: usize>(mut a: [f64; K], b: &[f64; K]) -> [f64; K] {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}
