//! `--device`: from a name to a device.

use crate::failure::Failure;
use crate::say;
use pointmill::Device;

/// What `--device` takes, for messages.
const EXPECTED: &str = "auto, cpu, cuda or cuda:I with I = 0, 1, ...";

/// A name as `--device` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Auto,
    Cpu,
    Cuda(usize),
}

fn parse(name: &str) -> Option<Name> {
    match name {
        "auto" => Some(Name::Auto),
        "cpu" => Some(Name::Cpu),
        "cuda" => Some(Name::Cuda(0)),
        _ => {
            let digits = name.strip_prefix("cuda:")?;
            // `parse` would take a sign.
            digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?.map(Name::Cuda)
        }
    }
}

/// The name itself, if it is the name of a device.
pub(crate) fn check_name(name: &str) -> Result<String, String> {
    parse(name).map(|_| name.to_owned()).ok_or_else(|| format!("expected {EXPECTED}"))
}

/// Opens the device, and prints on stderr what `auto` chose.
pub(crate) fn open(name: &str) -> Result<Device, Failure> {
    match parse(name) {
        Some(Name::Cpu) => Ok(Device::cpu()),
        Some(Name::Cuda(index)) => Ok(Device::cuda(index)?),
        Some(Name::Auto) => {
            let device = Device::auto();
            say::note(format_args!("device: auto chose {}", describe(&device)));
            Ok(device)
        }
        None => Err(Failure::Usage(format!("device: expected {EXPECTED}, got `{name}`"))),
    }
}

/// The CPU that `--cpu` runs beside a device. Beside the CPU itself it is one thread.
pub(crate) fn cpu_beside(device: &Device) -> Result<Device, Failure> {
    Ok(if device.is_cpu() { Device::cpu_with_threads(1)? } else { Device::cpu() })
}

/// The device with its product name or number of threads: `cpu (16 threads)`, `cuda:0 (NVIDIA H200)`.
pub(crate) fn describe(device: &Device) -> String {
    match device.info() {
        Ok(Some(info)) => format!("{device} ({})", info.name),
        Ok(None) if device.is_cpu() => {
            let threads = device.threads();
            format!("{device} ({threads} thread{})", if threads == 1 { "" } else { "s" })
        }
        _ => device.to_string(),
    }
}

#[cfg(test)]
#[path = "../tests/unit/device.rs"]
mod tests;
