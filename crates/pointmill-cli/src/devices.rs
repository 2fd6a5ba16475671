//! `pointmill devices`: the devices that `--device` takes, and with -v what a GPU needs.

use crate::failure::Failure;
use crate::json::VERSION;
use crate::printer::Printer;
use crate::text::{counted, grouped, shown};
use pointmill::{Device, DeviceInfo, Embedded, EmbeddedModule};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// `summary` of `devices`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Devices {
    /// The version of this program.
    version: &'static str,
    /// The CPU and the GPUs.
    devices: Vec<Entry>,
    /// The oldest GPU that the kernels run on, such as `sm_70`; drivers compile them for newer
    /// ones.
    ptx_target: &'static str,
    /// The version of PTX that the driver must support.
    ptx_version: &'static str,
    /// Compute capabilities, major and minor, with machine code beside the PTX. Their GPUs, and
    /// those of a higher minor one, wait for no compiler.
    machine_code: Vec<(u32, u32)>,
    /// The kernels that are embedded as PTX, by operator.
    modules: Vec<EmbeddedModule>,
    /// Where the driver keeps the kernels that it has compiled.
    cache: Cache,
    /// Why no GPU answers; null if the driver gives no reason.
    cuda_error: Option<String>,
}

/// The compute cache of the CUDA driver.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Cache {
    /// The folder: `CUDA_CACHE_PATH`, else `~/.nv/ComputeCache`; null without a home.
    folder: Option<String>,
    /// Whether `CUDA_CACHE_DISABLE` turns the cache off, so that every process compiles the
    /// kernels.
    disabled: bool,
    /// Whether the folder exists.
    exists: bool,
}

/// A device. What a CPU does not have is null.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Entry {
    /// The name for `--device`.
    device: String,
    /// The name of the product.
    name: Option<String>,
    /// Threads of the CPU.
    threads: Option<usize>,
    /// Major and minor, as in `9.0`.
    compute_capability: Option<String>,
    /// Multiprocessors.
    multiprocessors: Option<u32>,
    /// Bytes of memory.
    memory_bytes: Option<u64>,
    /// Bytes of memory that are free.
    free_bytes: Option<u64>,
    /// The newest CUDA version that the driver supports.
    driver_cuda: Option<String>,
    /// The version of the driver, if the system reports it.
    driver: Option<String>,
}

/// Runs the command; `verbose` adds what people need to find out why a GPU does not answer or
/// starts slowly.
pub(crate) fn run(verbose: bool, printer: &mut Printer) -> Result<(), Failure> {
    let (gpus, cuda_error) = match Device::list_cuda() {
        Ok(gpus) => (gpus, None),
        Err(e) => (Vec::new(), Some(e.to_string())),
    };
    let devices = std::iter::once(Entry::cpu()).chain(gpus.iter().map(Entry::gpu)).collect();
    let Embedded { target: ptx_target, ptx_version, machine_code, modules, .. } = Device::embedded();
    let cache = Cache::find();
    let list = Devices { version: VERSION, devices, ptx_target, ptx_version, machine_code, modules, cache, cuda_error };
    printer.record("summary", &list)?;
    list.devices.iter().try_for_each(|entry| printer.text(&entry.line()))?;
    match &list.cuda_error {
        Some(reason) => printer.text(&format!("no GPU: {}", pointmill_io::escape(reason)))?,
        None if gpus.is_empty() => printer.text("no GPU")?,
        None => {}
    }
    if verbose { list.details(&gpus).iter().try_for_each(|line| printer.text(line)) } else { Ok(()) }
}

impl Devices {
    /// What is embedded, where the cache lies, and what to do if something is missing.
    fn details(&self, gpus: &[DeviceInfo]) -> Vec<String> {
        let bytes: usize = self.modules.iter().map(|m| m.bytes).sum();
        let target = format!("{} and newer, PTX {}", self.ptx_target, self.ptx_version);
        let mut lines = vec![format!("embedded kernels for {target}: {} KB", grouped(bytes / 1000))];
        lines.extend(self.modules.iter().map(|m| {
            format!("  {:<10} {:>12} {:>8} KB", m.name, counted(m.kernels, "kernel"), grouped(m.bytes / 1000))
        }));
        let code: Vec<_> = self.machine_code.iter().map(|(major, minor)| format!("{major}.{minor}")).collect();
        lines.push(if code.is_empty() {
            "machine code: none (there was no ptxas at the build); the driver compiles the PTX at first use".into()
        } else {
            format!("machine code for compute capability {}", code.join(", "))
        });
        let folder = self.cache.folder.as_deref().map_or_else(|| "nowhere".into(), pointmill_io::escape);
        lines.push(match self.cache {
            Cache { disabled: true, .. } => "driver cache: off (CUDA_CACHE_DISABLE)".to_owned(),
            Cache { exists: true, .. } => format!("driver cache: {folder}"),
            Cache { .. } => format!("driver cache: {folder} (not created yet)"),
        });
        lines.extend(self.advice(gpus).iter().map(|advice| format!("advice: {advice}")));
        lines
    }

    fn advice(&self, gpus: &[DeviceInfo]) -> Vec<String> {
        if gpus.is_empty() {
            let advice = "install an NVIDIA driver, and check that `nvidia-smi` lists the GPU; in a container, start it with `docker run --gpus all`. All commands also run on the CPU";
            return vec![advice.into()];
        }
        let old = gpus.iter().filter(|gpu| gpu.compute_capability < (7, 0));
        let full = gpus.iter().filter(|gpu| gpu.free_bytes < 1 << 30);
        let old = old.map(|gpu| format!("cuda:{} is older than {}: use --device cpu", gpu.index, self.ptx_target));
        let full = full.map(|gpu| {
            format!("cuda:{} has less than 1 GiB free: end other processes, or pass --on-oom cpu", gpu.index)
        });
        let cache = "unset CUDA_CACHE_DISABLE, so that the driver compiles the kernels once and not in every process";
        old.chain(full).chain(self.cache.disabled.then(|| cache.into())).collect()
    }
}

impl Cache {
    fn find() -> Self {
        let given = std::env::var_os("CUDA_CACHE_PATH").filter(|path| !path.is_empty()).map(PathBuf::from);
        let folder = given.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".nv/ComputeCache")));
        let disabled = std::env::var_os("CUDA_CACHE_DISABLE").is_some_and(|value| value == "1");
        let exists = folder.as_deref().is_some_and(Path::is_dir);
        Self { folder: folder.as_deref().map(shown), disabled, exists }
    }
}

impl Entry {
    fn cpu() -> Self {
        Self { device: "cpu".into(), threads: Some(Device::cpu().threads()), ..Self::default() }
    }

    fn gpu(info: &DeviceInfo) -> Self {
        let version = |(major, minor): (u32, u32)| Some(format!("{major}.{minor}"));
        Self {
            device: format!("cuda:{}", info.index),
            name: Some(info.name.clone()),
            threads: None,
            compute_capability: version(info.compute_capability),
            multiprocessors: Some(info.multiprocessors),
            memory_bytes: Some(info.memory_bytes),
            free_bytes: Some(info.free_bytes),
            driver_cuda: version(info.driver_cuda),
            driver: info.driver.clone(),
        }
    }

    /// The line for people.
    fn line(&self) -> String {
        let gib = |bytes: Option<u64>| bytes.unwrap_or(0) as f64 / f64::from(1 << 30);
        let Some(name) = &self.name else {
            return format!("{:<8} {}", self.device, counted(self.threads.unwrap_or(1), "thread"));
        };
        format!(
            "{:<8} {}, compute capability {}, {} multiprocessors, {:.1} of {:.1} GiB free, driver {} for CUDA {}",
            self.device,
            pointmill_io::escape(name),
            self.compute_capability.as_deref().unwrap_or("?"),
            self.multiprocessors.unwrap_or(0),
            gib(self.free_bytes),
            gib(self.memory_bytes),
            self.driver.as_deref().unwrap_or("?"),
            self.driver_cuda.as_deref().unwrap_or("?"),
        )
    }
}
