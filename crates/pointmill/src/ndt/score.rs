//! How well a scan fits a grid.

use super::NdtGrid;
use crate::prim::{BLOCK, sum};
use crate::{Error, Result};
use pointmill_core::ndt::{NdtScore, Pose, PreparedPose, TERMS, Terms};
use rayon::prelude::*;

/// How well a scan fits at a pose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NdtFit {
    /// The sum of all terms.
    pub score: f64,
    /// That by the number of points.
    pub transform_probability: f64,
    /// The mean of the largest term of each point that has one: nearest voxel transformation likelihood.
    pub nvtl: f64,
    /// Points with a cell within reach.
    pub hits: usize,
}

/// A fit, and how minus the score changes with the pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Derivatives {
    pub(super) fit: NdtFit,
    pub(super) gradient: [f64; 6],
    pub(super) hessian: [[f64; 6]; 6],
}

impl NdtGrid {
    /// How well a scan fits at each of some poses. A point is scored against every cell whose mean lies within the edge of a cell of it.
    ///
    /// **Shapes**: `scan` `[N, 3]` in metres, in the frame of the sensor; poses as [`Pose`] says. **Determinism**: sums are added in one tree, whatever the number of threads.
    ///
    /// # Errors
    /// A pose that is not finite.
    pub fn score(&self, scan: &[[f32; 3]], poses: &[Pose]) -> Result<Vec<NdtFit>> {
        poses.iter().map(|pose| check(pose).map(|()| self.fit(scan, pose))).collect()
    }

    /// The sum and the largest of each point's terms at a pose; zeros for a point without a cell within reach.
    ///
    /// # Errors
    /// A pose that is not finite.
    pub fn point_scores(&self, scan: &[[f32; 3]], pose: &Pose) -> Result<Vec<[f64; 2]>> {
        check(pose)?;
        let (score, prepared) = (NdtScore::new(self.lattice().unit()), PreparedPose::new(pose));
        Ok(scan.par_iter().with_min_len(BLOCK).map(|p| self.scores_of(&score, &prepared, *p)).collect())
    }

    fn scores_of(&self, score: &NdtScore, pose: &PreparedPose, p: [f32; 3]) -> [f64; 2] {
        let x = pose.apply(p.map(f64::from));
        let mut scores = [0.0, 0.0];
        self.each_within(x, self.lattice().unit(), |row, _| {
            let term = score.term(offset(x, self.cells().mean[row]), &self.cells().inverse[row]);
            scores[0] += term;
            scores[1] = f64::max(scores[1], term);
        });
        scores
    }

    fn fit(&self, scan: &[[f32; 3]], pose: &Pose) -> NdtFit {
        let (score, prepared) = (NdtScore::new(self.lattice().unit()), PreparedPose::new(pose));
        let sums = sum(scan.len(), |i| {
            let [all, largest] = self.scores_of(&score, &prepared, scan[i]);
            [all, largest, f64::from(u8::from(largest > 0.0))]
        });
        NdtFit::new(scan.len(), &sums)
    }

    /// The fit at a pose, gradient and Hessian.
    pub(super) fn derivatives(&self, scan: &[[f32; 3]], pose: &Pose) -> Derivatives {
        let (score, prepared) = (NdtScore::new(self.lattice().unit()), PreparedPose::new(pose));
        let sums: Terms = sum(scan.len(), |i| {
            let point = prepared.place(scan[i].map(f64::from));
            let mut terms = [0.0; TERMS];
            self.each_within(point.at, self.lattice().unit(), |row, _| {
                point.add(&score, self.cells().mean[row], &self.cells().inverse[row], &mut terms);
            });
            terms
        });
        let mut hessian = [[0.0; 6]; 6];
        let mut at = 9;
        for i in 0..6 {
            for j in i..6 {
                (hessian[i][j], hessian[j][i]) = (sums[at], sums[at]);
                at += 1;
            }
        }
        Derivatives {
            fit: NdtFit::new(scan.len(), &[sums[0], sums[1], sums[2]]),
            gradient: std::array::from_fn(|i| sums[3 + i]),
            hessian,
        }
    }
}

impl NdtFit {
    fn new(points: usize, [score, largest, hits]: &[f64; 3]) -> Self {
        let by = |n: f64, sum: f64| if n > 0.0 { sum / n } else { 0.0 };
        Self {
            score: *score,
            transform_probability: by(points as f64, *score),
            nvtl: by(*hits, *largest),
            hits: *hits as usize,
        }
    }
}

/// The pose, if it is finite.
pub(super) fn check(pose: &Pose) -> Result<()> {
    if pose.iter().all(|x| x.is_finite()) {
        return Ok(());
    }
    Err(Error::argument("pose", "six finite numbers", format!("{pose:?}")))
}

fn offset(x: [f64; 3], mean: [f64; 3]) -> [f64; 3] {
    [x[0] - mean[0], x[1] - mean[1], x[2] - mean[2]]
}
