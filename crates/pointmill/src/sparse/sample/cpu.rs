//! Grid sampling on the CPU.

use super::{GridOrigin, GridSampleParams, Pick, Sampled};
use crate::sparse::cells::ROWS_OF_A_THREAD;
use crate::{Result, VoxelGrid, memory, par, seed};
use pointmill_core::hash::{Seed, first_slot};
use pointmill_core::random::{below, of_cell};
use pointmill_core::sparse::distance_to_centre;
use rayon::prelude::*;

/// No cell.
const NONE: u32 = u32::MAX;

/// Memory that sampling uses again.
#[derive(Debug)]
pub(super) struct Sampling {
    seed: Seed,
    /// The cell of each point: item and id in one number, or all ones.
    keys: Vec<u64>,
    /// The key and the cell of each entry.
    table: Vec<(u64, u32)>,
    starts: Vec<u32>,
    least: Vec<f64>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { seed: seed::seed(), keys: Vec::new(), table: Vec::new(), starts: Vec::new(), least: Vec::new() }
    }
}

impl Sampling {
    pub(super) fn run(
        &mut self,
        points: &[f32],
        columns: usize,
        splits: &[usize],
        grid: VoxelGrid,
        params: &GridSampleParams,
        out: &mut Sampled,
    ) -> Result<()> {
        let n = points.len() / columns;
        let point = |i: usize| [points[i * columns], points[i * columns + 1], points[i * columns + 2]];
        let finite = |p: &[f32; 3]| p.iter().all(|c| c.is_finite());
        let grid = match params.origin {
            GridOrigin::Range(_) => grid,
            GridOrigin::Min => {
                let least = |a: [f32; 3], b: [f32; 3]| {
                    [0, 1, 2].map(|k| if b[k].total_cmp(&a[k]).is_lt() { b[k] } else { a[k] })
                };
                let all = (0..n).into_par_iter().with_min_len(par::grain(ROWS_OF_A_THREAD)).map(point);
                grid.moved_to(all.filter(finite).reduce(|| [f32::INFINITY; 3], least))
            }
        };
        let item = |i: usize| splits.partition_point(|&split| split <= i) - 1;
        memory::resize(&mut self.keys, n, 0)?;
        self.keys.truncate(n);
        let keys = self.keys.par_iter_mut().enumerate().with_min_len(par::grain(ROWS_OF_A_THREAD));
        keys.for_each(|(i, key)| {
            *key = grid.cell(point(i)).map_or(u64::MAX, |cell| item(i) as u64 * grid.num_cells() + grid.id(cell));
        });
        let mask = (2 * n + 1).next_power_of_two().max(4) - 1;
        self.table.clear();
        memory::resize(&mut self.table, mask + 1, (u64::MAX, NONE))?;
        let capacity = out.sizes.cells;
        let (coords, batch) = (out.grid_coord.host_values(), out.batch.host_values());
        let (rows, num_points) = (out.rows.host_values(), out.num_points.host_values());
        let inverse = &mut out.inverse.host_values()[..n];
        let (mut cells, mut non_finite, mut outside, mut points_dropped) = (0, 0, 0, 0);
        for (i, &key) in self.keys.iter().enumerate() {
            inverse[i] = -1;
            if key == u64::MAX {
                *(if finite(&point(i)) { &mut outside } else { &mut non_finite }) += 1;
                continue;
            }
            let mut slot = first_slot(key, mask as u32, self.seed) as usize;
            while self.table[slot].0 != key && self.table[slot].1 != NONE {
                slot = (slot + 1) & mask;
            }
            let entry = &mut self.table[slot];
            if entry.1 == NONE {
                *entry = (key, cells as u32);
                if cells < capacity {
                    let cell = grid.cell(point(i)).unwrap_or_default();
                    coords[3 * cells..][..3].copy_from_slice(&cell.map(|c| c as i32));
                    (batch[cells], rows[cells], num_points[cells]) = (item(i) as i32, i as i32, 0);
                }
                cells += 1;
            }
            let cell = entry.1 as usize;
            if cell < capacity {
                inverse[i] = cell as i32;
                num_points[cell] += 1;
            } else {
                points_dropped += 1;
            }
        }
        let kept = cells.min(capacity);
        let report = [kept, cells - kept, non_finite, outside, points_dropped].map(|count| count as u32);
        out.counts.host_values().copy_from_slice(&report);
        let (rows, num_points) = (&mut rows[..kept], &num_points[..kept]);
        let cell_of = |id: usize| [0, 1, 2].map(|k| coords[3 * id + k] as u32);
        let number = |id: usize| match params.pick {
            Pick::Random { seed } => below(of_cell(seed, batch[id] as u32, cell_of(id)), num_points[id] as u32),
            Pick::Nth(number) => number % num_points[id] as u32,
            _ => 0,
        };
        match params.pick {
            Pick::First => {}
            Pick::Nearest => {
                self.least.clear();
                memory::resize(&mut self.least, kept, f64::INFINITY)?;
                for (i, &id) in inverse.iter().enumerate().filter(|(_, id)| **id >= 0) {
                    let distance = distance_to_centre(&grid, cell_of(id as usize), point(i));
                    if distance < self.least[id as usize] {
                        (self.least[id as usize], rows[id as usize]) = (distance, i as i32);
                    }
                }
            }
            Pick::Nth(_) | Pick::Random { .. } => {
                // How many points of the cell come before the one that is taken.
                self.starts.clear();
                memory::extend(&mut self.starts, (0..kept).map(number))?;
                for (i, &id) in inverse.iter().enumerate().filter(|(_, id)| **id >= 0) {
                    let left = &mut self.starts[id as usize];
                    if *left == 0 {
                        rows[id as usize] = i as i32;
                    }
                    *left = left.wrapping_sub(1);
                }
            }
        }
        Ok(())
    }
}
