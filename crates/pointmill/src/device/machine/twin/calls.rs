//! The twin as a machine: what is queued runs before the call returns, unless it is recorded.

use super::fault::{TwinFault, check};
use super::memory;
use super::queue::{Argument, Mark, Queue, Recorded, Step};
use crate::Result;
use crate::device::machine::interface::{Launch, Machine, Name, RawEvent, RawGraph, RawStream};
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use web_time::Instant;

/// The one twin there is.
#[derive(Debug)]
pub(in crate::device) struct Twin;

/// The handle of a value: its address. [`dropped`] takes the value back.
fn handle<T>(value: T) -> usize {
    Box::into_raw(Box::new(value)).expose_provenance()
}

/// The value of a handle.
///
/// # Safety
/// [`handle`] made it from a `T`, and this is its last use.
unsafe fn dropped<T>(handle: usize) -> Box<T> {
    // SAFETY: the caller's promise.
    unsafe { Box::from_raw(with_exposed_provenance_mut(handle)) }
}

impl RawStream {
    /// The queue behind the handle.
    ///
    /// # Safety
    /// The stream is one of the twin, and alive as long as the result.
    unsafe fn twin<'a>(self) -> &'a Queue {
        // SAFETY: the caller's promise.
        unsafe { &*with_exposed_provenance(self.0) }
    }
}

/// What tests ask of a stream: its steps since the last call.
///
/// # Safety
/// The stream is one of the twin, and alive.
#[cfg(test)]
pub(in crate::device) unsafe fn take_steps(stream: RawStream) -> Vec<Step> {
    // SAFETY: the caller's promise.
    unsafe { stream.twin() }.take_steps()
}

/// A place in the host's memory.
fn to<T>(address: u64) -> *mut T {
    with_exposed_provenance_mut(address as usize)
}

impl Machine for Twin {
    fn name(&self) -> Name {
        Name { runtime: "twin", index: None }
    }

    fn finish(&self) -> Result<()> {
        Ok(())
    }

    fn create_stream(&self) -> Result<RawStream> {
        Ok(RawStream(handle(Queue::default())))
    }

    unsafe fn destroy_stream(&self, stream: RawStream) {
        // SAFETY: the caller gives the last handle.
        drop(unsafe { dropped::<Queue>(stream.0) });
    }

    unsafe fn synchronize(&self, _stream: RawStream) -> Result<()> {
        Ok(())
    }

    unsafe fn alloc(&self, _stream: RawStream, bytes: usize) -> Result<u64> {
        check(TwinFault::OutOfMemory, bytes)?;
        memory::alloc(bytes).map(|address| address as u64)
    }

    unsafe fn free(&self, _stream: Option<RawStream>, address: u64, bytes: usize) -> Result<()> {
        // SAFETY: the caller gives the last use of a block of this size.
        unsafe { memory::free(address as usize, bytes) };
        Ok(())
    }

    fn alloc_shared(&self, bytes: usize) -> Result<(u64, usize)> {
        check(TwinFault::OutOfMemory, bytes)?;
        memory::alloc(bytes).map(|address| (address as u64, address))
    }

    unsafe fn free_shared(&self, host: usize, bytes: usize) -> Result<()> {
        // SAFETY: the caller gives the last use of a block of this size.
        unsafe { memory::free(host, bytes) };
        Ok(())
    }

    unsafe fn write(&self, stream: RawStream, address: u64, data: &[u8]) -> Result<()> {
        // SAFETY: the caller's stream is alive.
        unsafe { stream.twin() }.note(Step::Write);
        // SAFETY: the caller promises room; the twin runs nothing at the same time.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to(address), data.len()) };
        Ok(())
    }

    unsafe fn read(&self, _stream: RawStream, from: u64, out: &mut [u8]) -> Result<()> {
        // SAFETY: the caller promises that there is so much; the twin runs nothing at the same
        // time.
        unsafe { std::ptr::copy_nonoverlapping(to(from), out.as_mut_ptr(), out.len()) };
        Ok(())
    }

    unsafe fn copy(&self, stream: RawStream, from: u64, address: u64, bytes: usize) -> Result<()> {
        // SAFETY: the caller promises that both are so large, when a graph does it too; the twin
        // runs nothing at the same time.
        let work = move || unsafe { std::ptr::copy(to::<u8>(from), to(address), bytes) };
        // SAFETY: the caller's stream is alive.
        unsafe { stream.twin() }.queue(work);
        Ok(())
    }

    unsafe fn fill(&self, stream: RawStream, address: u64, value: u32, words: usize) -> Result<()> {
        // SAFETY: the caller's stream is alive.
        let queue = unsafe { stream.twin() };
        queue.note(Step::Fill);
        // SAFETY: the caller promises room, when a graph does it too; the twin runs nothing at the
        // same time.
        queue.queue(move || unsafe { std::slice::from_raw_parts_mut(to(address), words) }.fill(value));
        Ok(())
    }

    unsafe fn launch(&self, stream: RawStream, launch: Launch<'_>) -> Result<()> {
        check(TwinFault::Lost, 0)?;
        // SAFETY: the caller's stream is alive.
        let queue = unsafe { stream.twin() };
        queue.note(Step::Kernel(launch.kernel.name));
        let (on_host, blocks) = (launch.kernel.on_host, launch.blocks);
        // SAFETY: the caller's launch has its argument.
        let argument = unsafe { Argument::of(launch) };
        // SAFETY: the argument is that of the kernel; what it points to is the caller's promise,
        // when a graph does it too.
        queue.queue(move || unsafe { on_host(blocks, argument.pointer()) });
        Ok(())
    }

    unsafe fn record(&self, stream: RawStream, _timed: bool) -> Result<RawEvent> {
        Ok(RawEvent(handle(Mark { at: Instant::now(), stream })))
    }

    unsafe fn wait_event(&self, stream: RawStream, event: RawEvent) -> Result<()> {
        // SAFETY: the caller's event is alive.
        let mark = unsafe { &*with_exposed_provenance::<Mark>(event.0) };
        // What the mark stands behind is done.
        // SAFETY: the caller's stream is alive.
        unsafe { stream.twin() }.note(Step::WaitFor(mark.stream.0));
        Ok(())
    }

    unsafe fn ms_between(&self, earlier: RawEvent, later: RawEvent) -> Result<f64> {
        // SAFETY: the caller's events are alive.
        let [earlier, later] = [earlier, later].map(|event| unsafe { &*with_exposed_provenance::<Mark>(event.0) });
        Ok(later.at.duration_since(earlier.at).as_secs_f64() * 1e3)
    }

    unsafe fn destroy_event(&self, event: RawEvent) -> Result<()> {
        // SAFETY: the caller gives the last handle.
        drop(unsafe { dropped::<Mark>(event.0) });
        Ok(())
    }

    unsafe fn begin_capture(&self, stream: RawStream) -> Result<()> {
        // SAFETY: the caller's stream is alive.
        unsafe { stream.twin() }.begin_capture();
        Ok(())
    }

    unsafe fn end_capture(&self, stream: RawStream) -> Result<RawGraph> {
        // SAFETY: the caller's stream is alive.
        Ok(RawGraph(handle(unsafe { stream.twin() }.end_capture())))
    }

    unsafe fn capture(&self, stream: RawStream) -> Result<Option<u64>> {
        // SAFETY: the caller's stream is alive.
        Ok(unsafe { stream.twin() }.capture())
    }

    unsafe fn launch_graph(&self, _stream: RawStream, graph: RawGraph) -> Result<()> {
        // SAFETY: the caller's graph is alive.
        unsafe { &*with_exposed_provenance::<Recorded>(graph.0) }.iter().for_each(|work| work());
        Ok(())
    }

    unsafe fn destroy_graph(&self, graph: RawGraph) {
        // SAFETY: the caller gives the last handle.
        drop(unsafe { dropped::<Recorded>(graph.0) });
    }
}
