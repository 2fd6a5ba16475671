//! The npm package for browsers and node: the program, the JavaScript around it, and what stands
//! in `crates/pointmill-wasm/npm`; and the page of `crates/pointmill-wasm/try` with all it needs.

use std::path::Path;
use std::process::Command;
use std::{fs, io};
use wasm_bindgen_cli_support::Bindgen;

const TARGET: &str = "wasm32-unknown-unknown";
/// The npm package of `wasm-opt`, which makes the program smaller by a seventh.
const BINARYEN: &str = "binaryen@132.0.0";
/// What browsers of 2023 have, and the compiler uses.
const FEATURES: [&str; 7] =
    ["simd", "bulk-memory", "nontrapping-float-to-int", "sign-ext", "mutable-globals", "reference-types", "multivalue"];

/// Builds the package and the page into folders of a folder.
pub(crate) fn write(folder: &Path) -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "pointmill-wasm", "--profile", "wasm", "--target", TARGET]);
    // Vectors of 128 bits, which every browser has had since 2023. They round as single numbers do.
    cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "-C target-feature=+simd128").current_dir(root);
    done(&mut cargo, "cargo build of pointmill-wasm")?;
    let built = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), Into::into);
    let mut bindgen = Bindgen::new();
    bindgen.input_path(built.join(TARGET).join("wasm/pointmill_wasm.wasm")).out_name("pointmill");
    let [package, page] = ["package", "try"].map(|name| folder.join(name));
    let made = bindgen.web(true).map(|web| web.typescript(true).remove_producers_section(true).generate(&package));
    made.and_then(|made| made).map_err(|e| format!("wasm-bindgen: {e:?}"))?;
    let program = package.join("pointmill_bg.wasm");
    let mut npx = Command::new("npx");
    npx.args(["--yes", "--package", BINARYEN, "wasm-opt", "-O3"]).args(FEATURES.map(|name| format!("--enable-{name}")));
    done(npx.arg(&program).arg("-o").arg(&program), "npx wasm-opt")?;
    let crates = root.join("crates/pointmill-wasm");
    for (from, to) in
        [(crates.join("npm"), &package), (crates.join("try"), &page), (package.clone(), &page.join("pointmill"))]
    {
        copy(&from, to).map_err(|e| format!("{}: {e}", from.display()))?;
    }
    Ok(folder.display().to_string())
}

/// Runs a command to its end.
fn done(command: &mut Command, what: &str) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{what}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{what}: {status}")) }
}

/// Copies the files of a folder into another one, which is made.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        fs::copy(file.path(), to.join(file.file_name()))?;
    }
    Ok(())
}
