//! The twin as a device.

#[cfg(test)]
pub(crate) use super::machine::twin::Step;
pub use super::machine::twin::TwinFault;
use super::machine::twin::{Twin, fail};
use super::processor::Device;

impl Device {
    /// The GPU kernels on the host, one fiber a thread: slow, and the same bits. For tests.
    pub const fn twin() -> Self {
        Self::of(&Twin)
    }

    /// From now on, in this thread, the twin lets `good` more allocations or launches pass and then
    /// fails as a GPU does; `None` ends it. For tests.
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
    pub fn fail_twin(fault: Option<(TwinFault, usize)>) {
        fail(fault);
    }
}
