//! The threads of the CPU path, where nobody asked for a number of them.

use rayon::ThreadPoolBuilder;
use std::error::Error;
use std::sync::{Once, OnceLock};

/// Sees to it that rayon has a current pool, before work that uses one. The first use of rayon's global pool starts its threads; where the system refuses them, which to rayon is a panic, the
/// calling thread becomes a pool of its own.
pub(crate) fn ensure_pool() {
    // Threads of a pool need no other one.
    if rayon::current_thread_index().is_none()
        && let Some(reason) = refused()
    {
        work_alone(reason);
    }
}

/// Why the system gave no threads for the global pool; `None` where there is one. rayon itself tries only once.
fn refused() -> Option<&'static str> {
    static REFUSED: OnceLock<Option<String>> = OnceLock::new();
    let refused = REFUSED.get_or_init(|| {
        let error = ThreadPoolBuilder::new().build_global().err()?;
        // One without a source says that the pool was there before.
        error.source().map(ToString::to_string)
    });
    refused.as_deref()
}

/// Makes the calling thread a pool, for the rest of its life.
fn work_alone(reason: &str) {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| tracing::warn!("the system refuses threads ({reason}): each call works on its own thread alone"));
    // It fails for a thread of a pool only, and this is none.
    if let Ok(pool) = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        // A few kilobytes, once a thread; the thread stays in the pool.
        std::mem::forget(pool);
    }
}
