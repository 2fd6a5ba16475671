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
///
/// What `work` needs of the interpreter's objects is `held`, and is let go with the lock. Without it pyo3 notes what is to be let go in a list behind a lock of its own, which a
/// child that is forked at that moment would wait for without an end.
pub(crate) fn run<H: Send + Sync + 'static, R: Send + 'static>(
    py: Python<'_>,
    long: bool,
    held: H,
    work: impl FnOnce(&H) -> R + Send + 'static,
) -> PyResult<R> {
    if !long {
        return Ok(py.detach(|| work(&held)));
    }
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    std::thread::Builder::new().name("pointmill".into()).spawn(move || {
        let result = work(&held);
        if let Err(unheard) = send.send((result, held)) {
            // Nobody listens after Ctrl-C.
            Python::try_attach(|_| drop(unheard));
        }
    })?;
    loop {
        match py.detach(|| receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK)) {
            Ok((result, _)) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("internal error: the work panicked; please report it"));
            }
        }
    }
}
