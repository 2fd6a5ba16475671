//! Scores of scans.

use super::Grid;
use crate::prim::sum;
use crate::{Result, Rows, memory, par};
use pointmill_core::ndt::{NdtAlignment, NdtLimits, NdtScore, NearTerms, state};
use pointmill_core::rigid::Rigid;
use pointmill_kernels::ndt::SCORES;
use pointmill_kernels::prim::sum::TREE;
use rayon::prelude::*;

/// Points of a tree.
const BLOCK: usize = TREE as usize;

impl Grid {
    /// The sums of a scan's scores at a pose.
    pub(in crate::ndt) fn score(&self, scan: &Rows<'_>, pose: &Rigid) -> Result<[f64; SCORES]> {
        let score = NdtScore::new(self.lattice.unit());
        sum(scan.len(), |i| {
            let [all, largest] = self.scores_of(&score, pose, scan.point(i));
            [all, largest, f64::from(u8::from(largest > 0.0))]
        })
    }

    /// The sum of each point's terms, and the largest.
    pub(in crate::ndt) fn point_scores(&self, scan: &Rows<'_>, pose: &Rigid) -> Result<Vec<[f64; 2]>> {
        let score = NdtScore::new(self.lattice.unit());
        let points = (0..scan.len()).into_par_iter().with_min_len(par::grain(BLOCK));
        memory::collect_parallel(points.map(|i| self.scores_of(&score, pose, scan.point(i))))
    }

    fn scores_of(&self, score: &NdtScore, pose: &Rigid, p: [f64; 3]) -> [f64; 2] {
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
    pub(in crate::ndt) fn align(
        &self,
        scan: &Rows<'_>,
        alignment: &mut NdtAlignment,
        limits: &NdtLimits,
    ) -> Result<()> {
        let score = NdtScore::new(self.lattice.unit());
        while alignment.state == state::RUNNING {
            let terms = sum(scan.len(), |i| {
                let (p, mut near) = (scan.point(i), NearTerms::default());
                let x = alignment.prepared.apply(p);
                self.rows().each_within(x, self.lattice.unit(), |row, _| {
                    let row = row as usize;
                    near.add(&NearTerms::of(&score, x, self.cells.mean[row], &self.cells.inverse[row]));
                });
                alignment.prepared.terms(p, &near)
            })?;
            alignment.advance(&terms, limits);
        }
        Ok(())
    }
}
