//! The committed PTX to machine code of certain GPUs with NVIDIA's assembler.

use crate::ptx::committed;
use pointmill_kernels::cubin::{Cubin, header, push};
use pointmill_kernels::dependent::text_for;
use pointmill_kernels::{MODULES, Module};
use std::path::Path;
use std::process::Command;

/// The GPUs: T4; A100 and Orin; RTX 30 and A10; RTX 40 and L4; H100 and H200; B200; RTX 50. Others
/// are served by the PTX.
const CAPABILITIES: [(u8, u8); 7] = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)];

/// Assembles all modules and writes a file for each.
pub(crate) fn write(ptxas: &str) -> Result<String, String> {
    let mut lines = Vec::new();
    for module in &MODULES {
        let path = committed(module).with_extension("cubins");
        // Of the text as it lies there now, so that `cargo xtask ptx` may run just before.
        let ptx = std::fs::read_to_string(committed(module)).map_err(|e| format!("{}: {e}", module.folder))?;
        let mut file = header(&ptx).to_vec();
        for capability in CAPABILITIES {
            let code = assemble(ptxas, module, capability)?;
            let deflated = miniz_oxide::deflate::compress_to_vec(&code, 9);
            push(&mut file, &Cubin { capability, len: code.len(), deflated: &deflated });
        }
        std::fs::write(&path, &file).map_err(|e| format!("{}: {e}", path.display()))?;
        lines.push(format!("{}: {} GPUs, {} bytes", path.display(), CAPABILITIES.len(), file.len()));
    }
    Ok(lines.join("\n"))
}

/// The code of a module for GPUs of a compute capability.
fn assemble(ptxas: &str, module: &Module, (major, minor): (u8, u8)) -> Result<Vec<u8>, String> {
    let ptx = committed(module).with_extension(format!("sm_{major}{minor}.ptx"));
    let out = ptx.with_extension("cubin");
    let text = std::fs::read_to_string(committed(module)).map_err(|e| format!("{}: {e}", module.folder))?;
    std::fs::write(&ptx, &*text_for(&text, (major, minor))).map_err(|e| format!("{}: {e}", ptx.display()))?;
    let made = Command::new(ptxas).arg(format!("-arch=sm_{major}{minor}")).arg(&ptx).arg("-o").arg(&out).output();
    let made = made.map_err(|e| format!("{ptxas}: {e}; pip install nvidia-cuda-nvcc-cu12 has one"))?;
    let code = read_and_remove(&out);
    let _ = read_and_remove(&ptx);
    if !made.status.success() {
        return Err(format!("{ptxas} refuses {}: {}", ptx.display(), String::from_utf8_lossy(&made.stderr)));
    }
    code.map_err(|e| format!("{}: {e}", out.display()))
}

fn read_and_remove(path: &Path) -> std::io::Result<Vec<u8>> {
    let content = std::fs::read(path);
    // Nothing is there if the assembler failed.
    let _ = std::fs::remove_file(path);
    content
}
