//! What the driver says of itself and of GPUs, and which process uses it.

use crate::device::machine::interface::DeviceInfo;
use crate::device::process::generation;
use crate::{Error, Result};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use cudarc::driver::{DriverError, result};
use std::ffi::CStr;
use std::fmt::Display;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The oldest CUDA whose drivers know the version of the PTX, 7.8. Kernels are loaded when they are
/// needed, so the version is compared before.
const CUDA_OF_PTX: (u32, u32) = (11, 8);

/// Why a child of a process that has used CUDA cannot.
pub(super) const FORKED: &str = "CUDA cannot be used in a process that was forked from one that has used it (start processes by the method spawn or forkserver)";

/// The process that uses the driver, by its generation; 0 before the first use.
static USER: AtomicUsize = AtomicUsize::new(0);

/// Makes this process the one that uses the driver, if there is a driver and no parent has used it.
/// Later calls of this process cost one load: looking for the library takes microseconds, and every
/// array of a caller's stream asks.
pub(super) fn use_driver(device: impl Display) -> Result<()> {
    let unavailable =
        |reason: &str| Err(Error::DeviceUnavailable { device: device.to_string(), reason: reason.into() });
    // SAFETY: only tries to open the driver's library.
    if USER.load(Ordering::Acquire) == 0 && !unsafe { sys::is_culib_present() } {
        return unavailable("no NVIDIA driver (libcuda) on this machine");
    }
    if claim(&USER, generation()) { Ok(()) } else { unavailable(FORKED) }
}

/// Whether a thing that only one process may use is this one's: `owner` is the generation that
/// first asked, 0 for none yet.
fn claim(owner: &AtomicUsize, generation: usize) -> bool {
    match owner.compare_exchange(0, generation, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => true,
        Err(owner) => owner == generation,
    }
}

/// Says why the driver is too old for the kernels.
pub(super) fn check_version() -> std::result::Result<(), String> {
    let (known_major, known_minor) = driver_cuda().map_err(describe)?;
    if (known_major, known_minor) >= CUDA_OF_PTX {
        return Ok(());
    }
    let (wanted_major, wanted_minor) = CUDA_OF_PTX;
    Err(format!(
        "a driver for CUDA {wanted_major}.{wanted_minor} or later is needed, this one serves {known_major}.{known_minor}"
    ))
}

#[cfg_attr(not(test), expect(clippy::disallowed_methods, reason = "a file that the system makes"))]
fn driver_version() -> Option<String> {
    version_in(&std::fs::read_to_string("/proc/driver/nvidia/version").ok()?)
}

/// What is known about the GPU with this number, of whose memory so many bytes are free.
pub(super) fn describe_device(index: usize, free_bytes: u64) -> std::result::Result<DeviceInfo, DriverError> {
    let device = result::device::get(index as i32)?;
    // SAFETY: a device handle the driver just gave.
    let attribute = |a| unsafe { result::device::get_attribute(device, a) };
    Ok(DeviceInfo {
        index,
        name: result::device::get_name(device)?,
        compute_capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? as u32,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)? as u32,
        ),
        // SAFETY: as above.
        memory_bytes: unsafe { result::device::total_mem(device) }? as u64,
        free_bytes,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
        driver_cuda: driver_cuda()?,
        driver: driver_version(),
    })
}

/// The newest CUDA that the driver serves.
pub(super) fn driver_cuda() -> std::result::Result<(u32, u32), DriverError> {
    let mut version = 0;
    // SAFETY: writes one integer.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    Ok((version as u32 / 1000, version as u32 % 1000 / 10))
}

/// The first number with dots in what the kernel's part of the driver says of itself.
fn version_in(text: &str) -> Option<String> {
    let is_version = |word: &&str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    text.split_whitespace().find(is_version).map(str::to_owned)
}

/// The name and the meaning of a driver's error.
pub(super) fn describe(e: DriverError) -> String {
    let text = |t: std::result::Result<&CStr, DriverError>| t.map(|s| s.to_string_lossy().into_owned());
    match (text(e.error_name()), text(e.error_string())) {
        (Ok(name), Ok(message)) => format!("{name}: {message}"),
        _ => format!("driver error {}", e.0 as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_drivers_are_known_by_the_version_of_the_ptx() {
        let (major, minor) = CUDA_OF_PTX;
        // CUDA 11.n came with PTX 7.n.
        assert_eq!(crate::Device::embedded().ptx_version, format!("{}.{minor}", major - 4));
    }

    #[test]
    fn drivers_tell_their_version() {
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder@U22)\n\
                    GCC version:  gcc version 12.3.0\n";
        assert_eq!(version_in(open).as_deref(), Some("580.65.06"));
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023";
        assert_eq!(version_in(closed).as_deref(), Some("535.129.03"));
        assert_eq!(version_in("no version. here"), None);
    }

    #[test]
    fn the_first_process_that_asks_owns_it() {
        let owner = AtomicUsize::new(0);
        // Parent, child, grandchild; the child was the first to ask.
        assert!(claim(&owner, 2) && claim(&owner, 2));
        assert!(!claim(&owner, 3) && claim(&owner, 2));
    }
}
