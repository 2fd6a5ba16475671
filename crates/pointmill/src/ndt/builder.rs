//! Clouds into a grid, on a device.

use super::grid::Place;
use super::moments::{lattice_of, same};
use super::{NdtGrid, NdtMoments, NdtParams, gpu};
use crate::device::{Device, Stream};
use crate::rows::check_origin;
use crate::{Argument, Result, Rows};
use pointmill_core::ndt::NdtLattice;
use std::sync::OnceLock;

/// The grid of a cloud in cells of `resolution` metres.
///
/// **Shapes, units and frames**: see [`Rows`]; metres, in the frame of the points. If the cloud is
/// about an origin, the grid [is too](NdtBuilder::about). **Order and determinism**: rows by (z, y,
/// x); the same bits on every device, in any order of points.
///
/// **Limits**: cells from -2^20 to below 2^20 on each axis, fewer than 2^25 points a cell, fewer
/// than 2^31 points a call.
///
/// # Errors
/// A resolution that makes no lattice, parameters out of range, a point outside of the lattice, too
/// many in a cell; out of memory, a lost device.
///
/// ```
/// use pointmill::ndt::{NdtParams, ndt_grid};
/// use pointmill::{Device, Rows};
///
/// let points: Vec<f32> = (0..9).flat_map(|i| [0.25 + 0.5 * (i % 3) as f32, 0.25 + 0.5 * (i / 3) as f32, 0.5]).collect();
/// let grid = ndt_grid(Rows::f32(&points, 3)?, 2.0, &NdtParams::default(), &Device::auto())?;
/// assert_eq!(grid.read()?.mean, [[0.75, 0.75, 0.5]]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn ndt_grid<'a>(
    cloud: impl Into<Rows<'a>>,
    resolution: f64,
    params: &NdtParams,
    device: &Device,
) -> Result<NdtGrid> {
    let cloud = cloud.into();
    let mut builder = NdtBuilder::new(&device.stream()?, resolution, params)?.about(cloud.origin())?;
    builder.add(cloud)?;
    builder.finish()
}

/// Adds up clouds on a device, and makes grids of the sums; keeps its memory between clouds.
///
/// A call that fails for its arguments or for memory adds nothing, and the builder has what it had.
/// Where a device fails in the middle of a call, the builder may hold a part of its points: all
/// calls but [`NdtBuilder::clear`] then return an error.
///
/// ```
/// use pointmill::ndt::{NdtBuilder, NdtMoments, NdtParams};
/// use pointmill::{Device, Rows};
///
/// let mut builder = NdtBuilder::new(&Device::auto().stream()?, 1.0, &NdtParams::default())?;
/// builder.add(Rows::f32(&[0.5, 0.5, 0.5, /**/ 3.5, 0.5, 0.5], 3)?)?;
/// builder.add(Rows::f64(&[0.75, 0.5, 0.5], 3)?)?;
/// // The same sums as on the CPU, wherever and in whichever order they were made.
/// let mut moments = NdtMoments::new(1.0)?;
/// moments.add(Rows::f64(&[3.5, 0.5, 0.5, /**/ 0.75, 0.5, 0.5, /**/ 0.5, 0.5, 0.5], 3)?)?;
/// assert_eq!(builder.moments()?, moments);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct NdtBuilder {
    stream: Stream,
    lattice: NdtLattice,
    params: NdtParams,
    path: Path,
}

#[derive(Debug)]
enum Path {
    Cpu(NdtMoments),
    Gpu(Box<gpu::Table>),
}

impl NdtBuilder {
    /// A builder without points, whose work goes to `stream`, for cells of `resolution` metres.
    ///
    /// # Errors
    /// A resolution that makes no lattice, parameters out of range; out of memory.
    pub fn new(stream: &Stream, resolution: f64, params: &NdtParams) -> Result<Self> {
        params.validate()?;
        Self::of(stream, lattice_of(resolution)?, *params)
    }

    fn of(stream: &Stream, lattice: NdtLattice, params: NdtParams) -> Result<Self> {
        let path = if stream.device().is_cpu() {
            Path::Cpu(NdtMoments::of(lattice, Vec::new(), 0, 0))
        } else {
            Path::Gpu(Box::new(gpu::Table::new(stream, lattice)?))
        };
        Ok(Self { stream: stream.clone(), lattice, params, path })
    }

    /// The builder without points, for cells about another origin, in metres.
    ///
    /// The origin is subtracted from every point in `f64`, unless the points are about it already.
    /// Cells and means are about it; moments and grids keep it.
    ///
    /// # Errors
    /// An origin that is not finite; out of memory.
    ///
    /// ```
    /// use pointmill::ndt::{NdtBuilder, NdtParams};
    /// use pointmill::{Device, Rows};
    /// let mut builder = NdtBuilder::new(&Device::auto().stream()?, 2.0, &NdtParams::default())?.about([515_000.0, 4_918_000.0, 0.0])?;
    /// builder.add(Rows::f64(&[515_001.25, 4_918_002.5, 7.0], 3)?)?;
    /// assert_eq!(builder.moments()?.cells().next().unwrap().0, [0, 1, 3]);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    pub fn about(self, origin: [f64; 3]) -> Result<Self> {
        check_origin(origin)?;
        Self::of(&self.stream, self.lattice.about(origin), self.params)
    }

    /// Adds the points of a cloud. Rows with a coordinate that is not finite are left out and
    /// counted.
    ///
    /// # Errors
    /// A cloud on another device, a point outside of the lattice, too many in a cell, 2^64 points
    /// or more in all, out of memory; nothing was added then. A lost device; a builder that a call
    /// failed on half-way.
    pub fn add<'a>(&mut self, cloud: impl Into<Rows<'a>>) -> Result<()> {
        let cloud = cloud.into();
        cloud.check_points(Argument::Points, &self.stream)?;
        match &mut self.path {
            Path::Cpu(moments) => self.stream.device().install(|| moments.add(cloud)),
            Path::Gpu(table) => {
                let cloud = cloud.relative_to(self.lattice.origin());
                self.stream.in_order(&[cloud.stream()], || table.add(&cloud))
            }
        }
    }

    /// Adds the points of moments, wherever they were made.
    ///
    /// # Errors
    /// Moments of another lattice, too many points in a cell, 2^64 points or more in all, out of
    /// memory; nothing was added then. A lost device; a builder that a call failed on half-way.
    pub fn merge(&mut self, moments: &NdtMoments) -> Result<()> {
        same(&self.lattice, moments.lattice())?;
        match &mut self.path {
            Path::Cpu(own) => own.merge(moments),
            Path::Gpu(table) => table.merge(moments),
        }
    }

    /// The parameters of the grids.
    pub const fn params(&self) -> &NdtParams {
        &self.params
    }

    /// The lattice of the cells.
    pub const fn lattice(&self) -> &NdtLattice {
        &self.lattice
    }

    /// Forgets all points, also those of a call that failed half-way.
    ///
    /// # Errors
    /// Whatever the device's work ran into.
    pub fn clear(&mut self) -> Result<()> {
        match &mut self.path {
            Path::Cpu(moments) => {
                *moments = NdtMoments::of(self.lattice, Vec::new(), 0, 0);
                Ok(())
            }
            Path::Gpu(table) => table.clear(),
        }
    }

    /// The sums of the points so far, on the host.
    ///
    /// # Errors
    /// Out of memory, or whatever the device's work ran into; a builder that a call failed on
    /// half-way.
    pub fn moments(&mut self) -> Result<NdtMoments> {
        match &mut self.path {
            Path::Cpu(moments) => moments.copied(),
            Path::Gpu(table) => table.moments(),
        }
    }

    /// The grid of the points so far, on the builder's device.
    ///
    /// # Errors
    /// Out of memory, a lost device; a builder that a call failed on half-way.
    pub fn finish(&mut self) -> Result<NdtGrid> {
        let (params, stats) = (&self.params, self.params.check()?);
        match &mut self.path {
            Path::Cpu(moments) => {
                let cells = self.stream.device().install(|| moments.finish(params))?;
                NdtGrid::on_host(&self.stream, self.lattice, cells)
            }
            Path::Gpu(table) => {
                let mut grid = gpu::Grid::new(&self.stream)?;
                let report = table.finish(params.min_points, stats, &mut grid)?;
                let place = Place::Device(Box::new(grid));
                Ok(NdtGrid {
                    stream: self.stream.clone(),
                    lattice: self.lattice,
                    report,
                    place,
                    beside: OnceLock::new(),
                })
            }
        }
    }

    /// As [`NdtBuilder::finish`], into a grid that was made before, whose memory is reused.
    ///
    /// # Errors
    /// As [`NdtBuilder::finish`]; a grid on another device.
    pub fn finish_into(&mut self, grid: &mut NdtGrid) -> Result<()> {
        let stats = self.params.check()?;
        self.stream.check_memory(Argument::Grid, "a grid on", &grid.stream)?;
        match (&mut self.path, &mut grid.place) {
            (Path::Gpu(table), Place::Device(cells)) if self.stream.same_queue(&grid.stream) => {
                grid.lattice = self.lattice;
                // Should the call fail, there are no rows.
                grid.report = super::NdtReport::default();
                cells.set_len(0);
                grid.beside = OnceLock::new();
                grid.report = table.finish(self.params.min_points, stats, cells)?;
            }
            // Memory of the CPU or of another stream is not used again.
            _ => *grid = self.finish()?,
        }
        Ok(())
    }
}
