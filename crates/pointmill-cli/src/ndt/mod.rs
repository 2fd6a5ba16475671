//! `pointmill ndt`: maps of normal distributions, and scans matched with them.

mod args;
mod blocks;
mod build;
mod files;
mod grid;
pub(crate) mod map;
mod matching;
mod merge;
mod merge_blocks;
mod picture;
pub(crate) mod records;
mod report;

pub(crate) use args::{MapArgs, NdtCommand};
pub(crate) use report::cells_of;

use crate::failure::Failure;
use crate::printer::Printer;

/// Runs the command.
pub(crate) fn run(command: &NdtCommand, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    match command {
        NdtCommand::Build(args) => build::run(args, device, printer),
        NdtCommand::Merge(args) => merge::run(args, device, printer),
        NdtCommand::Score(args) => matching::score(args, device, printer),
        NdtCommand::Align(args) => matching::align(args, device, printer),
    }
}
