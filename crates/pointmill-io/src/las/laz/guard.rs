//! The last guard around the crate `laz`.
//!
//! Its arithmetic asserts, in builds with assertions, what damaged data do not keep, and where overflows are checked, stops at sums that are to
//! wrap around. These are panics, of which nothing that is known about a chunk beforehand can keep it. In release builds none is
//! known any more; the guard stays for those that are not known.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether the decoder runs on this thread.
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Runs the decoder; a panic in it is an error like any other. A decoder that panicked must not be used again.
pub(super) fn guarded<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    DECODING.set(true);
    let done = catch_unwind(AssertUnwindSafe(run));
    DECODING.set(false);
    done.unwrap_or_else(|_| Err("data that its decoder cannot follow".into()))
}

/// Keeps the process's panic hook from telling of panics that are caught around the decoder of LAZ and become
/// [`IoError::Decompress`](crate::IoError::Decompress). Without this they are caught too, but the hook prints them.
///
/// It replaces the hook once and passes every other panic on to the one there was; a program that sets a hook of its own does so before.
///
/// ```
/// pointmill_io::hush_decoder_panics();
/// ```
pub fn hush_decoder_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if !DECODING.get() {
                before(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors_and_others_stay() {
        assert_eq!(guarded(|| Ok(7)), Ok(7));
        hush_decoder_panics();
        let none: &[u8] = &[];
        assert_eq!(guarded(|| Ok(none[1..][0])), Err("data that its decoder cannot follow".into()));
        assert!(!DECODING.get());
    }
}
