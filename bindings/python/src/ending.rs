//! The end of the interpreter: a thread whose work ends after it has begun is parked, and takes the
//! interpreter's lock no more.
//!
//! Before 3.14 the interpreter ends a thread that asks for its lock by unwinding the thread's
//! stack, through frames of Rust. Later versions park it themselves.

use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Whether the interpreter is about to end.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Threads that have begun to take the lock. A forked process has none of its parent's.
static TAKING: pointmill::device::PerProcess<AtomicUsize> = pointmill::device::PerProcess::new(AtomicUsize::default);

/// How long others are waited for: those that take the lock, and callbacks that wait for this
/// thread in their turn.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often is looked.
const LOOK: Duration = Duration::from_millis(1);

thread_local! {
    /// Whether this is the thread that ends the interpreter.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` without the interpreter's lock. If the interpreter ends meanwhile, this does not
/// return, but in the thread that ends it.
#[expect(clippy::disallowed_methods, reason = "the one place that may")]
pub(crate) fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    let result = py.detach(|| {
        let result = work();
        begin_to_take_or_park();
        result
    });
    TAKING.get().fetch_sub(1, Ordering::SeqCst);
    result
}

/// Runs `work` with the interpreter's lock amid work without it. If the interpreter ends, this does
/// not return.
#[expect(clippy::disallowed_methods, reason = "the one place that may")]
pub(crate) fn attached<R>(work: impl FnOnce(Python<'_>) -> R) -> R {
    begin_to_take_or_park();
    Python::attach(|py| {
        TAKING.get().fetch_sub(1, Ordering::SeqCst);
        work(py)
    })
}

/// Lets go of something with the interpreter's lock; never, if the interpreter ends.
pub(crate) fn let_go(held: impl Send) {
    if begin_to_take() {
        Python::try_attach(|_| drop(held));
        TAKING.get().fetch_sub(1, Ordering::SeqCst);
    } else {
        std::mem::forget(held);
    }
}

/// Says that this thread is about to take the lock, unless the interpreter ends.
fn begin_to_take() -> bool {
    TAKING.get().fetch_add(1, Ordering::SeqCst);
    if !ENDING.load(Ordering::SeqCst) || ENDS.get() {
        return true;
    }
    TAKING.get().fetch_sub(1, Ordering::SeqCst);
    false
}

fn begin_to_take_or_park() {
    if !begin_to_take() {
        park();
    }
}

/// Waits until the process has ended. A callback of the end may wait for this thread: then the
/// interpreter does not end for long, and the thread goes on.
fn park() {
    let start = Instant::now();
    while is_finalizing() || start.elapsed() < PATIENCE {
        sleep(LOOK);
    }
    TAKING.get().fetch_add(1, Ordering::SeqCst);
}

/// Whether the interpreter takes threads apart, as far as it tells: `Py_IsFinalizing`, which has an
/// underscore before 3.13.
fn is_finalizing() -> bool {
    #[cfg(target_os = "linux")]
    {
        use std::ffi::{c_char, c_int, c_void};
        use std::sync::OnceLock;
        unsafe extern "C" {
            /// Of the C library: the address of a name in the process.
            fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
        }
        static ASK: OnceLock<Option<extern "C" fn() -> c_int>> = OnceLock::new();
        let ask = ASK.get_or_init(|| {
            let names = [c"Py_IsFinalizing", c"_Py_IsFinalizing"];
            // SAFETY: a null handle is the default one, and the names end with a zero.
            let found = names.into_iter().map(|name| unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) });
            // SAFETY: the function takes nothing and returns an int; it needs no lock.
            found.filter(|at| !at.is_null()).map(|at| unsafe { std::mem::transmute(at) }).next()
        });
        // Where it does not tell, the safe answer is that it does.
        ask.is_none_or(|ask| ask() != 0)
    }
    #[cfg(not(target_os = "linux"))]
    true
}

/// Called by the interpreter when it begins to end.
#[pyfunction]
fn ending(py: Python<'_>) {
    ENDS.set(true);
    ENDING.store(true, Ordering::SeqCst);
    // Who has begun to take the lock gets it now.
    detached(py, || {
        let start = Instant::now();
        while TAKING.get().load(Ordering::SeqCst) > 0 && start.elapsed() < PATIENCE {
            sleep(LOOK);
        }
    });
}

/// Sees to it that the interpreter says when it ends.
pub(crate) fn watch(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let ending = wrap_pyfunction!(ending, module)?;
    module.py().import("atexit")?.call_method1("register", (ending,)).map(drop)
}
