//! What speaks for an alignment, and what against it.

use super::fix::{Candidate, Evidence, Rejection};
use super::map::Near;
use super::params::{LocalizerParams, greatest_term};
use super::scan::Scan;
use pointmill::ndt::{NdtAlignParams, NdtRegistration};
use pointmill::registration::Status;
use pointmill::{Pose, Result, Rows};

/// A cell explains a point whose term is at least this part of the greatest there is.
const EXPLAINS: f64 = 0.4;
/// Fewest points above the ground that are judged by themselves.
const FEWEST_ABOVE: usize = 20;
/// The share of the points that the map covers, of those that are judged: with less there is too
/// little to judge.
const LEAST_COVERED: f64 = 0.2;

/// Aligns a scan from some guesses. An alignment that made all its steps goes on once more; if that
/// moves it by less than `epsilon`, it has arrived.
///
/// Near the best pose the score has steps, where points pass from cell to cell, and an alignment
/// may go back and forth between two of them.
pub(super) fn aligned(
    near: &Near,
    scan: Rows<'_>,
    guesses: &[Pose],
    params: &NdtAlignParams,
) -> Result<Vec<NdtRegistration>> {
    let mut found = near.grid.align(scan, guesses, params)?;
    for one in found.iter_mut().filter(|one| one.status == Status::MaxIterations) {
        let mut again = near.grid.align(scan, &[one.target_from_source], params)?.remove(0);
        let [metres, radians] = apart(&one.target_from_source, &again.target_from_source);
        let status = if metres + radians < params.epsilon { Status::StepBelow } else { again.status };
        again.status = status;
        again.iterations += one.iterations;
        *one = again;
    }
    Ok(found)
}

/// An alignment with what scan and map say of it.
pub(super) fn judged(near: &Near, scan: &Scan, registration: NdtRegistration) -> Result<Candidate> {
    let pose = &registration.target_from_source;
    let greatest = greatest_term(near.grid.lattice().unit());
    let scores = near.grid.point_scores(Rows::from(&scan.keys[..]), pose)?;
    let by_themselves = scan.above.iter().filter(|above| **above).count() >= FEWEST_ABOVE;
    let (mut count, mut covered, mut explained, mut sum) = (0usize, 0usize, 0usize, 0.0);
    for ((p, [_, largest]), above) in scan.keys.iter().zip(&scores).zip(&scan.above) {
        if *above || !by_themselves {
            count += 1;
            sum += largest;
            if near.ground.covers(pose.apply(*p)) {
                covered += 1;
                explained += usize::from(*largest >= EXPLAINS * greatest);
            }
        }
    }
    let share = |part: f64, of: usize| part / of.max(1) as f64;
    let evidence = Evidence {
        explained: share(explained as f64, covered),
        covered: share(covered as f64, count),
        ..near.ground.sights(scan, pose)
    };
    Ok(Candidate { score: share(sum, count) / greatest * evidence.confirmed_share(), registration, evidence })
}

/// Why an alignment is no fix, by what scan and map say of it.
pub(super) fn objection(
    Candidate { registration: found, evidence, .. }: &Candidate,
    unit: f64,
    params: &LocalizerParams,
) -> Option<Rejection> {
    match found.status {
        Status::NoPairs => Some(Rejection::OutsideMap),
        _ if !found.converged() => Some(Rejection::NotConverged),
        _ if found.fit.nvtl < params.least_nvtl(unit) => Some(Rejection::LowLikelihood),
        _ if evidence.covered < LEAST_COVERED => Some(Rejection::Unexplained),
        _ if evidence.explained < params.min_explained => Some(Rejection::Unexplained),
        _ if evidence.confirmed_share() < params.min_confirmed => Some(Rejection::Contradicted),
        _ => None,
    }
}

/// How clearly the first of ranked places won; without another it is 1.
pub(super) fn margin(candidates: &[Candidate]) -> Option<f64> {
    match candidates {
        [] => None,
        [best, ..] if best.score <= 0.0 => Some(0.0),
        [_] => Some(1.0),
        [best, second, ..] => Some(1.0 - second.score / best.score),
    }
}

/// The part of what the map does not cover that may speak for another place.
const DOUBTFUL: f64 = 0.5;

/// Whether another place may be the right one, by the margin of the best: where the map does not
/// cover all of the scan, it has to be larger.
pub(super) fn ambiguity(margin: Option<f64>, best: &Candidate, params: &LocalizerParams) -> Option<Rejection> {
    let least = params.min_margin + DOUBTFUL * (1.0 - best.evidence.covered);
    margin.filter(|margin| *margin < least).map(|_| Rejection::Ambiguous)
}

/// Places nearer than this in metres and in radians are one.
pub(super) const APART: f64 = 1.5;
pub(super) const TURNED: f64 = 0.15;

/// Whether two poses are two places.
pub(super) fn are_apart(a: &Pose, b: &Pose) -> bool {
    let [metres, radians] = apart(a, b);
    metres > APART || radians > TURNED
}

/// Ranks candidates: by score, of equal ones in their order, and of those at one place the best
/// alone.
pub(super) fn ranked(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut kept: Vec<Candidate> = Vec::new();
    for one in candidates {
        let pose = &one.registration.target_from_source;
        if kept.iter().all(|other| are_apart(&other.registration.target_from_source, pose)) {
            kept.push(one);
        }
    }
    kept
}

/// How far two poses are apart in metres, and the angle between them in radians.
pub(super) fn apart(a: &Pose, b: &Pose) -> [f64; 2] {
    let off = a.inverse().compose(b);
    let length = |v: [f64; 3]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    [length(off.translation()), length(off.rotation_vector())]
}
