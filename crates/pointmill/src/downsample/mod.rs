//! Downsampling: a cloud with one point for each voxel.
//!
//! [`downsample`] needs no range: the grid lies around the finite points. A [`Downsampler`] keeps
//! its memory between calls. The voxels, their order and their means are those of
//! [`voxelize`](crate::voxelize), so the same points give the same bits on every device.
//!
//! # Cells
//! The corner of the grid is a multiple of the voxel size on each axis, see [`VoxelGrid::around`].
//! It is relative to the origin of a cloud about one. It does not depend on the order of the
//! points.
//!
//! # Order
//! Rows are in first-seen order: by the smallest index of their voxel's points.

mod choose;
mod params;
mod result;
#[cfg(test)]
mod tests;

pub use params::{DownsampleParams, Keep};
pub use result::{DownsampleReport, Downsampled, DownsampledArray};

use crate::arrays::Arrays;
use crate::device::Output;
use crate::voxelize::{MAX_POINTS, Outputs, VoxelArray, VoxelizeParams, Voxelizer, Voxels};
use crate::worker::{Input, InputKind, Inputs, Worker};
use crate::{Aabb, Argument, Buffer, Device, Dtype, Result, Rows, Stream, VoxelGrid, par};
use rayon::prelude::*;
use result::Made;

/// Points that a thread looks at at least for the bounds.
const BOUNDED_BY_A_THREAD: usize = 1 << 15;

/// Keeps one point for each voxel of a cloud.
///
/// **Shapes**: `points` `[N, C]` of `f32` with 3 <= C <= 64; the result is `[V, C]`.
///
/// **Units and frames**: metres, in the frame of the points.
///
/// **Order and determinism**: see the [module](self); the same bits everywhere.
///
/// **Limits**: N < 2^30, at most 2^63 cells. On a GPU the points are also copied to the host, for
/// their bounds.
///
/// # Errors
/// A voxel size that is not finite and positive, or too small for the extent of the points; too
/// many points or columns, out of memory, a lost device.
///
/// ```
/// use pointmill::downsample::{DownsampleParams, downsample};
/// use pointmill::{Device, Points};
/// let points = [0.1, 0.1, 0.0, /**/ 0.3, 0.1, 0.0, /**/ 1.5, 0.0, 0.0, /**/ f32::NAN, 0.0, 0.0];
/// let thin = downsample(Points::new(&points, 3)?, &DownsampleParams::new([1.0; 3]), &Device::cpu())?;
/// assert_eq!(thin.read()?, [0.2, 0.1, 0.0, 1.5, 0.0, 0.0]);
/// assert_eq!((thin.report().kept, thin.report().non_finite), (2, 1));
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn downsample<'a>(points: impl Into<Rows<'a>>, params: &DownsampleParams, device: &Device) -> Result<Downsampled> {
    Downsampler::new(&device.stream()?, params)?.run(points)
}

/// Downsamples cloud after cloud, and keeps its memory.
///
/// ```
/// use pointmill::downsample::{DownsampleParams, Downsampler, Keep};
/// use pointmill::{Device, Points};
/// let params = DownsampleParams { keep: Keep::First, ..DownsampleParams::new([1.0; 3]) };
/// let mut downsampler = Downsampler::new(&Device::auto().stream()?, &params)?;
/// for x in [0.0, 1e5] {
///     let thin = downsampler.run(Points::new(&[x, 0.5, 0.5, x + 0.5, 0.5, 0.5], 3)?)?;
///     assert_eq!(thin.read()?, [x, 0.5, 0.5]);
/// }
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Downsampler {
    params: DownsampleParams,
    voxelizer: Voxelizer,
    voxels: Voxels,
}

impl Downsampler {
    /// A downsampler whose work goes to `stream`.
    ///
    /// # Errors
    /// A voxel size that is not finite and positive; out of memory.
    pub fn new(stream: &Stream, params: &DownsampleParams) -> Result<Self> {
        let voxelizer = Voxelizer::new(stream, &params.voxels(VoxelGrid::around(params.voxel_size, NOWHERE)?))?;
        Ok(Self { params: *params, voxels: voxelizer.output()?, voxelizer })
    }

    /// An empty result to be filled.
    ///
    /// # Errors
    /// Out of memory.
    pub fn output(&self) -> Result<Downsampled> {
        Downsampled::empty(self.voxels.stream())
    }

    /// Downsamples one cloud. On a GPU this waits for the number of voxels.
    ///
    /// # Errors
    /// As [`downsample`].
    pub fn run<'a>(&mut self, points: impl Into<Rows<'a>>) -> Result<Downsampled> {
        let mut out = self.output()?;
        out.take(self.make(points.into())?)?;
        Ok(out)
    }

    fn make(&mut self, rows: Rows<'_>) -> Result<Made> {
        let Self { params, voxelizer, voxels } = self;
        let stream = voxels.stream().clone();
        let (device, columns) = (stream.device(), rows.columns());
        let copy = rows.f32_on_host()?;
        let bounds = device.install(|| bounds(&copy, columns));
        voxelizer.set_params(params.voxels(VoxelGrid::around(params.voxel_size, bounds.unwrap_or(NOWHERE))?))?;
        voxelizer.run(rows, voxels)?;
        let counted = voxels.report()?;
        let report = DownsampleReport { points: counted.points, kept: counted.voxels, non_finite: counted.non_finite };
        let choosing = params.keep.chooses();
        let coords = match voxels.array(VoxelArray::Coords).and_then(|coords| coords.typed::<i32>()) {
            Some(coords) if choosing => coords.read(3 * report.kept)?,
            _ => Vec::new(),
        };
        let mut arrays = voxels.exchange(Arrays::new(&stream))?;
        let mut lists = [VoxelArray::RowSplits, VoxelArray::Indices].map(|array| {
            arrays.take(array).and_then(|buffer| buffer.into_typed::<u32>()).expect("lists were asked for")
        });
        let array = if params.keep == Keep::Mean { VoxelArray::Mean } else { VoxelArray::Voxels };
        let made = arrays.take(array).and_then(|buffer| buffer.into_typed());
        let [row_splits, indices] = &mut lists;
        row_splits.sync_len();
        indices.sync_len();
        let (points, chosen) = match made {
            Some(points) => (points, None),
            None => {
                let splits = row_splits.read(report.kept + 1)?;
                let indices = indices.read(splits[report.kept] as usize)?;
                let cells =
                    choose::Cells { grid: voxelizer.grid(), coords: &coords, splits: &splits, indices: &indices };
                let (rows, chosen) = device.install(|| {
                    let chosen = cells.choose(params, &copy, columns)?;
                    Ok::<_, crate::Error>((choose::gather(&copy, columns, &chosen)?, chosen))
                })?;
                (Buffer::of_host(&stream, rows)?, Some(chosen))
            }
        };
        let [row_splits, indices] = lists;
        Ok(Made { points, columns, row_splits, indices, listed: counted.points_kept, report, chosen })
    }
}

impl Worker for Downsampler {
    type Params = DownsampleParams;
    type Out = Downsampled;
    const NAME: &'static str = "downsample";
    const INPUTS: &'static [Input] = &[Input::new(
        Argument::Points,
        InputKind::Rows(None, &[Dtype::F32]),
        "[N, C]",
        "x, y, z in metres, then whatever is carried along; 3 to 64 columns.",
    )];

    fn new(stream: &Stream, params: &DownsampleParams) -> Result<Self> {
        Self::new(stream, params)
    }

    fn output(&self) -> Result<Downsampled> {
        self.output()
    }

    fn run(&mut self, inputs: &Inputs<'_>, out: &mut Downsampled) -> Result<()> {
        self.voxels.stream().check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let made = self.make(inputs.rows(Argument::Points)?)?;
        out.take(made)
    }
}

/// The bounds of no points: their grid has one cell.
const NOWHERE: Aabb = Aabb::new([0.0; 3], [0.0; 3]);

/// The smallest box around the finite points of rows; `None` without one.
fn bounds(values: &[f32], columns: usize) -> Option<Aabb> {
    let xyz = |row: &[f32]| row.first_chunk::<3>().copied();
    let of = |values: &[f32]| Aabb::around(values.chunks_exact(columns).filter_map(xyz));
    let parts = values.par_chunks(BOUNDED_BY_A_THREAD * columns).with_min_len(par::grain(1)).filter_map(of);
    parts.reduce_with(|a, b| Aabb {
        min: [0, 1, 2].map(|k| a.min[k].min(b.min[k])),
        max: [0, 1, 2].map(|k| a.max[k].max(b.max[k])),
    })
}

impl DownsampleParams {
    /// The parameters of the voxelizer: all voxels, with lists.
    fn voxels(&self, grid: VoxelGrid) -> VoxelizeParams {
        let outputs = Outputs {
            voxels: self.keep == Keep::First,
            mean: (self.keep == Keep::Mean).then(Default::default),
            point_to_voxel: false,
            lists: true,
            padded: false,
        };
        VoxelizeParams {
            max_voxels: MAX_POINTS as u32,
            max_points_per_voxel: (self.keep == Keep::First).then_some(1),
            outputs,
            ..VoxelizeParams::new(self.voxel_size, *grid.range())
        }
    }
}
