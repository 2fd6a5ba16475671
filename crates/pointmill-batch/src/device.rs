//! `--device`: from a name to a device.

use crate::failure::Failure;
use crate::stderr;
use pointmill::{Device, Error};
use pointmill_data::inputs::Source;
use std::path::Path;

/// A file of so many bytes is not small: with a sweep of 123,000 points each command takes 0.3 s less
/// on 16 cores than on an H200, which is the time that its driver takes to start.
const SMALL: u64 = 64 << 20;

/// The name itself, if it is the name of a device.
pub fn check_name(name: &str) -> Result<String, String> {
    match Device::check_name(name) {
        Ok(()) => Ok(name.to_owned()),
        Err(Error::Argument { expected, .. }) => Err(format!("expected {expected}")),
        Err(e) => Err(e.to_string()),
    }
}

/// Opens the device for some inputs, and prints on stderr what `auto` chose: for one that is small the
/// CPU, since a GPU takes longer to start than the CPU to be done.
pub fn open(name: &str, inputs: &[Source]) -> Result<Device, Failure> {
    let (auto, small) = (name == "auto", is_one_small(inputs));
    let device = if auto && small { Device::cpu() } else { name.parse::<Device>()? };
    if auto {
        let why = if small { " for one small input" } else { "" };
        stderr::note(format_args!("device: auto chose {}{why}", describe(&device)));
    }
    Ok(device)
}

/// Whether there is one input, and no file of [`SMALL`] bytes or more.
fn is_one_small(inputs: &[Source]) -> bool {
    let [input] = inputs else { return false };
    let large = |path: &Path| std::fs::metadata(path).is_ok_and(|file| file.len() >= SMALL);
    !input.path().is_some_and(large)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_small_input_is_for_the_cpu() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str, bytes: u64| {
            let path = folder.path().join(name);
            std::fs::File::create(&path).unwrap().set_len(bytes).unwrap();
            Source::File(path)
        };
        let [small, large] = [of("a", SMALL - 1), of("b", SMALL)];
        let small = [small];
        assert!(is_one_small(&small) && is_one_small(&[Source::Stdin]) && is_one_small(&[Source::Street]));
        assert!(is_one_small(&[Source::File(folder.path().join("absent"))]));
        assert!(!is_one_small(&[large]) && !is_one_small(&[of("c", 1), of("d", 1)]) && !is_one_small(&[]));
        assert!(!is_one_small(&[Source::Sweep(0), Source::Sweep(1)]));
        assert!(open("auto", &small).unwrap().is_cpu() && open("cpu", &[]).unwrap().is_cpu());
        // A GPU that is named is taken for one small input too.
        assert_eq!(open("cuda:99", &small).unwrap_err().to_string(), open("cuda:99", &[]).unwrap_err().to_string());
    }
}
