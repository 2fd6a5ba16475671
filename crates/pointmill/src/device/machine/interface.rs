//! What streams, buffers, events and graphs ask of a GPU.

use crate::{Argument, Error, Result};
use pointmill_kernels::Properties;
use std::fmt;

/// A GPU with its runtime. It is opened once and lives as long as the process. The CPU is the
/// absence of a machine.
///
/// A machine takes and returns handles and addresses, as drivers do.
///
/// # Safety
/// Every unsafe method has the same conditions. The caller promises that handles come from this
/// machine and are alive, and that memory at an address is as large as the call says and stays
/// valid until the stream has done the work. A method that destroys or frees gets the last use of
/// its handle or memory.
pub(crate) trait Machine: Send + Sync {
    /// The name of the device.
    fn name(&self) -> Name;

    /// Refuses a process that cannot use the machine, such as one that was forked from its user.
    fn check_process(&self) -> Result<()> {
        Ok(())
    }

    /// What is known about the device; `None` where there is nothing to tell.
    fn info(&self) -> Result<Option<DeviceInfo>> {
        Ok(None)
    }

    /// The number of processors that run blocks at the same time; `None` where blocks run one after
    /// another.
    fn multiprocessors(&self) -> Option<u32> {
        None
    }

    /// Waits for all work of the device.
    fn finish(&self) -> Result<()>;

    /// A new stream.
    fn create_stream(&self) -> Result<RawStream>;

    /// A stream that somebody else made, by the number that its runtime knows it by.
    unsafe fn adopt_stream(&self, _raw: usize) -> Result<RawStream> {
        Err(Error::argument(Argument::Device, "a GPU", self.name()))
    }

    /// Destroys a stream; its queued work is still done.
    unsafe fn destroy_stream(&self, stream: RawStream);

    /// Waits for the work of a stream.
    unsafe fn synchronize(&self, stream: RawStream) -> Result<()>;

    /// The address of new memory, aligned to 16 bytes, that the stream's work may use from now on.
    unsafe fn alloc(&self, stream: RawStream, bytes: usize) -> Result<u64>;

    /// Frees memory behind the work that the stream has so far; at once where there is no stream.
    unsafe fn free(&self, stream: Option<RawStream>, address: u64, bytes: usize) -> Result<()>;

    /// The addresses, on the device and on the host, of new memory that both reach, aligned to 16
    /// bytes.
    fn alloc_shared(&self, bytes: usize) -> Result<(u64, usize)>;

    /// Frees memory of [`Machine::alloc_shared`] by its address on the host, once the device does
    /// not use it.
    unsafe fn free_shared(&self, host: usize, bytes: usize) -> Result<()>;

    /// Copies from the host. The data is read before the call returns.
    unsafe fn write(&self, stream: RawStream, to: u64, data: &[u8]) -> Result<()>;

    /// Copies to the host, and waits for it.
    unsafe fn read(&self, stream: RawStream, from: u64, out: &mut [u8]) -> Result<()>;

    /// Queues a copy on the device.
    unsafe fn copy(&self, stream: RawStream, from: u64, to: u64, bytes: usize) -> Result<()>;

    /// Queues setting words of 32 bits.
    unsafe fn fill(&self, stream: RawStream, to: u64, value: u32, words: usize) -> Result<()>;

    /// Queues a kernel. Pointers in its argument are valid for what the kernel reads and writes.
    unsafe fn launch(&self, stream: RawStream, launch: Launch<'_>) -> Result<()>;

    /// Queues a mark; only a `timed` one says when it came.
    unsafe fn record(&self, stream: RawStream, timed: bool) -> Result<RawEvent>;

    /// Queues a wait for a mark, of this or another stream. The host does not wait.
    unsafe fn wait_event(&self, stream: RawStream, event: RawEvent) -> Result<()>;

    /// Waits for two timed marks and says how many milliseconds lie between them.
    unsafe fn ms_between(&self, earlier: RawEvent, later: RawEvent) -> Result<f64>;

    /// Destroys a mark; who waits for it still does.
    unsafe fn destroy_event(&self, event: RawEvent) -> Result<()>;

    /// Records what is queued from now on instead of running it.
    unsafe fn begin_capture(&self, stream: RawStream) -> Result<()>;

    /// Ends the recording, and makes it a graph that can be launched.
    unsafe fn end_capture(&self, stream: RawStream) -> Result<RawGraph>;

    /// The number of the capture that records what is queued, which no other one has; none where it runs.
    unsafe fn capture(&self, stream: RawStream) -> Result<Option<u64>>;

    /// Queues the work of a graph, whose addresses are still valid.
    unsafe fn launch_graph(&self, stream: RawStream, graph: RawGraph) -> Result<()>;

    /// Destroys a graph.
    unsafe fn destroy_graph(&self, graph: RawGraph);
}

/// A stream of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawStream(pub(crate) usize);

/// A mark in a stream of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawEvent(pub(crate) usize);

/// Recorded work of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawGraph(pub(crate) usize);

/// Blocks of a kernel with its argument, without their types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) kernel: &'a Properties,
    pub(crate) blocks: u32,
    /// The kernel's argument, of [`Properties::args_bytes`] bytes; it is read before the launch
    /// returns.
    pub(crate) args: *const (),
}

/// The name of a device: its runtime, and its number where the runtime serves several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) runtime: &'static str,
    pub(crate) index: Option<usize>,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.runtime)?;
        self.index.map_or(Ok(()), |index| write!(f, ":{index}"))
    }
}

/// What is known about a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its number, as in `cuda:0`.
    pub index: usize,
    /// Its product name.
    pub name: String,
    /// Major and minor compute capability.
    pub compute_capability: (u32, u32),
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes of memory that are free.
    pub free_bytes: u64,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// The newest CUDA version that the driver serves, major and minor.
    pub driver_cuda: (u32, u32),
    /// The driver's own version, such as `580.65.06`, where the system gives it.
    pub driver: Option<String>,
}
