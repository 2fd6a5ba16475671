//! Grids: checks of their parameters, and their making from moments.

use super::records::GridTotals;
use crate::failure::Failure;
use crate::flags::WorkArgs;
use crate::json::FrameCpu;
use crate::stats::timed;
use crate::text::{counted, grouped};
use crate::{device, interrupt, stderr};
use pointmill::ndt::{NdtBuilder, NdtGrid, NdtLattice, NdtMoments, NdtParams};
use pointmill::{Device, Error};

/// Checks a resolution and the parameters before any work, and before a GPU is started. Returns the
/// lattice of the cells.
pub(super) fn check(resolution: f64, params: &NdtParams) -> Result<NdtLattice, Failure> {
    params.validate()?;
    Ok(*NdtMoments::new(resolution)?.lattice())
}

/// The edge of a cell for people: the lattice has the reciprocal of an `f32`, so more digits mean
/// nothing.
pub(super) const fn edge(resolution: f64) -> f32 {
    resolution as f32
}

/// Warns of a grid without cells.
pub(super) fn warn_if_empty(name: &str, grid: &NdtGrid) {
    let report = grid.report();
    if grid.is_empty() {
        stderr::warning(format_args!(
            "{name}: the map is empty: {} in {}: {} with too few points, {} without extent; lower --min-points or raise --resolution",
            counted((report.points - report.non_finite) as usize, "point"),
            counted(report.cells, "cell"),
            grouped(report.sparse),
            grouped(report.degenerate)
        ));
    }
}

/// Makes the grid of the sums of a builder, on the CPU instead if memory is short and
/// `--on-oom cpu` is given; and with `--compare-cpu` on the CPU `beside` it. Reports it in the
/// totals.
pub(super) fn finish(
    builder: &mut NdtBuilder,
    mut beside: Option<NdtBuilder>,
    params: &NdtParams,
    on: &Device,
    args: &WorkArgs,
    totals: &mut GridTotals,
) -> Result<NdtGrid, Failure> {
    interrupt::check()?;
    let (grid, ms) = timed(|| match builder.finish() {
        Err(e) if args.on_oom.redoes(&e, on) => {
            stderr::warning(format_args!("the grid: {e}; the CPU builds it instead"));
            builder.moments().and_then(|moments| builder_of(&Device::cpu(), &moments, params)?.finish())
        }
        done => done,
    })?;
    if args.cpu {
        let cpu = device::cpu_beside(on)?;
        let beside = match &mut beside {
            Some(beside) => beside,
            none => none.insert(builder_of(&cpu, &builder.moments()?, params)?),
        };
        let (other, cpu_ms) = timed(|| beside.finish())?;
        let differs = grid.differences(&other)?.into_iter().map(str::to_owned).collect();
        totals.finish_cpu = Some(FrameCpu::new(cpu.threads(), cpu_ms, ms, differs));
    }
    interrupt::check()?;
    totals.voxels = grid.len();
    totals.resolution = grid.lattice().unit();
    totals.report = Some(*grid.report());
    totals.finish_ms = Some(ms);
    Ok(grid)
}

/// A builder on a device that has these moments.
pub(super) fn builder_of(device: &Device, moments: &NdtMoments, params: &NdtParams) -> Result<NdtBuilder, Error> {
    let lattice = moments.lattice();
    let mut builder = NdtBuilder::new(&device.stream()?, lattice.unit(), params)?.about(lattice.origin())?;
    builder.merge(moments)?;
    Ok(builder)
}
