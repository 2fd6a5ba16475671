//! Normals of clouds.

use super::search::{Index, Scratch, Several};
use crate::{Result, memory};
use pointmill_core::icp::nearest::{FARTHEST, index_of};
use pointmill_core::icp::neighbourhood::Neighbourhood;
use rayon::prelude::*;

/// Groups of an index that a thread takes at least.
const GROUPS: usize = 32;

/// The normal of each point from its `k` nearest points, itself included.
pub(in crate::icp) fn normals_of(points: &[[f32; 3]], tree: &Index, k: usize) -> Result<Vec<[f32; 3]>> {
    // Points of a group are near each other, so what a walk reads is still in the cache for the next.
    let parts = (0..tree.groups().div_ceil(GROUPS)).into_par_iter().map_init(Scratch::default, |scratch, part| {
        let mut found = Vec::new();
        let mut enough = Ok(());
        for group in part * GROUPS..tree.groups().min((part + 1) * GROUPS) {
            tree.each_of(group, |p, index| {
                if let Err(refused) = memory::push(&mut found, (index, normal(points, tree, p, k, scratch))) {
                    enough = Err(refused);
                }
            });
        }
        enough.map(|()| found)
    });
    let mut normals = memory::filled(points.len(), [0.0; 3])?;
    for part in memory::collect_parallel(parts)? {
        part?.into_iter().for_each(|(index, normal)| normals[index as usize] = normal);
    }
    Ok(normals)
}

fn normal(points: &[[f32; 3]], tree: &Index, p: [f32; 3], k: usize, scratch: &mut Scratch) -> [f32; 3] {
    let mut several = Several::below(FARTHEST, k);
    tree.find(p, &mut several, scratch);
    let mut around = Neighbourhood::default();
    several.found().for_each(|key| around.add(p, points[index_of(key) as usize]));
    around.normal()
}
