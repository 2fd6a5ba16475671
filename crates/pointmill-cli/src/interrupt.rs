//! Ctrl-C: the work stops between two steps, or is stopped between two writes; a file is there whole or not at all.

use crate::failure::Failure;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the work may take to come to its next step by itself.
const GRACE: Duration = Duration::from_millis(1000);
/// How long a write that is under way may then take to be finished.
const WRITE_GRACE: Duration = Duration::from_millis(700);

static REQUESTED: AtomicBool = AtomicBool::new(false);
/// Held while something is written, so that the process does not end in the middle of it.
static WRITING: Mutex<()> = Mutex::new(());

/// Takes over the signals that ask for an end.
pub(crate) fn install() {
    let handler = || {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            end();
        }
        // A read from a silent pipe or a long call has no next step soon.
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            end();
        });
    };
    if let Err(e) = ctrlc::set_handler(handler) {
        tracing::warn!("signals keep their default meaning: {e}");
    }
}

/// [`Failure::Interrupted`] if an end was asked for.
pub(crate) fn check() -> Result<(), Failure> {
    if REQUESTED.load(Ordering::Relaxed) { Err(Failure::Interrupted) } else { Ok(()) }
}

/// Runs a write that shall not be cut in two.
pub(crate) fn undivided<T>(write: impl FnOnce() -> T) -> T {
    let _held = WRITING.lock();
    write()
}

fn end() -> ! {
    let deadline = Instant::now() + WRITE_GRACE;
    let mut held = WRITING.try_lock();
    while held.is_err() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
        held = WRITING.try_lock();
    }
    crate::say::error(Failure::Interrupted);
    std::process::exit(Failure::Interrupted.exit_code().into())
}
