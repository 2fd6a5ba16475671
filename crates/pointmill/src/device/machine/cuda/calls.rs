//! A GPU as a machine: each method is a call or two of the driver's.

use super::gpu::Gpu;
use crate::Result;
use crate::device::machine::interface::{DeviceInfo, Launch, Machine, Name, RawEvent, RawGraph, RawStream};
use cudarc::driver::{result, sys};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// `cuStreamGetCaptureInfo_v2`: stream, status, number; the graph and what it waits for.
type CaptureInfo = unsafe extern "C" fn(
    sys::CUstream,
    *mut sys::CUstreamCaptureStatus,
    *mut u64,
    *mut c_void,
    *mut c_void,
    *mut c_void,
) -> sys::CUresult;

/// The function of the driver: the bindings have that of newer drivers alone.
fn capture_info() -> CaptureInfo {
    static FOUND: OnceLock<CaptureInfo> = OnceLock::new();
    *FOUND.get_or_init(|| {
        // SAFETY: the driver was loaded for the stream that is asked about, and every one since that of
        // CUDA 11.3 has a function of this type.
        unsafe { *sys::culib().get(b"cuStreamGetCaptureInfo_v2").expect("every driver since 11.3 has it") }
    })
}

impl RawStream {
    const fn cuda(self) -> sys::CUstream {
        self.0 as sys::CUstream
    }
}

impl RawEvent {
    const fn cuda(self) -> sys::CUevent {
        self.0 as sys::CUevent
    }
}

impl RawGraph {
    const fn cuda(self) -> sys::CUgraphExec {
        self.0 as sys::CUgraphExec
    }
}

impl Machine for Gpu {
    fn name(&self) -> Name {
        self.named()
    }

    fn check_process(&self) -> Result<()> {
        self.check_owner()
    }

    fn info(&self) -> Result<Option<DeviceInfo>> {
        self.describe().map(Some)
    }

    fn multiprocessors(&self) -> Option<u32> {
        Some(self.multiprocessors)
    }

    fn finish(&self) -> Result<()> {
        self.call("finish its work", result::ctx::synchronize)
    }

    fn create_stream(&self) -> Result<RawStream> {
        let created = || result::stream::create(result::stream::StreamKind::NonBlocking);
        self.call("create a stream", created).map(|stream| RawStream(stream as usize))
    }

    unsafe fn adopt_stream(&self, raw: usize) -> Result<RawStream> {
        Ok(RawStream(raw))
    }

    unsafe fn destroy_stream(&self, stream: RawStream) {
        // An error here has nobody left to hear it.
        // SAFETY: the caller gives the last handle of a stream.
        let _ = self.call("destroy a stream", || unsafe { result::stream::destroy(stream.cuda()) });
    }

    unsafe fn synchronize(&self, stream: RawStream) -> Result<()> {
        // SAFETY: the caller's stream is alive.
        self.call("synchronize", || unsafe { result::stream::synchronize(stream.cuda()) })
    }

    unsafe fn alloc(&self, stream: RawStream, bytes: usize) -> Result<u64> {
        // An allocation of nothing is an error to the driver.
        // SAFETY: the caller's stream is alive.
        unsafe { self.take(stream.cuda(), bytes.max(16)) }
    }

    unsafe fn free(&self, stream: Option<RawStream>, address: u64, _bytes: usize) -> Result<()> {
        self.call("free memory", || match stream {
            // SAFETY: the caller gives the last use of the memory, and a stream that is alive.
            Some(stream) => unsafe { result::free_async(address, stream.cuda()) },
            // SAFETY: as above, and no work uses it.
            None => unsafe { result::free_sync(address) },
        })
    }

    fn alloc_shared(&self, bytes: usize) -> Result<(u64, usize)> {
        let bytes = bytes.max(16);
        // SAFETY: plain allocation.
        let host = self.call("allocate pinned memory", || unsafe {
            result::malloc_host(bytes, sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE)
        })?;
        // SAFETY: `bytes` were allocated.
        unsafe { host.cast::<u8>().write_bytes(0, bytes) };
        let mut device = 0;
        self.call("map pinned memory", || {
            // SAFETY: the memory was allocated as mapped.
            unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut device, host, 0) }.result()
        })
        .inspect_err(|_| {
            // SAFETY: nobody has the memory. An error here says less than the first one.
            let _ = unsafe { self.free_shared(host as usize, bytes) };
        })?;
        Ok((device, host as usize))
    }

    unsafe fn free_shared(&self, host: usize, _bytes: usize) -> Result<()> {
        // SAFETY: the caller gives the last use of the memory; freeing waits for the GPU's work
        // with it.
        self.call("free pinned memory", || unsafe { result::free_host(host as *mut c_void) })
    }

    unsafe fn write(&self, stream: RawStream, to: u64, data: &[u8]) -> Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller promises room; the driver has copied pageable memory aside when the
        // call returns.
        self.call("copy to the device", || unsafe { result::memcpy_htod_async(to, data, stream.cuda()) })
    }

    unsafe fn read(&self, stream: RawStream, from: u64, out: &mut [u8]) -> Result<()> {
        // SAFETY: the caller promises that there is so much; the copy is awaited before `out` is
        // used.
        self.call("copy from the device", || unsafe {
            if !out.is_empty() {
                result::memcpy_dtoh_async(out, from, stream.cuda())?;
            }
            result::stream::synchronize(stream.cuda())
        })
    }

    unsafe fn copy(&self, stream: RawStream, from: u64, to: u64, bytes: usize) -> Result<()> {
        // SAFETY: the caller promises that both are so large.
        self.call("copy on the device", || unsafe { result::memcpy_dtod_async(to, from, bytes, stream.cuda()) })
    }

    unsafe fn fill(&self, stream: RawStream, to: u64, value: u32, words: usize) -> Result<()> {
        if words == 0 {
            return Ok(());
        }
        // SAFETY: the caller promises room.
        self.call("fill memory", || unsafe { sys::cuMemsetD32Async(to, value, words, stream.cuda()) }.result())
    }

    unsafe fn launch(&self, stream: RawStream, launch: Launch<'_>) -> Result<()> {
        let Launch { kernel, blocks, args } = launch;
        let function = self.function(kernel)?;
        let mut params = [args.cast::<c_void>().cast_mut()];
        let mut overlap = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let config = sys::CUlaunchConfig {
            gridDimX: blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: kernel.block,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: kernel.shared_words * 4,
            hStream: stream.cuda(),
            attrs: &raw mut overlap,
            numAttrs: u32::from(self.overlaps),
        };
        self.call("launch a kernel", || {
            // SAFETY: the function belongs to a module that is never unloaded, and takes this one
            // argument, which the driver copies; what it points to is the caller's promise. Where
            // kernels overlap, each waits for what is before it as its first instruction.
            unsafe { sys::cuLaunchKernelEx(&raw const config, function, params.as_mut_ptr(), null_mut()) }.result()
        })
    }

    unsafe fn record(&self, stream: RawStream, timed: bool) -> Result<RawEvent> {
        use sys::CUevent_flags::{CU_EVENT_DEFAULT, CU_EVENT_DISABLE_TIMING};
        let event = self.call("record an event", || {
            let event = result::event::create(if timed { CU_EVENT_DEFAULT } else { CU_EVENT_DISABLE_TIMING })?;
            // SAFETY: the event is alive, and so is the caller's stream.
            let recorded = unsafe { result::event::record(event, stream.cuda()) };
            recorded.map(|()| event).inspect_err(|_| {
                // SAFETY: nobody else has the event. An error here says less than the first one.
                let _ = unsafe { result::event::destroy(event) };
            })
        })?;
        Ok(RawEvent(event as usize))
    }

    unsafe fn wait_event(&self, stream: RawStream, event: RawEvent) -> Result<()> {
        let wait = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the caller's stream and event are alive.
        let queued = || unsafe { result::stream::wait_event(stream.cuda(), event.cuda(), wait) };
        self.call("wait for another stream", queued)
    }

    unsafe fn ms_between(&self, earlier: RawEvent, later: RawEvent) -> Result<f64> {
        self.call("wait for an event", || {
            // SAFETY: the caller's events are alive and were recorded.
            unsafe {
                result::event::synchronize(later.cuda())?;
                result::event::elapsed(earlier.cuda(), later.cuda())
            }
            .map(f64::from)
        })
    }

    unsafe fn destroy_event(&self, event: RawEvent) -> Result<()> {
        // SAFETY: the caller gives the last handle. The driver keeps a destroyed event until nobody
        // waits for it.
        self.call("destroy an event", || unsafe { result::event::destroy(event.cuda()) })
    }

    unsafe fn begin_capture(&self, stream: RawStream) -> Result<()> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the caller's stream is alive.
        self.call("begin a capture", || unsafe { result::stream::begin_capture(stream.cuda(), mode) })
    }

    unsafe fn end_capture(&self, stream: RawStream) -> Result<RawGraph> {
        // SAFETY: the caller's stream is alive.
        let graph = self.call("end a capture", || unsafe { result::stream::end_capture(stream.cuda()) })?;
        let flags = sys::CUgraphInstantiate_flags(0);
        // SAFETY: the graph is alive; what is made of it does not need it.
        let ready = self.call("make a graph", || unsafe { result::graph::instantiate(graph, flags) });
        // An error here says less than that of the graph.
        // SAFETY: this is the only handle.
        let _ = self.call("destroy a graph", || unsafe { result::graph::destroy(graph) });
        ready.map(|graph| RawGraph(graph as usize))
    }

    unsafe fn capture(&self, stream: RawStream) -> Result<Option<u64>> {
        let (mut status, mut id) = (sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE, 0);
        let (to, not_asked) = ((&raw mut status, &raw mut id), null_mut());
        self.call("say if it is captured", || {
            // SAFETY: the caller's stream is alive, and what is not asked for may be null.
            unsafe { capture_info()(stream.cuda(), to.0, to.1, not_asked, not_asked, not_asked) }.result()
        })?;
        Ok((status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE).then_some(id))
    }

    unsafe fn launch_graph(&self, stream: RawStream, graph: RawGraph) -> Result<()> {
        // SAFETY: the caller's graph and stream are alive; what the work uses is the caller's
        // promise.
        self.call("launch a graph", || unsafe { result::graph::launch(graph.cuda(), stream.cuda()) })
    }

    unsafe fn destroy_graph(&self, graph: RawGraph) {
        // An error here has nobody left to hear it.
        // SAFETY: the caller gives the last handle.
        let _ = self.call("destroy a graph", || unsafe { result::graph::exec_destroy(graph.cuda()) });
    }
}
