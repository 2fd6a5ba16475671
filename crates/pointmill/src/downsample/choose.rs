//! Which of its points stands for a voxel, decided on the host.

use super::{DownsampleParams, Keep};
use crate::{Result, VoxelGrid, memory, par};
use pointmill_core::hash::Seed;
use rayon::prelude::*;

/// Voxels that a thread takes at least.
const VOXELS: usize = 1024;

/// Voxels and the lists of their points.
pub(super) struct Cells<'a> {
    pub(super) grid: &'a VoxelGrid,
    /// z, y, x of each voxel.
    pub(super) coords: &'a [i32],
    pub(super) splits: &'a [u32],
    pub(super) indices: &'a [u32],
}

impl Cells<'_> {
    /// The point of each voxel.
    pub(super) fn choose(&self, params: &DownsampleParams, values: &[f32], columns: usize) -> Result<Vec<u32>> {
        let seed = Seed::new(params.seed);
        let point = |row: usize| {
            let points = &self.indices[self.splits[row] as usize..self.splits[row + 1] as usize];
            match params.keep {
                Keep::Random => drawn(points, seed),
                _ => nearest(points, self.centre(row), values, columns),
            }
        };
        let rows = self.splits.len() - 1;
        memory::collect_parallel((0..rows).into_par_iter().with_min_len(par::grain(VOXELS)).map(point))
    }

    fn centre(&self, row: usize) -> [f64; 3] {
        let cell = &self.coords[3 * row..];
        [0, 1, 2].map(|k| {
            let (min, size) = (f64::from(self.grid.range().min[k]), f64::from(self.grid.size()[k]));
            min + (f64::from(cell[2 - k]) + 0.5) * size
        })
    }
}

/// One of the points of a voxel, of which the first decides with the seed.
fn drawn(points: &[u32], seed: Seed) -> u32 {
    let draw = u64::from(seed.spread(u64::from(points[0])));
    points[((draw * points.len() as u64) >> 32) as usize]
}

/// The point nearest to a place; of several the first.
fn nearest(points: &[u32], centre: [f64; 3], values: &[f32], columns: usize) -> u32 {
    let square = |point: u32| {
        let at = point as usize * columns;
        let [x, y, z] = [0, 1, 2].map(|k| f64::from(values[at + k]) - centre[k]);
        x * x + y * y + z * z
    };
    let least = |best: (u32, f64), &point: &u32| {
        let found = square(point);
        if found < best.1 { (point, found) } else { best }
    };
    points[1..].iter().fold((points[0], square(points[0])), least).0
}

/// The rows of these points.
pub(super) fn gather(values: &[f32], columns: usize, chosen: &[u32]) -> Result<Vec<f32>> {
    let mut rows = memory::filled(chosen.len() * columns, 0.0)?;
    let pairs = rows.par_chunks_exact_mut(columns).zip(chosen).with_min_len(par::grain(VOXELS));
    pairs.for_each(|(row, &point)| row.copy_from_slice(&values[point as usize * columns..][..columns]));
    Ok(rows)
}
