//! The twin: queues that run their work at once or record it, and memory that is noise at first, with a guard on both sides that tells of writes outside.

use crate::{Error, Result};
use pointmill_kernels::simt::twin::NOISE;
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How the twin can fail, for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TwinFault {
    /// An allocation is refused, this one alone.
    OutOfMemory,
    /// A kernel ends badly, and with it the device: all later ones fail too.
    Lost,
}

thread_local! {
    /// What fails, after so many that pass. Of the thread, since tests run beside each other.
    static FAULT: Cell<Option<(TwinFault, usize)>> = const { Cell::new(None) };
}

pub(super) fn fail(fault: Option<(TwinFault, usize)>) {
    FAULT.set(fault);
}

/// Fails if it is time for this kind of failure.
pub(super) fn check(kind: TwinFault, bytes: usize) -> Result<()> {
    let device = || "twin".to_owned();
    match FAULT.get() {
        Some((fault, 0)) if fault == kind => match kind {
            TwinFault::OutOfMemory => {
                FAULT.set(None);
                Err(Error::OutOfMemory { device: device(), bytes: bytes as u64 })
            }
            TwinFault::Lost => {
                let reason = "a fault that a test asked for".into();
                Err(Error::DeviceLost { device: device(), action: "launch a kernel", reason })
            }
        },
        Some((fault, good)) if fault == kind => {
            FAULT.set(Some((fault, good - 1)));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A queue of work.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) gate: super::retire::Gate,
    recording: Mutex<Option<Vec<Work>>>,
    #[cfg(test)]
    steps: Mutex<Vec<Step>>,
}

/// Work that was recorded.
pub(super) struct Work(Box<dyn Fn()>);

// SAFETY: the work is plain values and addresses; who runs it when is the business of its graph.
unsafe impl Send for Work {}

/// What was asked of a queue.
#[cfg(test)]
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
    pub(super) fn queue(&self, work: impl Fn() + 'static) -> Result<()> {
        self.gate.pass(|| {
            if let Some(recorded) = &mut *lock(&self.recording) {
                recorded.push(Work(Box::new(work)));
                return Ok(());
            }
            work();
            Ok(())
        })
    }

    pub(super) fn is_capturing(&self) -> Result<bool> {
        self.gate.pass(|| Ok(lock(&self.recording).is_some()))
    }

    pub(super) fn begin_capture(&self) {
        *lock(&self.recording) = Some(Vec::new());
    }

    pub(super) fn end_capture(&self) -> Vec<Work> {
        lock(&self.recording).take().unwrap_or_default()
    }

    /// Notes a step for tests that ask what was queued where.
    #[cfg(test)]
    pub(super) fn note(&self, step: Step) {
        lock(&self.steps).push(step);
    }

    /// The steps since the last call.
    #[cfg(test)]
    pub(super) fn take_steps(&self) -> Vec<Step> {
        std::mem::take(&mut *lock(&self.steps))
    }
}

impl Work {
    pub(super) fn run(&self) {
        (self.0)();
    }
}

/// A kernel that panics leaves nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sixteen bytes, the alignment that kernels may ask for.
#[repr(C, align(16))]
#[derive(Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
struct Unit([u32; 4]);

const NOISE_UNIT: Unit = Unit([NOISE; 4]);
/// Guard on each side, in units.
const GUARD: usize = 16;

/// A block of memory.
pub(super) struct Memory {
    /// The block and its guards; nothing if the memory is somebody else's.
    units: Vec<Unit>,
    /// Kernels write through this pointer while the block is only borrowed, as they do on a GPU.
    pointer: *mut u8,
}

// SAFETY: the pointer is to memory of this block's own vector.
unsafe impl Send for Memory {}
// SAFETY: as above; the twin's launches are over when a call returns.
unsafe impl Sync for Memory {}

impl Memory {
    pub(super) fn new(bytes: usize) -> Self {
        let mut units = vec![NOISE_UNIT; bytes.div_ceil(16) + 2 * GUARD];
        let pointer = units[GUARD..].as_mut_ptr().cast();
        Self { units, pointer }
    }

    /// Memory that somebody else owns.
    pub(super) const fn foreign(pointer: *mut u8) -> Self {
        Self { units: Vec::new(), pointer }
    }

    pub(super) const fn is_foreign(&self) -> bool {
        self.units.is_empty()
    }

    pub(super) fn pointer(&self) -> *mut u8 {
        self.pointer
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.is_foreign() {
            return;
        }
        let end = self.units.len() - GUARD;
        let intact = self.units[..GUARD].iter().chain(&self.units[end..]).all(|u| *u == NOISE_UNIT);
        if !std::thread::panicking() {
            assert!(intact, "a kernel wrote outside a buffer of {} bytes", (end - GUARD) * 16);
        }
    }
}
