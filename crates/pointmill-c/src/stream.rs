//! Queues of work, and recordings of it.

use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{create, destroy, some, text};
use pointmill::{Device, Graph, Stream};
use std::ffi::{c_char, c_void};

/// A queue of work on a device.
#[derive(Debug)]
pub struct pointmill_stream(Stream);

/// Recorded work that can be queued again and again.
#[derive(Debug)]
pub struct pointmill_graph(Graph);

/// The stream of an argument.
pub(crate) fn of(stream: Option<&pointmill_stream>) -> Result<&Stream> {
    some(stream, "stream").map(|stream| &stream.0)
}

fn device(name: &str) -> Result<Device> {
    #[cfg(feature = "twin")]
    if name == "twin" {
        return Ok(Device::twin());
    }
    if let Some(threads) = name.strip_prefix("cpu:") {
        let threads = threads.parse().map_err(|_| Fault::new("device", "cpu:N with N threads", name))?;
        return Ok(Device::cpu_with_threads(threads)?);
    }
    Ok(name.parse()?)
}

/// A new stream on a device: "auto" (the first GPU, else the CPU), "cpu", "cpu:N" with N threads,
/// "cuda" or "cuda:N". On the CPU work is done when a call returns.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_stream_create(
    device_name: *const c_char,
    stream: Option<&mut *mut pointmill_stream>,
) -> pointmill_status {
    guard(|| create(stream, || Ok(pointmill_stream(device(text(device_name, "device")?)?.stream()?))))
}

/// The stream of somebody else: a `CUstream` or `cudaStream_t` of the primary context of GPU `gpu`;
/// null is the default stream. It must outlive the result and all handles that were made with it, or
/// be there until pointmill_stream_retire has returned.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_stream_of_cuda(
    gpu: u32,
    cuda_stream: *mut c_void,
    stream: Option<&mut *mut pointmill_stream>,
) -> pointmill_status {
    guard(|| {
        create(stream, || {
            let device = Device::cuda(gpu as usize)?;
            // SAFETY: the caller's promise, which the header states.
            Ok(pointmill_stream(unsafe { Stream::from_raw_cuda(&device, cuda_stream as usize) }?))
        })
    })
}

/// Whether the stream works on a GPU: then results are in its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_stream_is_gpu(stream: Option<&pointmill_stream>) -> u32 {
    stream.map_or(0, |stream| u32::from(!stream.0.device().is_cpu()))
}

/// Waits until all queued work is done, and tells what it ran into.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_stream_synchronize(stream: Option<&pointmill_stream>) -> pointmill_status {
    guard(|| Ok(of(stream)?.synchronize()?))
}

/// Waits for the device, and from then on all work of this stream fails, whose `CUstream` may be
/// destroyed afterwards.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_stream_retire(stream: Option<&pointmill_stream>) -> pointmill_status {
    guard(|| Ok(of(stream)?.retire()?))
}

/// Destroys the stream. Handles that were made with it stay usable.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_stream_destroy(stream: Option<Box<pointmill_stream>>) {
    destroy(stream);
}

/// Records what `work` queues on the stream of a GPU, instead of running it. Run the same calls once
/// before, with sizes as large as they get: while it records, nothing is allocated and nothing waits.
/// `work` returns a pointmill_status; one other than POINTMILL_OK ends the recording. Streams that the caller records by
/// its own means work as well.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_stream_capture(
    stream: Option<&pointmill_stream>,
    work: Option<extern "C" fn(data: *mut c_void) -> u32>,
    data: *mut c_void,
    graph: Option<&mut *mut pointmill_graph>,
) -> pointmill_status {
    guard(|| {
        create(graph, || {
            let (work, mut refused, before) = (some(work, "work")?, 0, Fault::failures());
            let captured = of(stream)?.capture(|| {
                refused = work(data);
                let ended = || pointmill::Error::Internal { what: "work ended the recording".to_owned() };
                if refused == 0 { Ok(()) } else { Err(ended()) }
            });
            match captured {
                Ok(graph) => Ok(pointmill_graph(graph)),
                Err(_) if refused != 0 => Err(Fault::again(pointmill_status::of_caller(refused)?, before)),
                Err(error) => Err(error.into()),
            }
        })
    })
}

/// Queues the recorded work on the stream that it was recorded on. All handles and memory that it
/// works on must be there, where they were, and no call of theirs must have failed since.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_graph_launch(graph: Option<&mut pointmill_graph>) -> pointmill_status {
    guard(|| {
        let graph = some(graph, "graph")?;
        // SAFETY: the caller's promise, which the header states.
        Ok(unsafe { graph.0.launch() }?)
    })
}

/// Destroys the recording and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_graph_destroy(graph: Option<Box<pointmill_graph>>) {
    destroy(graph);
}
