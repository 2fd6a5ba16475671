//! Sorting pairs on a GPU.

use crate::{Measurement, time};
use pointmill::prim::Sorter;
use pointmill::{Result, Stream};

/// Sorts `n` pairs of random 32-bit keys.
///
/// # Errors
/// Out of memory, or a lost device.
pub fn sort(stream: &Stream, n: usize, copy_rate: f64) -> Result<Measurement> {
    let mut state = 88_172_645_463_325_252u64;
    let random: Vec<u32> = (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u32
        })
        .collect();
    let source = stream.upload(&random)?;
    let (mut keys, mut values) = (stream.alloc(n)?, stream.alloc(n)?);
    let mut sorter = Sorter::<u32>::new(stream)?;
    let copy = time(stream, 20, || keys.copy_from(&source, n))?;
    let mut times = time(stream, 20, || {
        keys.copy_from(&source, n)?;
        sorter.sort_pairs(&mut keys, &mut values, n)
    })?;
    // Each run starts from unsorted keys; the copy that makes them so is taken off.
    times.device_ms = times.device_ms.zip(copy.device_ms).map(|(all, copy)| all - copy);
    // Four passes read and write keys and values, one more pass reads the keys.
    let floor_bytes = (n * (4 * 16 + 4)) as u64;
    Ok(Measurement::new("sort u32 pairs", stream, (n, 1), times, floor_bytes, copy_rate))
}
