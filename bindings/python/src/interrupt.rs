//! Work without the interpreter's lock, and an answer to Ctrl-C.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` without the interpreter's lock. Work that may take long runs in a thread of its own, so that Ctrl-C is answered meanwhile: then the exception is raised at once, and
/// the work, which nothing can stop, ends unheard with all that it owns. Where the system refuses that thread, the work is done in this one.
pub(crate) fn run<R, F>(py: Python<'_>, long: bool, work: F) -> PyResult<R>
where
    R: Send + 'static,
    F: FnOnce() -> R + Send + 'static,
{
    if !long {
        return Ok(py.detach(work));
    }
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    let (give, take) = channel();
    let spawned = std::thread::Builder::new().name("pointmill".into()).spawn(move || {
        let work: Option<F> = take.recv().ok();
        // Nobody listens after Ctrl-C.
        let _ = work.map(|work| send.send(work()));
    });
    if spawned.is_err() {
        // The system refuses threads: the work is done here, and Ctrl-C is answered when it is done.
        return Ok(py.detach(work));
    }
    // The thread waits for it.
    let _ = give.send(work);
    loop {
        match py.detach(|| receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK)) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("internal error: the work panicked; please report it"));
            }
        }
    }
}
