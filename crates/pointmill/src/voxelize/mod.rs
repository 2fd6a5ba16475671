//! Sweeps into voxels, the first step of LiDAR detectors.
//!
//! A [`Voxelizer`] keeps its memory between calls; [`voxelize`] is the one-shot form. The same
//! points give the same bits on every device, in every run and with any number of threads.
//!
//! # Cells
//! `floor((p - min) / voxel_size)` per axis in `f32`, see [`VoxelGrid`]. NaN and infinities are
//! out.
//!
//! # Order and caps
//! Rows are in first-seen order (by the smallest index of their points) or sorted by cell id. The
//! first `max_voxels` rows stay. Of a row's points `max_points_per_voxel` stay, in input order:
//! the first, or those of another [`Pick`], which lists all points first and takes longer.
//!
//! # Source
//! The semantics of the deterministic hard voxelization of mmcv and of spconv's CPU generator.

mod arrays;
mod cpu;
mod gpu;
mod params;
mod report;
mod result;
#[cfg(test)]
mod tests;

pub use arrays::{VoxelArray, VoxelArrays};
pub use params::{MeanType, Outputs, Pick, RowOrder, VoxelizeParams};
pub use report::Report;
pub use result::Voxels;

use crate::arrays::{ArraySpec, Arrays};
use crate::device::{Buffer, Device, Side, Stream};
use crate::{Argument, Dtype, Error, Points, Result, Rows, VoxelGrid, ensure};
use arrays::Extent;
pub use pointmill_core::reduction::Reduction;

/// Most points of one call.
pub const MAX_POINTS: usize = (1 << 30) - 1;
/// Most columns of a point.
pub const MAX_COLUMNS: usize = 64;
/// Largest cap on the points of a voxel; for more there is dynamic voxelization.
pub const MAX_POINTS_PER_VOXEL: u32 = (1 << 20) - 1;

/// Voxelizes one cloud.
///
/// **Shapes**: `points` `[N, C]` with 3 <= C <= 64; the result is described at [`Voxels`].
///
/// **Units and frames**: metres, in the frame of the points.
///
/// **Order and determinism**: see the [module](self); the same bits everywhere.
///
/// **Limits**: N < 2^30, at most 2^63 cells.
///
/// # Errors
/// Parameters that make no grid, caps of zero, too many points or columns, out of memory, a lost
/// device.
///
/// ```
/// use pointmill::voxelize::{VoxelizeParams, voxelize};
/// use pointmill::{Aabb, Device, Points};
///
/// let range = Aabb::new([0.0; 3], [4.0, 4.0, 1.0]);
/// let params = VoxelizeParams { max_points_per_voxel: Some(1), ..VoxelizeParams::new([1.0; 3], range) };
/// let points = [2.5, 0.5, 0.5, /**/ 2.6, 0.5, 0.5, /**/ 0.5, 0.5, 0.5, /**/ 9.0, 0.0, 0.0];
/// let voxels = voxelize(Points::new(&points, 3)?, &params, &Device::cpu())?;
/// let report = voxels.report()?;
/// assert_eq!((report.voxels, report.points_dropped_full_voxel, report.out_of_range), (2, 1, 1));
/// assert_eq!(voxels.read()?.coords, [0, 0, 2, 0, 0, 0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn voxelize<'a>(points: impl Into<Rows<'a>>, params: &VoxelizeParams, device: &Device) -> Result<Voxels> {
    let mut voxelizer = Voxelizer::new(&device.stream()?, params)?;
    let mut voxels = voxelizer.output()?;
    voxelizer.run(points, &mut voxels)?;
    Ok(voxels)
}

/// Voxelizes sweep after sweep, and keeps its memory.
///
/// Once it has seen the largest sweep, a call allocates nothing. On a GPU a call only queues work;
/// what it takes to know the number of voxels is
/// [`Voxels::num_voxels`], and with [`Outputs::padded`] nobody needs to wait for it.
///
/// ```
/// use pointmill::voxelize::{VoxelizeParams, Voxelizer};
/// use pointmill::{Device, Points};
///
/// let mut voxelizer = Voxelizer::new(&Device::auto().stream()?, &VoxelizeParams::default())?;
/// let mut voxels = voxelizer.output()?;
/// for sweep in [[1.0, 2.0, 0.0], [1.5, 2.5, 0.0]] {
///     voxelizer.run(Points::new(&sweep, 3)?, &mut voxels)?;
///     assert_eq!(voxels.num_voxels()?, 1);
/// }
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Voxelizer {
    params: VoxelizeParams,
    grid: VoxelGrid,
    stream: Stream,
    side: Side<cpu::Workspace, gpu::Workspace>,
}

/// What a call works on, after all checks.
#[derive(Clone, Copy, Debug)]
struct Job<'a> {
    input: Rows<'a>,
    /// Where each sample's points start; `None` for one cloud without a batch index.
    row_splits: Option<&'a [usize]>,
    params: &'a VoxelizeParams,
    grid: &'a VoxelGrid,
}

impl Job<'_> {
    fn samples(&self) -> usize {
        self.row_splits.map_or(1, |splits| splits.len() - 1)
    }

    /// No result can have more rows than this; a padded one has just as many.
    fn rows_bound(&self) -> usize {
        let caps = self.samples().saturating_mul(self.params.max_voxels as usize);
        if self.params.outputs.padded { caps } else { caps.min(self.input.len()) }
    }

    /// 3, or 4 with the sample in front.
    fn coord_columns(&self) -> usize {
        if self.row_splits.is_some() { 4 } else { 3 }
    }
}

impl Voxelizer {
    /// A voxelizer whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters that make no grid or caps of zero; out of memory.
    pub fn new(stream: &Stream, params: &VoxelizeParams) -> Result<Self> {
        let grid = params.grid()?;
        let side = Side::new(stream, || Ok(cpu::Workspace::new()), || gpu::Workspace::new(stream))?;
        Ok(Self { params: params.clone(), grid, stream: stream.clone(), side })
    }

    /// The parameters.
    pub const fn params(&self) -> &VoxelizeParams {
        &self.params
    }

    /// Takes other parameters, and keeps its memory.
    pub(crate) fn set_params(&mut self, params: VoxelizeParams) -> Result<()> {
        self.grid = params.grid()?;
        self.params = params;
        Ok(())
    }

    /// The grid that the parameters make.
    pub const fn grid(&self) -> &VoxelGrid {
        &self.grid
    }

    /// An empty result for [`Voxelizer::run`] to fill; its buffers grow as needed and are used
    /// again.
    ///
    /// # Errors
    /// Out of memory.
    pub fn output(&self) -> Result<Voxels> {
        Voxels::new(&self.stream)
    }

    /// Voxelizes one cloud.
    ///
    /// # Errors
    /// As [`voxelize`]; `voxels` from another device.
    pub fn run<'a>(&mut self, points: impl Into<Rows<'a>>, voxels: &mut Voxels) -> Result<()> {
        self.run_checked(points.into(), None, voxels, |_, _| Ok(()))
    }

    /// Voxelizes several clouds in one call; the caps hold for each.
    ///
    /// `row_splits` says where each sample's points start: `B + 1` ascending numbers from 0 to N.
    /// Coordinates get the sample in front, and rows are grouped by sample; [`Voxels::read`] says
    /// where each sample's rows start.
    ///
    /// # Errors
    /// As [`Voxelizer::run`]; splits that are not such.
    pub fn run_batch<'a>(
        &mut self,
        points: impl Into<Rows<'a>>,
        row_splits: &[usize],
        voxels: &mut Voxels,
    ) -> Result<()> {
        self.run_checked(points.into(), Some(row_splits), voxels, |_, _| Ok(()))
    }

    /// See [`interop::voxelize_into`](crate::interop::voxelize_into).
    pub(crate) fn run_into<E: From<Error>>(
        &mut self,
        points: Rows<'_>,
        row_splits: Option<&[usize]>,
        voxels: &mut Voxels,
        arrays: impl FnOnce(&[ArraySpec<VoxelArray>]) -> std::result::Result<Arrays<VoxelArray>, E>,
    ) -> std::result::Result<Arrays<VoxelArray>, E> {
        self.run_checked(points, row_splits, voxels, |voxels, extent| {
            Ok(voxels.exchange(arrays(&extent.bound().collect::<Vec<_>>())?)?)
        })
    }

    /// Calls `arrays` once in the course of the call, before anything but counters is written to
    /// the result, and returns what it does.
    fn run_checked<R, E: From<Error>>(
        &mut self,
        input: Rows<'_>,
        row_splits: Option<&[usize]>,
        voxels: &mut Voxels,
        arrays: impl FnOnce(&mut Voxels, &Extent) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let Self { params, grid, stream, side } = self;
        let job = Job { input, row_splits, params, grid };
        check_input(&job, stream)?;
        stream.check_memory(Argument::Voxels, "a result on", voxels.stream())?;
        let extent = Extent::new(&job);
        let made = stream.in_order_with(&[input.stream()], voxels, |voxels| {
            // Until all is done nothing can be read of it.
            voxels.clear();
            match side {
                Side::Cpu(workspace) => {
                    let points = host_points(&input)?;
                    let made = arrays(voxels, &extent)?;
                    stream.device().install(|| cpu::run(&job, &extent, points, workspace, voxels))?;
                    Ok::<_, E>(made)
                }
                Side::Gpu(workspace) => workspace.run(&job, &extent, voxels, |voxels| arrays(voxels, &extent)),
            }
        })?;
        (voxels.extent, voxels.filled) = (extent, true);
        Ok(made)
    }
}

/// Reduces `features` `[N, F]` over the points of each voxel: `[V, F]`.
///
/// The points of a voxel are those of its list ([`Outputs::lists`]): all of them in dynamic
/// voxelization, else the kept ones.
///
/// **Order and determinism**: values are added in point order, in `f32`; the mean divides once;
/// minimum and maximum ignore NaN and give NaN where there is nothing else. The same bits everywhere.
///
/// # Errors
/// A result without lists, features of another number of rows or on another device, out of memory.
pub fn scatter<'a>(voxels: &Voxels, features: impl Into<Rows<'a>>, how: Reduction) -> Result<Buffer<f32>> {
    let features = features.into();
    ensure(voxels.filled, Argument::Voxels, "a result that a call has filled", "one without rows")?;
    ensure(voxels.extent.lists, Argument::Voxels, "a result with lists (Outputs::lists)", "none")?;
    let expected = format_args!("{} rows", voxels.num_input_points());
    ensure(features.len() == voxels.num_input_points(), Argument::Features, expected, features.len())?;
    let stream = voxels.stream();
    features.check(Argument::Features, stream, &[Dtype::F32])?;
    if stream.device().is_cpu() {
        return cpu::scatter(voxels, host_points(&features)?, stream, how);
    }
    stream.in_order(&[features.stream()], || gpu::scatter(voxels, features, how))
}

/// Checks what a call depends on besides the parameters.
fn check_input(job: &Job<'_>, stream: &Stream) -> Result<()> {
    let (n, columns) = (job.input.len(), job.input.columns());
    let expected = format_args!("3 to {MAX_COLUMNS} columns");
    ensure((3..=MAX_COLUMNS).contains(&columns), Argument::Points, expected, columns)?;
    ensure(n <= MAX_POINTS, Argument::Points, format_args!("at most {MAX_POINTS} points"), n)?;
    job.input.check(Argument::Points, stream, &[Dtype::F32])?;
    if let Some(splits) = job.row_splits {
        check_row_splits(job, splits)?;
    }
    if let Pick::RoundRobin { column } = job.params.pick {
        let expected = format_args!("a column of the points, 0 to {}", columns - 1);
        ensure((column as usize) < columns, Argument::Pick, expected, column)?;
    }
    let expected = format_args!("samples x max_voxels of at most {MAX_POINTS} in a padded result");
    ensure(job.rows_bound() <= MAX_POINTS, Argument::MaxVoxels, expected, job.rows_bound())
}

/// Checks where the samples of a batch start.
fn check_row_splits(job: &Job<'_>, splits: &[usize]) -> Result<()> {
    crate::rows::check_splits(Argument::RowSplits, splits, job.input.len())?;
    let samples = job.samples() as u64;
    let expected = format_args!("at most 2^63 cells in all ({} a sample)", job.grid.num_cells());
    let got = format_args!("{samples} samples");
    let all = job.grid.num_cells().checked_mul(samples);
    ensure(all.is_some_and(|cells| cells <= 1 << 63), Argument::RowSplits, expected, got)?;
    ensure(u32::try_from(samples).is_ok(), Argument::RowSplits, "fewer than 2^32 samples", samples)
}

/// Checked values, which the CPU path finds on the host.
fn host_points<'a>(input: &Rows<'a>) -> Result<Points<'a>> {
    Ok(Points::new(input.host().expect("f32 values of the CPU"), input.columns())?)
}
