//! Whether a queue is still in use; one that was retired is not, though memory of it may still be
//! there.

use crate::{Argument, Error, Result};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{PoisonError, RwLock};

/// Work may be queued.
const OPEN: u8 = 0;
/// Nothing is queued any more, and what was is done.
const DONE: u8 = 1;
/// Nothing is queued any more, and what was may still run.
const UNKNOWN: u8 = 2;

/// Whether a queue may be used. Every use goes through it, so that none is under way when the queue
/// is retired.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: AtomicU8,
    uses: RwLock<()>,
}

impl Gate {
    pub(super) fn is_open(&self) -> bool {
        self.state.load(Ordering::SeqCst) == OPEN
    }

    /// Uses the queue.
    ///
    /// # Errors
    /// A retired queue, and those of the use.
    pub(super) fn pass<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _use = self.uses.read().unwrap_or_else(PoisonError::into_inner);
        if self.is_open() {
            return work();
        }
        Err(Error::argument(Argument::Stream, "one that is still in use", "one that was retired"))
    }

    /// Closes the gate for good, then waits with `finish` for what was queued.
    pub(super) fn close(&self, finish: impl FnOnce() -> Result<()>) -> Result<()> {
        let _alone = self.uses.write().unwrap_or_else(PoisonError::into_inner);
        // First of all: after an error too nothing may be asked of the queue. One that was waited
        // for stays done.
        if self.state.load(Ordering::SeqCst) != DONE {
            self.state.store(UNKNOWN, Ordering::SeqCst);
            finish()?;
            self.state.store(DONE, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Does `queued` while the queue is open, and `done` when all its work is done. Neither where
    /// it may still run: then memory stays where it is.
    pub(super) fn open_or_done<T: Default>(
        &self,
        queued: impl FnOnce() -> Result<T>,
        done: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let _use = self.uses.read().unwrap_or_else(PoisonError::into_inner);
        match self.state.load(Ordering::SeqCst) {
            OPEN => queued(),
            DONE => done(),
            _ => Ok(T::default()),
        }
    }
}
