//! Poses that many matches agree on.

use super::graph::Graph;
use super::solve::{closest, residual, robust};
use crate::{Result, memory, par};
use pointmill_core::rigid::Rigid;
use rayon::prelude::*;

/// Most candidates.
pub(super) const MOST: usize = 24;
/// Seeds that are looked at.
const SEEDS: usize = 1000;
/// Matches of a seed that a pose is made of.
const PART: usize = 24;
/// A seed's score is the number of common neighbours with this one of its neighbours.
const RANK: usize = 6;

/// A pose, and how many matches agree.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) pose: Rigid,
    pub(super) inliers: usize,
    /// The mean distance of the inliers in whole micrometres.
    pub(super) micrometres: u64,
    pub(super) index: usize,
}

/// The candidates by inliers, then residual, then index; and whether the cap left some out.
pub(super) fn candidates(pairs: &[[[f32; 3]; 2]], graph: &Graph, width: f64) -> Result<(Vec<Candidate>, bool)> {
    // By number of common neighbours, the best neighbours of each node.
    let best = memory::collect_parallel((0..graph.len).into_par_iter().with_min_len(par::grain(16)).map(|i| {
        let mut of: Vec<(u32, u32)> = graph.neighbours(i).map(|j| (graph.common(i, j), j as u32)).collect();
        of.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        of.truncate(PART);
        of
    }))?;
    let score = |i: usize| best[i].get(RANK - 1).map_or(0, |b| b.0);
    let mut seeds: Vec<usize> = (0..graph.len).filter(|&i| score(i) > 0).collect();
    seeds.sort_by(|&a, &b| score(b).cmp(&score(a)).then(a.cmp(&b)));
    let capped = seeds.len() > SEEDS;
    seeds.truncate(SEEDS);
    let limit = width * width;
    let tried =
        memory::collect_parallel(seeds.par_iter().enumerate().with_min_len(par::grain(4)).map(|(index, &seed)| {
            let part: Vec<_> =
                std::iter::once(seed).chain(best[seed].iter().map(|b| b.1 as usize)).map(|j| pairs[j]).collect();
            let mut pose = robust(&part, width)?;
            for _ in 0..2 {
                let inside: Vec<_> = pairs.iter().filter(|pair| residual(&pose, pair) <= limit).copied().collect();
                pose = closest(&inside, &vec![1.0; inside.len()]).unwrap_or(pose);
            }
            let inside = pairs.iter().map(|pair| residual(&pose, pair)).filter(|r| *r <= limit);
            let (inliers, sum) = inside.fold((0, 0.0), |(n, sum), r| (n + 1, sum + r.sqrt()));
            let micrometres = (sum / f64::from(inliers.max(1)) * 1e6) as u64;
            Some(Candidate { pose, inliers: inliers as usize, micrometres, index })
        }))?;
    let mut all: Vec<Candidate> = tried.into_iter().flatten().collect();
    all.sort_by_key(|c| (std::cmp::Reverse(c.inliers), c.micrometres, c.index));
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in all {
        if kept.len() < MOST && kept.iter().all(|k| !alike(&k.pose, &candidate.pose, 4.0 * width, 0.06)) {
            kept.push(candidate);
        }
    }
    Ok((kept, capped))
}

/// Whether two poses differ by less than a distance and an angle in radians.
pub(super) fn alike(a: &Rigid, b: &Rigid, metres: f64, angle: f64) -> bool {
    let d = [0, 1, 2].map(|k| a.translation[k] - b.translation[k]);
    let far = d.iter().map(|x| x * x).sum::<f64>() >= metres * metres;
    // |A - B|^2 = 4 (1 - cos angle), about 2 angle^2.
    let turned: f64 = (0..9).map(|k| (a.rotation[k / 3][k % 3] - b.rotation[k / 3][k % 3]).powi(2)).sum();
    !far && turned < 2.0 * angle * angle
}
