//! Marks in a stream, to measure the time between them.

use super::stream::{Queue, Stream};
use crate::{Argument, Result};
#[cfg(feature = "cuda")]
use cudarc::driver::{result, sys};
use std::fmt;
use std::time::Instant;

/// A mark in a stream: a moment that has come when all work queued before it is done.
pub struct Event {
    stream: Stream,
    mark: Mark,
}

enum Mark {
    Host(Instant),
    #[cfg(feature = "cuda")]
    Cuda(sys::CUevent),
}

// SAFETY: a driver event may be used from any thread whose current context is its own.
#[cfg(feature = "cuda")]
unsafe impl Send for Event {}

impl Stream {
    /// Queues a mark.
    ///
    /// # Errors
    /// A device that refuses; a stream that was retired.
    pub fn mark(&self) -> Result<Event> {
        let mark = match &self.0 {
            #[cfg(feature = "cuda")]
            Queue::Cuda(q) => Mark::Cuda(q.call("record an event", |raw| {
                let event = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)?;
                // SAFETY: event and stream are alive.
                let recorded = unsafe { result::event::record(event, raw) };
                recorded.map(|()| event).inspect_err(|_| {
                    // SAFETY: nobody else has the event. An error here says less than that of the mark.
                    let _ = unsafe { result::event::destroy(event) };
                })
            })?),
            #[cfg(feature = "twin")]
            Queue::Twin(q) => q.gate.pass(|| Ok(Mark::Host(Instant::now())))?,
            Queue::Cpu(_) => Mark::Host(Instant::now()),
        };
        Ok(Event { stream: self.clone(), mark })
    }
}

impl Event {
    /// Milliseconds from an earlier mark of the same device to this one; waits for both.
    ///
    /// # Errors
    /// Whatever the queued work ran into.
    pub fn ms_since(&self, earlier: &Self) -> Result<f64> {
        match (&earlier.mark, &self.mark) {
            (Mark::Host(earlier), Mark::Host(later)) => Ok(later.duration_since(*earlier).as_secs_f64() * 1e3),
            #[cfg(feature = "cuda")]
            (Mark::Cuda(earlier), Mark::Cuda(later)) => {
                let Queue::Cuda(q) = &self.stream.0 else { unreachable!("a CUDA event on a CUDA stream") };
                q.gpu.call("wait for an event", || {
                    // SAFETY: both events are alive and were recorded.
                    unsafe {
                        result::event::synchronize(*later)?;
                        result::event::elapsed(*earlier, *later)
                    }
                    .map(f64::from)
                })
            }
            #[cfg(feature = "cuda")]
            _ => Err(crate::Error::argument(Argument::Earlier, "a mark of the same device", earlier.stream.device())),
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        #[cfg(feature = "cuda")]
        if let (Mark::Cuda(event), Queue::Cuda(q)) = (&self.mark, &self.stream.0) {
            // SAFETY: this is the only handle. An error here has nobody left to hear it.
            let _ = q.gpu.call("destroy an event", || unsafe { result::event::destroy(*event) });
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:?})", self.stream)
    }
}
