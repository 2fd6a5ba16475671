//! Queues that run their work at once or record it.

use super::memory::Unit;
use crate::device::machine::interface::{Launch, RawStream};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use web_time::Instant;

/// What a stream of the twin is.
#[derive(Default)]
pub(super) struct Queue {
    /// The number of the capture, and its work.
    recording: Mutex<Option<(u64, Recorded)>>,
    #[cfg(test)]
    steps: Mutex<Vec<Step>>,
}

/// Work that a graph does again.
pub(super) type Recorded = Vec<Box<dyn Fn() + Send>>;

/// What a mark in a stream is.
pub(super) struct Mark {
    pub(super) at: Instant,
    pub(super) stream: RawStream,
}

/// What was asked of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A kernel.
    Kernel(&'static str),
    /// A copy from the host.
    Write,
    /// Words that are set to a value.
    Fill,
    /// Waiting for another queue: its number.
    WaitFor(usize),
}

impl Queue {
    /// Runs the work, or keeps it for a graph.
    pub(super) fn queue(&self, work: impl Fn() + Send + 'static) {
        if let Some((_, recorded)) = &mut *lock(&self.recording) {
            recorded.push(Box::new(work));
            return;
        }
        work();
    }

    pub(super) fn capture(&self) -> Option<u64> {
        lock(&self.recording).as_ref().map(|(number, _)| *number)
    }

    pub(super) fn begin_capture(&self) {
        static CAPTURES: AtomicU64 = AtomicU64::new(0);
        *lock(&self.recording) = Some((CAPTURES.fetch_add(1, Ordering::Relaxed), Vec::new()));
    }

    pub(super) fn end_capture(&self) -> Recorded {
        lock(&self.recording).take().map(|(_, recorded)| recorded).unwrap_or_default()
    }

    /// Notes a step for tests that ask what was queued where.
    #[cfg_attr(not(test), expect(unused_variables, clippy::unused_self))]
    pub(super) fn note(&self, step: Step) {
        #[cfg(test)]
        lock(&self.steps).push(step);
    }

    /// The steps since the last call.
    #[cfg(test)]
    pub(super) fn take_steps(&self) -> Vec<Step> {
        std::mem::take(&mut *lock(&self.steps))
    }
}

/// A copy of a kernel's argument.
pub(super) struct Argument(Box<[MaybeUninit<Unit>]>);

impl Argument {
    /// The argument of a launch.
    ///
    /// # Safety
    /// The launch points to an argument of its kernel.
    pub(super) unsafe fn of(launch: Launch<'_>) -> Self {
        let bytes = launch.kernel.args_bytes;
        let mut copy = Box::new_uninit_slice(bytes.div_ceil(size_of::<Unit>()));
        // SAFETY: the argument has so many bytes, which is the caller's promise, and the copy has
        // room for them.
        unsafe { std::ptr::copy_nonoverlapping(launch.args.cast::<u8>(), copy.as_mut_ptr().cast::<u8>(), bytes) };
        Self(copy)
    }

    pub(super) fn pointer(&self) -> *const () {
        self.0.as_ptr().cast()
    }
}

/// A kernel that panics leaves nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
