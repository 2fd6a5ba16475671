//! A map that is ready to be searched.

use super::bounds::{Heights, NOWHERE};
use super::field::{Cubes, SIDE, WIDE};
use super::ground::{Ground, spread};
use super::params::LevelTargetParams;
use super::values::Values;
use crate::device::{Device, Stream};
use crate::ndt::{NdtCells, NdtGrid};
use crate::{Result, memory};
use pointmill_core::ndt::LevelCell;

/// Edges of cells that a cell reaches.
const REACH: f64 = 2.0;

/// The cells of a map, prepared for [`search`](LevelTarget::search).
///
/// **Memory**: three bytes for each cube of `step` metres of the region, `range` beside it, and the
/// map's height; it is checked before it is taken.
#[derive(Debug)]
pub struct LevelTarget {
    device: Device,
    /// Of the host, on which sources are.
    stream: Stream,
    params: LevelTargetParams,
    origin: [f64; 3],
    cubes: Cubes,
    values: Values,
    /// The first place along x and y, in steps, and how many there are.
    first: [i32; 2],
    counts: [usize; 2],
    /// The ground below each place, rows of y; not a number where there is none.
    grounds: Vec<f64>,
    /// Least and largest height of the cells, in steps.
    heights: [i32; 2],
}

impl LevelTarget {
    /// Prepares the cells of a map.
    ///
    /// # Errors
    /// Parameters out of range; a region with more than 2^31 cubes around it; out of memory.
    pub fn new(grid: &NdtGrid, params: &LevelTargetParams) -> Result<Self> {
        Self::made(grid, params, false)
    }

    /// As [`Self::new`] with ground, but places without any take that of the nearest that has some.
    pub(in crate::registration) fn over_nearest_ground(grid: &NdtGrid, params: &LevelTargetParams) -> Result<Self> {
        Self::made(grid, params, true)
    }

    fn made(grid: &NdtGrid, params: &LevelTargetParams, nearest: bool) -> Result<Self> {
        let (unit, origin, cells) = (grid.lattice().unit(), grid.lattice().origin(), grid.read()?);
        let step = params.validate(unit)?;
        let ground = if params.ground { Ground::new(&cells, unit)? } else { Ground::default() };
        let Some([x0, y0, x1, y1]) = places(&cells, params, origin, unit) else {
            return Self::empty(grid, params, step);
        };
        let first = [x0, y0].map(|x| (x / step).floor() as i32);
        let counts = [x1, y1].map(|x| (x / step).ceil() as i32);
        let counts = [0, 1].map(|k| (counts[k] - first[k]) as usize + 1);

        let mut around = Vec::new();
        let (mut z, mut means) = ([f64::INFINITY, f64::NEG_INFINITY], [f64::INFINITY, f64::NEG_INFINITY]);
        let beside = params.range + REACH * unit + 2.0 * step;
        for (row, mean) in cells.mean.iter().enumerate() {
            let near = (x0 - beside..=x1 + beside).contains(&mean[0]) && (y0 - beside..=y1 + beside).contains(&mean[1]);
            if !near || ground.has(&cells, row) {
                continue;
            }
            if let Some(cell) = LevelCell::new(*mean, &cells.inverse[row], step, REACH * unit) {
                let [from, to] = cell.extent(2);
                z = [z[0].min(from), z[1].max(to)];
                means = [means[0].min(mean[2]), means[1].max(mean[2])];
                memory::push(&mut around, cell)?;
            }
        }
        if around.is_empty() {
            return Self::empty(grid, params, step);
        }
        let layers = z.map(|z| (z / step).floor() as i32);
        let margin = margin(params.range, step);
        let low = [first[0] - margin, first[1] - margin, layers[0]];
        let along = |n: usize| (n.div_ceil(WIDE) * WIDE + 2 * margin as usize + 1).next_multiple_of(SIDE);
        let size = [along(counts[0]), along(counts[1]), layers[0].abs_diff(layers[1]) as usize + 1];
        let cubes = Cubes::new(step, low, size)?;
        let values = grid.device().install(|| Values::new(&around, cubes, &grid.device()))?;
        let mut grounds = Vec::new();
        if params.ground {
            grounds = memory::filled(counts[0] * counts[1], f64::NAN)?;
            for (at, to) in grounds.iter_mut().enumerate() {
                let place = [at % counts[0], at / counts[0]];
                let [x, y] = [0, 1].map(|k| f64::from(first[k] + place[k] as i32) * step);
                *to = ground.height(x, y).unwrap_or(f64::NAN);
            }
            if nearest {
                spread(&mut grounds, counts[0])?;
            }
        }
        let heights = means.map(|z| (z / step).floor() as i32);
        Ok(Self { cubes, values, first, counts, grounds, heights, ..Self::empty(grid, params, step)? })
    }

    /// A target without a place.
    fn empty(grid: &NdtGrid, params: &LevelTargetParams, step: f64) -> Result<Self> {
        let cubes = Cubes::new(step, [0; 3], [0; 3])?;
        Ok(Self {
            device: grid.device(),
            stream: Device::cpu().stream()?,
            params: params.clone(),
            origin: grid.lattice().origin(),
            cubes,
            values: Values::new(&[], cubes, &Device::cpu())?,
            first: [0; 2],
            counts: [0; 2],
            grounds: Vec::new(),
            heights: NOWHERE,
        })
    }

    /// The parameters.
    pub const fn params(&self) -> &LevelTargetParams {
        &self.params
    }

    /// Metres from place to place.
    pub const fn step(&self) -> f64 {
        self.cubes.step
    }

    /// Whether no place of the region has ground, or nothing is around it.
    pub fn is_empty(&self) -> bool {
        self.counts.contains(&0) || (self.params.ground && self.grounds.iter().all(|ground| ground.is_nan()))
    }

    pub(super) const fn device(&self) -> &Device {
        &self.device
    }

    pub(super) const fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) const fn values(&self) -> &Values {
        &self.values
    }

    #[cfg(test)]
    pub(super) const fn first(&self) -> [i32; 2] {
        self.first
    }

    /// Cubes of the field before that of the first place.
    pub(super) fn margin(&self) -> i32 {
        margin(self.params.range, self.step())
    }

    /// The heights at which places are, for a sensor with the ground at a height.
    pub(super) fn places(&self, ground: f64) -> Result<Heights> {
        Heights::new(self.counts, |i, j| {
            if !self.params.ground {
                return self.heights;
            }
            // The two heights of the lattice beside that of the sensor.
            let height = ((self.grounds[j * self.counts[0] + i] - ground) / self.step()).floor();
            if height.is_nan() { NOWHERE } else { [height as i32, (height as i32).saturating_add(1)] }
        })
    }

    /// Where a place is in the frame of the map.
    pub(super) fn position(&self, [i, j]: [u32; 2], height: i32, ground: f64) -> [f64; 3] {
        let at = |k: usize, n: u32| (f64::from(self.first[k]) + f64::from(n)) * self.step() + self.origin[k];
        let z = match self.params.ground {
            true => self.grounds[j as usize * self.counts[0] + i as usize] - ground,
            false => f64::from(height) * self.step(),
        };
        [at(0, i), at(1, j), z + self.origin[2]]
    }
}

/// Cubes that a point reaches beside the sensor.
fn margin(range: f64, step: f64) -> i32 {
    (range / step).ceil() as i32 + 1
}

/// The box of the places about the origin of the map: the region where there are cells.
fn places(cells: &NdtCells, params: &LevelTargetParams, origin: [f64; 3], unit: f64) -> Option<[f64; 4]> {
    let mut all = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    for [x, y, _] in &cells.mean {
        all = [all[0].min(x - unit), all[1].min(y - unit), all[2].max(x + unit), all[3].max(y + unit)];
    }
    if let Some([x0, y0, x1, y1]) = params.region {
        let [x, y, _] = origin;
        all = [all[0].max(x0 - x), all[1].max(y0 - y), all[2].min(x1 - x), all[3].min(y1 - y)];
    }
    (all[0] <= all[2] && all[1] <= all[3]).then_some(all)
}
