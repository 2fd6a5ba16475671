//! Processors: the CPU and GPUs.

use super::machine::{self, DeviceInfo, Machine};
use super::threads::{Threads, num_threads, on_threads};
use crate::Result;
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
pub struct Device(Kind);

#[derive(Clone)]
enum Kind {
    /// The CPU, with the threads of this pool, or those that
    /// [`set_num_threads`](super::set_num_threads) asks for.
    Cpu(Option<Arc<Threads>>),
    Gpu(&'static dyn Machine),
}

impl Device {
    /// The device of a machine.
    pub(super) const fn of(machine: &'static dyn Machine) -> Self {
        Self(Kind::Gpu(machine))
    }

    /// The machine; `None` for the CPU.
    pub(super) const fn machine(&self) -> Option<&'static dyn Machine> {
        match self.0 {
            Kind::Cpu(_) => None,
            Kind::Gpu(machine) => Some(machine),
        }
    }

    /// The CPU, with as many threads as rayon's current pool has, or as
    /// [`set_num_threads`](super::set_num_threads) was asked for. Where the system refuses threads,
    /// the calling thread does all the work, with the same bits, and a warning ([`tracing`]) says
    /// so once.
    ///
    /// A process may fork: a child has threads of its own, one unless a number was set.
    pub const fn cpu() -> Self {
        Self(Kind::Cpu(None))
    }

    /// The CPU with a pool of its own; of one thread it is the caller's.
    ///
    /// # Errors
    /// Zero threads, more than [`MAX_THREADS`](super::MAX_THREADS), or threads that the system
    /// refuses.
    pub fn cpu_with_threads(threads: usize) -> Result<Self> {
        Ok(Self(Kind::Cpu(Some(Arc::new(Threads::new(threads)?)))))
    }

    /// The NVIDIA GPU with this number.
    ///
    /// The first call of an operator takes longer: the driver compiles the operator's kernels and
    /// keeps the result in its cache. Two [`tracing`] events report it, before and after, at the
    /// level `INFO` with the target `pointmill::device` and the fields `device`, `module` and
    /// `bytes`; the second has `milliseconds` too.
    ///
    /// The device's primary context is used, which other CUDA libraries in the process use too.
    ///
    /// # Errors
    /// No driver, no such GPU, or one older than compute capability 7.0; a process that was forked
    /// from one that has used CUDA here, where CUDA does not work.
    pub fn cuda(index: usize) -> Result<Self> {
        machine::cuda(index).map(Self::of)
    }

    /// The first GPU that answers, else the CPU. Say which one it was: print the device.
    pub fn auto() -> Self {
        Self::cuda(0).unwrap_or_else(|why| {
            tracing::debug!("no GPU: {why}");
            Self::cpu()
        })
    }

    /// The GPUs that answer.
    ///
    /// # Errors
    /// The reason why there are none, if the driver gives one.
    pub fn list_cuda() -> Result<Vec<DeviceInfo>> {
        machine::list_cuda()
    }

    /// What is known about this device; `None` for the CPU.
    ///
    /// # Errors
    /// A GPU that no longer answers.
    pub fn info(&self) -> Result<Option<DeviceInfo>> {
        self.machine().map_or(Ok(None), Machine::info)
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
            Kind::Gpu(_) => 1,
        }
    }

    /// Runs `work` on the device's own threads of the CPU, or on those of the process.
    #[doc(hidden)]
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Kind::Cpu(Some(threads)) => threads.install(work),
            _ => on_threads(work),
        }
    }

    /// Whether both are the same processor with the same memory.
    pub fn same_memory(&self, other: &Self) -> bool {
        self.machine().map(Machine::name) == other.machine().map(Machine::name)
    }
}

impl fmt::Display for Device {
    /// `cpu`, `cuda:0`, ...
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Cpu(_) => f.write_str("cpu"),
            Kind::Gpu(machine) => machine.name().fmt(f),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}
