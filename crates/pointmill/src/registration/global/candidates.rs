//! Poses that many matches agree on.

use super::types::Limits;
use super::{cpu, gpu};
use crate::{Result, Stream};
use pointmill_core::registration::Match;
use pointmill_core::registration::pose::Agreement;
use pointmill_core::rigid::{Rigid, subtract};

/// Most candidates.
pub(super) const MOST: usize = 24;
/// Most seeds that poses are made of.
const SEEDS: usize = 1000;

/// A pose, and how many matches agree.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) pose: Rigid,
    pub(super) inliers: usize,
}

/// The candidates by inliers, then residual, then index; and whether the cap left some out. They are
/// compared where they take the middle of the source.
pub(super) fn candidates(
    stream: &Stream,
    matches: &[Match],
    limits: &Limits,
    middle: [f64; 3],
) -> Result<(Vec<Candidate>, bool)> {
    if matches.is_empty() {
        return Ok((Vec::new(), false));
    }
    let (tried, capped) = if stream.device().is_cpu() {
        let cores = cpu::Cores::new(matches, limits)?;
        let (seeds, capped) = seeds(&cores.scores()?);
        (cores.agree(&seeds, limits.width)?, capped)
    } else {
        let cores = gpu::Cores::new(stream, matches, limits)?;
        let (seeds, capped) = seeds(&cores.scores()?);
        (cores.agree(&seeds, limits.width)?, capped)
    };
    let mut all: Vec<(usize, Agreement)> = tried.into_iter().enumerate().filter(|(_, of)| of.inliers > 0).collect();
    all.sort_by_key(|(index, of)| (std::cmp::Reverse(of.inliers), of.micrometres, *index));
    let mut kept: Vec<Candidate> = Vec::new();
    for (_, Agreement { pose, inliers, .. }) in all {
        if kept.len() < MOST && kept.iter().all(|k| !alike([&k.pose, &pose], middle, 4.0 * limits.width, 0.06)) {
            kept.push(Candidate { pose, inliers: inliers as usize });
        }
    }
    Ok((kept, capped))
}

/// The matches that poses are made of, by score, then index; and whether there were more.
fn seeds(scores: &[u32]) -> (Vec<u32>, bool) {
    let score = |i: u32| scores[i as usize];
    let mut seeds: Vec<u32> = (0..scores.len() as u32).filter(|&i| score(i) > 0).collect();
    seeds.sort_by(|&a, &b| score(b).cmp(&score(a)).then(a.cmp(&b)));
    let capped = seeds.len() > SEEDS;
    seeds.truncate(SEEDS);
    (seeds, capped)
}

/// Whether two poses take a point to places less than a distance apart, and differ by less than an
/// angle in radians.
pub(super) fn alike([a, b]: [&Rigid; 2], point: [f64; 3], metres: f64, angle: f64) -> bool {
    let d = subtract(a.apply(point), b.apply(point));
    let far = d.iter().map(|x| x * x).sum::<f64>() >= metres * metres;
    // |A - B|^2 = 4 (1 - cos angle), about 2 angle^2.
    let turned: f64 = (0..9).map(|k| (a.rotation[k / 3][k % 3] - b.rotation[k / 3][k % 3]).powi(2)).sum();
    !far && turned < 2.0 * angle * angle
}
