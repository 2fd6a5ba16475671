//! The points of a source, and on the host where they are, turned by each yaw, in a field.

use super::field::{Cubes, Field, SIDE, WIDE};
use super::params::{LevelParams, Yaws};
use super::queue::{Node, Sums};
use super::target::LevelTarget;
use crate::{Result, Rows, memory, par};
use pointmill_core::ndt::{LEVEL_BEST, level_cube};
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

/// Points by height.
#[derive(Debug)]
pub(super) struct Source {
    /// Height of the ground.
    pub(super) ground: f64,
    /// By layer.
    pub(super) points: Vec<[f64; 3]>,
    /// The layer of each point at height 0, ascending.
    layers: Vec<i32>,
}

impl Source {
    pub(super) fn new(points: &Rows<'_>, target: &LevelTarget, params: &LevelParams) -> Result<Self> {
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
        let layer = |p: &[f64; 3]| level_cube(*p, [0.0, 1.0], step)[2];
        // Stable, though the sums do not depend on the order.
        chosen.sort_by_key(layer);
        let layers = memory::collect(chosen.iter().map(layer))?;
        Ok(Self { ground, points: chosen, layers })
    }

    pub(super) const fn len(&self) -> usize {
        self.layers.len()
    }

    /// The points whose layer at a height is in the field.
    pub(super) fn within(&self, cubes: &Cubes, height: i32) -> Range<usize> {
        let layer = |layer: &i32| i64::from(*layer) + i64::from(height) - i64::from(cubes.low[2]);
        let from = self.layers.partition_point(|at| layer(at) < 0);
        from..self.layers.partition_point(|at| layer(at) < cubes.size[2] as i64)
    }
}

/// A source on the host, turned by each yaw.
#[derive(Debug)]
pub(super) struct Turned<'a> {
    field: &'a Field,
    /// `[yaw, point]`: where the point of the first place is in a layer of the field, and in those
    /// of its blocks.
    turned: Vec<[usize; 2]>,
}

impl<'a> Turned<'a> {
    pub(super) fn new(field: &'a Field, source: &Source, yaws: &Yaws, margin: i32) -> Result<Self> {
        let n = source.len();
        let place = |at: usize| {
            let (sine, cosine) = sin_cos_f64(yaws.of((at / n) as u32));
            let [x, y, _] = level_cube(source.points[at % n], [sine, cosine], field.cubes.step);
            places_in(&field.cubes, (x + margin) as usize, (y + margin) as usize)
        };
        let all = (0..yaws.count * n).into_par_iter().with_min_len(par::grain(1 << 12));
        Ok(Self { field, turned: memory::collect_parallel(all.map(place))? })
    }

    /// Calls `visit` with the layer of the field of each point at a height, and where it is there.
    fn for_each(&self, source: &Source, node: &Node, mut visit: impl FnMut(usize, &[usize; 2])) {
        let (cubes, height) = (&self.field.cubes, node.height);
        let points = source.within(cubes, height);
        let turned = &self.turned[node.yaw as usize * source.len()..][points.clone()];
        for (layer, at) in source.layers[points].iter().zip(turned) {
            visit((layer + height - cubes.low[2]) as usize, at);
        }
    }

    /// The bound of a wide block.
    pub(super) fn bound(&self, source: &Source, node: &Node) -> u16 {
        let (field, cubes) = (self.field, &self.field.cubes);
        let (mut sum, offset, layer_len) = (0, node.y as usize * cubes.size[0] + node.x as usize, cubes.layer());
        self.for_each(source, node, |layer, [at, _]| {
            sum += u16::from(field.wide[layer * layer_len + at + offset]);
        });
        sum
    }

    /// Of a wide block the bounds of its blocks, else the scores of the places of the block of a node.
    pub(super) fn sums(&self, source: &Source, node: &Node) -> Sums {
        let (field, cubes) = (self.field, &self.field.cubes);
        let mut sums = Adder::default();
        let ([nx, ny, _], [i, j]) = (cubes.size, [node.x, node.y].map(|at| at as usize / SIDE));
        if node.level == 2 {
            let (stride, offset, layer_len) = (nx / SIDE, j * (nx / SIDE) + i, nx * ny / WIDE);
            self.for_each(source, node, |layer, [_, at]| {
                sums.add(&field.blocks[layer * layer_len + at + offset..], stride);
            });
        } else {
            let (offset, layer_len) = (j * SIDE * nx + i * SIDE, cubes.layer());
            self.for_each(source, node, |layer, [at, _]| {
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
struct Adder {
    words: Sums,
    bytes: [u64; SIDE],
    waiting: u32,
}

impl Default for Adder {
    fn default() -> Self {
        Self { words: [0; WIDE], bytes: [0; SIDE], waiting: 0 }
    }
}

impl Adder {
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

/// Where a cube is in the first layer of the field, and in that of its blocks.
const fn places_in(cubes: &Cubes, x: usize, y: usize) -> [usize; 2] {
    let [nx, ny, nz] = cubes.size;
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
