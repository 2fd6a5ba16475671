//! Catches panics of the crate `laz`.
//!
//! In builds with assertions, the arithmetic of the crate asserts conditions that damaged data
//! violate. In builds with overflow checks, it panics at sums that should wrap around. No check of
//! a chunk before decoding can prevent these panics. In release builds no panic is known any more;
//! the guard remains for unknown ones.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether the decoder runs on this thread.
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Runs the decoder and returns a panic in it as an error. A decoder that has panicked must not be
/// used again.
pub(super) fn guarded<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    DECODING.set(true);
    let done = catch_unwind(AssertUnwindSafe(run));
    DECODING.set(false);
    done.unwrap_or_else(|_| Err("data that its decoder cannot follow".into()))
}

/// Keeps the panic hook of the process from printing panics of the LAZ decoder. The reader catches
/// these panics in any case and returns
/// [`IoError::Decompress`](crate::IoError::Decompress); without this call the hook also prints them.
///
/// The function replaces the hook once and passes all other panics to the previous hook. A program
/// that sets its own hook must do so before this call.
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
