//! What speaks for an alignment, and what against it.

use super::fix::{Evidence, Rejection};
use super::map::Near;
use super::params::LocalizerParams;
use super::scan::Scan;
use crate::ndt::NdtRegistration;
use crate::registration::Status;
use crate::{Pose, Result, Rows};
use pointmill_core::ndt::NdtScore;

/// A cell explains a point whose term is at least this part of the greatest there is.
const EXPLAINS: f64 = 0.4;
/// Fewest points above the ground that are judged by themselves.
const FEWEST_ABOVE: usize = 20;
/// Edge in metres of the cells for which likelihoods are given.
const USUAL_UNIT: f64 = 2.0;

/// The greatest term of cells of so many metres.
pub(super) fn greatest_term(unit: f64) -> f64 {
    -NdtScore::new(unit).d1
}

/// What scan and map say of a pose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    /// The mean of the largest terms of the points that count, as a part of the greatest there is.
    pub(super) likelihood: f64,
    pub(super) evidence: Evidence,
}

impl Verdict {
    pub(super) fn new(near: &Near, scan: &Scan, pose: &Pose) -> Result<Self> {
        let greatest = greatest_term(near.grid.lattice().unit());
        let scores = near.grid.point_scores(Rows::from(&scan.keys[..]), pose)?;
        let by_themselves = scan.above.iter().filter(|above| **above).count() >= FEWEST_ABOVE;
        let (mut count, mut explained, mut sum) = (0usize, 0usize, 0.0);
        for ([_, largest], above) in scores.iter().zip(&scan.above) {
            if *above || !by_themselves {
                count += 1;
                explained += usize::from(*largest >= EXPLAINS * greatest);
                sum += largest;
            }
        }
        let by = 1.0 / count.max(1) as f64;
        let evidence = Evidence { explained: explained as f64 * by, ..near.ground.sights(scan, pose) };
        Ok(Self { likelihood: sum * by / greatest, evidence })
    }

    /// What places are ranked by.
    pub(super) fn score(&self) -> f64 {
        self.likelihood * self.evidence.confirmed_share()
    }
}

/// Why an alignment is no fix, by what scan and map say of it.
pub(super) fn objection(
    found: &NdtRegistration,
    evidence: &Evidence,
    unit: f64,
    params: &LocalizerParams,
) -> Option<Rejection> {
    let scale = greatest_term(unit) / greatest_term(USUAL_UNIT);
    match found.status {
        Status::NoPairs => Some(Rejection::OutsideMap),
        _ if !found.converged() => Some(Rejection::NotConverged),
        _ if found.fit.nvtl < params.min_nvtl * scale => Some(Rejection::LowLikelihood),
        _ if evidence.explained < params.min_explained => Some(Rejection::Unexplained),
        _ if evidence.confirmed_share() < params.min_confirmed => Some(Rejection::Contradicted),
        _ => None,
    }
}

/// How far two poses are apart in metres, and the angle between them in radians.
pub(super) fn apart(a: &Pose, b: &Pose) -> [f64; 2] {
    let off = a.inverse().compose(b);
    let length = |v: [f64; 3]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    [length(off.translation()), length(off.rotation_vector())]
}
