//! Queues of work.

use super::machine::{Launch, Machine, RawStream};
use super::processor::Device;
use super::queue::Queue;
use crate::{Argument, Error, Result, ensure};
use pointmill_kernels::{Kernel, Properties};
use std::fmt;
use std::sync::Arc;

/// A queue of work on a device; what is queued runs in order.
///
/// Cloning gives another handle of the same queue.
///
/// # Several streams
/// An operator works on its own stream and takes arrays and results of any stream of the same
/// device. Where they belong to another one, its work that was queued before the call is done
/// before the operator's begins, and what is queued there after the call waits for the operator:
/// nobody needs to synchronize. With
/// [`Stream::wait_for`] two streams are put in order by hand.
#[derive(Clone)]
pub struct Stream {
    device: Device,
    /// The stream of the device's machine; none on the CPU, where work is done when a call returns.
    queue: Option<Arc<Queue>>,
}

impl Device {
    /// A new queue of work.
    ///
    /// # Errors
    /// A GPU that refuses one.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(self)
    }
}

impl Stream {
    /// A new queue on `device`.
    ///
    /// # Errors
    /// A GPU that refuses one.
    pub fn new(device: &Device) -> Result<Self> {
        let queue = device.machine().map(Queue::new).transpose()?;
        Ok(Self { device: device.clone(), queue: queue.map(Arc::new) })
    }

    /// A CUDA stream that somebody else made, such as the current stream of a tensor library. Zero
    /// is the legacy default stream.
    ///
    /// # Safety
    /// `raw` is a `CUstream` of the device's primary context. It outlives the result, its clones
    /// and all buffers made on them, or is there until [`Stream::retire`] has returned.
    ///
    /// # Errors
    /// A device that is not a GPU.
    pub unsafe fn from_raw_cuda(device: &Device, raw: usize) -> Result<Self> {
        let machine = device.machine().ok_or_else(|| Error::argument(Argument::Device, "a GPU", device))?;
        // SAFETY: the caller's promise.
        let queue = unsafe { Queue::adopt(machine, raw) }?;
        Ok(Self { device: device.clone(), queue: Some(Arc::new(queue)) })
    }

    /// The device that runs the work.
    pub fn device(&self) -> Device {
        self.device.clone()
    }

    /// The stream of a GPU; `None` on the CPU.
    pub(super) const fn queue(&self) -> Option<&Arc<Queue>> {
        self.queue.as_ref()
    }

    /// Calls the machine with the stream; on the CPU there is nothing to call, and the answer is
    /// the default.
    pub(super) fn ask<T: Default>(&self, call: impl FnOnce(&'static dyn Machine, RawStream) -> Result<T>) -> Result<T> {
        self.queue.as_ref().map_or_else(|| Ok(T::default()), |queue| queue.pass(call))
    }

    /// Whether both are the same queue. All of a CPU are: there work is done when a call returns.
    pub fn same_queue(&self, other: &Self) -> bool {
        match (&self.queue, &other.queue) {
            (Some(a), Some(b)) => a.is(b),
            (None, None) => true,
            _ => false,
        }
    }

    /// Waits until all queued work is done.
    ///
    /// # Errors
    /// Whatever the queued work ran into; a stream that is being captured.
    pub fn synchronize(&self) -> Result<()> {
        self.check_not_capturing(Argument::Stream, "one that queued work can be awaited on", "a wait")?;
        // SAFETY: the stream is alive.
        self.ask(|machine, raw| unsafe { machine.synchronize(raw) })
    }

    /// Whether what is queued is recorded instead of run.
    ///
    /// # Errors
    /// A device that no longer answers; a stream that was retired.
    pub fn is_capturing(&self) -> Result<bool> {
        Ok(self.capture_number()?.is_some())
    }

    /// The number of the capture that records what is queued, which no other capture has.
    ///
    /// # Errors
    /// As [`Stream::is_capturing`].
    #[doc(hidden)]
    pub fn capture_number(&self) -> Result<Option<u64>> {
        // SAFETY: the stream is alive.
        self.ask(|machine, raw| unsafe { machine.capture(raw) })
    }

    /// Refuses what a graph cannot hold.
    pub(crate) fn check_not_capturing(&self, argument: Argument, expected: &str, got: impl ToString) -> Result<()> {
        ensure(!self.is_capturing()?, argument, format_args!("{expected} (the stream records a graph)"), got)
    }

    /// Refuses what is in memory of another device.
    pub(crate) fn check_memory(&self, argument: Argument, expected: &str, other: &Self) -> Result<()> {
        let (own, other) = (self.device(), other.device());
        ensure(own.same_memory(&other), argument, format_args!("{expected} {own}"), &other)
    }

    /// Waits for all work of the device, and from then on refuses all work of this handle and its
    /// clones. Their memory is freed without the stream: for memory that was kept from call to call
    /// on a stream of somebody else ([`Stream::from_raw_cuda`]), which may be gone when the memory
    /// is let go.
    ///
    /// CUDA does not allow the wait while any thread captures a graph on that GPU, and breaks that
    /// capture off. Where the wait fails, the stream is retired all the same, and its memory is
    /// kept until the process ends. On the CPU no work waits, and nothing is refused.
    ///
    /// ```
    /// # #[cfg(feature = "twin")] {
    /// let stream = pointmill::Device::twin().stream()?;
    /// let buffer = stream.upload(&[1, 2, 3])?;
    /// stream.retire()?;
    /// assert_eq!(buffer.read(3).unwrap_err().to_string(), "stream: expected one that is still in use, got one that was retired");
    /// # }
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    ///
    /// # Errors
    /// Whatever the device's work ran into; a capture.
    pub fn retire(&self) -> Result<()> {
        self.queue.as_ref().map_or(Ok(()), |queue| queue.retire())
    }

    /// The number of blocks that keep the device busy in a kernel whose blocks loop over their
    /// work.
    pub(crate) fn enough_blocks(&self, per_multiprocessor: u32) -> u32 {
        // Where blocks run one after another three are enough to meet each other.
        let multiprocessors = self.device.machine().and_then(Machine::multiprocessors);
        multiprocessors.map_or(per_multiprocessor.min(3), |number| number * per_multiprocessor)
    }

    /// Queues `blocks` blocks of kernel `K`; of none there is nothing to do.
    ///
    /// # Safety
    /// Pointers in `args` are valid on this device for what `K` reads and writes, until the stream
    /// has run it.
    #[doc(hidden)]
    pub unsafe fn launch<K: Kernel>(&self, blocks: u32, args: K::Args) -> Result<()> {
        let kernel = const { &Properties::of::<K>() };
        let Some(queue) = &self.queue else {
            return Err(Error::Internal { what: format!("kernel {} launched on the CPU", K::NAME) });
        };
        if blocks == 0 {
            // A GPU would refuse it, and the twin would not.
            return Ok(());
        }
        let launch = Launch { kernel, blocks, args: (&raw const args).cast() };
        // SAFETY: the stream is alive, the argument is that of the kernel, and its pointers are the
        // caller's promise.
        queue.pass(|machine, raw| unsafe { machine.launch(raw, launch) })
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({})", self.device)
    }
}
