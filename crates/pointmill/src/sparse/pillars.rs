//! Features of the points of pillars.

use crate::device::{Buffer, Side, Stream, workspace};
use crate::{Argument, Device, Dtype, Ints, Result, Rows, ensure, par};
use pointmill_core::sparse::{PillarGrid, features_of_point, mean};
use pointmill_kernels::prim::Length;
use pointmill_kernels::sparse as kernels;
use pointmill_kernels::sparse::PILLARS_OF_BLOCK;
use rayon::prelude::*;

/// Points that a thread takes at least.
const POINTS_OF_A_THREAD: usize = 4096;
/// The most slots of a pillar.
const MAX_SLOTS: usize = 1 << 20;
/// The most features of a point: a block of the kernel counts those of 64 pillars in 32 bits.
const MAX_FEATURES: u32 = 63;

/// Parameters of features of pillars.
///
/// ```
/// use pointmill::sparse::PillarParams;
/// let params = PillarParams::new([0.32, 0.32, 10.0], [-76.8, -76.8, -3.0]);
/// assert_eq!(params.features, 9);
/// assert!(params.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PillarParams {
    /// Features of a point: 5 more than it has columns, or 6 more, with z less the centre; default 9.
    pub features: u32,
    /// The edges of a pillar along x, y, z in metres; default 0.16, 0.16, 4.
    pub voxel_size: [f32; 3],
    /// The least corner of the range of the pillars; default 0, -39.68, -3.
    pub origin: [f32; 3],
}

impl Default for PillarParams {
    fn default() -> Self {
        Self::new([0.16, 0.16, 4.0], [0.0, -39.68, -3.0])
    }
}

impl PillarParams {
    /// Nine features of pillars of this size, in a range with this least corner.
    pub const fn new(voxel_size: [f32; 3], origin: [f32; 3]) -> Self {
        Self { features: 9, voxel_size, origin }
    }

    /// Checks everything that does not depend on the points.
    ///
    /// # Errors
    /// Features out of range, a size that is not above 0, or an origin that is not finite.
    pub fn validate(&self) -> Result<()> {
        let fits = (8..=MAX_FEATURES).contains(&self.features);
        ensure(fits, Argument::Features, format_args!("8 to {MAX_FEATURES}"), self.features)?;
        let (size, origin) = (format_args!("{:?}", self.voxel_size), format_args!("{:?}", self.origin));
        let positive = self.voxel_size.iter().all(|&size| size > 0.0 && size.is_finite());
        ensure(positive, Argument::VoxelSize, "three finite sizes above 0", size)?;
        ensure(self.origin.iter().all(|o| o.is_finite()), Argument::Origin, "three finite numbers", origin)
    }

    const fn grid(&self) -> PillarGrid {
        PillarGrid { size: self.voxel_size, origin: self.origin }
    }
}

/// The rows of a buffer, which must have as many.
fn rows_of<'a>(buffer: &'a Buffer<i32>, argument: Argument, rows: usize, columns: usize) -> Result<Ints<'a>> {
    let expected = format_args!("{rows} x {columns} values");
    ensure(buffer.len() / columns >= rows, argument, expected, buffer.len())?;
    Ok(Ints::first(buffer, rows * columns))
}

/// Pillars, as `voxelize` makes them.
///
/// **Shapes**: points `[V * T, C]` of `f32`, T slots a pillar, the points of a pillar in its first
/// slots; how many points each pillar has `[V]`; cells `[V, 3]` of z, y, x, or `[V, 4]` with the item
/// first. More points than T count as T, fewer than 0 as none.
///
/// ```
/// use pointmill::sparse::{PillarParams, PillarPoints, pillar_features};
/// use pointmill::{Device, Rows};
/// let slots = [[1.0f32, 2.0, 0.0, 0.5], [0.0; 4]];
/// let pillars = PillarPoints::new(&slots, 2, &[1], &[0, 2, 1])?;
/// let params = PillarParams::new([1.0, 1.0, 4.0], [0.0; 3]);
/// let features = pillar_features(pillars, &params, &Device::cpu())?.read(18)?;
/// assert_eq!(features[..9], [1.0, 2.0, 0.0, 0.5, 0.0, 0.0, 0.0, -0.5, -0.5]);
/// assert_eq!(features[9..], [0.0; 9]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PillarPoints<'a> {
    voxels: Rows<'a>,
    slots: usize,
    num_points: Ints<'a>,
    cells: Ints<'a>,
    cell_columns: usize,
    rows: usize,
}

impl<'a> PillarPoints<'a> {
    /// Pillars of `slots` slots; numbers of points and cells in memory of the host.
    ///
    /// # Errors
    /// Slots that are no whole pillars, arrays of other lengths.
    pub fn new(voxels: impl Into<Rows<'a>>, slots: usize, num_points: &'a [i32], cells: &'a [i32]) -> Result<Self> {
        let (voxels, rows) = Self::rows(voxels.into(), slots)?;
        let expected = format_args!("{rows} numbers, as many as pillars");
        ensure(num_points.len() == rows, Argument::NumPoints, expected, num_points.len())?;
        let cell_columns = if cells.len() == rows * 4 { 4 } else { 3 };
        let expected = format_args!("{rows} x 3 or {rows} x 4 values");
        ensure(cells.len() == rows * cell_columns, Argument::Coords, expected, cells.len())?;
        Ok(Self { voxels, slots, num_points: num_points.into(), cells: cells.into(), cell_columns, rows })
    }

    /// The same with buffers, of cells with `cell_columns` columns, 3 or 4.
    ///
    /// # Errors
    /// As [`PillarPoints::new`], buffers that have fewer values.
    pub fn on_device(
        voxels: impl Into<Rows<'a>>,
        slots: usize,
        num_points: &'a Buffer<i32>,
        cells: &'a Buffer<i32>,
        cell_columns: usize,
    ) -> Result<Self> {
        let (voxels, rows) = Self::rows(voxels.into(), slots)?;
        ensure(matches!(cell_columns, 3 | 4), Argument::Coords, "3 or 4 columns", cell_columns)?;
        let num_points = rows_of(num_points, Argument::NumPoints, rows, 1)?;
        let cells = rows_of(cells, Argument::Coords, rows, cell_columns)?;
        Ok(Self { voxels, slots, num_points, cells, cell_columns, rows })
    }

    fn rows(voxels: Rows<'a>, slots: usize) -> Result<(Rows<'a>, usize)> {
        let fits = (1..=MAX_SLOTS).contains(&slots) && voxels.len().is_multiple_of(slots);
        let expected = "whole pillars of 1 to 2^20 slots";
        ensure(fits, Argument::Voxels, expected, format_args!("{} slots of {slots}", voxels.len()))?;
        Ok((voxels, voxels.len() / slots))
    }

    fn check(&self, params: &PillarParams, stream: &Stream) -> Result<()> {
        let (columns, features) = (self.voxels.columns(), params.features as usize);
        let (least, most) = (features.saturating_sub(6).max(3), features.saturating_sub(5));
        let expected = format_args!("{least} or {most} columns for {features} features");
        ensure((least..=most).contains(&columns), Argument::Voxels, expected, columns)?;
        self.voxels.check(Argument::Voxels, stream, &[Dtype::F32])?;
        let expected = "fewer than 2^31 slots";
        ensure(self.voxels.len() < 1 << 31, Argument::Voxels, expected, self.voxels.len())?;
        self.num_points.check(Argument::NumPoints, stream)?;
        self.cells.check(Argument::Coords, stream)
    }
}

/// What a network of pillars sees of their points.
///
/// **Shapes**: see [`PillarPoints`]. The result is `[V, T, F]`: the columns of the point; x, y, z
/// less the mean of the pillar's points; x, y less the centre of the pillar, and z too where
/// features are 6 more than columns. Slots without a point are 0. The `PillarVFE` of OpenPCDet and
/// the `PillarFeatureNet` of mmdet3d 1.x have 10 features of 4 columns, and 11 of 5.
///
/// **Order and determinism**: as the pillars. Means are added up in `f64` in the order of slots;
/// differences are of `f64` and rounded once to `f32`. The same bits on every device, in every run
/// and with any number of threads.
///
/// **Limits**: fewer than 2^31 slots, 2^20 a pillar.
///
/// # Errors
/// Parameters out of range, columns that do not fit the features, out of memory, a lost device.
///
/// ```
/// use pointmill::sparse::{PillarParams, PillarPoints, pillar_features};
/// use pointmill::Device;
/// let slots = [[1.0f32, 1.0, 1.0, 0.5, 0.0], [2.0, 1.0, 1.0, 0.5, 0.1]];
/// let pillars = PillarPoints::new(&slots, 2, &[2], &[0, 0, 0])?;
/// let params = PillarParams { features: 11, ..PillarParams::new([4.0; 3], [0.0; 3]) };
/// let features = pillar_features(pillars, &params, &Device::cpu())?.read(22)?;
/// assert_eq!(features[5..11], [-0.5, 0.0, 0.0, -1.0, -1.0, -1.0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn pillar_features(pillars: PillarPoints<'_>, params: &PillarParams, device: &Device) -> Result<Buffer<f32>> {
    let stream = device.stream()?;
    let mut out = stream.alloc(0)?;
    PillarEncoder::new(&stream, params)?.run(pillars, &mut out)?;
    Ok(out)
}

workspace! {
    /// Memory that calls use again.
    struct Staging(stream) {
        stream: Stream,
        voxels: Buffer<u8>,
        num_points: Buffer<i32>,
        cells: Buffer<i32>,
    }
}

/// Makes features call after call, and keeps its memory. On a GPU a call is one launch, and can be
/// recorded in a graph.
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::{PillarEncoder, PillarParams, PillarPoints};
/// let stream = Device::auto().stream()?;
/// let mut encoder = PillarEncoder::new(&stream, &PillarParams::new([1.0; 3], [0.0; 3]))?;
/// let mut out = stream.alloc(0)?;
/// encoder.run(PillarPoints::new(&[[0.5f32, 0.5, 0.5, 1.0]], 1, &[1], &[0, 0, 0])?, &mut out)?;
/// assert_eq!(out.read(9)?, [0.5, 0.5, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct PillarEncoder {
    stream: Stream,
    params: PillarParams,
    side: Side<(), Staging>,
}

impl PillarEncoder {
    /// An encoder whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters out of range; out of memory.
    pub fn new(stream: &Stream, params: &PillarParams) -> Result<Self> {
        params.validate()?;
        let side = Side::new(stream, || Ok(()), || Staging::new(stream))?;
        Ok(Self { stream: stream.clone(), params: *params, side })
    }

    /// Fills `out`. See [`pillar_features`].
    ///
    /// # Errors
    /// As [`pillar_features`]; a result on another device.
    pub fn run(&mut self, pillars: PillarPoints<'_>, out: &mut Buffer<f32>) -> Result<()> {
        let params = self.params;
        pillars.check(&params, &self.stream)?;
        self.stream.check_memory(Argument::Out, "memory of", out.stream())?;
        let streams = [pillars.voxels.stream(), pillars.num_points.stream(), pillars.cells.stream()];
        let len = pillars.voxels.len() * params.features as usize;
        let Self { stream, side, .. } = self;
        side.fill(
            stream,
            &streams,
            out,
            |(), out| {
                out.reserve(len)?;
                on_cpu(&pillars, &params, &mut out.host_values()[..len]);
                Ok(())
            },
            |staging, out| {
                out.reserve(len)?;
                staging.launch(&pillars, &params, out)
            },
        )
    }
}

fn on_cpu(pillars: &PillarPoints<'_>, params: &PillarParams, out: &mut [f32]) {
    let (voxels, grid) = (pillars.voxels.host::<f32>().unwrap_or_default(), params.grid());
    let [num_points, cells] = [pillars.num_points, pillars.cells].map(|ints| ints.host().unwrap_or_default());
    let (columns, width, slots) = (pillars.voxels.columns(), params.features as usize, pillars.slots);
    let rows = out.par_chunks_exact_mut(slots * width).with_min_len(par::grain(POINTS_OF_A_THREAD.div_ceil(slots)));
    rows.enumerate().for_each(|(row, out)| {
        let points = &voxels[row * slots * columns..][..slots * columns];
        let n = num_points[row].clamp(0, slots as i32);
        let means = [0, 1, 2].map(|axis| mean(n as u32, |i| points[i as usize * columns + axis]));
        let cell = &cells[row * pillars.cell_columns..][..pillars.cell_columns];
        let centers = [0, 1, 2].map(|axis| grid.center(axis, cell[cell.len() - 1 - axis]));
        out.fill(0.0);
        for (point, out) in points.chunks_exact(columns).zip(out.chunks_exact_mut(width)).take(n as usize) {
            for (k, feature) in out.iter_mut().enumerate() {
                *feature = features_of_point(k, columns, |c| point[c], |axis| means[axis], |axis| centers[axis]);
            }
        }
    });
}

impl Staging {
    fn launch(&mut self, pillars: &PillarPoints<'_>, params: &PillarParams, out: &Buffer<f32>) -> Result<()> {
        let rows = pillars.rows as u32;
        let args = kernels::PillarsArgs {
            voxels: pillars.voxels.address(&mut self.voxels)?,
            num_points: pillars.num_points.address(&mut self.num_points)?,
            cells: pillars.cells.address(&mut self.cells)?,
            cell_columns: pillars.cell_columns as u32,
            n: Length::known(rows),
            rows,
            slots: pillars.slots as u32,
            columns: pillars.voxels.columns() as u32,
            features: params.features,
            grid: params.grid(),
            out: out.pointer(),
        };
        if rows == 0 {
            return Ok(());
        }
        // SAFETY: the arrays have so many rows, and room was made for all features.
        unsafe { self.stream.launch::<kernels::Pillars>(rows.div_ceil(PILLARS_OF_BLOCK), args) }
    }
}
