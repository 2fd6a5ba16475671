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
///
/// What `work` needs of the interpreter's objects is `held`, and is let go with the lock. Without it pyo3 notes what is to be let go in a list behind a lock of its own, which a
/// child that is forked at that moment would wait for without an end.
pub(crate) fn run<H, R, F>(py: Python<'_>, long: bool, held: H, work: F) -> PyResult<R>
where
    H: Send + Sync + 'static,
    R: Send + 'static,
    F: FnOnce(&H) -> R + Send + 'static,
{
    if !long {
        return Ok(py.detach(|| work(&held)));
    }
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    let (give, take) = channel::<(H, F)>();
    let spawned = std::thread::Builder::new().name("pointmill".into()).spawn(move || {
        let Ok((held, work)) = take.recv() else { return };
        let result = work(&held);
        if let Err(unheard) = send.send((result, held)) {
            // Nobody listens after Ctrl-C.
            Python::try_attach(|_| drop(unheard));
        }
    });
    if spawned.is_err() {
        // The system refuses threads: the work is done here, and Ctrl-C is answered when it is done.
        return Ok(py.detach(|| work(&held)));
    }
    // The thread waits for it.
    let _ = give.send((held, work));
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
