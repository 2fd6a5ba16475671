//! Streams that are used no longer, though memory of them is still there.

use super::stream::{Queue, Stream};
use crate::{Argument, Error, Result};
#[cfg(feature = "cuda")]
use cudarc::driver::result;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{PoisonError, RwLock};

/// Work may be queued.
const OPEN: u8 = 0;
/// Nothing is queued any more, and what was is done.
const DONE: u8 = 1;
/// Nothing is queued any more, and what was may still run.
const UNKNOWN: u8 = 2;

/// Whether a queue may be used. Every use goes through it, so that none is under way when the queue is retired.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: AtomicU8,
    uses: RwLock<()>,
}

#[cfg_attr(not(any(feature = "cuda", feature = "twin")), expect(dead_code))]
impl Gate {
    pub(super) fn is_open(&self) -> bool {
        self.state.load(Ordering::SeqCst) == OPEN
    }

    /// Uses the queue.
    ///
    /// # Errors
    /// A retired queue, and those of the use.
    pub(super) fn pass<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _use = self.uses.read().unwrap_or_else(PoisonError::into_inner);
        if self.is_open() {
            return work();
        }
        Err(Error::argument(Argument::Stream, "one that is still in use", "one that was retired"))
    }

    /// Closes the gate for good, then waits with `finish` for what was queued.
    fn close(&self, finish: impl FnOnce() -> Result<()>) -> Result<()> {
        let _alone = self.uses.write().unwrap_or_else(PoisonError::into_inner);
        // First of all: after an error too nothing may be asked of the queue. One that was waited for stays done.
        if self.state.load(Ordering::SeqCst) != DONE {
            self.state.store(UNKNOWN, Ordering::SeqCst);
            finish()?;
            self.state.store(DONE, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Does `queued` while the queue is open, and `done` when all its work is done. Neither where it may still run: then memory stays where it is.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code))]
    pub(super) fn open_or_done<T: Default>(
        &self,
        queued: impl FnOnce() -> Result<T>,
        done: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let _use = self.uses.read().unwrap_or_else(PoisonError::into_inner);
        match self.state.load(Ordering::SeqCst) {
            OPEN => queued(),
            DONE => done(),
            _ => Ok(T::default()),
        }
    }
}

impl Stream {
    /// Waits for all work of the device, and from then on refuses all work of this handle and its clones. Their memory is freed without the stream: for memory that was kept from
    /// call to call on a stream of somebody else ([`Stream::from_raw_cuda`]), which may be gone when the memory is let go.
    ///
    /// CUDA does not allow the wait while any thread captures a graph on that GPU, and breaks that capture off. Where the wait fails, the stream is retired all the same, and its memory is
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
        match &self.0 {
            #[cfg(feature = "cuda")]
            Queue::Cuda(q) => {
                q.gpu.check_process()?;
                q.gate.close(|| q.gpu.call("finish its work", result::ctx::synchronize))
            }
            #[cfg(feature = "twin")]
            Queue::Twin(q) => q.gate.close(|| Ok(())),
            Queue::Cpu(_) => Ok(()),
        }
    }
}
