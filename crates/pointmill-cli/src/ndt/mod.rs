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
mod score;
mod table;
mod targets;

pub(crate) use args::NdtCommand;

use crate::args::Global;
use crate::device;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::records::ErrorRecord;
use crate::say;
use pointmill::ndt::{NdtBuilder, NdtGrid, NdtParams};
use pointmill::{Device, Error};
use pointmill_io::{IoError, escape};
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

/// An input that cannot be used.
#[derive(Debug)]
struct Refused {
    class: &'static str,
    message: String,
}

impl From<IoError> for Refused {
    fn from(e: IoError) -> Self {
        Self { class: e.class(), message: e.to_string() }
    }
}

/// Why an input has no result.
#[derive(Debug)]
enum Trouble {
    /// It is the input's fault.
    Input(Refused),
    /// It is not.
    Fatal(Failure),
}

impl From<Refused> for Trouble {
    fn from(refused: Refused) -> Self {
        Self::Input(refused)
    }
}

impl From<IoError> for Trouble {
    fn from(e: IoError) -> Self {
        Self::Input(e.into())
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Fatal(failure)
    }
}

impl From<Error> for Trouble {
    fn from(e: Error) -> Self {
        Self::Fatal(e.into())
    }
}

/// Whose fault an error of a call is: what the library says about its arguments is about the input, since the parameters are checked.
fn blame(e: Error, name: &str) -> Trouble {
    match e {
        Error::Argument { .. } | Error::Cloud(_) => {
            Trouble::Input(Refused { class: "InvalidInput", message: escape(&format!("{name}: {e}")) })
        }
        e => Trouble::Fatal(e.into()),
    }
}

/// Tells of an input that it cannot be used.
fn tell(printer: &mut Printer, index: usize, name: &str, refused: Refused) -> Result<(), Failure> {
    let Refused { class, message } = refused;
    say::error(&message);
    printer
        .record("error", &ErrorRecord { index: Some(index), input: Some(name.into()), class, message, exit_code: None })
}

/// A grid without cells on the CPU, if a lattice and parameters make sense: found out before any work, and before a GPU is woken.
fn check(resolution: f64, params: &NdtParams) -> Result<NdtGrid, Failure> {
    Ok(NdtBuilder::new(&Device::cpu().stream()?, resolution)?.finish(params)?)
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
