//! The start without a guess: the best places of a region are found, aligned, and judged.
//!
//! No number is random, and of equal places the first of the lattice wins.

use super::fix::{Candidate, Rejection};
use super::judge::{APART, TURNED, aligned, ambiguity, are_apart, judged, margin, objection, ranked};
use super::map::Near;
use super::params::LocalizerParams;
use super::scan::Scan;
use pointmill::ndt::NdtAlignParams;
use pointmill::registration::level::{LevelParams, LevelTarget, LevelTargetParams};
use pointmill::{Pose, Result, Rows};

/// Places of a lattice are this part of a cell's edge apart, and this many radians.
pub(super) const STEP: f64 = 0.5;
pub(super) const TURN: f64 = 3.0 * std::f64::consts::PI / 180.0;
/// Points up to so many metres from the sensor are scored: a step of the yaw moves them by less
/// than a cell.
pub(super) const RANGE: f64 = 40.0;
/// A target takes a range of at most so many steps.
const MOST_STEPS: f64 = 4096.0;
/// Places that are aligned, and with how many points.
const ALIGNED: usize = 20;
const POINTS: usize = 1024;
/// Places that are judged.
const JUDGED: usize = 6;
/// Fewest cells of the map that must be confirmed or seen through.
const FEWEST_SIGHTS: usize = 20;

/// What a search found: places by rank, and why the first is no fix.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) candidates: Vec<Candidate>,
    pub(super) rejection: Option<Rejection>,
}

/// Searches a region of the map for a scan.
pub(super) fn search(near: &Near, region: Option<[f64; 4]>, scan: &Scan, params: &LocalizerParams) -> Result<Search> {
    let step = STEP * near.grid.lattice().unit();
    let range = RANGE.min(MOST_STEPS * step);
    let place = LevelTargetParams { step: Some(step), range, region, ground: true };
    let found = LevelTarget::new(&near.grid, &place)?.search(
        Rows::from(&scan.keys[..]),
        &LevelParams {
            yaw_range: params.yaw_range,
            turn: TURN,
            ground: Some(scan.ground),
            max_points: POINTS,
            candidates: ALIGNED,
            apart_metres: APART,
            apart_radians: TURNED,
        },
    )?;
    let starts: Vec<Pose> = found.candidates.iter().map(|one| one.target_from_source).collect();
    settled(near, &starts, scan, params)
}

/// Aligns from some places with some points, then from the best of these with all, and judges them.
fn settled(near: &Near, starts: &[Pose], scan: &Scan, params: &LocalizerParams) -> Result<Search> {
    let (few, all) = (scan.landmarks(params.max_range, POINTS)?, Rows::from(&scan.keys[..]));
    // What has not arrived by then goes on with all points.
    let coarse = NdtAlignParams { epsilon: 0.02, max_iterations: params.align.max_iterations.min(30), ..params.align };
    let mut found = near.grid.align(Rows::from(&few[..]), starts, &coarse)?;
    // Stable: of equal ones the first of the lattice.
    found.sort_by(|a, b| (b.fit.nvtl * b.fit.hits as f64).total_cmp(&(a.fit.nvtl * a.fit.hits as f64)));
    let mut guesses: Vec<Pose> = Vec::new();
    for one in &found {
        if guesses.len() < JUDGED && guesses.iter().all(|other| are_apart(other, &one.target_from_source)) {
            guesses.push(one.target_from_source);
        }
    }
    let found = aligned(near, all, &guesses, &params.align)?;
    let kept = ranked(found.into_iter().map(|one| judged(near, scan, one)).collect::<Result<_>>()?);
    let rejection = match kept.first() {
        None => Some(Rejection::OutsideMap),
        Some(best) => {
            let few = best.evidence.confirmed + best.evidence.seen_through < FEWEST_SIGHTS;
            objection(best, near.grid.lattice().unit(), params)
                .or(few.then_some(Rejection::Contradicted))
                .or(ambiguity(margin(&kept), best, params))
        }
    };
    Ok(Search { candidates: kept, rejection })
}
