//! Tasks of the project: PTX of the kernels, and machine code of the PTX.

mod cubin;
mod modules;
mod ptx;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask ptx [--check]
       cargo xtask cubin [PTXAS]

  ptx           compile crates/pointmill-kernels to a kernels.ptx for each module (needs: rustup component add rust-src)
  ptx --check   compile and compare with the committed files
  cubin         assemble the committed PTX for certain GPUs to a kernels.cubins for each module, which the feature `cubin` embeds;
                PTXAS is NVIDIA's assembler, `ptxas` by default (pip install nvidia-cuda-nvcc-cu12 has it)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ptx"] => ptx::write(),
        ["ptx", "--check"] => ptx::check(),
        ["cubin"] => cubin::write("ptxas"),
        ["cubin", ptxas] => cubin::write(ptxas),
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
