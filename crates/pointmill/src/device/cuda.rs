//! NVIDIA GPUs through the driver API.

use super::DeviceInfo;
use super::process::{claim, generation};
use crate::{Error, Result};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};
use cudarc::driver::{CudaContext, DriverError, result};
use pointmill_kernels::{Kernel, MAX_SHARED_BYTES, MODULES, Module};
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

/// The oldest CUDA whose drivers know the version of the PTX, 7.8. Kernels are loaded when they are needed, so that an older driver must be found out before.
const CUDA_OF_PTX: (u32, u32) = (11, 8);

/// Why a child of a process that has used CUDA cannot.
const FORKED: &str = "CUDA cannot be used in a process that was forked from one that has used it (start processes by the method spawn or forkserver)";

/// The process that uses the driver, by its generation; 0 before the first use.
static USER: AtomicUsize = AtomicUsize::new(0);

/// An opened GPU: its primary context, the kernels of the operators that were used so far, and a pool of memory.
pub(crate) struct Gpu {
    pub(crate) index: usize,
    context: Arc<CudaContext>,
    modules: [OnceLock<Kernels>; MODULES.len()],
    /// Held while a module is loaded, so that each is loaded once.
    loading: Mutex<()>,
    pool: sys::CUmemoryPool,
    pub(crate) multiprocessors: u32,
    /// The process that opened it.
    generation: usize,
}

/// The kernels of a module by name.
type Kernels = HashMap<&'static str, Function>;

#[derive(Clone, Copy)]
struct Function(sys::CUfunction);

// SAFETY: driver handles may be used from any thread whose current context is theirs; `Gpu::bind` sees to that.
unsafe impl Send for Gpu {}
// SAFETY: as above; modules are loaded under a lock.
unsafe impl Sync for Gpu {}
// SAFETY: as above.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// GPUs stay open until the process ends, so that every caller shares one module and one pool.
static OPENED: OnceLock<Mutex<HashMap<usize, Arc<Gpu>>>> = OnceLock::new();

impl Gpu {
    pub(crate) fn open(index: usize) -> Result<Arc<Self>> {
        // Before the lock, which another thread of the parent may have held when it forked.
        use_driver(&format!("cuda:{index}"))?;
        let opened = OPENED.get_or_init(Mutex::default);
        let mut opened = opened.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(gpu) = opened.get(&index) {
            return Ok(gpu.clone());
        }
        let before = result::ctx::get_current().ok();
        let gpu = Self::open_new(index);
        if let Some(before) = before {
            // An error of opening is told first, and this one by the next call.
            let _ = make_current(before);
        }
        let gpu = Arc::new(gpu?);
        opened.insert(index, gpu.clone());
        Ok(gpu)
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
        let (known_major, known_minor) = driver_cuda().map_err(|e| unavailable(describe(e)))?;
        if (known_major, known_minor) < CUDA_OF_PTX {
            let (wanted_major, wanted_minor) = CUDA_OF_PTX;
            return Err(unavailable(format!(
                "a driver for CUDA {wanted_major}.{wanted_minor} or later is needed, this one serves {known_major}.{known_minor}"
            )));
        }
        let pool = new_pool(index).map_err(|e| unavailable(format!("memory pool: {}", describe(e))))?;
        let multiprocessors = context
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .map_err(|e| unavailable(describe(e)))? as u32;
        tracing::debug!("opened cuda:{index}");
        let (modules, loading) = (Default::default(), Mutex::default());
        Ok(Self { index, context, modules, loading, pool, multiprocessors, generation: generation() })
    }

    /// Runs a driver call with the GPU current in this thread.
    pub(crate) fn call<T>(
        &self,
        action: &'static str,
        call: impl FnOnce() -> std::result::Result<T, DriverError>,
    ) -> Result<T> {
        self.check_process()?;
        self.while_current(call).map_err(|e| self.error(action, 0, e))
    }

    /// Refuses a process that was forked from the one that opened the GPU: there the driver's calls may do anything, and what is dropped belongs to the parent.
    pub(super) fn check_process(&self) -> Result<()> {
        if self.generation == generation() {
            return Ok(());
        }
        Err(Error::DeviceUnavailable { device: format!("cuda:{}", self.index), reason: FORKED.into() })
    }

    /// Runs `work` with the GPU's context current. Another one that was current before is so again afterwards: for other libraries of the thread it says which GPU they work on.
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
    pub(crate) fn alloc(&self, stream: sys::CUstream, bytes: usize) -> Result<sys::CUdeviceptr> {
        self.check_process()?;
        // SAFETY: the pool lives as long as the process; the caller keeps the memory within the stream's order.
        let memory = || unsafe { result::mem_pool::alloc_async(self.pool, bytes, stream) };
        self.while_current(memory).map_err(|e| self.error("allocate", bytes as u64, e))
    }

    /// Queues a kernel.
    ///
    /// # Safety
    /// Pointers in `args` are valid on this GPU for what `K` reads and writes, until the stream has run it.
    pub(crate) unsafe fn launch<K: Kernel>(&self, stream: sys::CUstream, blocks: u32, mut args: K::Args) -> Result<()> {
        let kernels = match self.modules[K::MODULE].get() {
            Some(kernels) => kernels,
            None => self.load(K::MODULE)?,
        };
        let function = kernels
            .get(K::NAME)
            .ok_or_else(|| Error::Internal { what: format!("kernel {} is not among the loaded ones", K::NAME) })?;
        let mut params = [(&raw mut args).cast::<c_void>()];
        self.call("launch a kernel", || {
            // SAFETY: the function belongs to a module that is never unloaded, and takes this one argument.
            unsafe {
                result::launch_kernel(
                    function.0,
                    (blocks, 1, 1),
                    (K::BLOCK, 1, 1),
                    K::SHARED_WORDS * 4,
                    stream,
                    &mut params,
                )
            }
        })
    }

    /// Loads a module, unless another thread just did.
    #[cold]
    fn load(&self, index: usize) -> Result<&Kernels> {
        let _one_at_a_time = self.loading.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if self.modules[index].get().is_none() {
            let start = Instant::now();
            let module = &MODULES[index];
            let kernels = self.call("load its kernels", || uncaptured(|| load(module)))?;
            tracing::debug!(
                "cuda:{}: {} kernels of {} in {:?}",
                self.index,
                kernels.len(),
                module.folder,
                start.elapsed()
            );
            // The lock is held, so nobody was faster.
            let _ = self.modules[index].set(kernels);
        }
        self.modules[index].get().ok_or_else(|| Error::Internal { what: "a module was loaded and is gone".into() })
    }

    pub(crate) fn info(&self) -> Result<DeviceInfo> {
        let (free, _) = self.call("ask for free memory", result::mem_get_info)?;
        self.call("describe itself", || describe_device(self.index, Some(free as u64)))
    }

    fn error(&self, action: &'static str, bytes: u64, e: DriverError) -> Error {
        let device = format!("cuda:{}", self.index);
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

/// Memory of the host that a GPU can reach.
pub(crate) struct Pinned {
    gpu: Arc<Gpu>,
    host: *mut u8,
    device: *mut u8,
    bytes: usize,
}

// SAFETY: plain memory; who reads and writes it when is the business of its buffer.
unsafe impl Send for Pinned {}
// SAFETY: as above; writing needs `&mut`.
unsafe impl Sync for Pinned {}

impl Pinned {
    pub(crate) fn new(gpu: &Arc<Gpu>, bytes: usize) -> Result<Self> {
        let bytes = bytes.max(16);
        // SAFETY: plain allocation.
        let host = gpu.call("allocate pinned memory", || unsafe {
            result::malloc_host(bytes, sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE)
        })?;
        // SAFETY: `bytes` were allocated.
        unsafe { host.cast::<u8>().write_bytes(0, bytes) };
        let mut memory = Self { gpu: gpu.clone(), host: host.cast(), device: std::ptr::null_mut(), bytes };
        let mut device = 0;
        gpu.call("map pinned memory", || {
            // SAFETY: the memory was allocated as mapped.
            unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut device, host, 0) }.result()
        })?;
        memory.device = device as *mut u8;
        Ok(memory)
    }

    pub(crate) fn device_pointer(&self) -> *mut u8 {
        self.device
    }

    pub(crate) fn read(&self, out: &mut [u8]) {
        assert!(out.len() <= self.bytes, "a read past pinned memory");
        // SAFETY: in bounds; volatile, because the GPU wrote it.
        out.iter_mut().enumerate().for_each(|(i, o)| *o = unsafe { self.host.add(i).read_volatile() });
    }

    /// The value at the front, in one access.
    pub(crate) fn read_whole<T: bytemuck::Pod>(&self) -> T {
        assert!(size_of::<T>() <= self.bytes && align_of::<T>() <= 16, "a read past pinned memory");
        // SAFETY: in bounds, aligned, and any bits are a value; volatile, because the GPU writes it.
        unsafe { self.host.cast::<T>().read_volatile() }
    }

    pub(crate) fn write(&mut self, data: &[u8]) {
        assert!(data.len() <= self.bytes, "a write past pinned memory");
        // SAFETY: in bounds.
        data.iter().enumerate().for_each(|(i, d)| unsafe { self.host.add(i).write_volatile(*d) });
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // An error here has nobody left to hear it.
        // SAFETY: allocated by `malloc_host`, freed once; freeing waits for the GPU's work with it.
        let _ = self.gpu.call("free pinned memory", || unsafe { result::free_host(self.host.cast()) });
    }
}

/// Makes a context current in this thread; where there was none, the one that is stays.
fn make_current(context: Option<sys::CUcontext>) -> std::result::Result<(), DriverError> {
    // SAFETY: it was current in this thread a moment ago.
    context.map_or(Ok(()), |context| unsafe { result::ctx::set_current(context) })
}

/// Loads a module into the current context for good.
fn load(module: &Module) -> std::result::Result<Kernels, DriverError> {
    let text = CString::new(module.ptx).expect("PTX is text without NUL");
    // SAFETY: the image is NUL-terminated PTX text.
    let loaded = unsafe { result::module::load_data(text.as_ptr().cast::<c_void>()) }?;
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
    Ok(kernels)
}

/// Runs `work`, which queues nothing, although a stream of this thread may record a graph: in that state the driver refuses calls that could wait.
fn uncaptured<T>(work: impl FnOnce() -> std::result::Result<T, DriverError>) -> std::result::Result<T, DriverError> {
    let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the call swaps the mode of this thread with the given one.
    unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) }.result()?;
    let done = work();
    // SAFETY: as above; the old mode comes back.
    unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) }.result()?;
    done
}

/// A pool that keeps what is freed for the next allocation, instead of giving it back at every synchronization.
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

fn require_driver() -> std::result::Result<(), &'static str> {
    // SAFETY: only tries to open the driver's library.
    if unsafe { sys::is_culib_present() } { Ok(()) } else { Err("no NVIDIA driver (libcuda) on this machine") }
}

/// Says that this process uses the driver from now on.
fn use_driver(device: &str) -> Result<()> {
    let unavailable = |reason: &str| Error::DeviceUnavailable { device: device.into(), reason: reason.into() };
    require_driver().map_err(unavailable)?;
    if claim(&USER, generation()) { Ok(()) } else { Err(unavailable(FORKED)) }
}

/// The GPUs that answer.
pub(crate) fn list() -> Result<Vec<DeviceInfo>> {
    let unavailable = |reason: String| Error::DeviceUnavailable { device: "cuda".into(), reason };
    use_driver("cuda")?;
    let count = CudaContext::device_count().map_err(|e| unavailable(describe(e)))?;
    (0..count as usize).map(|index| Gpu::open(index)?.info()).collect()
}

fn describe_device(index: usize, free: Option<u64>) -> std::result::Result<DeviceInfo, DriverError> {
    let device = result::device::get(index as i32)?;
    // SAFETY: a device handle the driver just gave.
    let attribute = |a| unsafe { result::device::get_attribute(device, a) };
    // SAFETY: a device handle the driver just gave.
    let memory_bytes = unsafe { result::device::total_mem(device) }? as u64;
    Ok(DeviceInfo {
        index,
        name: result::device::get_name(device)?,
        compute_capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? as u32,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)? as u32,
        ),
        memory_bytes,
        free_bytes: free.unwrap_or(memory_bytes),
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
        driver_cuda: driver_cuda()?,
        driver: std::fs::read_to_string("/proc/driver/nvidia/version").ok().and_then(|text| version_in(&text)),
    })
}

/// The newest CUDA that the driver serves.
fn driver_cuda() -> std::result::Result<(u32, u32), DriverError> {
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

fn describe(e: DriverError) -> String {
    let text = |t: std::result::Result<&std::ffi::CStr, DriverError>| t.map(|s| s.to_string_lossy().into_owned());
    match (text(e.error_name()), text(e.error_string())) {
        (Ok(name), Ok(message)) => format!("{name}: {message}"),
        _ => format!("driver error {}", e.0 as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn old_drivers_are_known_by_the_version_of_the_ptx() {
        let (major, minor) = super::CUDA_OF_PTX;
        // CUDA 11.n came with PTX 7.n.
        assert_eq!(crate::Device::ptx_target().1, format!("{}.{minor}", major - 4));
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
}
