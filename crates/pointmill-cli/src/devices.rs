//! `pointmill devices`: what `--device` can name.

use crate::failure::Failure;
use crate::printer::Printer;
use crate::records::VERSION;
use pointmill::{Device, DeviceInfo, Embedded};
use serde::Serialize;

/// `summary` of `devices`.
#[derive(Debug, Serialize)]
struct Devices {
    /// The version of this program.
    version: &'static str,
    /// The CPU and the GPUs.
    devices: Vec<Entry>,
    /// The oldest GPU that the kernels are compiled for, such as `sm_70`; newer ones translate them.
    ptx_target: &'static str,
    /// The version of PTX that the driver must know.
    ptx_version: &'static str,
    /// Why no GPU answers; null if the driver gives no reason.
    cuda_error: Option<String>,
}

/// A device; what a CPU does not have is null.
#[derive(Debug, Serialize)]
struct Entry {
    /// As `--device` takes it.
    device: String,
    /// The product's name.
    name: Option<String>,
    /// Threads of the CPU.
    threads: Option<usize>,
    /// Major and minor, as in `9.0`.
    compute_capability: Option<String>,
    /// Multiprocessors.
    multiprocessors: Option<u32>,
    /// Bytes of memory.
    memory_bytes: Option<u64>,
    /// Bytes that are free.
    free_bytes: Option<u64>,
    /// The newest CUDA version that the driver serves.
    driver_cuda: Option<String>,
    /// The driver's own version, where the system tells.
    driver: Option<String>,
}

/// Runs the command.
pub(crate) fn run(printer: &mut Printer) -> Result<(), Failure> {
    let (gpus, cuda_error) = match Device::list_cuda() {
        Ok(gpus) => (gpus, None),
        Err(e) => (Vec::new(), Some(e.to_string())),
    };
    let devices = std::iter::once(Entry::cpu()).chain(gpus.iter().map(Entry::gpu)).collect();
    let Embedded { target: ptx_target, ptx_version, .. } = Device::embedded();
    let list = Devices { version: VERSION, devices, ptx_target, ptx_version, cuda_error };
    printer.record("summary", &list)?;
    list.devices.iter().try_for_each(|entry| printer.text(&entry.told()))?;
    match &list.cuda_error {
        Some(reason) => printer.text(&format!("no GPU: {}", pointmill_io::escape(reason))),
        None if gpus.is_empty() => printer.text("no GPU"),
        None => Ok(()),
    }
}

impl Entry {
    fn cpu() -> Self {
        Self {
            device: "cpu".into(),
            name: None,
            threads: Some(Device::cpu().threads()),
            compute_capability: None,
            multiprocessors: None,
            memory_bytes: None,
            free_bytes: None,
            driver_cuda: None,
            driver: None,
        }
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

    /// For people.
    fn told(&self) -> String {
        let gib = |bytes: Option<u64>| bytes.unwrap_or(0) as f64 / f64::from(1 << 30);
        let Some(name) = &self.name else {
            return format!("{:<8} {} thread(s)", self.device, self.threads.unwrap_or(1));
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
