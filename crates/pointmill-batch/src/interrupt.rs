//! Signals that ask for an end. The work stops between two steps, or is ended between two writes,
//! so that every file is whole or missing.

use crate::failure::Failure;
use crate::signal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock, mpsc};
use std::time::{Duration, Instant};

/// How long the work may take to reach its next step.
const GRACE: Duration = Duration::from_millis(1000);
/// How often is looked whether work has begun that needs no step.
const LOOK: Duration = Duration::from_millis(10);
/// How long writes that are under way may then take.
const WRITE_GRACE: Duration = Duration::from_millis(700);

/// What reports the failure of an end.
static REPORT: OnceLock<fn(&Failure)> = OnceLock::new();
/// Whether the work may be ended anywhere.
static AT_ONCE: AtomicBool = AtomicBool::new(false);
/// From now on no write is begun.
static ENDING: AtomicBool = AtomicBool::new(false);
/// Shared by all writes, so that the process does not end in the middle of one.
static WRITING: RwLock<()> = RwLock::new(());

type LastWrite = Option<Box<dyn FnOnce() + Send>>;

/// What an end that comes early still writes.
static LAST_WRITE: Mutex<LastWrite> = Mutex::new(None);

/// Takes over the signals that ask for an end. An end that does not wait for the next step of the work
/// is reported by `report`, which must not wait for anyone.
pub(crate) fn install(report: fn(&Failure)) {
    REPORT.get_or_init(|| report);
    if let Err(e) = listen() {
        tracing::warn!("signals keep their default meaning: {e}");
    }
}

#[cfg(unix)]
fn listen() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    // A write above the limit of file sizes is then an error, and does not end the process.
    signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default())?;
    // The thread first: without one, signals that lost their default meaning would be ignored.
    let (send, receive) = mpsc::channel::<Signals>();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for mut signals in receive {
            for signal in &mut signals {
                request(signal as u8);
            }
        }
    })?;
    let signals = Signals::new([SIGINT, SIGTERM])?;
    // `nohup` has this one ignored, and then means it.
    if !is_ignored(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    // It waits for them.
    let _ = send.send(signals);
    Ok(())
}

/// Whether the process was started with the signal ignored, if the system reports it.
#[cfg(unix)]
#[cfg_attr(not(test), expect(clippy::disallowed_methods, reason = "a file that the system makes"))]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(not(unix))]
fn listen() -> Result<(), ctrlc::Error> {
    const SIGINT: u8 = 2;
    ctrlc::set_handler(|| request(SIGINT))
}

fn request(signal: u8) {
    if signal::request(signal) {
        end();
    }
    // A read from a silent pipe or a long call has no next step soon.
    let force = || {
        let start = Instant::now();
        while start.elapsed() < GRACE && !AT_ONCE.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
        }
        end()
    };
    if std::thread::Builder::new().spawn(force).is_err() {
        // Without another thread this one waits, and hears of no second signal meanwhile.
        force();
    }
}

/// [`Failure::Interrupted`] if an end was asked for.
pub fn check() -> Result<(), Failure> {
    signal::requested().map_or(Ok(()), |signal| Err(Failure::Interrupted(signal)))
}

/// Runs work that a signal ends at once, wherever it is: what has no steps, and leaves nothing half-done
/// but writes, which stay undivided.
///
/// # Errors
/// [`Failure::Interrupted`] if an end was asked for before, and what `work` returns.
pub fn at_once<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    check()?;
    AT_ONCE.store(true, Ordering::Relaxed);
    let done = work();
    AT_ONCE.store(false, Ordering::Relaxed);
    done
}

/// Runs a write that must not be cut in two. Several may run at a time.
pub fn undivided<T>(write: impl FnOnce() -> T) -> T {
    let held = WRITING.read();
    if ENDING.load(Ordering::Relaxed) {
        drop(held);
        loop {
            std::thread::park();
        }
    }
    write()
}

/// Sets what a run still writes if it ends early: by a signal, or where it calls [`last_write`].
pub fn set_last_write(write: impl FnOnce() + Send + 'static) {
    replace_last_write(Some(Box::new(write)));
}

/// Forgets what was set, since the run writes it now.
pub fn clear_last_write() {
    drop(replace_last_write(None));
}

/// Whether something was set.
pub(crate) fn has_last_write() -> bool {
    LAST_WRITE.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Writes what was set, once.
pub fn last_write() {
    if let Some(write) = replace_last_write(None) {
        write();
    }
}

fn replace_last_write(by: LastWrite) -> LastWrite {
    std::mem::replace(&mut *LAST_WRITE.lock().unwrap_or_else(PoisonError::into_inner), by)
}

fn end() -> ! {
    let deadline = Instant::now() + WRITE_GRACE;
    let (done, wait) = mpsc::channel();
    let write = move || {
        last_write();
        let _ = done.send(());
    };
    if has_last_write() && std::thread::Builder::new().spawn(write).is_ok() {
        let _ = wait.recv_timeout(WRITE_GRACE);
    }
    ENDING.store(true, Ordering::Relaxed);
    let mut held = WRITING.try_write();
    while held.is_err() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
        held = WRITING.try_write();
    }
    // Whatever still writes is too slow to be waited for, and shall leave nothing.
    pointmill_io::abandon_writes();
    let failure = Failure::Interrupted(signal::requested().unwrap_or_default());
    if let Some(report) = REPORT.get() {
        report(&failure);
    }
    std::process::exit(failure.exit_code().into())
}
