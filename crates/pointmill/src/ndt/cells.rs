//! From the sums of cells to normal distributions.

use super::{NdtCells, NdtMoments, NdtParams};
use crate::device::on_threads;
use crate::{Result, memory, par};
use pointmill_core::ndt::{CellStats, Line, LinePlace, Moments, cell_of};
use rayon::prelude::*;

/// The cells of sums.
pub(super) fn finish(moments: &NdtMoments, params: &NdtParams) -> Result<NdtCells> {
    let stats_params = params.check()?;
    let lattice = moments.lattice();
    let stat_of =
        |m: &Moments| (m.count >= params.min_points).then(|| CellStats::new(m, lattice, &stats_params)).flatten();
    let mut stats = Vec::new();
    memory::resize_with(&mut stats, moments.len(), || None)?;
    on_threads(|| {
        let each = stats.par_iter_mut().zip(moments.sums()).with_min_len(par::grain(1024));
        each.for_each(|(stats, (_, m))| {
            par::check();
            *stats = stat_of(m);
        });
    });
    let mut cells = NdtCells::default();
    room(&mut cells, stats.iter().flatten().count())?;
    let report = &mut cells.report;
    report.points = moments.points();
    report.non_finite = moments.non_finite();
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

/// A copy of cells.
pub(super) fn copied(cells: &NdtCells) -> Result<NdtCells> {
    let NdtCells { coords, counts, mean_local, mean, covariance, inverse, eigenvalues, normal, report } = cells;
    Ok(NdtCells {
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
fn room(cells: &mut NdtCells, rows: usize) -> Result<()> {
    memory::room(&mut cells.coords, rows)?;
    memory::room(&mut cells.counts, rows)?;
    memory::room(&mut cells.mean_local, rows)?;
    memory::room(&mut cells.mean, rows)?;
    memory::room(&mut cells.covariance, rows)?;
    memory::room(&mut cells.inverse, rows)?;
    memory::room(&mut cells.eigenvalues, rows)?;
    memory::room(&mut cells.normal, rows)
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
