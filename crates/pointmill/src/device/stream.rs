//! Queues of work.

#[cfg(feature = "cuda")]
use super::cuda::Gpu;
#[cfg(feature = "cuda")]
use super::retire::Gate;
use super::{Buffer, Device, Kind};
use crate::{Argument, Result};
#[cfg(feature = "cuda")]
use cudarc::driver::{DriverError, result, sys};
use pointmill_kernels::Kernel;
use std::fmt;
#[cfg(any(feature = "cuda", feature = "twin"))]
use std::sync::Arc;

/// A queue of work on a device; what is queued runs in order.
///
/// Cloning gives another handle of the same queue.
///
/// # Several streams
/// An operator works on its own stream and takes arrays and results of any stream of the same device. Where they belong to another one, its work that was queued
/// before the call is done before the operator's begins, and what is queued there after the call waits for the operator: nobody needs to synchronize. With
/// [`Stream::wait_for`] two streams are put in order by hand.
#[derive(Clone)]
pub struct Stream(pub(super) Queue);

#[derive(Clone)]
pub(super) enum Queue {
    Cpu(Device),
    #[cfg(feature = "cuda")]
    Cuda(Arc<CudaQueue>),
    #[cfg(feature = "twin")]
    Twin(Arc<super::twin::Queue>),
}

#[cfg(feature = "cuda")]
pub(super) struct CudaQueue {
    pub(super) gpu: Arc<Gpu>,
    raw: sys::CUstream,
    owned: bool,
    /// Open until the queue is retired.
    pub(super) gate: Gate,
}

// SAFETY: a driver stream may be used from any thread whose current context is its own; `Gpu::call` sees to that.
#[cfg(feature = "cuda")]
unsafe impl Send for CudaQueue {}
// SAFETY: as above; the driver serializes calls on a stream.
#[cfg(feature = "cuda")]
unsafe impl Sync for CudaQueue {}

#[cfg(feature = "cuda")]
impl CudaQueue {
    fn of(gpu: &Arc<Gpu>, raw: sys::CUstream, owned: bool) -> Queue {
        Queue::Cuda(Arc::new(Self { gpu: gpu.clone(), raw, owned, gate: Gate::default() }))
    }

    /// Uses the stream, unless it was retired.
    pub(super) fn pass<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        // Before the gate, whose lock another thread may have held when the process was forked.
        self.gpu.check_process()?;
        self.gate.pass(work)
    }

    /// Calls the driver with the stream, unless it was retired.
    pub(super) fn call<T>(
        &self,
        action: &'static str,
        call: impl FnOnce(sys::CUstream) -> std::result::Result<T, DriverError>,
    ) -> Result<T> {
        self.pass(|| self.gpu.call(action, || call(self.raw)))
    }

    /// `bytes` of memory, ordered with the stream's work.
    pub(super) fn alloc(&self, bytes: usize) -> Result<sys::CUdeviceptr> {
        self.pass(|| self.gpu.alloc(self.raw, bytes))
    }

    /// Gives memory back behind the work queued so far.
    ///
    /// # Safety
    /// The memory came from this queue's [`CudaQueue::alloc`] and is freed once; other streams that use it are awaited by this one.
    pub(super) unsafe fn free(&self, memory: sys::CUdeviceptr) -> Result<()> {
        // SAFETY: the caller's promise; the stream is alive, or was retired and is not used.
        let queued = || self.gpu.call("free memory", || unsafe { result::free_async(memory, self.raw) });
        // SAFETY: the caller's promise; all work of the device was done when the stream was retired, and none has used the memory since.
        let at_once = || self.gpu.call("free memory", || unsafe { result::free_sync(memory) });
        self.gpu.check_process()?;
        self.gate.open_or_done(queued, at_once)
    }

    /// Whether both are the same stream of the driver. A retired one may be gone, and its address that of a new one.
    pub(super) fn is(&self, other: &Self) -> bool {
        let alike = self.gpu.index == other.gpu.index && self.raw == other.raw;
        alike && (std::ptr::eq(self, other) || (self.gate.is_open() && other.gate.is_open()))
    }
}

#[cfg(feature = "cuda")]
impl Drop for CudaQueue {
    fn drop(&mut self) {
        if self.owned {
            // Destroying a stream lets its queued work finish. An error here has nobody left to hear it.
            // SAFETY: this is the last handle of a stream that was created here.
            let _ = self.gpu.call("destroy a stream", || unsafe { result::stream::destroy(self.raw) });
        }
    }
}

impl Stream {
    /// A new queue on `device`.
    ///
    /// # Errors
    /// A GPU that refuses one.
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self(match &device.0 {
            Kind::Cpu(_) => Queue::Cpu(device.clone()),
            #[cfg(feature = "cuda")]
            Kind::Cuda(gpu) => {
                let raw =
                    gpu.call("create a stream", || result::stream::create(result::stream::StreamKind::NonBlocking))?;
                CudaQueue::of(gpu, raw, true)
            }
            #[cfg(feature = "twin")]
            Kind::Twin => Queue::Twin(Arc::default()),
        }))
    }

    /// A CUDA stream that somebody else made, such as the current stream of a tensor library. Zero is the legacy default stream.
    ///
    /// # Safety
    /// `raw` is a `CUstream` of the device's primary context. It outlives the result, its clones and all buffers made on them, or is there until [`Stream::retire`] has returned.
    ///
    /// # Errors
    /// A device that is not a GPU.
    pub unsafe fn from_raw_cuda(device: &Device, raw: usize) -> Result<Self> {
        match &device.0 {
            #[cfg(feature = "cuda")]
            Kind::Cuda(gpu) => Ok(Self(CudaQueue::of(gpu, raw as sys::CUstream, false))),
            _ => {
                let _ = raw;
                Err(crate::Error::argument(Argument::Device, "a GPU", device))
            }
        }
    }

    /// The device that runs the work.
    pub fn device(&self) -> Device {
        match &self.0 {
            Queue::Cpu(device) => device.clone(),
            #[cfg(feature = "cuda")]
            Queue::Cuda(q) => Device(Kind::Cuda(q.gpu.clone())),
            #[cfg(feature = "twin")]
            Queue::Twin(_) => Device(Kind::Twin),
        }
    }

    /// Waits until all queued work is done.
    ///
    /// # Errors
    /// Whatever the queued work ran into; a stream that is being captured.
    pub fn synchronize(&self) -> Result<()> {
        self.check_not_capturing(Argument::Stream, "one that queued work can be awaited on", "a wait")?;
        match &self.0 {
            #[cfg(feature = "cuda")]
            // SAFETY: the stream is alive while this handle is.
            Queue::Cuda(q) => q.call("synchronize", |raw| unsafe { result::stream::synchronize(raw) }),
            _ => Ok(()),
        }
    }

    /// Memory for `len` elements, with nothing in particular in it.
    ///
    /// # Errors
    /// Out of memory.
    pub fn alloc<T: bytemuck::Pod>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::alloc(self, len)
    }

    /// A buffer with a copy of `data`.
    ///
    /// # Errors
    /// Out of memory, or a failed copy.
    pub fn upload<T: bytemuck::Pod>(&self, data: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.alloc(data.len())?;
        buffer.write(data)?;
        Ok(buffer)
    }

    /// Runs what is no kernel on the twin, or records it.
    #[cfg(feature = "twin")]
    pub(super) fn on_twin(&self, work: impl Fn() + 'static) -> Result<()> {
        match &self.0 {
            Queue::Twin(q) => q.queue(work),
            _ => Ok(()),
        }
    }

    /// Notes a step for tests, on the twin.
    #[cfg(all(feature = "twin", test))]
    pub(super) fn note(&self, step: super::Step) {
        if let Queue::Twin(q) = &self.0 {
            q.note(step);
        }
    }

    /// The number of blocks that keep the device busy in a kernel whose blocks loop over their work.
    pub(crate) fn enough_blocks(&self, per_multiprocessor: u32) -> u32 {
        match &self.0 {
            #[cfg(feature = "cuda")]
            Queue::Cuda(q) => q.gpu.multiprocessors * per_multiprocessor,
            _ => per_multiprocessor.min(3),
        }
    }

    /// Queues `blocks` blocks of kernel `K`.
    ///
    /// # Safety
    /// Pointers in `args` are valid on this device for what `K` reads and writes, until the stream has run it.
    #[cfg_attr(not(any(feature = "cuda", feature = "twin")), expect(unused_variables))]
    pub(crate) unsafe fn launch<K: Kernel>(&self, blocks: u32, args: K::Args) -> Result<()> {
        match &self.0 {
            #[cfg(feature = "cuda")]
            // SAFETY: the caller's promise.
            Queue::Cuda(q) => q.pass(|| unsafe { q.gpu.launch::<K>(q.raw, blocks, args) }),
            #[cfg(feature = "twin")]
            Queue::Twin(q) => {
                super::twin::check(super::TwinFault::Lost, 0)?;
                #[cfg(test)]
                q.note(super::Step::Kernel(K::NAME));
                // SAFETY: the caller's promise.
                q.queue(move || unsafe { pointmill_kernels::simt::twin::launch::<K>(blocks, args) })
            }
            Queue::Cpu(_) => Err(crate::Error::Internal { what: format!("kernel {} launched on the CPU", K::NAME) }),
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({})", self.device())
    }
}
