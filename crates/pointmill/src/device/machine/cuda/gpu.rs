//! GPUs that are open.

use super::compiling;
use super::driver::{self, FORKED, describe, use_driver};
use super::modules::{Kernels, Loaded, load, uncaptured};
use crate::device::machine::interface::{DeviceInfo, Name};
use crate::device::process::generation;
use crate::{Error, Result};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};
use cudarc::driver::{CudaContext, DriverError, result};
use pointmill_kernels::{Module, Properties, dependent};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, OnceLock};

/// The oldest CUDA whose drivers record kernels that overlap in a graph.
const CUDA_OF_OVERLAPS: (u32, u32) = (12, 3);

/// An opened GPU: its primary context, the kernels of the operators that were used so far, and a
/// pool of memory.
pub(in crate::device::machine) struct Gpu {
    index: usize,
    /// The compute capability, major and minor.
    capability: (u8, u8),
    context: Arc<CudaContext>,
    /// Whether a kernel may start while the one before it ends; the kernels wait themselves. Older
    /// drivers cannot record that in a graph.
    pub(super) overlaps: bool,
    kernels: Kernels,
    pool: sys::CUmemoryPool,
    pub(super) multiprocessors: u32,
    /// The process that opened it.
    generation: usize,
}

// SAFETY: the handle of the pool may be used from any thread whose current context is its own;
// `Gpu::call` sees to that.
unsafe impl Send for Gpu {}
// SAFETY: as above; modules are loaded under a lock.
unsafe impl Sync for Gpu {}

/// GPUs stay open until the process ends, so that every caller shares one set of kernels and one
/// pool.
static OPENED: OnceLock<Mutex<HashMap<usize, &'static Gpu>>> = OnceLock::new();

impl Gpu {
    pub(in crate::device::machine) fn open(index: usize) -> Result<&'static Self> {
        // Before the lock, which another thread of the parent may have held when it forked.
        use_driver(format_args!("cuda:{index}"))?;
        let opened = OPENED.get_or_init(Mutex::default);
        let mut opened = opened.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(gpu) = opened.get(&index) {
            return Ok(*gpu);
        }
        let before = result::ctx::get_current().ok();
        let gpu = Self::open_new(index);
        if let Some(before) = before {
            // An error of opening is reported first, and this one by the next call.
            let _ = make_current(before);
        }
        let gpu = &*Box::leak(Box::new(gpu?));
        opened.insert(index, gpu);
        Ok(gpu)
    }

    /// The GPUs that answer.
    pub(in crate::device::machine) fn list() -> Result<Vec<DeviceInfo>> {
        let unavailable = |e| Error::DeviceUnavailable { device: "cuda".into(), reason: describe(e) };
        use_driver("cuda")?;
        let count = CudaContext::device_count().map_err(unavailable)?;
        (0..count as usize).map(|index| Self::open(index)?.describe()).collect()
    }

    fn open_new(index: usize) -> Result<Self> {
        let unavailable = |reason: String| Error::DeviceUnavailable { device: format!("cuda:{index}"), reason };
        let count = CudaContext::device_count().map_err(|e| unavailable(describe(e)))?;
        if index >= count as usize {
            return Err(unavailable(format!("the driver sees {count} GPU(s)")));
        }
        let context = CudaContext::new(index).map_err(|e| unavailable(describe(e)))?;
        context.bind_to_thread().map_err(|e| unavailable(describe(e)))?;
        let (major, minor) = context.compute_capability().map_err(|e| unavailable(describe(e)))?;
        if major < 7 {
            return Err(unavailable(format!(
                "compute capability 7.0 or later is needed, this GPU has {major}.{minor}"
            )));
        }
        driver::check_version().map_err(unavailable)?;
        let pool = new_pool(index).map_err(|e| unavailable(format!("memory pool: {}", describe(e))))?;
        let multiprocessors = context
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .map_err(|e| unavailable(describe(e)))? as u32;
        tracing::debug!("opened cuda:{index}");
        let capability = (major as u8, minor as u8);
        let kernels = Kernels::default();
        let overlaps =
            capability >= dependent::SINCE && driver::driver_cuda().is_ok_and(|cuda| cuda >= CUDA_OF_OVERLAPS);
        Ok(Self { index, capability, context, overlaps, kernels, pool, multiprocessors, generation: generation() })
    }

    pub(super) const fn named(&self) -> Name {
        Name { runtime: "cuda", index: Some(self.index) }
    }

    /// Runs a driver call with the GPU current in this thread.
    pub(super) fn call<T>(
        &self,
        action: &'static str,
        call: impl FnOnce() -> std::result::Result<T, DriverError>,
    ) -> Result<T> {
        self.check_owner()?;
        self.while_current(call).map_err(|e| self.error(action, 0, e))
    }

    /// Refuses a process that was forked from the one that opened the GPU: there the driver's calls
    /// may do anything, and what is dropped belongs to the parent.
    pub(super) fn check_owner(&self) -> Result<()> {
        if self.generation == generation() {
            return Ok(());
        }
        Err(Error::DeviceUnavailable { device: self.named().to_string(), reason: FORKED.into() })
    }

    /// Runs `work` with the GPU's context current. Another one that was current before is so again
    /// afterwards: for other libraries of the thread it says which GPU they work on.
    fn while_current<T>(
        &self,
        work: impl FnOnce() -> std::result::Result<T, DriverError>,
    ) -> std::result::Result<T, DriverError> {
        let before = result::ctx::get_current()?;
        if before == Some(self.context.cu_ctx()) {
            return work();
        }
        self.context.bind_to_thread()?;
        let done = work();
        make_current(before)?;
        done
    }

    /// `bytes` of memory, ordered with the stream's work.
    ///
    /// # Safety
    /// The stream is one of this GPU, and alive.
    pub(super) unsafe fn take(&self, stream: sys::CUstream, bytes: usize) -> Result<sys::CUdeviceptr> {
        self.check_owner()?;
        // SAFETY: the pool lives as long as the process; the stream is the caller's promise.
        let memory = || unsafe { result::mem_pool::alloc_async(self.pool, bytes, stream) };
        self.while_current(memory).map_err(|e| self.error("allocate", bytes as u64, e))
    }

    /// The function of a kernel, which is loaded at its first launch.
    pub(super) fn function(&self, kernel: &Properties) -> Result<sys::CUfunction> {
        self.kernels.function(kernel, |module| self.load(module, kernel))
    }

    /// Loads all kernels of a module from machine code, or one kernel from PTX.
    fn load(&self, module: &Module, kernel: &Properties) -> Result<Loaded> {
        let action = "load its kernels";
        if let Some(code) = module.machine_code(self.capability) {
            // A driver that is older than the code refuses it, and compiles the PTX. SAFETY: the
            // code was assembled from the module's PTX, and comes whole out of its file.
            let load = || unsafe { load(module.kernels, &code) };
            if let Ok(loaded) = self.call(action, || uncaptured(load)) {
                tracing::debug!(device = %self.named(), module = module.folder, "machine code is loaded");
                return Ok(loaded);
            }
        }
        let missing = || Error::Internal { what: format!("kernel {} is not in the PTX", kernel.name) };
        let text = module.text_for(kernel.name, self.capability).ok_or_else(missing)?;
        let text = CString::new(text).expect("PTX is text without NUL").into_bytes_with_nul();
        compiling::reported(self.named(), kernel.name, text.len(), || {
            // SAFETY: the text is PTX of the kernel and ends with NUL.
            let load = || unsafe { load(std::slice::from_ref(kernel), &text) };
            self.call(action, || uncaptured(load))
        })
    }

    /// What is known about the GPU.
    pub(super) fn describe(&self) -> Result<DeviceInfo> {
        let (free, _) = self.call("ask for free memory", result::mem_get_info)?;
        self.call("describe itself", || driver::describe_device(self.index, free as u64))
    }

    fn error(&self, action: &'static str, bytes: u64, e: DriverError) -> Error {
        let device = self.named().to_string();
        match e.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfMemory { device, bytes },
            // After these the context is unusable for good.
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUresult::CUDA_ERROR_SYSTEM_NOT_READY
            | CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE => Error::DeviceLost { device, action, reason: describe(e) },
            _ => Error::Device { device, action, reason: describe(e) },
        }
    }
}

/// Makes a context current in this thread; where there was none, the one that is stays.
fn make_current(context: Option<sys::CUcontext>) -> std::result::Result<(), DriverError> {
    // SAFETY: it was current in this thread a moment ago.
    context.map_or(Ok(()), |context| unsafe { result::ctx::set_current(context) })
}

/// A pool that keeps what is freed for the next allocation, instead of giving it back at every
/// synchronization.
fn new_pool(index: usize) -> std::result::Result<sys::CUmemoryPool, DriverError> {
    // SAFETY: all-zero is the documented default of this plain struct.
    let mut props: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
    props.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = index as i32;
    let mut keep = u64::MAX;
    // SAFETY: valid properties; the attribute is a u64.
    unsafe {
        let pool = result::mem_pool::create(&raw const props)?;
        let threshold = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        result::mem_pool::set_attribute(pool, threshold, (&raw mut keep).cast())?;
        Ok(pool)
    }
}
