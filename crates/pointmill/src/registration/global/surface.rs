//! A cloud made ready: voxel means, normals, and the features of those that are no plane.

use super::feature::{self, VALUES};
use super::params::RegisterParams;
use super::thin::Thin;
use crate::icp::{NeighbourLists, Search, Searcher};
use crate::{Argument, Result, Rows, Stream, memory, par};
use pointmill_core::icp::neighbourhood::Neighbourhood;
use rayon::prelude::*;

/// Neighbours of a feature at least.
const FEWEST: usize = 8;
/// A neighbourhood is a plane where its least spread is below this part of all.
const FLAT: f64 = 0.01;
/// A neighbourhood is a line where its second spread is below this part of its largest.
const THIN: f64 = 0.04;
/// Most points that have a feature.
const MOST_FEATURES: usize = 4500;

/// A cloud made ready.
#[derive(Debug)]
pub(super) struct Surface {
    pub(super) centre: [f64; 3],
    pub(super) usable: usize,
    pub(super) points: Vec<[f32; 3]>,
    pub(super) normals: Vec<[f32; 3]>,
    pub(super) searcher: Searcher,
    /// The points that are no plane at the radius of a feature, ascending.
    pub(super) rough: Vec<u32>,
    /// The points that have a feature, ascending.
    pub(super) keys: Vec<u32>,
    pub(super) features: Vec<[f32; VALUES]>,
}

impl Surface {
    pub(super) fn new(cloud: &Rows<'_>, params: &RegisterParams, stream: &Stream, argument: Argument) -> Result<Self> {
        let Thin { points, centre, usable } = Thin::new(cloud, params.voxel_size, argument)?;
        let searcher = Searcher::new(stream, &points[..], Search::Auto)?;
        let radius = params.feature_radius();
        let lists = searcher.radius_search(&points, radius, None)?;
        let near = (params.normal_radius() * params.normal_radius()) as f32;
        // The normal of a place, and how rough it is: 0 where it gets no feature.
        let place = |i: usize| {
            let list = &lists.neighbours[lists.row_splits[i]..lists.row_splits[i + 1]];
            let (close, far) = list.split_at(list.partition_point(|n| n.distance_squared <= near));
            let mut sums = Neighbourhood::default();
            close.iter().for_each(|n| sums.add(points[i], points[n.index as usize]));
            let normal = sums.normal();
            far.iter().for_each(|n| sums.add(points[i], points[n.index as usize]));
            let normal = if normal == [0.0; 3] { sums.normal() } else { normal };
            match sums.plane().filter(|_| list.len() >= FEWEST) {
                Some(of) if of.values[0] > FLAT && of.values[1] > THIN * of.values[2] => (normal, of.values[0]),
                _ => (normal, 0.0),
            }
        };
        let places =
            memory::collect_parallel((0..points.len()).into_par_iter().with_min_len(par::grain(64)).map(place))?;
        let normals = memory::collect(places.iter().map(|place| place.0))?;
        let rough_by = memory::collect(places.iter().map(|place| place.1))?;
        let mut rough: Vec<u32> = Vec::new();
        memory::room(&mut rough, rough_by.iter().filter(|by| **by > 0.0).count())?;
        rough.extend((0..points.len() as u32).filter(|&i| rough_by[i as usize] > 0.0));
        let mut keys = memory::collect(rough.iter().copied())?;
        if keys.len() > MOST_FEATURES {
            keys.sort_unstable_by(|&a, &b| rough_by[b as usize].total_cmp(&rough_by[a as usize]).then(a.cmp(&b)));
            keys.truncate(MOST_FEATURES);
            keys.sort_unstable();
        }
        let features = features(&points, &normals, &lists, &keys, radius as f32)?;
        Ok(Self { centre, usable, points, normals, searcher, rough, keys, features })
    }
}

fn features(
    points: &[[f32; 3]],
    normals: &[[f32; 3]],
    lists: &NeighbourLists,
    keys: &[u32],
    radius: f32,
) -> Result<Vec<[f32; VALUES]>> {
    let list = |i: usize| &lists.neighbours[lists.row_splits[i]..lists.row_splits[i + 1]];
    let mut wanted = memory::filled(points.len(), false)?;
    keys.iter().flat_map(|&i| list(i as usize)).for_each(|n| wanted[n.index as usize] = true);
    let simple = memory::collect_parallel((0..points.len()).into_par_iter().with_min_len(par::grain(64)).map(|i| {
        let (mut counts, mut pairs) = ([0u32; VALUES], 0);
        if wanted[i] && normals[i] != [0.0; 3] {
            for n in list(i) {
                let j = n.index as usize;
                let along = [0, 1, 2].map(|k| points[j][k] - points[i][k]);
                if let Some(bins) = feature::bins(normals[i], normals[j], along) {
                    bins.iter().for_each(|&bin| counts[bin] += 1);
                    pairs += 1;
                }
            }
        }
        feature::scaled(&counts, pairs)
    }))?;
    memory::collect_parallel(keys.par_iter().with_min_len(par::grain(64)).map(|&i| {
        let mut sums = [0u64; VALUES];
        for n in list(i as usize) {
            let weight = u64::from(feature::weight(n.distance_squared, radius));
            let of = &simple[n.index as usize];
            (0..VALUES).for_each(|k| sums[k] += weight * u64::from(of[k]));
        }
        feature::feature(&sums)
    }))
}
