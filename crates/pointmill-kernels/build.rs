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
    use crate::cubin::{Cubin, push};
    use crate::dependent::text_for;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::{env, fs, iter, thread};

    const MODULES: [&str; 8] = ["prim", "voxelize", "roi_pool", "ndt", "icp", "odometry", "boxes", "sparse"];

    /// The GPUs: T4; A100 and Orin; RTX 30 and A10; RTX 40 and L4; H100 and H200; B200; RTX 50.
    /// Others are served by the PTX.
    const CAPABILITIES: [(u8, u8); 7] = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)];

    pub(super) fn run() {
        for variable in ["POINTMILL_PTXAS", "CUDA_HOME", "CUDA_PATH"] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        for source in ["cubin.rs", "dependent.rs"] {
            println!("cargo::rerun-if-changed=src/{source}");
        }
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names the folder"));
        let ptxas = found();
        for module in MODULES {
            let path = format!("src/{module}/kernels.ptx");
            println!("cargo::rerun-if-changed={path}");
            let file = ptxas.as_ref().map_or_else(Vec::new, |ptxas| {
                let ptx = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
                assembled(ptxas, &ptx, &out.join(module))
            });
            fs::write(out.join(format!("{module}.cubins")), file).expect("cargo's folder can be written");
        }
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

    /// The file of a module: code for the GPUs that this assembler knows, each on a thread.
    fn assembled(ptxas: &Path, ptx: &str, scratch: &Path) -> Vec<u8> {
        let codes = thread::scope(|scope| {
            let threads = CAPABILITIES.map(|gpu| (gpu, scope.spawn(move || code(ptxas, ptx, scratch, gpu))));
            threads.map(|(gpu, thread)| (gpu, thread.join().expect("no thread panics")))
        });
        let mut file = vec![];
        for (capability, code) in codes {
            if let Some(code) = code {
                let deflated = miniz_oxide::deflate::compress_to_vec(&code, 6);
                push(&mut file, &Cubin { capability, len: code.len(), deflated: &deflated });
            }
        }
        file
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
