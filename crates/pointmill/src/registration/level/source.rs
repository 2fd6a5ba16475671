//! The points of a source, turned by each yaw and put into cubes.

use super::field::{Field, SIDE, WIDE};
use super::params::{LevelParams, Yaws};
use super::target::LevelTarget;
use crate::{Result, Rows, memory, par};
use pointmill_core::ndt::LEVEL_BEST;
use pointmill_core::rigid::dot;
use pointmill_core::trig::sin_cos_f64;
use rayon::prelude::*;
use std::collections::HashSet;
use std::ops::Range;

/// A point so many metres above the ground is no ground.
const ABOVE_GROUND: f64 = 0.5;
/// The ground is looked for up to so many metres from the sensor.
const GROUND_RANGE: f64 = 20.0;
/// The share of the points there that are lower than the ground.
const BELOW_GROUND: f64 = 0.05;
/// Fewest points above the ground that are used without the ground.
const FEWEST: usize = 64;

/// Points by height, for each yaw.
#[derive(Debug)]
pub(super) struct Source {
    /// Height of the ground.
    pub(super) ground: f64,
    /// By layer.
    #[cfg(test)]
    points: Vec<[f64; 3]>,
    /// The layer of each point at height 0, ascending.
    layers: Vec<i32>,
    /// `[yaw, point]`: where the point of the first place is in a layer of the field, and in those
    /// of its blocks.
    turned: Vec<[usize; 2]>,
}

impl Source {
    pub(super) fn new(points: &Rows<'_>, target: &LevelTarget, params: &LevelParams, yaws: &Yaws) -> Result<Self> {
        let (step, range) = (target.step(), target.params().range);
        let usable = |p: &[f64; 3]| p.iter().all(|x| x.is_finite()) && dot(*p, *p) < range * range;
        let mut seen = HashSet::new();
        let mut keys = Vec::new();
        for p in (0..points.len()).map(|i| points.point(i)).filter(usable) {
            if seen.insert(p.map(|x| (x / step).floor() as i32)) {
                memory::push(&mut keys, p)?;
            }
        }
        let ground = params.ground.unwrap_or_else(|| lowest(&keys));
        if target.params().ground {
            let above: Vec<_> = keys.iter().filter(|p| p[2] > ground + ABOVE_GROUND).copied().collect();
            if above.len() >= FEWEST.min(params.max_points) {
                keys = above;
            }
        }
        let n = keys.len().min(params.max_points);
        let mut chosen = memory::collect((0..n).map(|i| keys[i * keys.len() / n]))?;
        // Stable, though the sums do not depend on the order.
        chosen.sort_by_key(|p| cube(p, [0.0, 1.0], step)[2]);
        let (field, margin) = (target.field(), target.margin());
        let place = |at: usize| {
            let (sine, cosine) = sin_cos_f64(yaws.of((at / n) as u32));
            let [x, y, _] = cube(&chosen[at % n], [sine, cosine], step);
            places_in(field, (x + margin) as usize, (y + margin) as usize)
        };
        let all = (0..yaws.count * n).into_par_iter().with_min_len(par::grain(1 << 12));
        let turned = memory::collect_parallel(all.map(place))?;
        let layers = memory::collect(chosen.iter().map(|p| cube(p, [0.0, 1.0], step)[2]))?;
        Ok(Self {
            ground,
            #[cfg(test)]
            points: chosen,
            layers,
            turned,
        })
    }

    /// The cubes of the points at a yaw, at the first place and height 0.
    #[cfg(test)]
    pub(super) fn cubes(&self, step: f64, yaw: f64) -> Vec<[i32; 3]> {
        let (sine, cosine) = sin_cos_f64(yaw);
        self.points.iter().map(|p| cube(p, [sine, cosine], step)).collect()
    }

    pub(super) const fn len(&self) -> usize {
        self.layers.len()
    }

    /// The points whose layer at a height is in the field.
    fn within(&self, field: &Field, height: i32) -> Range<usize> {
        let layer = |layer: &i32| i64::from(*layer) + i64::from(height) - i64::from(field.low[2]);
        let from = self.layers.partition_point(|at| layer(at) < 0);
        from..self.layers.partition_point(|at| layer(at) < field.size[2] as i64)
    }

    /// Calls `visit` with the layer of the field of each point at a height, and where it is there.
    fn for_each(&self, field: &Field, yaw: u32, height: i32, mut visit: impl FnMut(usize, &[usize; 2])) {
        let points = self.within(field, height);
        let turned = &self.turned[yaw as usize * self.len()..][points.clone()];
        for (layer, at) in self.layers[points].iter().zip(turned) {
            visit((layer + height - field.low[2]) as usize, at);
        }
    }

    /// The bound of the wide block of places from (i, j) on.
    pub(super) fn bound(&self, field: &Field, yaw: u32, height: i32, [i, j]: [usize; 2]) -> u16 {
        let (mut sum, offset, layer_len) = (0, j * field.size[0] + i, field.layer());
        self.for_each(field, yaw, height, |layer, [at, _]| {
            sum += u16::from(field.wide[layer * layer_len + at + offset]);
        });
        sum
    }

    /// The scores of the 8 x 8 places from (i, j) on, rows of y; or the bounds of as many blocks.
    pub(super) fn sums(
        &self,
        field: &Field,
        of_blocks: bool,
        yaw: u32,
        height: i32,
        [i, j]: [usize; 2],
    ) -> [u16; WIDE] {
        let mut sums = Sums::default();
        let [nx, ny, _] = field.size;
        if of_blocks {
            let (stride, offset, layer_len) = (nx / SIDE, j / SIDE * (nx / SIDE) + i / SIDE, nx * ny / WIDE);
            self.for_each(field, yaw, height, |layer, [_, at]| {
                sums.add(&field.blocks[layer * layer_len + at + offset..], stride);
            });
        } else {
            let (offset, layer_len) = (j * nx + i, field.layer());
            self.for_each(field, yaw, height, |layer, [at, _]| {
                sums.add(&field.values[layer * layer_len + at + offset..], nx);
            });
        }
        sums.flush();
        sums.words
    }
}

/// Values that are added up as bytes: their sum is below 256.
const OF_BYTES: u32 = 4;
const _: () = assert!(OF_BYTES * (LEVEL_BEST as u32) < 256);

/// Sums of 8 rows of 8 values. A row of bytes is added as one number of 64 bits.
struct Sums {
    words: [u16; WIDE],
    bytes: [u64; SIDE],
    waiting: u32,
}

impl Default for Sums {
    fn default() -> Self {
        Self { words: [0; WIDE], bytes: [0; SIDE], waiting: 0 }
    }
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, values: &[u8], stride: usize) {
        let values = &values[..7 * stride + SIDE];
        for (row, sum) in self.bytes.iter_mut().enumerate() {
            let from = &values[row * stride..row * stride + SIDE];
            *sum += u64::from_le_bytes(std::array::from_fn(|k| from[k]));
        }
        self.waiting += 1;
        if self.waiting == OF_BYTES {
            self.flush();
        }
    }

    #[inline(always)]
    fn flush(&mut self) {
        for (words, bytes) in self.words.chunks_exact_mut(SIDE).zip(&mut self.bytes) {
            words.iter_mut().zip(bytes.to_le_bytes()).for_each(|(word, byte)| *word += u16::from(byte));
            *bytes = 0;
        }
        self.waiting = 0;
    }
}

/// The cube of a point that is turned by an angle of this sine and cosine.
fn cube([x, y, z]: &[f64; 3], [sine, cosine]: [f64; 2], step: f64) -> [i32; 3] {
    [cosine * x - sine * y, sine * x + cosine * y, *z].map(|x| (x / step).floor() as i32)
}

/// Where a cube is in the first layer of the field, and in that of its blocks.
const fn places_in(field: &Field, x: usize, y: usize) -> [usize; 2] {
    let [nx, ny, nz] = field.size;
    let phase = y % SIDE * SIDE + x % SIDE;
    [y * nx + x, phase * (nx * ny / WIDE * nz) + y / SIDE * (nx / SIDE) + x / SIDE]
}

/// The height of the ground around the sensor.
fn lowest(points: &[[f64; 3]]) -> f64 {
    let near = |p: &&[f64; 3]| p[0] * p[0] + p[1] * p[1] < GROUND_RANGE * GROUND_RANGE;
    let mut heights: Vec<f64> = points.iter().filter(near).map(|p| p[2]).collect();
    heights.sort_unstable_by(f64::total_cmp);
    heights.get((heights.len() as f64 * BELOW_GROUND) as usize).copied().unwrap_or(0.0)
}
