//! Tasks of the project. `cargo xtask ptx` compiles the kernels to PTX; `cargo xtask ptx --check` compares instead.

mod modules;
mod ptx;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask ptx [--check]

  ptx           compile crates/pointmill-kernels to a kernels.ptx for each module (needs: rustup component add rust-src)
  ptx --check   compile and compare with the committed files";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ptx"] => ptx::write(),
        ["ptx", "--check"] => ptx::check(),
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
