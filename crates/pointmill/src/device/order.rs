//! Work on several streams of a device, in order.

#[cfg(any(feature = "cuda", feature = "twin"))]
use super::stream::Queue;
use super::{Buffer, Stream};
use crate::{Error, Result};
#[cfg(feature = "cuda")]
use cudarc::driver::{result, sys};

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
            (Queue::Cuda(a), Queue::Cuda(b)) => a.gpu.index == b.gpu.index && a.raw == b.raw,
            #[cfg(feature = "twin")]
            (Queue::Twin(a), Queue::Twin(b)) => std::sync::Arc::ptr_eq(a, b),
            _ => self.device().is_cpu() && other.device().is_cpu(),
        }
    }

    /// Queues a wait: what is queued here from now on begins once all that was queued on `other` until now is done. The host does not wait.
    ///
    /// # Errors
    /// A stream of another device; one of two streams that is being captured; a device that refuses.
    pub fn wait_for(&self, other: &Self) -> Result<()> {
        if self.same_queue(other) {
            return Ok(());
        }
        if !self.device().same_memory(&other.device()) {
            return Err(Error::argument("other", format!("a stream of {}", self.device()), other.device()));
        }
        for stream in [self, other] {
            stream.check_not_capturing("stream", "memory of one stream only", "memory of another stream")?;
        }
        match (&self.0, &other.0) {
            #[cfg(feature = "cuda")]
            (Queue::Cuda(own), Queue::Cuda(first)) => own.gpu.call("wait for another stream", || {
                let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
                // SAFETY: event and streams are alive. The driver keeps a destroyed event until nobody waits for it.
                unsafe {
                    let wait = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
                    let queued = result::event::record(event, first.raw)
                        .and_then(|()| result::stream::wait_event(own.raw, event, wait));
                    result::event::destroy(event).and(queued)
                }
            }),
            #[cfg(all(feature = "twin", test))]
            (Queue::Twin(own), Queue::Twin(first)) => {
                own.note(super::Step::WaitFor(std::sync::Arc::as_ptr(first) as usize));
                Ok(())
            }
            // The twin's queues run their work at once.
            _ => Ok(()),
        }
    }

    /// Calls `work`, which queues here what uses memory of `others`, in order with what they do before and after.
    pub(crate) fn in_order<R, E: From<Error>>(
        &self,
        others: &[Option<&Self>],
        work: impl FnOnce() -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let foreign = || others.iter().flatten().filter(|other| !self.same_queue(other));
        foreign().try_for_each(|other| self.wait_for(other))?;
        let result = work();
        // After an error too: part of the work may be queued.
        foreign().try_for_each(|other| other.wait_for(self))?;
        result
    }

    /// [`Stream::in_order`], with a result that belongs to this stream while `work` runs, so that all it allocates, frees and awaits is in order too.
    pub(crate) fn in_order_with<O: Output, R, E: From<Error>>(
        &self,
        inputs: &[Option<&Self>],
        out: &mut O,
        work: impl FnOnce(&mut O) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        if self.same_queue(out.stream()) {
            return self.in_order(inputs, || work(out));
        }
        let home = out.stream().clone();
        self.wait_for(&home)?;
        out.set_stream(self);
        let result = self.in_order(inputs, || work(out));
        out.set_stream(&home);
        home.wait_for(self)?;
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
