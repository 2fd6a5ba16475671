//! One point of each cell.

mod cpu;
mod gpu;
mod params;
mod result;

pub use params::{GridOrigin, GridSampleParams, Pick};
pub use result::{GridSampleReport, Sampled, SampledArray, SampledArrays};

use super::cells::MAX_ROWS;
use crate::device::{Output, Side, Stream};
use crate::{Argument, Dtype, Error, Result, Rows, ensure, rows};
pub(super) use result::SampledSizes;

/// Samples call after call, and keeps its memory: on a GPU 36 to 100 bytes a point.
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::{GridSampleParams, GridSampler};
/// let mut sampler = GridSampler::new(&Device::auto().stream()?, &GridSampleParams::new([0.5; 3]))?;
/// let mut out = sampler.output()?;
/// for x in [0.1f32, 0.9] {
///     sampler.run(&[[x, 0.0, 0.0], [0.0, 0.0, 0.0]], None, &mut out)?;
/// }
/// assert_eq!(out.read()?.inverse, [0, 1]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct GridSampler {
    stream: Stream,
    params: GridSampleParams,
    side: Side<cpu::Sampling, gpu::Workspace>,
}

impl GridSampler {
    /// A sampler whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters out of range; out of memory.
    pub fn new(stream: &Stream, params: &GridSampleParams) -> Result<Self> {
        params.validate()?;
        let side = Side::new(stream, || Ok(cpu::Sampling::default()), || gpu::Workspace::new(stream))?;
        Ok(Self { stream: stream.clone(), params: *params, side })
    }

    /// An empty result to be filled; its buffers grow as needed and are used again.
    ///
    /// # Errors
    /// Out of memory.
    pub fn output(&self) -> Result<Sampled> {
        Sampled::empty(&self.stream)
    }

    /// Takes one point of each cell. See [`grid_sample`](super::grid_sample()). `row_splits` holds
    /// `items + 1` ascending numbers from 0 to N. No call waits; one that is recorded in a graph
    /// must have the splits of the call before, and keeps them.
    ///
    /// # Errors
    /// As [`grid_sample`](super::grid_sample()); a result on another device.
    pub fn run<'a>(
        &mut self,
        points: impl Into<Rows<'a>>,
        row_splits: Option<&[usize]>,
        out: &mut Sampled,
    ) -> Result<()> {
        let points = points.into();
        points.check(Argument::Points, &self.stream, &[Dtype::F32])?;
        ensure(points.columns() >= 3, Argument::Points, "at least 3 columns: x, y, z first", points.columns())?;
        ensure(points.len() < MAX_ROWS, Argument::Points, "fewer than 2^30 points", points.len())?;
        self.stream.check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let whole = [0, points.len()];
        let splits = row_splits.unwrap_or(&whole);
        rows::check_splits(Argument::RowSplits, splits, points.len())?;
        let expected = "2 numbers or more, and fewer than 2^31";
        ensure((2..1 << 31).contains(&splits.len()), Argument::RowSplits, expected, splits.len())?;
        let grid = self.params.grid(splits.len() as u32 - 1)?;
        let Self { stream, params, side } = self;
        let capacity = params.capacity.unwrap_or(points.len());
        ensure(capacity < MAX_ROWS, Argument::Capacity, "fewer than 2^30 cells", capacity)?;
        let items = splits.len() as u32 - 1;
        let from_points = params.origin == GridOrigin::Min;
        out.items = items;
        out.ends = from_points.then(|| [0, 1, 2].map(|k| grid.range().max[k] - grid.range().min[k]));
        side.fill(
            stream,
            &[points.stream()],
            out,
            |sampling, out| {
                out.reserve(SampledSizes { cells: capacity, points: points.len() })?;
                let values =
                    points.host::<f32>().ok_or_else(|| Error::argument(Argument::Points, "host memory", "a device"))?;
                sampling.run(values, points.columns(), splits, grid, params, out)
            },
            |gpu, out| {
                out.reserve(SampledSizes { cells: capacity, points: points.len() })?;
                gpu.run(&points, splits, grid, params, out)
            },
        )
    }
}
