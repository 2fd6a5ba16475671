//! Which candidate is the best, and whether it is an answer.

use super::candidates::alike;
use super::evidence::{Settler, overlaps};
use super::params::RegisterParams;
use super::ready::Ready;
use super::result::{Overlap, Registered, Verdict};
use super::tilt;
use crate::icp::Target as Refiner;
use crate::{Pose, Result, memory};
use pointmill_core::registration::Match;
use pointmill_core::registration::pose::residual;
use pointmill_core::rigid::Rigid;

/// Inliers of a refined pose at least: so many determine a pose. Far apart, matches are few, and the
/// refinement moves the pose by more than the matches are off.
const FEWEST_REFINED: usize = 3;
/// Candidates that are aligned before they are compared.
const SETTLED: usize = 8;
/// Most voxels that an inlier is off.
pub(super) const INLIER: f64 = 2.0;
/// Poses that differ by less are one: voxels, radians.
const ONE: (f64, f64) = (8.0, 0.1);
/// Least share of the seen points that are met, both ways.
const LEAST_SHARE: f64 = 0.4;
/// Least share of all points that are met, both ways.
const LEAST_EXTENT: f64 = 0.2;
/// Least margin over another pose.
const LEAST_MARGIN: f64 = 0.25;

/// Where candidates come from, with the matches of features.
#[derive(Clone, Copy)]
pub(super) enum Evidence<'a> {
    /// Of matches, so some must be left at the refined pose.
    Features(&'a [Match]),
    /// Also of a search, which needs none.
    Search(&'a [Match]),
}

/// A candidate that was held against both clouds.
pub(super) struct Checked {
    pose: Rigid,
    overlap: [Overlap; 2],
}

impl Checked {
    /// What poses are compared by: points that are met, times the share of the seen ones, in the worse
    /// direction.
    fn score(&self) -> f64 {
        self.overlap.iter().map(|o| o.extent() * o.share()).fold(f64::INFINITY, f64::min)
    }
}

/// What the poses of a source are held against.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) source: &'a Ready,
    pub(super) target: &'a Ready,
    pub(super) settler: &'a Settler,
    pub(super) refiner: Option<&'a Refiner>,
    pub(super) params: &'a RegisterParams,
}

impl Judge<'_> {
    /// Holds poses against both clouds.
    fn checked(&self, poses: &[Rigid]) -> Result<Vec<Checked>> {
        let [source, target] = [self.source, self.target].map(|side| (&side.view, &side.surface));
        let overlaps = overlaps(source, target, poses, self.params.voxel_size)?;
        memory::collect(poses.iter().zip(overlaps).map(|(&pose, overlap)| Checked { pose, overlap }))
    }

    /// The candidate that fits best, and its margin over the best that is another pose. Of equal
    /// ones the first is the best.
    pub(super) fn best(&self, found: &[Rigid]) -> Result<Option<(Checked, f64)>> {
        let source = &self.source.view;
        let mut all = self.checked(found)?;
        all.sort_by(|a, b| b.score().total_cmp(&a.score()));
        all.truncate(SETTLED);
        let mut settled = Vec::new();
        for one in &all {
            memory::push(&mut settled, self.settler.settle(source, &one.pose)?)?;
        }
        for (one, settled) in all.iter_mut().zip(self.checked(&settled)?) {
            if settled.score() > one.score() {
                *one = settled;
            }
        }
        all.sort_by(|a, b| b.score().total_cmp(&a.score()));
        let mut all = all.into_iter();
        let Some(best) = all.next() else { return Ok(None) };
        let metres = ONE.0 * self.params.voxel_size;
        let alike = |one: &Checked| alike([&one.pose, &best.pose], source.middle, metres, ONE.1);
        let other = all.find(|one| !alike(one)).map_or(0.0, |one| one.score());
        let margin = if best.score() > 0.0 { 1.0 - other / best.score() } else { 0.0 };
        Ok(Some((best, margin)))
    }

    /// Refines the best candidate and judges it.
    pub(super) fn judge(&self, best: Checked, margin: f64, evidence: Evidence<'_>, out: &mut Registered) -> Result<()> {
        // Without a refinement nothing says in which directions the clouds slide. A pose that the
        // refinement leaves for a worse one is not determined.
        let (mut last, mut determined) = (best, self.refiner.is_none());
        if let Some(refiner) = self.refiner {
            let refined = refiner.align(&self.source.surface.together()?[..], &Pose::from(last.pose))?;
            let mut checked = self.checked(&[*refined.target_from_source.rigid()])?;
            if let Some(checked) = checked.pop().filter(|checked| checked.score() >= 0.9 * last.score()) {
                determined = refined.fit.observability.rank() == 6;
                out.observability = Some(refined.fit.observability);
                (last, out.covariance) = (checked, refined.covariance);
            }
        }
        let limit = (INLIER * self.params.voxel_size).powi(2);
        let (Evidence::Features(pairs) | Evidence::Search(pairs)) = evidence;
        (out.inliers, out.matches) = if self.params.level {
            (last.overlap[0].met, last.overlap[0].probes)
        } else {
            (pairs.iter().filter(|pair| residual(&last.pose, pair) <= limit).count(), pairs.len())
        };
        ([out.source_overlap, out.target_overlap], out.margin) = (last.overlap, margin);
        let [from, to] = [self.source, self.target].map(|side| side.surface.centre);
        out.target_from_source = Pose::from(last.pose).about(from.map(|x| -x), to.map(|x| -x));
        let fits = last.overlap.iter().all(|o| o.share() >= LEAST_SHARE && o.extent() >= LEAST_EXTENT);
        out.verdict = if !fits {
            Verdict::LowOverlap
        } else if self.params.level && tilt::is_tilted(last.pose.rotation[2][2]) {
            Verdict::NotLevel
        } else if margin < LEAST_MARGIN || !determined {
            Verdict::Ambiguous
        } else if matches!(evidence, Evidence::Features(_)) && out.inliers < FEWEST_REFINED {
            Verdict::TooFewMatches
        } else {
            Verdict::Found
        };
        Ok(())
    }
}
