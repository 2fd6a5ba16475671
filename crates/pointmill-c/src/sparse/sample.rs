//! One point of each cell.

use crate::array::{Outcome, View, lent, pointmill_array};
use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{choice, create, defaults, destroy, given_or, some, splits, structs};
use crate::stream::{of, pointmill_stream};
use pointmill::sparse::{GridOrigin, GridSampleParams, GridSampler, Pick, Sampled};
use pointmill::{Aabb, Argument, Stream};
use std::ffi::c_char;

/// Which point of a cell is taken.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum pointmill_pick {
    /// The first.
    POINTMILL_PICK_FIRST = 0,
    /// The nearest to the centre of the cell.
    POINTMILL_PICK_NEAREST = 1,
    /// The one with the number `pick_value`, modulo how many there are.
    POINTMILL_PICK_NTH = 2,
    /// One by chance, decided by the seed `pick_value` and the cell.
    POINTMILL_PICK_RANDOM = 3,
}

/// Parameters of grid sampling.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_grid_sample_params {
    /// sizeof(pointmill_grid_sample_params)
    pub struct_size: usize,
    /// Edges of a cell along x, y, z in metres; default 0.05.
    pub grid_size: [f32; 3],
    /// Whether the grid begins at the lower corner of `range`, whose cells are all there are; else at
    /// the least coordinates of the points. Default 0.
    pub has_range: u32,
    /// Least x, y, z, then largest.
    pub range: [f32; 6],
    /// A pointmill_pick; default the first.
    pub pick: u32,
    /// The number or the seed of the pick.
    pub pick_value: u64,
    /// Cells that there is room for; default 0, as many as points.
    pub capacity: u64,
}
structs!(pointmill_grid_sample_params);

impl pointmill_grid_sample_params {
    fn new() -> Self {
        let GridSampleParams { grid_size, .. } = GridSampleParams::default();
        let struct_size = size_of::<Self>();
        Self { struct_size, grid_size, has_range: 0, range: [0.0; 6], pick: 0, pick_value: 0, capacity: 0 }
    }

    fn params(&self) -> Result<GridSampleParams> {
        let [a, b, c, d, e, f] = self.range;
        let nth = u32::try_from(self.pick_value);
        let picks = [Pick::First, Pick::Nearest, Pick::Nth(nth.unwrap_or(0)), Pick::Random { seed: self.pick_value }];
        let pick = choice(&picks, self.pick, "pick")?;
        if matches!(pick, Pick::Nth(_)) && nth.is_err() {
            return Err(Fault::new("pick_value", "a number below 2^32 for POINTMILL_PICK_NTH", self.pick_value));
        }
        let range = GridOrigin::Range(Aabb::new([a, b, c], [d, e, f]));
        Ok(GridSampleParams {
            grid_size: self.grid_size,
            origin: if self.has_range == 0 { GridOrigin::Min } else { range },
            pick,
            capacity: Some(self.capacity as usize).filter(|&most| most > 0),
        })
    }
}

/// Takes one point of each cell, call after call.
#[derive(Debug)]
pub struct pointmill_grid_sampler {
    stream: Stream,
    worker: GridSampler,
    sampled: Sampled,
    outcome: Outcome,
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_grid_sample_params_init(params: *mut pointmill_grid_sample_params) -> pointmill_status {
    defaults(params, pointmill_grid_sample_params::new)
}

/// A sampler whose work goes to the stream. Pass NULL to use the default parameters.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_grid_sampler_create(
    stream: Option<&pointmill_stream>,
    params: *const pointmill_grid_sample_params,
    sampler: Option<&mut *mut pointmill_grid_sampler>,
) -> pointmill_status {
    guard(|| {
        create(sampler, || {
            let stream = of(stream)?;
            let params = given_or(params, pointmill_grid_sample_params::new)?.params()?;
            let worker = GridSampler::new(stream, &params)?;
            let outcome = Outcome::none("pointmill_grid_sampler_run");
            Ok(pointmill_grid_sampler { sampled: worker.output()?, worker, stream: stream.clone(), outcome })
        })
    })
}

/// Samples points [N, C] of f32, x, y, z first; with `row_splits` those of several items. On a GPU it
/// only queues work.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_grid_sampler_run(
    sampler: Option<&mut pointmill_grid_sampler>,
    points: *const pointmill_array,
    row_splits: *const u64,
    num_splits: u64,
) -> pointmill_status {
    guard(|| {
        let pointmill_grid_sampler { stream, worker, sampled, outcome } = some(sampler, "sampler")?;
        outcome.of(|| {
            let (points, splits) = (lent(points, Argument::Points, stream)?, splits(row_splits, num_splits)?);
            Ok(worker.run(points.rows()?, splits.as_deref(), sampled)?)
        })
    })
}

/// An array of the last call, of i32: "grid_coord" [V, 3], x, y, z; "batch", "rows" and "num_points"
/// [V]; "inverse" [N]. V is the capacity. "counts" [5] of u32: cells, cells beyond the capacity, points
/// that are not finite, outside (without a range too: a stray point moves the grid away from the
/// others), and of cells beyond the capacity.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_grid_sampler_array(
    sampler: Option<&pointmill_grid_sampler>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_grid_sampler { stream, sampled: s, outcome, .. } = some(sampler, "sampler")?;
        outcome.give(|| View::of(s, &[("counts", s.counts())]), name, stream, array)
    })
}

/// Destroys the sampler and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_grid_sampler_destroy(sampler: Option<Box<pointmill_grid_sampler>>) {
    destroy(sampler);
}
