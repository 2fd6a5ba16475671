//! Work without the interpreter's lock, and an answer to Ctrl-C.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` without the interpreter's lock. Work that may take long runs in a thread of its own, so that Ctrl-C is answered meanwhile: then the exception is raised at once, and
/// the work, which nothing can stop, ends unheard with all that it owns.
pub(crate) fn run<R: Send + 'static>(
    py: Python<'_>,
    long: bool,
    work: impl FnOnce() -> R + Send + 'static,
) -> PyResult<R> {
    if !long {
        return Ok(py.detach(work));
    }
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    std::thread::Builder::new().name("pointmill".into()).spawn(move || {
        // Nobody listens after Ctrl-C.
        let _ = send.send(work());
    })?;
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
