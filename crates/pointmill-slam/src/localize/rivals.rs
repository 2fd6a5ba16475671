//! The places beside an alignment that no fix led to: it is a fix only if it fits better than they
//! do.

use super::fix::Candidate;
use super::judge::{aligned, are_apart, judged, ranked};
use super::map::Near;
use super::params::LocalizerParams;
use super::scan::Scan;
use super::search::{RANGE, STEP, TURN};
use pointmill::{Pose, Result, Rows};

/// Points of the scan that places are scored with.
const POINTS: usize = 256;
/// Most steps of the lattice to each side.
const MOST_STEPS: f64 = 8.0;
/// A place is aligned if its score is this part of that of the alignment.
const WORTH: f64 = 0.7;
/// Most places that are aligned.
const ALIGNED: usize = 4;

/// An alignment and the places within `max_distance` of it that fit nearly as well or better, by
/// rank.
pub(super) fn with_rivals(
    near: &Near,
    scan: &Scan,
    own: Candidate,
    params: &LocalizerParams,
) -> Result<Vec<Candidate>> {
    let pose = own.registration.target_from_source;
    let step = STEP * near.grid.lattice().unit();
    let steps = (params.max_distance / step).ceil().min(MOST_STEPS) as i32;
    let mut places = vec![pose];
    for turn in -1..=1 {
        for j in -steps..=steps {
            for i in -steps..=steps {
                let [x, y, yaw] = [step * f64::from(i), step * f64::from(j), TURN * f64::from(turn)];
                let place = pose.compose(&Pose::from_xyzrpy([x, y, 0.0, 0.0, 0.0, yaw])?);
                if are_apart(&place, &pose) {
                    places.push(place);
                }
            }
        }
    }
    let fits = near.grid.score(Rows::from(&scan.landmarks(RANGE, POINTS)?[..]), &places)?;
    let score = |k: usize| fits[k].nvtl * fits[k].hits as f64;
    let mut order: Vec<usize> = (1..places.len()).filter(|k| score(*k) >= WORTH * score(0)).collect();
    order.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
    let mut guesses: Vec<Pose> = Vec::new();
    for k in order {
        if guesses.len() < ALIGNED && guesses.iter().all(|other| are_apart(other, &places[k])) {
            guesses.push(places[k]);
        }
    }
    let found = aligned(near, Rows::from(&scan.keys[..]), &guesses, &params.align)?;
    let rivals = found.into_iter().map(|one| judged(near, scan, one));
    Ok(ranked(std::iter::once(Ok(own)).chain(rivals).collect::<Result<_>>()?))
}
