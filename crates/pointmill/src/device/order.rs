//! Work on several streams of a device, in order.

use super::buffer::Buffer;
use super::stream::Stream;
use crate::{Argument, Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What an operator fills: memory that belongs to a stream.
pub(crate) trait Output {
    /// The stream.
    fn stream(&self) -> &Stream;
    /// Makes this belong to another stream of the same device, which has been put in order with the
    /// one before.
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
    /// Queues a wait: what is queued here from now on begins once all that was queued on `other`
    /// until now is done. The host does not wait.
    ///
    /// # Errors
    /// A stream of another device; one of two streams that is being captured or was retired; a
    /// device that refuses.
    pub fn wait_for(&self, other: &Self) -> Result<()> {
        if self.same_queue(other) {
            return Ok(());
        }
        self.check_memory(Argument::Other, "a stream of", other)?;
        for stream in [self, other] {
            stream.check_not_capturing(Argument::Stream, "memory of one stream only", "memory of another stream")?;
        }
        let (Some(own), Some(first)) = (self.queue(), other.queue()) else { return Ok(()) };
        // Each through its own gate, one after the other: nobody holds two.
        // SAFETY: the stream is alive.
        let mark = first.pass(|machine, raw| unsafe { machine.record(raw, false) })?;
        // SAFETY: stream and mark are alive, and of the same machine.
        let queued = own.pass(|machine, raw| unsafe { machine.wait_event(raw, mark) });
        // SAFETY: this is the only handle.
        let destroyed = unsafe { first.machine().destroy_event(mark) };
        queued.and(destroyed)
    }

    /// Has `other`, whose memory was used here, wait for what is queued here. Where it cannot, as
    /// one that was retired meanwhile, the host waits, or the memory could be freed too early.
    fn hand_back(&self, other: &Self) -> Result<()> {
        other.wait_for(self).inspect_err(|_| drop(self.synchronize()))
    }

    /// Calls `work`, which queues here what uses memory of `others`, in order with what they do
    /// before and after.
    #[doc(hidden)]
    pub fn in_order<R, E: From<Error>>(
        &self,
        others: &[Option<&Self>],
        work: impl FnOnce() -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        others.iter().flatten().try_for_each(|other| self.wait_for(other))?;
        let result = catch_unwind(AssertUnwindSafe(work));
        // After an error or a panic too: part of the work may be queued. To each, whatever comes of
        // the others.
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
}
