//! The work on the CPU.

use super::types::{Limit, Limits, Probe, Radii};
use crate::icp::{NeighbourLists, Searcher};
use crate::{Result, memory, par};
use pointmill_core::icp::nearest::index_of;
use pointmill_core::icp::neighbourhood::is_normal;
use pointmill_core::registration::feature::{self, BINS, Feature, VALUES, bins, scaled, weight};
use pointmill_core::registration::pose::Agreement;
use pointmill_core::registration::surface::{Offsets, normal_and_roughness};
use pointmill_core::registration::{Match, PART, RANK, common_key, common_of, keep_distance};
use pointmill_core::rigid::{Rigid, wide};
use rayon::prelude::*;

/// Features that are compared at a time.
const LANES: usize = 16;
/// Values that are compared before the next look at the best so far.
const COMPARED: usize = VALUES / 3;

/// The points around each point.
#[derive(Debug)]
pub(super) struct Surroundings<'a> {
    points: &'a [[f32; 3]],
    lists: NeighbourLists,
    radii: Radii,
}

impl<'a> Surroundings<'a> {
    pub(super) fn new(points: &'a [[f32; 3]], searcher: &Searcher, radii: Radii) -> Result<Self> {
        Ok(Self { points, lists: searcher.radius_search(points, radii.feature, None)?, radii })
    }

    fn list(&self, i: usize) -> &[crate::icp::Neighbour] {
        &self.lists.neighbours[self.lists.row_splits[i]..self.lists.row_splits[i + 1]]
    }

    /// The normal of each point, and how rough its surroundings are.
    pub(super) fn places(&self) -> Result<Vec<([f32; 3], f64)>> {
        let (near_square, radius) = (self.radii.near(), self.radii.feature as f32);
        let place = |i: usize| {
            let (mut near, mut all) = (Offsets::default(), Offsets::default());
            for n in self.list(i) {
                let q = self.points[n.index as usize];
                if n.distance_squared <= near_square {
                    near.add(self.points[i], q, radius);
                }
                all.add(self.points[i], q, radius);
            }
            normal_and_roughness(&near, &all)
        };
        memory::collect_parallel((0..self.points.len()).into_par_iter().with_min_len(par::grain(64)).map(place))
    }

    /// The features of some points.
    pub(super) fn features(&self, normals: &[[f32; 3]], keys: &[u32]) -> Result<FeatureTable> {
        let radius = self.radii.feature as f32;
        let mut wanted = memory::filled(self.points.len(), false)?;
        keys.iter().flat_map(|&i| self.list(i as usize)).for_each(|n| wanted[n.index as usize] = true);
        let simple = |i: usize| {
            let (mut counts, mut pairs) = ([0u32; VALUES], 0);
            if wanted[i] && is_normal(normals[i]) {
                for n in self.list(i) {
                    let j = n.index as usize;
                    let along = [0, 1, 2].map(|k| self.points[j][k] - self.points[i][k]);
                    if let Some(bins) = bins(normals[i], normals[j], along) {
                        bins.iter().for_each(|&bin| counts[bin] += 1);
                        pairs += 1;
                    }
                }
            }
            counts.map(|count| scaled(count, pairs))
        };
        let all = (0..self.points.len()).into_par_iter().with_min_len(par::grain(64)).map(simple);
        let simple = memory::collect_parallel(all)?;
        let feature = |&i: &u32| {
            let mut sums = [0u32; VALUES];
            for n in self.list(i as usize) {
                let (weight, of) = (weight(n.distance_squared, radius), &simple[n.index as usize]);
                (0..VALUES).for_each(|k| sums[k] += weight * of[k]);
            }
            let totals: [u32; 3] = std::array::from_fn(|block| sums[block * BINS..(block + 1) * BINS].iter().sum());
            std::array::from_fn(|k| feature::value(sums[k], totals[k / BINS]))
        };
        FeatureTable::new(memory::collect_parallel(keys.par_iter().with_min_len(par::grain(64)).map(feature))?)
    }
}

/// Features, and the same by value, [`LANES`] at a time.
#[derive(Debug)]
pub(super) struct FeatureTable {
    pub(super) rows: Vec<Feature>,
    columns: Vec<[[f32; LANES]; VALUES]>,
}

impl FeatureTable {
    fn new(rows: Vec<Feature>) -> Result<Self> {
        let mut columns = memory::filled(rows.len().div_ceil(LANES), [[f32::INFINITY; LANES]; VALUES])?;
        for (i, feature) in rows.iter().enumerate() {
            (0..VALUES).for_each(|k| columns[i / LANES][k][i % LANES] = feature[k]);
        }
        Ok(Self { rows, columns })
    }

    /// The row of the nearest feature: of equally near ones the first. Squares are added in the order
    /// of the values, and no longer than it takes to see that none of a block is nearer.
    fn nearest(&self, feature: &Feature) -> Option<u32> {
        let mut best = (f32::INFINITY, None);
        for (b, block) in self.columns.iter().enumerate() {
            let mut sums = [0.0f32; LANES];
            for (part, columns) in feature.chunks_exact(COMPARED).zip(block.chunks_exact(COMPARED)) {
                for (x, column) in part.iter().zip(columns) {
                    for lane in 0..LANES {
                        let d = x - column[lane];
                        sums[lane] += d * d;
                    }
                }
                if !sums.iter().fold(false, |nearer, sum| nearer | (*sum < best.0)) {
                    break;
                }
            }
            for (lane, sum) in sums.iter().enumerate() {
                if *sum < best.0 {
                    best = (*sum, Some((b * LANES + lane) as u32));
                }
            }
        }
        best.1
    }

    /// Of each row of this table the nearest row of `other`.
    pub(super) fn nearest_of(&self, other: &Self) -> Result<Vec<Option<u32>>> {
        memory::collect_parallel(self.rows.par_iter().with_min_len(par::grain(16)).map(|f| other.nearest(f)))
    }

    /// As [`Self::nearest_of`], of some rows; none of the others.
    pub(super) fn nearest_of_some(&self, rows: &[Option<u32>], other: &Self) -> Result<Vec<Option<u32>>> {
        let mut wanted = memory::filled(self.rows.len(), false)?;
        rows.iter().flatten().for_each(|&row| wanted[row as usize] = true);
        let nearest = |(f, wanted): (&Feature, &bool)| if *wanted { other.nearest(f) } else { None };
        memory::collect_parallel(self.rows.par_iter().zip(&wanted).with_min_len(par::grain(16)).map(nearest))
    }
}

/// The matches of a graph, each with its best neighbours.
#[derive(Debug)]
pub(super) struct Cores<'a> {
    matches: &'a [Match],
    best: Vec<Vec<u64>>,
}

impl<'a> Cores<'a> {
    pub(super) fn new(matches: &'a [Match], limits: &Limits) -> Result<Self> {
        let (len, words) = (matches.len(), matches.len().div_ceil(64));
        let mut rows = memory::filled(len * words, 0u64)?;
        let fill = |(i, row): (usize, &mut [u64])| {
            for (j, other) in matches.iter().enumerate() {
                let joined = keep_distance(&matches[i], other, limits.tolerance, limits.shortest);
                row[j / 64] |= u64::from(joined) << (j % 64);
            }
        };
        rows.par_chunks_mut(words.max(1)).enumerate().with_min_len(par::grain(16)).for_each(fill);
        let row = |i: usize| &rows[i * words..(i + 1) * words];
        let common = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| (a & b).count_ones()).sum();
        let best = |i: usize| {
            let mut of: Vec<u64> = ones(row(i)).map(|j| common_key(common(i, j), j as u32)).collect();
            of.sort_unstable();
            of.truncate(PART);
            of
        };
        let best = memory::collect_parallel((0..len).into_par_iter().with_min_len(par::grain(16)).map(best))?;
        Ok(Self { matches, best })
    }

    /// The number of neighbours that each match has in common with its sixth; 0 where it has fewer.
    pub(super) fn scores(&self) -> Result<Vec<u32>> {
        memory::collect(self.best.iter().map(|best| best.get(RANK - 1).map_or(0, |&key| common_of(key))))
    }

    /// The pose of each seed.
    pub(super) fn agree(&self, seeds: &[u32], width: f64) -> Result<Vec<Agreement>> {
        let agree = |&seed: &u32| {
            let best = &self.best[seed as usize];
            let part = |k: usize| self.matches[if k == 0 { seed } else { index_of(best[k - 1]) } as usize];
            Agreement::of((best.len() + 1, part), (self.matches.len(), |k| self.matches[k]), width)
        };
        memory::collect_parallel(seeds.par_iter().with_min_len(par::grain(4)).map(agree))
    }
}

/// The places of the ones of a row, ascending.
fn ones(row: &[u64]) -> impl Iterator<Item = usize> {
    row.iter().enumerate().flat_map(|(w, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = rest.trailing_zeros() as usize;
            (rest != 0).then(|| {
                rest &= rest - 1;
                w * 64 + bit
            })
        })
    })
}

/// How many of the probes are seen, and met, at each pose.
pub(super) fn counts(
    probes: &[Probe],
    poses: &[Rigid],
    surface: (&Searcher, Limit),
    rough: (&Searcher, Limit),
) -> Result<Vec<[u32; 2]>> {
    let mut all = Vec::new();
    memory::room(&mut all, poses.len())?;
    for pose in poses {
        let moved = memory::collect(probes.iter().map(|p| pose.apply(wide(*p)).map(|x| x as f32)))?;
        let mut counts = [0; 2];
        for (count, (searcher, limit)) in counts.iter_mut().zip([surface, rough]) {
            *count = searcher.nearest(&moved, Some(limit))?.iter().flatten().count() as u32;
        }
        all.push(counts);
    }
    Ok(all)
}
