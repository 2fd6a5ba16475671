//! Faults that a test asks for.

use crate::{Error, Result};
use std::cell::Cell;

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

/// Sets what fails in this thread.
pub(in crate::device) fn fail(fault: Option<(TwinFault, usize)>) {
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
