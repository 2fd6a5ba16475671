//! The signal that asked for an end.

use std::sync::atomic::{AtomicU8, Ordering};

/// The signal that came; 0 for none.
static REQUESTED: AtomicU8 = AtomicU8::new(0);

/// Remembers a signal. Returns whether another came before.
pub(crate) fn request(signal: u8) -> bool {
    REQUESTED.swap(signal, Ordering::Relaxed) != 0
}

/// The last signal that came, if one did.
pub(crate) fn requested() -> Option<u8> {
    Some(REQUESTED.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}
