//! Kernels on a GPU: machine code is loaded by module, PTX by kernel, when one is launched first.

use crate::{Error, Result};
use cudarc::driver::{DriverError, result, sys};
use pointmill_kernels::{MAX_SHARED_BYTES, MODULES, Module, Properties};
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::{Mutex, OnceLock};

/// The kernels of a GPU.
pub(super) struct Kernels {
    functions: HashMap<&'static str, OnceLock<Function>>,
    /// Held while kernels are loaded, so that each is loaded once.
    loading: Mutex<()>,
}

/// Kernels that were loaded together, by name.
pub(super) type Loaded = Vec<(&'static str, Function)>;

impl Default for Kernels {
    fn default() -> Self {
        let names = MODULES.iter().flat_map(|module| module.kernels).map(|kernel| kernel.name);
        Self { functions: names.map(|name| (name, OnceLock::new())).collect(), loading: Mutex::default() }
    }
}

impl Kernels {
    /// The function of a kernel, which `load` loads if nobody did, alone or with others.
    pub(super) fn function(
        &self,
        kernel: &Properties,
        load: impl FnOnce(&Module) -> Result<Loaded>,
    ) -> Result<sys::CUfunction> {
        match self.functions.get(kernel.name).and_then(OnceLock::get) {
            Some(function) => Ok(function.0),
            None => self.load(kernel, load),
        }
    }

    /// Loads a kernel, unless another thread just did.
    #[cold]
    fn load(&self, kernel: &Properties, load: impl FnOnce(&Module) -> Result<Loaded>) -> Result<sys::CUfunction> {
        let _one_at_a_time = self.loading.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let found = || self.functions.get(kernel.name)?.get().map(|function| function.0);
        if let Some(function) = found() {
            return Ok(function);
        }
        for (name, function) in load(&MODULES[kernel.module])? {
            if let Some(place) = self.functions.get(name) {
                place.get_or_init(|| function);
            }
        }
        found().ok_or_else(|| Error::Internal { what: format!("kernel {} is not among the loaded ones", kernel.name) })
    }
}

/// A kernel that was loaded.
#[derive(Clone, Copy)]
pub(super) struct Function(sys::CUfunction);

// SAFETY: driver handles may be used from any thread whose current context is theirs; `Gpu::call`
// sees to that.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// Loads kernels into the current context for good.
///
/// # Safety
/// The image is PTX of the kernels that ends with NUL, or machine code of them.
pub(super) unsafe fn load(kernels: &[Properties], image: &[u8]) -> std::result::Result<Loaded, DriverError> {
    // SAFETY: the driver reads PTX as far as the NUL, and of machine code what its own header says.
    let module = unsafe { result::module::load_data(image.as_ptr().cast::<c_void>()) }?;
    let mut loaded = Vec::new();
    for kernel in kernels {
        let symbol = CString::new(kernel.name).expect("kernel names are text without NUL");
        // SAFETY: the module was just loaded and is never unloaded.
        let function = unsafe { result::module::get_function(module, symbol) }?;
        // More than 48 KiB of shared memory must be asked for; every GPU since 7.0 has as much.
        let shared = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function was just found.
        unsafe { result::function::set_function_attribute(function, shared, MAX_SHARED_BYTES as i32) }?;
        if let Some(percent) = kernel.carveout {
            let carveout = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
            // SAFETY: as above.
            unsafe { result::function::set_function_attribute(function, carveout, percent as i32) }?;
        }
        loaded.push((kernel.name, Function(function)));
    }
    Ok(loaded)
}

/// Runs `work`, which queues nothing, although a stream of this thread may record a graph: in that
/// state the driver refuses calls that could wait.
pub(super) fn uncaptured<T>(
    work: impl FnOnce() -> std::result::Result<T, DriverError>,
) -> std::result::Result<T, DriverError> {
    let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the call swaps the mode of this thread with the given one.
    unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) }.result()?;
    let done = work();
    // SAFETY: as above; the old mode comes back.
    unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) }.result()?;
    done
}
