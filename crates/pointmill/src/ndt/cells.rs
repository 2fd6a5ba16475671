//! From the sums of cells to normal distributions.

use super::{NdtCells, NdtMoments, NdtParams};
use crate::device::on_threads;
use crate::{Result, memory, par};
use pointmill_core::ndt::{CellStats, Line, LinePlace, Moments, cell_of};
use rayon::prelude::*;

/// Gives a macro the arrays of [`NdtCells`] with the type of their rows.
macro_rules! each_array {
    ($with:ident) => {
        $with! {
            coords: [i32; 3],
            counts: u32,
            mean_local: [f64; 3],
            mean: [f64; 3],
            covariance: [f64; 6],
            inverse: [f64; 6],
            eigenvalues: [f64; 3],
            normal: [f64; 3],
        }
    };
}
pub(super) use each_array;

impl NdtMoments {
    /// The cells as normal distributions.
    ///
    /// # Errors
    /// Parameters out of range.
    pub fn finish(&self, params: &NdtParams) -> Result<NdtCells> {
        let stats_params = params.check()?;
        let lattice = self.lattice();
        let stat_of =
            |m: &Moments| (m.count >= params.min_points).then(|| CellStats::new(m, lattice, &stats_params)).flatten();
        let mut stats = Vec::new();
        memory::resize_with(&mut stats, self.len(), || None)?;
        on_threads(|| {
            let each = stats.par_iter_mut().zip(self.sums()).with_min_len(par::grain(1024));
            each.for_each(|(stats, (_, m))| {
                par::check();
                *stats = stat_of(m);
            });
        });
        let mut cells = NdtCells::default();
        room(&mut cells, stats.iter().flatten().count())?;
        let report = &mut cells.report;
        report.points = self.points();
        report.non_finite = self.non_finite();
        report.cells = self.len();
        for ((key, moments), stats) in self.sums().iter().zip(stats) {
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
}

/// A copy of cells.
pub(super) fn copied(cells: &NdtCells) -> Result<NdtCells> {
    macro_rules! copy {
        ($($array:ident: $type:ty,)+) => {
            NdtCells { $($array: memory::collect(cells.$array.iter().copied())?,)+ report: cells.report }
        };
    }
    Ok(each_array!(copy))
}

/// Makes room for so many rows.
fn room(cells: &mut NdtCells, rows: usize) -> Result<()> {
    macro_rules! room {
        ($($array:ident: $type:ty,)+) => { $(memory::room(&mut cells.$array, rows)?;)+ };
    }
    each_array!(room);
    Ok(())
}

/// The lines of cells, by (z, y, x) of their places.
pub(super) fn lines_of(cells: &NdtCells) -> Result<Vec<(LinePlace, Line)>> {
    let mut lines: Vec<(LinePlace, Line)> = Vec::new();
    for (row, cell) in cells.coords.iter().enumerate() {
        let (place, bit) = Line::of(*cell);
        match lines.last_mut() {
            Some((last, line)) if *last == place => line.mask |= 1 << bit,
            _ => memory::push(&mut lines, (place, Line { mask: 1 << bit, row: row as u32 }))?,
        }
    }
    Ok(lines)
}
