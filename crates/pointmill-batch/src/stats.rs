//! Times in milliseconds, and their statistics.

use serde::Serialize;
use std::time::Instant;

/// The milliseconds since a moment, rounded to a tenth of a microsecond.
pub fn since(start: Instant) -> f64 {
    rounded(start.elapsed().as_secs_f64() * 1e3)
}

/// The result of a step, and its time in milliseconds.
pub fn timed<T, E>(step: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let start = Instant::now();
    step().map(|done| (done, since(start)))
}

/// A time divided by another, to four places.
pub fn ratio(ms: f64, by: f64) -> f64 {
    (1e4 * ms / by).round() / 1e4
}

fn rounded(ms: f64) -> f64 {
    (ms * 1e4).round() / 1e4
}

/// Statistics of times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Times {
    /// The median.
    pub p50: f64,
    /// The 95th percentile, interpolated linearly.
    pub p95: f64,
    /// The mean.
    pub mean: f64,
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
}

impl Times {
    /// `None` without a time.
    pub fn of(times: &[f64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let at = |share: f64| {
            let place = share * (sorted.len() - 1) as f64;
            let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            rounded(low + (high - low) * place.fract())
        };
        let mean = rounded(sorted.iter().sum::<f64>() / sorted.len() as f64);
        Some(Self { p50: at(0.5), p95: at(0.95), mean, min, max })
    }
}

#[cfg(test)]
#[path = "../tests/unit/stats.rs"]
mod tests;
