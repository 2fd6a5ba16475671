//! `pointmill`: operators on point clouds, on the command line.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(pointmill_cli::main(std::env::args_os()))
}
