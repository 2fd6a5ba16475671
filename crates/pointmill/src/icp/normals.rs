//! Normals of clouds.

use super::search::{MAX_NEIGHBOURS, Scratch, Searcher, Several};
use crate::device::on_threads;
use crate::{Argument, Error, Result, memory};
use pointmill_core::icp::nearest::{FARTHEST, index_of};
use pointmill_core::icp::neighbourhood::Neighbourhood;
use rayon::prelude::*;

/// Groups of a searcher that a thread takes at least.
const GROUPS: usize = 32;

/// The normal of each point from its `k` nearest points, itself among them: the direction in which these spread least.
///
/// **Shapes**: `[N, 3]` in metres to `[N, 3]` of length one. The sign is not said. A point whose neighbourhood is no plane (fewer than three points, all at one place, or
/// along a line), or that is not finite, has zeros. **Determinism**: the same bits for any number of threads and any search.
///
/// # Errors
/// A `k` that is not 1 to [`MAX_NEIGHBOURS`], a searcher of other points; out of memory.
///
/// ```
/// use pointmill::icp::{Search, Searcher, normals};
/// let floor: Vec<[f32; 3]> = (0..100).map(|i| [(i % 10) as f32, (i / 10) as f32, 2.0]).collect();
/// let up = normals(&floor, &Searcher::new(&floor, Search::Auto)?, 9)?;
/// assert!(up.iter().all(|n| n.map(f32::abs) == [0.0, 0.0, 1.0]));
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn normals(points: &[[f32; 3]], searcher: &Searcher, k: usize) -> Result<Vec<[f32; 3]>> {
    if !(1..=MAX_NEIGHBOURS).contains(&k) {
        return Err(Error::argument(Argument::K, format!("1 to {MAX_NEIGHBOURS}"), k));
    }
    if searcher.len() != points.len() {
        return Err(Error::argument(
            Argument::Searcher,
            format!("one of these {} points", points.len()),
            searcher.len(),
        ));
    }
    if let Some(on) = searcher.on_gpu() {
        return on.normals(k);
    }
    on_threads(|| on_cpu(points, searcher, k))
}

fn on_cpu(points: &[[f32; 3]], searcher: &Searcher, k: usize) -> Result<Vec<[f32; 3]>> {
    // Points of a group are near each other, so what a walk reads is still in the cache for the next.
    let parts = (0..searcher.groups().div_ceil(GROUPS)).into_par_iter().map_init(Scratch::default, |scratch, part| {
        let mut found = Vec::new();
        let mut told = Ok(());
        for group in part * GROUPS..searcher.groups().min((part + 1) * GROUPS) {
            searcher.each_of(group, |p, index| {
                if let Err(refused) = memory::push(&mut found, (index, normal(points, searcher, p, k, scratch))) {
                    told = Err(refused);
                }
            });
        }
        told.map(|()| found)
    });
    let mut normals = memory::filled(points.len(), [0.0; 3])?;
    for part in memory::collect_parallel(parts)? {
        part?.into_iter().for_each(|(index, normal)| normals[index as usize] = normal);
    }
    Ok(normals)
}

fn normal(points: &[[f32; 3]], searcher: &Searcher, p: [f32; 3], k: usize, scratch: &mut Scratch) -> [f32; 3] {
    let mut several = Several::below(FARTHEST, k);
    searcher.find(p, &mut several, scratch);
    let mut around = Neighbourhood::default();
    several.found().for_each(|key| around.add(p, points[index_of(key) as usize]));
    around.normal()
}
