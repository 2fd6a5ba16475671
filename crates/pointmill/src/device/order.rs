//! Work on several streams of a device, in order.

use super::stream::Queue;
use super::{Buffer, Stream};
use crate::{Argument, Error, Result};
#[cfg(feature = "cuda")]
use cudarc::driver::{result, sys};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What an operator fills: memory that belongs to a stream.
pub(crate) trait Output {
    /// The stream.
    fn stream(&self) -> &Stream;
    /// Makes this belong to another stream of the same device, which has been put in order with the one before.
    fn set_stream(&mut self, stream: &Stream);
}

impl<T: bytemuck::Pod> Output for Buffer<T> {
    fn stream(&self) -> &Stream {
        self.stream()
    }

    fn set_stream(&mut self, stream: &Stream) {
        self.set_stream(stream);
    }
}

impl Stream {
    /// Whether both are the same queue. All of a CPU are: there work is done when a call returns.
    pub fn same_queue(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            #[cfg(feature = "cuda")]
            (Queue::Cuda(a), Queue::Cuda(b)) => a.is(b),
            #[cfg(feature = "twin")]
            (Queue::Twin(a), Queue::Twin(b)) => std::sync::Arc::ptr_eq(a, b),
            (Queue::Cpu(_), Queue::Cpu(_)) => true,
            #[cfg(any(feature = "cuda", feature = "twin"))]
            _ => false,
        }
    }

    /// Queues a wait: what is queued here from now on begins once all that was queued on `other` until now is done. The host does not wait.
    ///
    /// # Errors
    /// A stream of another device; one of two streams that is being captured or was retired; a device that refuses.
    pub fn wait_for(&self, other: &Self) -> Result<()> {
        if self.same_queue(other) {
            return Ok(());
        }
        if !self.device().same_memory(&other.device()) {
            return Err(Error::argument(Argument::Other, format!("a stream of {}", self.device()), other.device()));
        }
        for stream in [self, other] {
            stream.check_not_capturing(Argument::Stream, "memory of one stream only", "memory of another stream")?;
        }
        match (&self.0, &other.0) {
            #[cfg(feature = "cuda")]
            (Queue::Cuda(own), Queue::Cuda(first)) => {
                const ACTION: &str = "wait for another stream";
                let disable_timing = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
                let event = own.gpu.call(ACTION, || result::event::create(disable_timing))?;
                // SAFETY: the event is alive, and so is the stream that the call gives.
                let recorded = first.call(ACTION, |raw| unsafe { result::event::record(event, raw) });
                let wait = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
                // SAFETY: as above.
                let queued = || own.call(ACTION, |raw| unsafe { result::stream::wait_event(raw, event, wait) });
                let queued = recorded.and_then(|()| queued());
                // SAFETY: this is the only handle. The driver keeps a destroyed event until nobody waits for it.
                let destroyed = own.gpu.call(ACTION, || unsafe { result::event::destroy(event) });
                queued.and(destroyed)
            }
            #[cfg(all(feature = "twin", test))]
            (Queue::Twin(own), Queue::Twin(first)) => {
                own.note(super::Step::WaitFor(std::sync::Arc::as_ptr(first) as usize));
                Ok(())
            }
            // The twin's queues run their work at once.
            _ => Ok(()),
        }
    }

    /// Has `other`, whose memory was used here, wait for what is queued here. Where it cannot, as one that was retired meanwhile, the host waits, or the memory could be freed too early.
    fn hand_back(&self, other: &Self) -> Result<()> {
        other.wait_for(self).inspect_err(|_| drop(self.synchronize()))
    }

    /// Calls `work`, which queues here what uses memory of `others`, in order with what they do before and after.
    pub(crate) fn in_order<R, E: From<Error>>(
        &self,
        others: &[Option<&Self>],
        work: impl FnOnce() -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        others.iter().flatten().try_for_each(|other| self.wait_for(other))?;
        let result = catch_unwind(AssertUnwindSafe(work));
        // After an error or a panic too: part of the work may be queued. To each, whatever comes of the others.
        let handed_back = others.iter().flatten().map(|other| self.hand_back(other)).fold(Ok(()), Result::and);
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        handed_back?;
        result
    }

    /// [`Stream::in_order`], with a result that belongs to this stream while `work` runs, so that all it allocates, frees and awaits is in order too.
    pub(crate) fn in_order_with<O: Output, R, E: From<Error>>(
        &self,
        inputs: &[Option<&Self>],
        out: &mut O,
        work: impl FnOnce(&mut O) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let home = out.stream().clone();
        self.wait_for(&home)?;
        if !self.same_queue(&home) {
            out.set_stream(self);
        }
        let result = catch_unwind(AssertUnwindSafe(|| self.in_order(inputs, || work(&mut *out))));
        if !self.same_queue(&home) {
            out.set_stream(&home);
        }
        let handed_back = self.hand_back(&home);
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        handed_back?;
        result
    }

    /// What was asked of a queue of the twin since the last call.
    #[cfg(all(feature = "twin", test))]
    pub(crate) fn take_steps(&self) -> Vec<super::Step> {
        match &self.0 {
            Queue::Twin(q) => q.take_steps(),
            _ => Vec::new(),
        }
    }

    /// The step of waiting for this queue of the twin.
    #[cfg(all(feature = "twin", test))]
    pub(crate) fn awaited(&self) -> super::Step {
        match &self.0 {
            Queue::Twin(q) => super::Step::WaitFor(std::sync::Arc::as_ptr(q) as usize),
            _ => panic!("only the twin keeps steps"),
        }
    }
}
