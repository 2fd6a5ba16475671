//! `pointmill`: operators on point clouds, on the command line.
//!
//! Arguments go to the library, its answers to the printer; no algorithm lives here. The answer is on stdout, everything about it on
//! stderr. Exit codes: [`failure::Failure`]. JSON lines: [`printer`].
#![forbid(unsafe_code)]

mod args;
mod batch;
mod bench;
mod compare;
mod config;
mod convert;
mod device;
mod devices;
mod failure;
mod icp;
mod info;
mod inputs;
mod interrupt;
mod line;
mod ndt;
mod outputs;
mod picture;
mod pose;
mod printer;
mod records;
mod roi_pool;
mod say;
mod soak;
mod stats;
mod synth;
mod table;
mod voxelize;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use failure::Failure;
use printer::Printer;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use tracing_subscriber::filter::LevelFilter;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            if error.use_stderr() && args::ask_for_json() {
                Printer::new(true).failure(&Failure::Usage(args::told(&error)));
            }
            return args::explain(&error);
        }
    };
    say::set_quiet(cli.global.quiet);
    let level = [LevelFilter::WARN, LevelFilter::INFO, LevelFilter::DEBUG, LevelFilter::TRACE];
    let level = level[usize::from(cli.global.logs).min(3)];
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).init();
    interrupt::install(cli.global.json);
    pointmill_io::hush_decoder_panics();
    let mut printer = Printer::new(cli.global.json);
    // Whatever was interrupted is told as interrupted, even if it came to an end meanwhile.
    let done = catch_unwind(AssertUnwindSafe(|| run(&cli, &mut printer)));
    let done = done.unwrap_or_else(|panic| Err(Failure::Internal(told_by(&*panic))));
    let done = done.and_then(|()| interrupt::check());
    let Err(failure) = done else { return ExitCode::SUCCESS };
    say::error(&failure);
    printer.failure(&failure);
    ExitCode::from(failure.exit_code())
}

/// What a panic says; where it was is on stderr already.
fn told_by(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}

fn run(cli: &Cli, printer: &mut Printer) -> Result<(), Failure> {
    match &cli.command {
        Command::Voxelize(args) => voxelize::run(args, &cli.global, printer),
        Command::RoiPool(args) => roi_pool::run(args, &cli.global, printer),
        Command::Ndt { command } => ndt::run(command, &cli.global, printer),
        Command::Icp(args) => icp::run(args, &cli.global, printer),
        Command::Info(args) => info::run(args, printer),
        Command::Convert(args) => convert::run(args, printer),
        Command::Devices => devices::run(printer),
        Command::Synth(args) => synth::run(args, printer),
        Command::Bench(args) => bench::run(args, cli.global.device.as_deref().unwrap_or("auto"), printer),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "pointmill", &mut text);
            printer.plain(&text)
        }
    }
}
