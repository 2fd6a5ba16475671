//! Recorded work.

use super::machine::RawGraph;
use super::queue::Queue;
use super::stream::Stream;
use crate::{Argument, Error, Result};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

impl Stream {
    /// Records the work that `queue_work` queues, instead of running it.
    ///
    /// Kernels, fills and copies on the device are recorded, with the addresses and sizes of this
    /// moment. So everything must be there already: run the work once before, with sizes and splits
    /// as large as they get. What must hold whenever the graph is launched says [`Graph::launch`].
    ///
    /// Refused with an error, because a graph would read memory that is long gone or could not do
    /// it at all: allocating, host slices as arrays, row splits other than those of the call
    /// before, waiting for results (and so calls that must wait to learn a size), and arrays of
    /// other streams.
    ///
    /// A panic of `queue_work` ends the recording too.
    ///
    /// # Errors
    /// A device without graphs, a stream that is being captured or was retired, what `queue_work`
    /// returns, or a recording that the driver refuses.
    pub fn capture(&self, queue_work: impl FnOnce() -> Result<()>) -> Result<Graph> {
        self.check_not_capturing(Argument::Stream, "one that records nothing else", "another recording")?;
        let Some(queue) = self.queue() else {
            return Err(Error::argument(Argument::Device, "a GPU (only GPUs record graphs)", self.device()));
        };
        // Behind the checks: who captures already has it, and a second time would wait for a writer
        // that waits for the first.
        #[cfg(test)]
        let _together = crate::testing::CAPTURES.read();
        // SAFETY: the stream is alive.
        queue.pass(|machine, raw| unsafe { machine.begin_capture(raw) })?;
        let queued = catch_unwind(AssertUnwindSafe(queue_work));
        // Whatever became of the work: while it is captured a stream is of no other use.
        // SAFETY: the stream is alive.
        let raw = queue.pass(|machine, raw| unsafe { machine.end_capture(raw) });
        let graph = raw.map(|raw| Graph { queue: queue.clone(), raw, _one_thread: PhantomData });
        queued.unwrap_or_else(|panic| resume_unwind(panic))?;
        graph
    }
}

/// Recorded work that can be queued as a whole, again and again.
pub struct Graph {
    queue: Arc<Queue>,
    raw: RawGraph,
    /// A graph may move to another thread, but two must not launch it at the same time.
    _one_thread: PhantomData<Cell<()>>,
}

impl Graph {
    /// Queues the recorded work on the stream it was recorded on.
    ///
    /// # Safety
    /// The graph holds addresses and keeps nothing alive. From this call until the stream has run
    /// the work, the caller promises of all arrays, results and operators whose calls were
    /// recorded:
    ///
    /// - **They are there, where they were.** None was dropped, exchanged or replaced, and none has
    ///   grown: operators and results grow in a call on more points, boxes, channels or samples
    ///   than in all calls before.
    /// - **Nobody else uses their memory**, on the host or on another stream that this one is not
    ///   in order with, not even through a `&mut` of the caller's own.
    /// - **The operators are whole.** Since the recording no call of theirs has failed, unless one
    ///   that succeeded came after it.
    ///
    /// ```
    /// # #[cfg(feature = "twin")] {
    /// let stream = pointmill::Device::twin().stream()?;
    /// let from = stream.upload(&[1, 2, 3])?;
    /// let mut to = stream.alloc(3)?;
    /// let graph = stream.capture(|| to.copy_from(&from, 3))?;
    /// // SAFETY: both buffers are alive and as long as before, and only this thread has them.
    /// unsafe { graph.launch() }?;
    /// assert_eq!(to.read(3)?, [1, 2, 3]);
    /// # }
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    ///
    /// Safe code cannot launch a graph whose memory is gone:
    ///
    /// ```compile_fail,E0133
    /// let stream = pointmill::Device::auto().stream()?;
    /// let from = stream.upload(&[1, 2, 3])?;
    /// let mut to = stream.alloc(3)?;
    /// let graph = stream.capture(|| to.copy_from(&from, 3))?;
    /// drop((from, to));
    /// graph.launch()?;
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    ///
    /// # Errors
    /// A device that refuses; a stream that was retired.
    pub unsafe fn launch(&self) -> Result<()> {
        // SAFETY: graph and stream are alive; what the work uses is the caller's promise.
        self.queue.pass(|machine, raw| unsafe { machine.launch_graph(raw, self.raw) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: this is the only handle.
        unsafe { self.queue.machine().destroy_graph(self.raw) };
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({})", self.queue.machine().name())
    }
}
