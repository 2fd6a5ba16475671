//! Grids: checks of their parameters, their making from moments, and the comparison of two.

use crate::failure::Failure;
use crate::flags::WorkArgs;
use crate::json::FrameCpu;
use crate::stats::{milliseconds, ratio};
use crate::{device, say};
use pointmill::ndt::{NdtBuilder, NdtCells, NdtGrid, NdtLattice, NdtMoments, NdtParams};
use pointmill::{Device, Error};
use std::time::Instant;

/// Checks a resolution and the parameters before any work, and before a GPU is started. Returns the lattice of the cells.
pub(super) fn check(resolution: f64, params: &NdtParams) -> Result<NdtLattice, Failure> {
    params.validate()?;
    Ok(*NdtMoments::new(resolution)?.lattice())
}

/// The edge of a cell for people: the lattice has the reciprocal of an `f32`, so more digits mean nothing.
pub(super) const fn edge(resolution: f64) -> f32 {
    resolution as f32
}

/// Warns of a grid without cells.
pub(super) fn warn_if_empty(name: &str, grid: &NdtGrid) {
    let report = grid.report();
    if grid.is_empty() {
        say::warning(format_args!(
            "{name}: the grid is empty: {} points in {} cells, {} of too few points, {} without extent",
            report.points - report.non_finite,
            report.cells,
            report.sparse,
            report.degenerate
        ));
    }
}

/// A grid that was made of all moments.
pub(super) struct Finished {
    pub(super) grid: NdtGrid,
    pub(super) ms: f64,
    pub(super) cpu: Option<FrameCpu>,
}

/// Makes the grid of the sums of a builder, on the CPU instead if memory is short and `--on-oom cpu` is given; and with `--cpu` on the CPU beside it.
pub(super) fn finish(
    builder: &mut NdtBuilder,
    beside: Option<&mut NdtBuilder>,
    params: &NdtParams,
    on: &Device,
    args: &WorkArgs,
) -> Result<Finished, Failure> {
    let start = Instant::now();
    let grid = match builder.finish() {
        Err(e) if args.on_oom.redoes(&e, on) => {
            say::warning(format_args!("the grid: {e}; done again on the CPU"));
            builder.moments().and_then(|moments| builder_of(&Device::cpu(), &moments, params)?.finish())
        }
        done => done,
    }?;
    let ms = milliseconds(start.elapsed());
    let mut cpu = None;
    if args.cpu {
        let threads = device::cpu_beside(on)?;
        let mut made;
        let beside = match beside {
            Some(beside) => beside,
            None => {
                made = builder_of(&threads, &builder.moments()?, params)?;
                &mut made
            }
        };
        let start = Instant::now();
        let other = beside.finish()?;
        let cpu_ms = milliseconds(start.elapsed());
        let differs = differences(&grid, &other)?;
        let equal = Some(differs.is_empty());
        cpu = Some(FrameCpu { threads: threads.threads(), ms: cpu_ms, ratio: ratio(cpu_ms, ms), equal, differs });
    }
    Ok(Finished { grid, ms, cpu })
}

/// A builder on a device that has these moments.
fn builder_of(device: &Device, moments: &NdtMoments, params: &NdtParams) -> Result<NdtBuilder, Error> {
    let mut builder = NdtBuilder::new(&device.stream()?, moments.lattice().unit(), params)?;
    builder.merge(moments)?;
    Ok(builder)
}

/// The names of the arrays of two grids that differ in any bit.
pub(super) fn differences(a: &NdtGrid, b: &NdtGrid) -> Result<Vec<String>, Error> {
    let (a, b): (NdtCells, NdtCells) = (a.read()?, b.read()?);
    // Compares bits: as numbers, NaN would differ from itself, and 0 would equal -0.
    let same = |a: &[f64], b: &[f64]| a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()));
    let checks = [
        ("coords", a.coords == b.coords),
        ("counts", a.counts == b.counts),
        ("mean", same(a.mean.as_flattened(), b.mean.as_flattened())),
        ("covariance", same(a.covariance.as_flattened(), b.covariance.as_flattened())),
        ("inv_covariance", same(a.inverse.as_flattened(), b.inverse.as_flattened())),
        ("eigenvalues", same(a.eigenvalues.as_flattened(), b.eigenvalues.as_flattened())),
        ("normal", same(a.normal.as_flattened(), b.normal.as_flattened())),
        ("report", a.report == b.report),
    ];
    Ok(checks.into_iter().filter(|(_, same)| !same).map(|(name, _)| name.to_owned()).collect())
}
