//! `pointmill-bench`: measures the operators on this machine.
#![forbid(unsafe_code)]

mod measure;
mod soak;

use clap::{CommandFactory, Parser};
use measure::BenchArgs;
use pointmill_batch::failure::Failure;
use pointmill_batch::flags::Global;
use pointmill_batch::printer::Printer;
use pointmill_batch::program::{self, Program};
use std::process::ExitCode;

const ABOUT: &str = "Measure the operators on this machine. Each time is compared with the CPU, and with the time to move the fewest bytes that the operator needs";

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "pointmill-bench", version, about = ABOUT, long_about = ABOUT)]
#[command(after_help = "Exit codes are those of `pointmill`; 6: soak found a difference")]
struct Cli {
    #[command(flatten)]
    args: BenchArgs,
    #[command(flatten)]
    global: Global,
}

impl Cli {
    /// The command line, in which `--scan` is another name of `--scan-number`.
    fn named() -> clap::Command {
        Self::command().mut_arg("scan_number", |arg| arg.visible_alias("scan"))
    }
}

impl Program for Cli {
    fn global(&self) -> &Global {
        &self.global
    }

    fn run(&self, printer: &mut Printer) -> Result<(), Failure> {
        measure::run(&self.args, &self.global.device, printer)
    }
}

fn main() -> ExitCode {
    ExitCode::from(program::main::<Cli>(Cli::named(), std::env::args_os()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_consistent() {
        Cli::named().debug_assert();
    }
}
