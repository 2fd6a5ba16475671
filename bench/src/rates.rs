//! What the device's memory can do.

use crate::time;
use pointmill::{Result, Stream};

/// Bytes a second, read plus written, of a copy that is larger than every cache.
///
/// # Errors
/// Out of memory, or a failed copy.
pub fn copy_rate(stream: &Stream) -> Result<f64> {
    let words = if stream.device().is_cpu() { 1 << 25 } else { 1 << 29 };
    let from = stream.alloc::<u32>(words)?;
    let mut to = stream.alloc::<u32>(words)?;
    let times = time(stream, 10, || to.copy_from(&from, words))?;
    let ms = times.device_ms.unwrap_or(times.median_ms);
    Ok((2 * 4 * words) as f64 / ms * 1e3)
}
