//! What a point of the source adds in each cube of the lattice, and the largest of that in windows.

use crate::{Argument, Error, Result, memory, par};
use pointmill_core::ndt::{LevelCell, level_centre};
use rayon::prelude::*;

/// Places along a block and blocks along a wide block.
pub(super) const SIDE: usize = 8;
/// Places along a wide block.
pub(super) const WIDE: usize = SIDE * SIDE;
/// Most cubes.
const MOST: f64 = (1u64 << 31) as f64;

/// A box of cubes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cubes {
    /// The edge of a cube in metres.
    pub(super) step: f64,
    /// The first cube, along x, y, z.
    pub(super) low: [i32; 3],
    /// Cubes along x, y, z; along x and y a multiple of 8.
    pub(super) size: [usize; 3],
}

impl Cubes {
    pub(super) fn new(step: f64, low: [i32; 3], size: [usize; 3]) -> Result<Self> {
        let cubes: f64 = size.iter().map(|n| *n as f64).product();
        if cubes > MOST {
            let got = format!("{} x {} x {}", size[0], size[1], size[2]);
            return Err(Error::argument(Argument::Region, format!("at most 2^31 cubes of {step} m around it"), got));
        }
        Ok(Self { step, low, size })
    }

    pub(super) const fn len(&self) -> usize {
        self.layer() * self.size[2]
    }

    /// Cubes of a layer.
    pub(super) const fn layer(&self) -> usize {
        self.size[0] * self.size[1]
    }
}

/// Values of the cubes of a box.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) cubes: Cubes,
    /// `[z, y, x]`: the value of a cube.
    pub(super) values: Vec<u8>,
    /// `[y % 8, x % 8, z, y / 8, x / 8]`: the largest value of the 8 x 8 cubes that begin with one
    /// along x and y, so that those of blocks side by side are side by side.
    pub(super) blocks: Vec<u8>,
    /// `[z, y, x]`: the same of 64 x 64 cubes.
    pub(super) wide: Vec<u8>,
}

impl Field {
    /// The largest value of the cells at the centre of each cube.
    pub(super) fn new(cells: &[LevelCell], cubes: Cubes) -> Result<Self> {
        let (Cubes { step, low, size }, len) = (cubes, cubes.len());
        let reached = |cell: &LevelCell| {
            [0, 1, 2]
                .map(|axis| cell.cubes(axis, step, low[axis], size[axis] as u32))
                .map(|[a, b]| a as usize..b as usize)
        };
        let reached = memory::collect(cells.iter().map(reached))?;
        let mut values = memory::filled(len, 0u8)?;
        let fill = |(k, layer): (usize, &mut [u8])| {
            for (cell, [x, y, _]) in cells.iter().zip(&reached).filter(|(_, [.., z])| z.contains(&k)) {
                for j in y.clone() {
                    let row = &mut layer[j * size[0]..][..size[0]];
                    for i in x.clone() {
                        let at = |axis: usize, n: usize| level_centre(low[axis] + n as i32, step);
                        row[i] = row[i].max(cell.value([at(0, i), at(1, j), at(2, k)]));
                    }
                }
            }
        };
        let layers = values.par_chunks_mut((size[0] * size[1]).max(1)).enumerate();
        layers.with_min_len(par::grain(1)).for_each(fill);
        let mut wide = memory::filled(len, 0u8)?;
        wide.copy_from_slice(&values);
        widen(&mut wide, size, [1, 2, 4]);
        let mut blocks = memory::filled(len, 0u8)?;
        if len > 0 {
            blocks.par_chunks_mut(len / WIDE).with_min_len(par::grain(1)).enumerate().for_each(|(phase, to)| {
                let rows = wide.chunks_exact(size[0]).skip(phase / SIDE).step_by(SIDE);
                for (to, row) in to.chunks_exact_mut(size[0] / SIDE).zip(rows) {
                    to.iter_mut().zip(row.iter().skip(phase % SIDE).step_by(SIDE)).for_each(|(to, value)| *to = *value);
                }
            });
        }
        widen(&mut wide, size, [8, 16, 32]);
        Ok(Self { cubes, values, blocks, wide })
    }
}

/// Makes windows of each layer larger, by so many cubes along x and y one after the other.
fn widen(all: &mut [u8], [nx, ny, _]: [usize; 3], by: [usize; 3]) {
    if all.is_empty() {
        return;
    }
    all.par_chunks_mut(nx * ny).with_min_len(par::grain(1)).for_each(|layer| {
        for by in by {
            for row in layer.chunks_exact_mut(nx) {
                for i in 0..nx.saturating_sub(by) {
                    row[i] = row[i].max(row[i + by]);
                }
            }
            for j in 0..ny.saturating_sub(by) {
                let (here, there) = layer.split_at_mut((j + by) * nx);
                here[j * nx..][..nx].iter_mut().zip(&there[..nx]).for_each(|(a, b)| *a = (*a).max(*b));
            }
        }
    });
}
