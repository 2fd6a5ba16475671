//! Devices, streams and memory: where an operator runs.
//!
//! - [`Device`] names a processor: the CPU, or an NVIDIA GPU;
//! - [`Stream`] is a queue of work on it, in order;
//! - [`Buffer`] is memory on it.
//!
//! On the CPU work is done before a call returns and a buffer is a vector. On a GPU calls return once their work is queued.

mod buffer;
#[cfg(feature = "cuda")]
mod cuda;
mod event;
mod graph;
mod name;
mod notice;
mod order;
mod process;
mod retire;
mod side;
mod stream;
#[cfg(test)]
mod tests;
mod threads;
#[cfg(feature = "twin")]
mod twin;
mod uploaded;

pub use buffer::Buffer;
pub use event::Event;
pub use graph::Graph;
pub(crate) use notice::Notice;
pub(crate) use order::Output;
pub use process::{PerProcess, count_forks};
pub(crate) use side::Side;
pub use stream::Stream;
pub(crate) use threads::on_threads;
pub use threads::{num_threads, set_num_threads};
#[cfg(all(feature = "twin", test))]
pub(crate) use twin::Step;
#[cfg(feature = "twin")]
pub use twin::TwinFault;
pub(crate) use uploaded::Uploaded;

use crate::{Argument, Error, Result};
use std::fmt;
use std::sync::Arc;

/// A processor that operators run on.
///
/// ```
/// use pointmill::Device;
/// let device = Device::auto();
/// println!("running on {device}");
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone)]
pub struct Device(pub(crate) Kind);

#[derive(Clone)]
pub(crate) enum Kind {
    /// The CPU, with the threads of this pool, or those that [`set_num_threads`] tells of.
    Cpu(Option<Arc<threads::Threads>>),
    #[cfg(feature = "cuda")]
    Cuda(Arc<cuda::Gpu>),
    #[cfg(feature = "twin")]
    Twin,
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
    /// The driver's own version, such as `580.65.06`, where the system tells.
    pub driver: Option<String>,
}

impl Device {
    /// The CPU, with as many threads as rayon's current pool has, or as [`set_num_threads`] was asked for. Where the system refuses threads, the calling thread does all the work, with
    /// the same bits, and a warning ([`tracing`]) says so once.
    ///
    /// A process may fork: a child has threads of its own, one unless a number was set.
    pub const fn cpu() -> Self {
        Self(Kind::Cpu(None))
    }

    /// The CPU with a pool of its own.
    ///
    /// # Errors
    /// Zero threads, or threads that the system refuses.
    pub fn cpu_with_threads(threads: usize) -> Result<Self> {
        if threads == 0 {
            return Err(Error::argument(Argument::Threads, "at least 1", threads));
        }
        Ok(Self(Kind::Cpu(Some(Arc::new(threads::Threads::new(threads)?)))))
    }

    /// The NVIDIA GPU with this number.
    ///
    /// The first call of an operator takes longer: the driver translates the operator's kernels and keeps the result in its cache. The device's primary context is used, the one that other CUDA libraries in the process use too.
    ///
    /// # Errors
    /// No driver, no such GPU, or one older than compute capability 7.0; a process that was forked from one that has used CUDA here, where CUDA does not work.
    pub fn cuda(index: usize) -> Result<Self> {
        #[cfg(feature = "cuda")]
        return Ok(Self(Kind::Cuda(cuda::Gpu::open(index)?)));
        #[cfg(not(feature = "cuda"))]
        Err(Error::DeviceUnavailable {
            device: format!("cuda:{index}"),
            reason: "built without the feature cuda".into(),
        })
    }

    /// The first GPU that answers, else the CPU. Say which one it was: print the device.
    pub fn auto() -> Self {
        Self::cuda(0).unwrap_or_else(|why| {
            tracing::debug!("no GPU: {why}");
            Self::cpu()
        })
    }

    /// The GPU kernels on the host, one fiber a thread: slow, and the same bits. For tests.
    #[cfg(feature = "twin")]
    pub const fn twin() -> Self {
        Self(Kind::Twin)
    }

    /// From now on, in this thread, the twin lets `good` more allocations or launches pass and then fails as a GPU does; `None` ends it. For tests.
    ///
    /// ```
    /// use pointmill::{Device, Error, TwinFault};
    /// let stream = Device::twin().stream()?;
    /// Device::fail_twin(Some((TwinFault::OutOfMemory, 1)));
    /// assert!(stream.alloc::<u32>(8).is_ok());
    /// assert!(matches!(stream.alloc::<u32>(8), Err(Error::OutOfMemory { bytes: 32, .. })));
    /// Device::fail_twin(None);
    /// assert!(stream.alloc::<u32>(8).is_ok());
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    #[cfg(feature = "twin")]
    pub fn fail_twin(fault: Option<(TwinFault, usize)>) {
        twin::fail(fault);
    }

    /// The GPUs that answer.
    ///
    /// # Errors
    /// The reason why there are none, if the driver gives one.
    pub fn list_cuda() -> Result<Vec<DeviceInfo>> {
        #[cfg(feature = "cuda")]
        return cuda::list();
        #[cfg(not(feature = "cuda"))]
        Ok(Vec::new())
    }

    /// What is known about this device; `None` for the CPU.
    ///
    /// # Errors
    /// A GPU that no longer answers.
    pub fn info(&self) -> Result<Option<DeviceInfo>> {
        match &self.0 {
            #[cfg(feature = "cuda")]
            Kind::Cuda(gpu) => gpu.info().map(Some),
            _ => Ok(None),
        }
    }

    /// The oldest GPU that the kernels are compiled for, as PTX names it, and the version of PTX; newer GPUs translate them.
    ///
    /// ```
    /// assert_eq!(pointmill::Device::ptx_target(), ("sm_70", "7.8"));
    /// ```
    pub fn ptx_target() -> (&'static str, &'static str) {
        let of = |directive: &str| {
            let line = pointmill_kernels::MODULES[0].ptx.lines().find_map(|line| line.strip_prefix(directive));
            line.map_or("", str::trim)
        };
        (of(".target "), of(".version "))
    }

    /// Whether work is done by the CPU path.
    pub const fn is_cpu(&self) -> bool {
        matches!(self.0, Kind::Cpu(_))
    }

    /// The number of CPU threads that operators use; 1 on other devices.
    pub fn threads(&self) -> usize {
        match &self.0 {
            Kind::Cpu(Some(threads)) => threads.number(),
            Kind::Cpu(None) => num_threads(),
            #[cfg(any(feature = "cuda", feature = "twin"))]
            _ => 1,
        }
    }

    /// A new queue of work.
    ///
    /// # Errors
    /// A GPU that refuses one.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(self)
    }

    /// Runs `work` on the device's own threads of the CPU, or on those of the process.
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Kind::Cpu(Some(threads)) => threads.install(work),
            _ => on_threads(work),
        }
    }

    /// Whether both are the same processor with the same memory.
    pub fn same_memory(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kind::Cpu(_), Kind::Cpu(_)) => true,
            #[cfg(feature = "cuda")]
            (Kind::Cuda(a), Kind::Cuda(b)) => a.index == b.index,
            #[cfg(feature = "twin")]
            (Kind::Twin, Kind::Twin) => true,
            #[cfg(any(feature = "cuda", feature = "twin"))]
            _ => false,
        }
    }
}

impl fmt::Display for Device {
    /// `cpu`, `cuda:0`, ...
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Cpu(_) => f.write_str("cpu"),
            #[cfg(feature = "cuda")]
            Kind::Cuda(gpu) => write!(f, "cuda:{}", gpu.index),
            #[cfg(feature = "twin")]
            Kind::Twin => f.write_str("twin"),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}
