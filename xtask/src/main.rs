//! Tasks of the project: PTX of the kernels, the package for browsers, measurements.

mod modules;
mod ptx;
#[cfg(feature = "wasm")]
mod wasm;

use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask ptx [--check]
       cargo xtask bench [ARGS]
       cargo run --package xtask --features wasm -- wasm FOLDER

  ptx           compile crates/pointmill-kernels to a kernels.ptx for each module (needs: rustup component add rust-src)
  ptx --check   compile and compare with the committed files
  bench         build pointmill-bench with --release and run it with ARGS
  wasm          build the npm package of crates/pointmill-wasm into FOLDER/package, and its page into FOLDER/try (needs: rustup target add wasm32-unknown-unknown, npm)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ptx"] => ptx::write(),
        ["ptx", "--check"] => ptx::check(),
        ["bench", ..] => return bench(&args[1..]),
        #[cfg(feature = "wasm")]
        ["wasm", folder] => wasm::write(folder.as_ref()),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the measurements in a process of their own, so that this crate does not depend on them.
fn bench(args: &[String]) -> ExitCode {
    let run = ["run", "--quiet", "--release", "--package", "pointmill-bench", "--"];
    match Command::new(env!("CARGO")).args(run).args(args).status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => {
            eprintln!("cargo: {error}");
            ExitCode::FAILURE
        }
    }
}
