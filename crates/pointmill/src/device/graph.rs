//! Recorded work.

use super::Stream;
use super::stream::Queue;
use crate::{Argument, Error, Result};
#[cfg(feature = "cuda")]
use cudarc::driver::{result, sys};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

impl Stream {
    /// Records the work that `queue_work` queues, instead of running it.
    ///
    /// Kernels, fills and copies on the device are recorded, with the addresses and sizes of this moment. So everything must be there already: run the work once before, with sizes and splits as
    /// large as they get. What must hold whenever the graph is launched says [`Graph::launch`].
    ///
    /// Refused with an error, because a graph would read memory that is long gone or could not do it at all: allocating, host slices as arrays,
    /// row splits other than those of the call before, waiting for results (and so calls that must wait to learn a size), and arrays of other streams.
    ///
    /// A panic of `queue_work` ends the recording too.
    ///
    /// # Errors
    /// A device without graphs, a stream that is being captured or was retired, what `queue_work` returns, or a recording that the driver refuses.
    pub fn capture(&self, queue_work: impl FnOnce() -> Result<()>) -> Result<Graph> {
        #[cfg(test)]
        let _together = crate::testing::CAPTURES.read();
        self.check_not_capturing(Argument::Stream, "one that records nothing else", "another recording")?;
        self.begin_capture()?;
        let queued = catch_unwind(AssertUnwindSafe(queue_work));
        // Whatever became of the work: while it is captured a stream is of no other use.
        let work = self.end_capture();
        queued.unwrap_or_else(|panic| resume_unwind(panic))?;
        work?.ready(self)
    }

    fn begin_capture(&self) -> Result<()> {
        match &self.0 {
            #[cfg(feature = "cuda")]
            Queue::Cuda(q) => {
                let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
                // SAFETY: the stream is alive while this handle is.
                q.call("begin a capture", |raw| unsafe { result::stream::begin_capture(raw, mode) })
            }
            #[cfg(feature = "twin")]
            Queue::Twin(q) => {
                q.begin_capture();
                Ok(())
            }
            Queue::Cpu(_) => Err(Error::argument(Argument::Device, "a GPU (only GPUs record graphs)", self.device())),
        }
    }

    fn end_capture(&self) -> Result<Recorded> {
        match &self.0 {
            #[cfg(feature = "cuda")]
            Queue::Cuda(q) => {
                // SAFETY: the stream is alive while this handle is.
                let graph = q.call("end a capture", |raw| unsafe { result::stream::end_capture(raw) })?;
                Ok(Recorded::Cuda(CudaGraph { gpu: q.gpu.clone(), graph }))
            }
            #[cfg(feature = "twin")]
            Queue::Twin(q) => Ok(Recorded::Twin(q.end_capture())),
            Queue::Cpu(_) => unreachable!("a capture was begun"),
        }
    }

    /// Whether what is queued is recorded instead of run.
    ///
    /// # Errors
    /// A device that no longer answers; a stream that was retired.
    pub fn is_capturing(&self) -> Result<bool> {
        match &self.0 {
            #[cfg(feature = "cuda")]
            Queue::Cuda(q) => {
                // SAFETY: the stream is alive while this handle is.
                let status = q.call("say if it is captured", |raw| unsafe { result::stream::is_capturing(raw) })?;
                Ok(status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
            }
            #[cfg(feature = "twin")]
            Queue::Twin(q) => q.is_capturing(),
            Queue::Cpu(_) => Ok(false),
        }
    }

    /// Refuses what a graph cannot hold.
    pub(crate) fn check_not_capturing(&self, argument: Argument, expected: &str, got: impl ToString) -> Result<()> {
        if !self.is_capturing()? {
            return Ok(());
        }
        Err(Error::argument(argument, format!("{expected} (the stream records a graph)"), got))
    }
}

/// What a capture recorded.
enum Recorded {
    #[cfg(feature = "cuda")]
    Cuda(CudaGraph),
    #[cfg(feature = "twin")]
    Twin(Vec<super::twin::Work>),
}

/// A graph of the driver's that is not ready to run.
#[cfg(feature = "cuda")]
struct CudaGraph {
    gpu: std::sync::Arc<super::cuda::Gpu>,
    graph: sys::CUgraph,
}

#[cfg(feature = "cuda")]
impl Drop for CudaGraph {
    fn drop(&mut self) {
        // SAFETY: this is the only handle. An error here has nobody left to hear it.
        let _ = self.gpu.call("destroy a graph", || unsafe { result::graph::destroy(self.graph) });
    }
}

impl Recorded {
    // Without a device that records there is nothing to make ready.
    #[cfg_attr(not(any(feature = "cuda", feature = "twin")), expect(unreachable_code, unused_variables))]
    fn ready(self, stream: &Stream) -> Result<Graph> {
        let work = match self {
            #[cfg(feature = "cuda")]
            Self::Cuda(CudaGraph { ref gpu, graph }) => {
                let flags = sys::CUgraphInstantiate_flags(0);
                // SAFETY: the graph is alive; what was made of it does not need it.
                Work::Cuda(gpu.call("make a graph", || unsafe { result::graph::instantiate(graph, flags) })?)
            }
            #[cfg(feature = "twin")]
            Self::Twin(work) => Work::Twin(work),
        };
        Ok(Graph { stream: stream.clone(), work })
    }
}

/// Recorded work that can be queued as a whole, again and again.
pub struct Graph {
    stream: Stream,
    work: Work,
}

enum Work {
    #[cfg(feature = "cuda")]
    Cuda(sys::CUgraphExec),
    #[cfg(feature = "twin")]
    Twin(Vec<super::twin::Work>),
}

// SAFETY: as for streams.
#[cfg(feature = "cuda")]
unsafe impl Send for Graph {}

impl Graph {
    /// Queues the recorded work on the stream it was recorded on.
    ///
    /// # Safety
    /// The graph holds addresses and keeps nothing alive. From this call until the stream has run the work, the caller promises of all arrays, results and operators whose calls were recorded:
    ///
    /// - **They are there, where they were.** None was dropped, exchanged or replaced, and none has grown: operators and results grow in a call on more points, boxes, channels or samples than in all calls
    ///   before.
    /// - **Nobody else uses their memory**, on the host or on another stream that this one is not in order with, not even through a `&mut` of the caller's own.
    /// - **The operators are whole.** Since the recording no call of theirs has failed, unless one that succeeded came after it.
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
        match (&self.stream.0, &self.work) {
            #[cfg(feature = "cuda")]
            (Queue::Cuda(q), Work::Cuda(exec)) => {
                // SAFETY: graph and stream are alive while this handle is; what the work uses is the caller's promise.
                q.call("launch a graph", |raw| unsafe { result::graph::launch(*exec, raw) })
            }
            #[cfg(feature = "twin")]
            (Queue::Twin(q), Work::Twin(work)) => q.gate.pass(|| {
                work.iter().for_each(super::twin::Work::run);
                Ok(())
            }),
            // A graph is of the kind of its stream.
            _ => Ok(()),
        }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        #[cfg(feature = "cuda")]
        if let (Queue::Cuda(q), Work::Cuda(exec)) = (&self.stream.0, &self.work) {
            // SAFETY: this is the only handle. An error here has nobody left to hear it.
            let _ = q.gpu.call("destroy a graph", || unsafe { result::graph::exec_destroy(*exec) });
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({})", self.stream.device())
    }
}
