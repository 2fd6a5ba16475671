//! `pointmill ndt`: grids of normal distributions of clouds, and scans matched with them.

mod align;
mod args;
mod build;
mod cloud;
mod grid_file;
mod map;
mod merge;
mod moments_file;
mod picture;
mod pose;
pub(crate) mod records;
mod scans;
mod score;
mod table;
mod targets;

pub(crate) use args::NdtCommand;

use crate::args::Global;
use crate::device;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::say;
use pointmill::Device;
use pointmill::ndt::{NdtBuilder, NdtGrid, NdtParams};
use std::path::Path;

/// Runs the command.
pub(crate) fn run(command: &NdtCommand, global: &Global, printer: &mut Printer) -> Result<(), Failure> {
    let device = || device::open(global.device.as_deref().unwrap_or("auto"));
    match command {
        NdtCommand::Build(args) => build::run(args, device, printer),
        NdtCommand::Merge(args) => merge::run(args, device, printer),
        NdtCommand::Score(args) => score::run(args, device, printer),
        NdtCommand::Align(args) => align::run(args, device, printer),
    }
}

/// A grid without cells on the CPU, if a lattice and parameters make sense: found out before any work, and before a GPU is woken.
fn check(resolution: f64, params: &NdtParams) -> Result<NdtGrid, Failure> {
    Ok(NdtBuilder::new(&Device::cpu().stream()?, resolution, params)?.finish()?)
}

/// Says that a grid has no cells, and why.
fn warn_if_empty(name: &str, grid: &NdtGrid) {
    let report = grid.report();
    if grid.is_empty() {
        say::warning(format_args!(
            "{name}: the grid is empty: {} points in {} cells, {} of too few points, {} without extent",
            report.points - report.nonfinite,
            report.cells,
            report.sparse,
            report.degenerate
        ));
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
