//! Recorded work.

use super::Stream;
use super::stream::Queue;
use crate::{Error, Result};
#[cfg(feature = "cuda")]
use cudarc::driver::{result, sys};
use std::fmt;

impl Stream {
    /// Records the work that `queue_work` queues, instead of running it.
    ///
    /// Kernels, fills and copies on the device are recorded, with the addresses and sizes of this moment: keep the buffers, and the operators that queued the
    /// work, alive and in place. So everything must be there already: run the work once before, with sizes and splits as large as they get, and no call on the same
    /// operator may need more memory as long as the graph is used.
    ///
    /// Refused with an error, because a graph would read memory that is long gone or could not do it at all: allocating, host slices as arrays,
    /// row splits other than those of the call before, waiting for results (and so calls that must wait to learn a size), and arrays of other streams.
    ///
    /// # Errors
    /// A device without graphs, a stream that is being captured, what `queue_work` returns, or a recording that the driver refuses.
    #[cfg_attr(not(any(feature = "cuda", feature = "twin")), expect(unused_variables))]
    pub fn capture(&self, queue_work: impl FnOnce() -> Result<()>) -> Result<Graph> {
        #[cfg(test)]
        let _together = crate::testing::CAPTURES.read();
        self.check_not_capturing("stream", "one that records nothing else", "another recording")?;
        match &self.0 {
            #[cfg(feature = "cuda")]
            Queue::Cuda(q) => {
                let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
                // SAFETY: the stream is alive while this handle is.
                q.gpu.call("begin a capture", || unsafe { result::stream::begin_capture(q.raw, mode) })?;
                let queued = queue_work();
                // SAFETY: as above; the capture ends whatever the work said, or the stream would stay unusable.
                let graph = q.gpu.call("end a capture", || unsafe { result::stream::end_capture(q.raw) });
                if let (Err(_), Ok(graph)) = (&queued, &graph) {
                    // SAFETY: the graph was just made, and nobody has it.
                    let _ = q.gpu.call("destroy a graph", || unsafe { result::graph::destroy(*graph) });
                }
                queued?;
                let graph = graph?;
                let flags = sys::CUgraphInstantiate_flags(0);
                // SAFETY: the graph was just made, and is not needed once instantiated.
                let exec = q.gpu.call("make a graph", || unsafe {
                    let exec = result::graph::instantiate(graph, flags);
                    result::graph::destroy(graph).and(exec)
                })?;
                Ok(Graph { stream: self.clone(), work: Work::Cuda(exec) })
            }
            #[cfg(feature = "twin")]
            Queue::Twin(q) => {
                q.begin_capture();
                let queued = queue_work();
                let work = q.end_capture();
                queued?;
                Ok(Graph { stream: self.clone(), work: Work::Twin(work) })
            }
            Queue::Cpu(_) => Err(Error::argument("device", "a GPU (only GPUs record graphs)", self.device())),
        }
    }

    /// Whether what is queued is recorded instead of run.
    ///
    /// # Errors
    /// A device that no longer answers.
    pub fn is_capturing(&self) -> Result<bool> {
        match &self.0 {
            #[cfg(feature = "cuda")]
            Queue::Cuda(q) => {
                // SAFETY: the stream is alive while this handle is.
                let status = q.gpu.call("say if it is captured", || unsafe { result::stream::is_capturing(q.raw) })?;
                Ok(status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
            }
            #[cfg(feature = "twin")]
            Queue::Twin(q) => Ok(q.is_capturing()),
            Queue::Cpu(_) => Ok(false),
        }
    }

    /// Refuses what a graph cannot hold.
    pub(crate) fn check_not_capturing(&self, argument: &'static str, expected: &str, got: impl ToString) -> Result<()> {
        if !self.is_capturing()? {
            return Ok(());
        }
        Err(Error::argument(argument, format!("{expected} (the stream records a graph)"), got))
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
    /// # Errors
    /// A device that refuses.
    pub fn launch(&self) -> Result<()> {
        match (&self.stream.0, &self.work) {
            #[cfg(feature = "cuda")]
            (Queue::Cuda(q), Work::Cuda(exec)) => {
                // SAFETY: graph and stream are alive while this handle is.
                q.gpu.call("launch a graph", || unsafe { result::graph::launch(*exec, q.raw) })
            }
            #[cfg(feature = "twin")]
            (_, Work::Twin(work)) => {
                work.iter().for_each(super::twin::Work::run);
                Ok(())
            }
            #[cfg(any(feature = "cuda", not(feature = "twin")))]
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
