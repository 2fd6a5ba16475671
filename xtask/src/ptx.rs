//! Kernels to PTX with the stock compiler: rustc's own `nvptx64` target and a `core` built for it.

use crate::modules;
use pointmill_kernels::{MODULES, Module};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why each flag is there:
/// - `sm_70` and PTX 7.8: runs on every GPU since Volta with a driver since 520, and has all that
///   the kernels use;
/// - `nvptx-fma-level=0`: no contraction of `a * b + c`, so that the GPU rounds as the CPU does;
/// - `unroll-threshold`: arrays that live in registers need their loops unrolled, or they spill;
/// - `always-inline` before all other passes: rustc does not mark functions convergent, so as long
///   as a helper with a shuffle or a barrier in it is a call, LLVM may copy that call into both
///   sides of a branch, and lanes of a warp would wait at different copies;
/// - `immediate-abort`: no panic machinery; `emit=asm`: the PTX text is the assembly.
const RUSTFLAGS: &str = "-C target-cpu=sm_70 -C target-feature=+ptx78 -C llvm-args=-nvptx-fma-level=0 \
    -C llvm-args=-unroll-threshold=4000 -C no-prepopulate-passes -C passes=always-inline,default<O3> \
    -Zmir-enable-passes=-JumpThreading -C panic=immediate-abort -Zunstable-options --emit=asm";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}

/// Where the text of a module is committed.
pub(crate) fn committed(module: &Module) -> PathBuf {
    root().join("crates/pointmill-kernels/src").join(module.folder).join("kernels.ptx")
}

/// Compiles and writes the files.
pub(crate) fn write() -> Result<String, String> {
    let mut lines = Vec::new();
    for (module, text) in MODULES.iter().zip(build()?) {
        let path = committed(module);
        std::fs::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))?;
        lines.push(format!("{}: {} kernels, {} bytes", path.display(), module.kernels.len(), text.len()));
    }
    Ok(lines.join("\n"))
}

/// Compiles and compares with the files.
pub(crate) fn check() -> Result<String, String> {
    for (module, text) in MODULES.iter().zip(build()?) {
        if text != module.ptx() {
            let path = committed(module);
            return Err(format!("{} is stale: run `cargo xtask ptx` and commit it", path.display()));
        }
    }
    Ok(format!("the PTX of {} modules is what today's kernels make", MODULES.len()))
}

/// The text of each module.
fn build() -> Result<Vec<String>, String> {
    let root = root();
    let target = root.join("target/ptx");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(&root)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", RUSTFLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        // The text must not depend on the profile of the workspace, nor on where it lies.
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .args(["build", "--release", "--package", "pointmill-kernels", "-Zbuild-std=core"])
        .args(["--target", "nvptx64-nvidia-cuda", "--target-dir"])
        .arg(&target)
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if !status.success() {
        return Err("the PTX build failed; it needs the sources of core: rustup component add rust-src".into());
    }
    let deps = target.join("nvptx64-nvidia-cuda/release/deps");
    let newest = std::fs::read_dir(&deps)
        .map_err(|e| format!("{}: {e}", deps.display()))?
        .filter_map(Result::ok)
        .filter(|f| {
            f.file_name().to_string_lossy().starts_with("pointmill_kernels-")
                && f.path().extension().is_some_and(|e| e == "s")
        })
        .max_by_key(|f| f.metadata().and_then(|m| m.modified()).ok())
        .ok_or_else(|| format!("{}: no PTX of pointmill_kernels", deps.display()))?;
    let text = std::fs::read_to_string(newest.path()).map_err(|e| format!("{}: {e}", newest.path().display()))?;
    let first = format!(
        "// pointmill kernels, sources {:016x}. Made by `cargo xtask ptx`; do not edit.\n",
        source_hash(&root)?
    );
    Ok(modules::split(&text)?.into_iter().map(|text| first.clone() + &text).collect())
}

/// A hash of the sources of the kernels: FNV-1a over names and texts of the Rust files of
/// `pointmill-kernels` and `pointmill-core`, sorted by path.
fn source_hash(root: &Path) -> Result<u64, String> {
    let mut files = Vec::new();
    for crate_name in ["pointmill-core", "pointmill-kernels"] {
        collect(&root.join("crates").join(crate_name).join("src"), &mut files)?;
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for file in files {
        let text = std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let name = file.strip_prefix(root).expect("a file of the workspace").to_string_lossy().replace('\\', "/");
        for byte in name.bytes().chain(text.into_iter().filter(|b| *b != b'\r')) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    Ok(hash)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fast and on any toolchain; `--check`, which needs the sources of core, compares the text
    /// itself.
    #[test]
    fn the_committed_ptx_is_of_todays_sources() {
        let hash = format!("sources {:016x}.", source_hash(&root()).unwrap());
        for module in &MODULES {
            let first = module.ptx().lines().next().unwrap_or_default();
            assert!(
                first.contains(&hash),
                "{} is stale: run `cargo xtask ptx`; wanted {hash}, found: {first}",
                module.folder
            );
        }
    }

    /// The driver translates all of a module's text when its first kernel is launched. A loop that
    /// the compiler writes out shows here.
    #[test]
    fn no_kernel_is_long() {
        for module in &MODULES {
            for entry in module.ptx().split(".visible .entry ").skip(1) {
                let name = entry.split('(').next().unwrap_or_default();
                assert!(entry.len() < 200_000, "{name}: expected less than 200,000 bytes of PTX, got {}", entry.len());
            }
            let most = 850_000;
            let got = module.ptx().len();
            assert!(got < most, "{}: expected less than {most} bytes of PTX, got {got}", module.folder);
        }
    }
}
