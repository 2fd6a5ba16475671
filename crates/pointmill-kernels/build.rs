//! With the feature `cubin`: machine code of the committed PTX for certain GPUs, where there is
//! NVIDIA's assembler `ptxas`. The environment variable `POINTMILL_PTXAS` names one, or none if it
//! is empty; else the build looks on the path and in the CUDA toolkit.

#[cfg(feature = "cubin")]
#[path = "src/cubin.rs"]
#[expect(dead_code, unreachable_pub, reason = "the library reads what is written here")]
mod cubin;
#[cfg(feature = "cubin")]
#[path = "src/dependent.rs"]
#[expect(unreachable_pub, reason = "it is the library's")]
mod dependent;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "cubin")]
    assembler::run();
}

#[cfg(feature = "cubin")]
mod assembler {
    use crate::cubin::{CAPABILITIES, file, packed};
    use crate::dependent::text_for;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::{env, fs, iter, thread};

    const MODULES: [&str; 11] = [
        "prim",
        "voxelize",
        "roi_pool",
        "ndt",
        "icp",
        "odometry",
        "boxes",
        "sparse",
        "registration",
        "scatter",
        "points",
    ];

    pub(super) fn run() {
        for variable in ["POINTMILL_PTXAS", "CUDA_HOME", "CUDA_PATH"] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        for source in ["cubin.rs", "dependent.rs"] {
            println!("cargo::rerun-if-changed=src/{source}");
        }
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names the folder"));
        let ptxas = found();
        let write =
            &|name: &str, bytes: &[u8]| fs::write(out.join(name), bytes).expect("cargo's folder can be written");
        // Packing takes seconds where the build does not optimize build scripts.
        thread::scope(|scope| {
            for module in MODULES {
                let path = format!("src/{module}/kernels.ptx");
                println!("cargo::rerun-if-changed={path}");
                let ptx = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
                let codes = ptxas.as_ref().map_or_else(Vec::new, |ptxas| assembled(ptxas, &ptx, &out.join(module)));
                scope.spawn(move || write(&format!("{module}.ptx.lzma"), &packed(ptx.as_bytes(), 0)));
                scope.spawn(move || write(&format!("{module}.cubins"), &file_of(&codes)));
            }
        });
    }

    /// The assembler to use. One that is named must run.
    fn found() -> Option<PathBuf> {
        let runs = |ptxas: &Path| {
            let tried = Command::new(ptxas).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            tried.is_ok_and(|status| status.success())
        };
        if let Some(named) = env::var_os("POINTMILL_PTXAS") {
            let named = PathBuf::from(named);
            assert!(
                named.as_os_str().is_empty() || runs(&named),
                "POINTMILL_PTXAS: expected an assembler that runs, got {}; empty for none",
                named.display()
            );
            return Some(named).filter(|named| !named.as_os_str().is_empty());
        }
        let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
        let toolkits = toolkits.chain([PathBuf::from("/usr/local/cuda")]).map(|toolkit| toolkit.join("bin/ptxas"));
        iter::once(PathBuf::from("ptxas")).chain(toolkits).find(|ptxas| runs(ptxas))
    }

    /// Code of a module for the GPUs that this assembler knows, each on a thread.
    fn assembled(ptxas: &Path, ptx: &str, scratch: &Path) -> Vec<((u8, u8), Vec<u8>)> {
        thread::scope(|scope| {
            let threads = CAPABILITIES.map(|gpu| (gpu, scope.spawn(move || code(ptxas, ptx, scratch, gpu))));
            let codes = threads.map(|(gpu, thread)| (gpu, thread.join().expect("no thread panics")));
            codes.into_iter().filter_map(|(gpu, code)| Some((gpu, code?))).collect()
        })
    }

    /// The file of a module; empty without code.
    fn file_of(codes: &[((u8, u8), Vec<u8>)]) -> Vec<u8> {
        if codes.is_empty() {
            return vec![];
        }
        let lens: Vec<_> = codes.iter().map(|(gpu, code)| (*gpu, code.len())).collect();
        let all: Vec<u8> = codes.iter().flat_map(|(_, code)| code).copied().collect();
        file(&lens, &packed(&all, 3))
    }

    /// The code of a text for GPUs of a compute capability; none where the assembler refuses, as an
    /// older one does GPUs that came later.
    fn code(ptxas: &Path, ptx: &str, scratch: &Path, (major, minor): (u8, u8)) -> Option<Vec<u8>> {
        let text = scratch.with_extension(format!("{major}{minor}.ptx"));
        let code = text.with_extension("cubin");
        fs::write(&text, &*text_for(ptx, (major, minor))).ok()?;
        let mut command = Command::new(ptxas);
        command.arg(format!("-arch=sm_{major}{minor}")).arg(&text).arg("-o").arg(&code);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success()).then(|| fs::read(&code).ok())?
    }
}
