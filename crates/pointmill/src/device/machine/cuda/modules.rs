//! Kernels on a GPU, loaded when an operator launches its first one.

use crate::{Error, Result};
use cudarc::driver::{DriverError, result, sys};
use pointmill_kernels::{MAX_SHARED_BYTES, MODULES, Module, Properties};
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::{Mutex, OnceLock};

/// The modules of a GPU.
#[derive(Default)]
pub(super) struct Modules {
    loaded: [OnceLock<Kernels>; MODULES.len()],
    /// Held while a module is loaded, so that each is loaded once.
    loading: Mutex<()>,
}

impl Modules {
    /// The function of a kernel, from its module, which `load` loads if nobody did.
    pub(super) fn function(
        &self,
        kernel: &Properties,
        load: impl FnOnce(&Module) -> Result<Kernels>,
    ) -> Result<sys::CUfunction> {
        let kernels = match self.loaded[kernel.module].get() {
            Some(kernels) => kernels,
            None => self.load(kernel.module, load)?,
        };
        let function = kernels.0.get(kernel.name).map(|function| function.0);
        function.ok_or_else(|| Error::Internal { what: format!("kernel {} is not among the loaded ones", kernel.name) })
    }

    /// Loads a module, unless another thread just did.
    #[cold]
    fn load(&self, index: usize, load: impl FnOnce(&Module) -> Result<Kernels>) -> Result<&Kernels> {
        let _one_at_a_time = self.loading.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match self.loaded[index].get() {
            Some(kernels) => Ok(kernels),
            None => {
                let kernels = load(&MODULES[index])?;
                Ok(self.loaded[index].get_or_init(|| kernels))
            }
        }
    }
}

/// The kernels of a module by name.
pub(super) struct Kernels(HashMap<&'static str, Function>);

#[derive(Clone, Copy)]
struct Function(sys::CUfunction);

// SAFETY: driver handles may be used from any thread whose current context is theirs; `Gpu::call`
// sees to that.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Kernels {
    /// Loads a module into the current context for good.
    ///
    /// # Safety
    /// The image is PTX of the module that ends with NUL, or machine code of it.
    pub(super) unsafe fn load(module: &Module, image: &[u8]) -> std::result::Result<Self, DriverError> {
        // SAFETY: the driver reads PTX as far as the NUL, and of machine code what its own header
        // says.
        let loaded = unsafe { result::module::load_data(image.as_ptr().cast::<c_void>()) }?;
        let mut kernels = HashMap::new();
        for kernel in module.kernels {
            let symbol = CString::new(kernel.name).expect("kernel names are text without NUL");
            // SAFETY: the module was just loaded and is never unloaded.
            let function = unsafe { result::module::get_function(loaded, symbol) }?;
            // More than 48 KiB of shared memory must be asked for; every GPU since 7.0 has as much.
            let shared = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function was just found.
            unsafe { result::function::set_function_attribute(function, shared, MAX_SHARED_BYTES as i32) }?;
            if let Some(percent) = kernel.carveout {
                let carveout = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
                // SAFETY: as above.
                unsafe { result::function::set_function_attribute(function, carveout, percent as i32) }?;
            }
            kernels.insert(kernel.name, Function(function));
        }
        Ok(Self(kernels))
    }
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
