//! What a search of rows near a point returns.

/// The rows that a search returns.
#[derive(Clone, Copy, Debug)]
pub(super) enum Near {
    /// The rows of so many cells around the point's own.
    Around(u32),
    /// The rows whose mean is within so many metres.
    Within(f64),
}
