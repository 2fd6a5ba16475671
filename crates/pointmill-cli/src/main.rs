//! `pointmill`: operators on point clouds, on the command line.
//!
//! Arguments go to the library, results to the printer; no algorithm and no file format is implemented here. Results are printed on stdout, everything about them on
//! stderr. Exit codes: [`failure::Failure`]. JSON lines: [`json`].
//!
//! Each command has a folder or a file. What all commands share is the crate `pointmill-batch`. `localize` reads its map as `ndt` does; no other command imports another.
#![forbid(unsafe_code)]

mod bench;
mod cli;
mod convert;
mod devices;
mod drive;
mod evaluate;
mod icp;
mod info;
mod localize;
mod ndt;
mod odometry;
mod roi_pool;
#[cfg(test)]
#[path = "../tests/unit/schema.rs"]
mod schema;
mod soak;
mod synth;
mod voxelize;

use pointmill_batch::{
    batch, device, failure, flags, inputs, interrupt, json, outputs, picture, pose, printer, say, stats, text,
};

use clap::FromArgMatches;
use cli::Cli;
use failure::Failure;
use printer::Printer;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

fn main() -> ExitCode {
    let mut command = Cli::commands();
    command.build();
    let mut arguments: Vec<_> = std::env::args_os().collect();
    let applied = flags::config::apply(&command, &mut arguments);
    let parsed = command.clone().try_get_matches_from(&arguments);
    let parsed = parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match (parsed, &applied) {
        (Ok(parsed), _) => parsed,
        // What the file lacks is no fault of the arguments, if the file cannot be used.
        (Err(_), Err(failure)) => return end(failure, &mut Printer::new(false)),
        (Err(error), Ok(())) => return cli::explain(&error),
    };
    say::set_quiet(cli.global.quiet);
    let level = [LevelFilter::WARN, LevelFilter::INFO, LevelFilter::DEBUG, LevelFilter::TRACE];
    // Errors alone, if that is asked for too.
    let level = if cli.global.quiet { LevelFilter::ERROR } else { level[usize::from(cli.global.logs).min(3)] };
    // The events about kernels that the driver compiles explain to people why a first run takes longer.
    let compiles = if say::is_watched() { level.max(LevelFilter::INFO) } else { level };
    let filter = Targets::new().with_default(level).with_target("pointmill::device", compiles);
    let to_stderr = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_filter(filter);
    tracing_subscriber::registry().with(to_stderr).init();
    interrupt::install(cli.global.json);
    pointmill_io::hush_decoder_panics();
    let mut printer = Printer::new(cli.global.json);
    let run = |printer: &mut Printer| {
        applied?;
        match flags::config::printed(&command, &matches)? {
            Some(text) => printer.plain(text.as_bytes()),
            None => cli.run(printer),
        }
    };
    let done = catch_unwind(AssertUnwindSafe(|| run(&mut printer)));
    let done = done.unwrap_or_else(|panic| Err(Failure::Internal(message_of(&*panic))));
    // A run that was interrupted reports that, even if it has come to its end meanwhile.
    match done.and_then(|()| interrupt::check()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => end(&failure, &mut printer),
    }
}

/// Reports the failure that ends the command.
fn end(failure: &Failure, printer: &mut Printer) -> ExitCode {
    say::error(failure);
    printer.failure(failure);
    ExitCode::from(failure.exit_code())
}

/// The message of a panic. Its place is on stderr already.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}
