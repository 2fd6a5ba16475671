//! Cells as normal distributions.

use super::{NdtMoments, NdtParams};
use crate::device::on_threads;
use crate::{Result, memory};
use pointmill_core::ndt::{CellStats, Moments, cell_of};
use rayon::prelude::*;

/// Cells as normal distributions, a row each; rows by (z, y, x) of the cell.
///
/// Symmetric matrices are their entries xx, xy, xz, yy, yz, zz.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NdtCells {
    /// `[V]`: the cell, along x, y, z.
    pub coords: Vec<[i32; 3]>,
    /// `[V]`: its points.
    pub counts: Vec<u32>,
    /// `[V]`: the mean about the cell's centre, in metres.
    pub mean_local: Vec<[f64; 3]>,
    /// `[V]`: the mean, in metres.
    pub mean: Vec<[f64; 3]>,
    /// `[V]`: the covariance in square metres, with raised eigenvalues.
    pub covariance: Vec<[f64; 6]>,
    /// `[V]`: its inverse.
    pub inverse: Vec<[f64; 6]>,
    /// `[V]`: its eigenvalues, ascending.
    pub eigenvalues: Vec<[f64; 3]>,
    /// `[V]`: the direction in which the points vary least, of length one; its component of largest magnitude is positive.
    pub normal: Vec<[f64; 3]>,
    /// What became of points and cells.
    pub report: NdtReport,
}

/// What became of points and cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NdtReport {
    /// Points that were added.
    pub points: u64,
    /// Of these, rows with a coordinate that is not finite: they are in no cell.
    pub nonfinite: u64,
    /// Occupied cells.
    pub cells: usize,
    /// Of these, cells of fewer points than asked for.
    pub sparse: usize,
    /// Cells without extent, or with too few points for their covariance.
    pub degenerate: usize,
    /// Cells that are left, V.
    pub voxels: usize,
    /// Of these, cells with a raised eigenvalue.
    pub clamped: usize,
}

impl NdtCells {
    pub(super) fn new(moments: &NdtMoments, params: &NdtParams) -> Result<Self> {
        let stats_params = params.check()?;
        let lattice = moments.lattice();
        let stat_of =
            |m: &Moments| (m.count >= params.min_points).then(|| CellStats::new(m, lattice, &stats_params)).flatten();
        let mut stats = Vec::new();
        memory::resize_with(&mut stats, moments.len(), || None)?;
        on_threads(|| {
            let each = stats.par_iter_mut().zip(moments.sums()).with_min_len(1024);
            each.for_each(|(stats, (_, m))| *stats = stat_of(m));
        });
        let mut cells = Self::default();
        cells.room(stats.iter().flatten().count())?;
        let report = &mut cells.report;
        report.points = moments.points();
        report.nonfinite = moments.nonfinite();
        report.cells = moments.len();
        for ((key, moments), stats) in moments.sums().iter().zip(stats) {
            let Some(stats) = stats else {
                if moments.count < params.min_points {
                    report.sparse += 1;
                } else {
                    report.degenerate += 1;
                }
                continue;
            };
            let cell = cell_of(*key);
            let center = lattice.center(cell);
            report.voxels += 1;
            report.clamped += usize::from(stats.clamped);
            cells.coords.push(cell);
            cells.counts.push(moments.count);
            cells.mean_local.push(stats.mean_local);
            cells.mean.push(std::array::from_fn(|i| center[i] + stats.mean_local[i]));
            cells.covariance.push(stats.covariance);
            cells.inverse.push(stats.inverse);
            cells.eigenvalues.push(stats.eigenvalues);
            cells.normal.push(stats.normal);
        }
        Ok(cells)
    }

    /// A copy.
    pub(super) fn copied(&self) -> Result<Self> {
        let Self { coords, counts, mean_local, mean, covariance, inverse, eigenvalues, normal, report } = self;
        Ok(Self {
            coords: memory::collect(coords.iter().copied())?,
            counts: memory::collect(counts.iter().copied())?,
            mean_local: memory::collect(mean_local.iter().copied())?,
            mean: memory::collect(mean.iter().copied())?,
            covariance: memory::collect(covariance.iter().copied())?,
            inverse: memory::collect(inverse.iter().copied())?,
            eigenvalues: memory::collect(eigenvalues.iter().copied())?,
            normal: memory::collect(normal.iter().copied())?,
            report: *report,
        })
    }

    /// Makes room for so many rows.
    fn room(&mut self, rows: usize) -> Result<()> {
        memory::room(&mut self.coords, rows)?;
        memory::room(&mut self.counts, rows)?;
        memory::room(&mut self.mean_local, rows)?;
        memory::room(&mut self.mean, rows)?;
        memory::room(&mut self.covariance, rows)?;
        memory::room(&mut self.inverse, rows)?;
        memory::room(&mut self.eigenvalues, rows)?;
        memory::room(&mut self.normal, rows)
    }

    /// The number of rows, V.
    pub const fn len(&self) -> usize {
        self.coords.len()
    }

    /// Whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.coords.is_empty()
    }
}
