//! Normals of clouds.

use super::search::{Crowd, Index, Scratch};
use crate::{Result, memory, par};
use pointmill_core::icp::nearest::{FARTHEST, index_of, key, squared_distance};
use pointmill_core::icp::neighbour_set::MAX_NEIGHBOURS;
use pointmill_core::icp::neighbourhood::Neighbourhood;
use rayon::prelude::*;
use std::ops::Range;

/// Groups of an index that a thread takes at least.
const GROUPS: usize = 32;
/// Points whose normals are computed together.
const TOGETHER: usize = 8;

/// The normal of each point from its `k` nearest points, itself included.
pub(in crate::icp) fn normals_of(points: &[[f32; 3]], tree: &Index, k: usize) -> Result<Vec<[f32; 3]>> {
    // Points of a group are near each other, so what a walk reads is still in the cache for the
    // next.
    let parts = (0..tree.groups().div_ceil(GROUPS)).into_par_iter().with_min_len(par::grain(1)).map(|part| {
        let groups = part * GROUPS..tree.groups().min((part + 1) * GROUPS);
        normals_of_groups(points, tree, k, groups)
    });
    let mut normals = memory::filled(points.len(), [0.0; 3])?;
    for part in memory::collect_parallel(parts)? {
        part?.into_iter().for_each(|(index, normal)| normals[index as usize] = normal);
    }
    Ok(normals)
}

/// Indices and normals of the points of some groups.
fn normals_of_groups(
    points: &[[f32; 3]],
    tree: &Index,
    k: usize,
    groups: Range<usize>,
) -> Result<Vec<(u32, [f32; 3])>> {
    let mut entries = Vec::new();
    let mut enough = Ok(());
    for group in groups {
        tree.each_of(group, |p, index| {
            if enough.is_ok() {
                enough = memory::push(&mut entries, (index, p));
            }
        });
    }
    enough?;
    let mut near = Near::new(points, tree, k);
    let mut normals = Vec::new();
    memory::room(&mut normals, entries.len())?;
    for entries in entries.chunks(TOGETHER) {
        par::check();
        let mut around = [Neighbourhood::default(); TOGETHER];
        for (around, (_, p)) in around.iter_mut().zip(entries) {
            *around = near.around(*p);
        }
        normals.extend(entries.iter().map(|(index, _)| *index).zip(Neighbourhood::normals(&around)));
    }
    Ok(normals)
}

/// Places that are remembered.
const PLACES: usize = 16;

/// Finds the nearest points of one place after another.
struct Near<'a> {
    points: &'a [[f32; 3]],
    tree: &'a Index,
    k: usize,
    /// The last places, axis by axis, and the points nearest to each; before there are so many, the
    /// places are at infinity.
    places: [[f32; PLACES]; 3],
    found: [[u32; MAX_NEIGHBOURS]; PLACES],
    /// How many places there were.
    count: usize,
    scratch: Scratch,
}

impl<'a> Near<'a> {
    fn new(points: &'a [[f32; 3]], tree: &'a Index, k: usize) -> Self {
        let (places, found) = ([[f32::INFINITY; PLACES]; 3], [[0; MAX_NEIGHBOURS]; PLACES]);
        Self { points, tree, k, places, found, count: 0, scratch: Scratch::default() }
    }

    fn around(&mut self, p: [f32; 3]) -> Neighbourhood {
        let mut crowd = Crowd::below(self.limit(p), self.k);
        self.tree.find(p, &mut crowd, &mut self.scratch);
        let nearest = crowd.sorted();
        if nearest.len() == self.k {
            let place = self.count % PLACES;
            self.count += 1;
            (0..3).for_each(|axis| self.places[axis][place] = p[axis]);
            self.found[place].iter_mut().zip(nearest).for_each(|(found, key)| *found = index_of(*key));
        }
        let mut around = Neighbourhood::default();
        nearest.iter().for_each(|key| around.add(p, self.points[index_of(*key) as usize]));
        around
    }

    /// A key that the nearest points are below. The points that were nearest to another place are
    /// as many as are wanted: none that is farther than all of them is among the nearest. Of the
    /// last places the nearest one says most.
    fn limit(&self, p: [f32; 3]) -> u64 {
        if self.count == 0 {
            return FARTHEST;
        }
        let mut nearest = u64::MAX;
        for place in 0..PLACES {
            let square = squared_distance(p, [self.places[0][place], self.places[1][place], self.places[2][place]]);
            nearest = nearest.min(key(square, place as u32));
        }
        let found = &self.found[index_of(nearest) as usize][..self.k];
        let keys = found.iter().map(|&index| key(squared_distance(p, self.points[index as usize]), index));
        keys.fold(0, u64::max).saturating_add(1).min(FARTHEST)
    }
}
