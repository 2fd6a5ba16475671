//! `pointmill evaluate`: how far a trajectory is from the truth, and how good detections are.

mod args;
mod command;
pub(crate) mod detections;
pub(crate) mod records;
mod report;

pub(crate) use args::EvaluateArgs;

use crate::failure::Failure;
use crate::printer::Printer;
use args::EvaluateCommand;

/// Runs the command.
pub(crate) fn run(args: &EvaluateArgs, printer: &mut Printer) -> Result<(), Failure> {
    match (&args.command, &args.trajectories) {
        (Some(EvaluateCommand::Detections(args)), _) => detections::run(args, printer),
        (None, Some(args)) => command::run(args, printer),
        (None, None) => Err(Failure::Usage("evaluate: expected ESTIMATE and TRUTH, or detections, got neither".into())),
    }
}
