//! `--device`: from a name to a device.

use crate::failure::Failure;
use crate::stderr;
use pointmill::{Device, Error};

/// The name itself, if it is the name of a device.
pub fn check_name(name: &str) -> Result<String, String> {
    match Device::check_name(name) {
        Ok(()) => Ok(name.to_owned()),
        Err(Error::Argument { expected, .. }) => Err(format!("expected {expected}")),
        Err(e) => Err(e.to_string()),
    }
}

/// Opens the device, and prints on stderr what `auto` chose.
pub fn open(name: &str) -> Result<Device, Failure> {
    let device = name.parse::<Device>()?;
    if name == "auto" {
        stderr::note(format_args!("device: auto chose {}", describe(&device)));
    }
    Ok(device)
}

/// The CPU that `--compare-cpu` runs beside a device. Beside the CPU itself it is one thread.
pub fn cpu_beside(device: &Device) -> Result<Device, Failure> {
    Ok(if device.is_cpu() { Device::cpu_with_threads(1)? } else { Device::cpu() })
}

/// The device with its product name or number of threads: `cpu (16 threads)`,
/// `cuda:0 (NVIDIA H200)`.
pub fn describe(device: &Device) -> String {
    match device.info() {
        Ok(Some(info)) => format!("{device} ({})", info.name),
        Ok(None) if device.is_cpu() => {
            let threads = device.threads();
            format!("{device} ({threads} thread{})", if threads == 1 { "" } else { "s" })
        }
        _ => device.to_string(),
    }
}
