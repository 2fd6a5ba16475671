//! Work without the interpreter's lock, and an answer to Ctrl-C.

use crate::arrays::Place;
use crate::ending::{detached, let_go};
use pointmill::device::{Team, in_this_thread};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Where work is done, and what Ctrl-C does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Queued on a GPU, by the calling thread.
    Device,
    /// Done by the calling thread alone before other threads would be awake, about a millisecond.
    Short,
    /// Done by a team of threads that takes up no work of other calls. Ctrl-C ends it.
    Long,
    /// As `Long`, of something that must not be left half-changed: after Ctrl-C it goes on to its
    /// end, unheard.
    Whole,
}

impl Effort {
    /// That of so much work at a place, where so much is short.
    pub(crate) fn of(place: Place, work: usize, short: usize) -> Self {
        match place {
            Place::Cuda { .. } => Self::Device,
            Place::Cpu if work <= short => Self::Short,
            Place::Cpu => Self::Long,
        }
    }

    /// As much, of something that must not be left half-changed.
    pub(crate) fn whole(self) -> Self {
        if self == Self::Long { Self::Whole } else { self }
    }
}

/// Runs `work` without the interpreter's lock. If it is long, Ctrl-C is answered meanwhile: the
/// exception is raised at once, and the work ends soon, unheard with all that it owns. Where the
/// system refuses threads, the calling one does the work, and Ctrl-C is answered when it is done.
///
/// What `work` needs of the interpreter's objects is `held`, and is let go with the lock. Without
/// it pyo3 notes what is to be let go in a list behind a lock of its own, which a child that is
/// forked at that moment would wait for without an end.
pub(crate) fn run<H, R, F>(py: Python<'_>, effort: Effort, held: H, work: F) -> PyResult<R>
where
    H: Send + Sync + 'static,
    R: Send + 'static,
    F: FnOnce(&H) -> R + Send + 'static,
{
    match effort {
        Effort::Device => return Ok(detached(py, || work(&held))),
        Effort::Short => return Ok(detached(py, || in_this_thread(|| work(&held)))),
        Effort::Long | Effort::Whole => {}
    }
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    let job = (held, work);
    let work = move || {
        let (held, work) = job;
        (catch_unwind(AssertUnwindSafe(|| work(&held))).ok(), held)
    };
    let then = move |done| {
        if let Err(unheard) = send.send(done) {
            // Nobody listens after Ctrl-C.
            let_go(unheard);
        }
    };
    let broken = || PyRuntimeError::new_err("internal error: the work panicked; please report it");
    let started = detached(py, || Team::start(work, then));
    let stop = match started {
        Ok(stop) => stop,
        // What `then` would send to is here.
        Err((work, _)) => return detached(py, || in_this_thread(work)).0.ok_or_else(broken),
    };
    loop {
        match detached(py, || receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK)) {
            Ok(Some((Some(result), _held))) => return Ok(result),
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return Err(broken()),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupted) = py.check_signals() {
                    if effort == Effort::Long {
                        stop.stop();
                    }
                    return Err(interrupted);
                }
            }
        }
    }
}
