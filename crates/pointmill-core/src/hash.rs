//! Where the search for a key starts in an open-addressed table.

/// Neighbouring keys that share one run of slots: cells next to each other in x.
///
/// A run of four 16-byte slots is one 64-byte cache line of a CPU and two 32-byte sectors of a GPU, and points that follow each
/// other in a sweep mostly fall into cells next to each other.
pub const RUN: u64 = 4;

/// The slot where a table of `mask + 1` slots (a power of two, at least [`RUN`]) starts looking for `key`.
///
/// Keys of one [`RUN`] land side by side; runs are scattered by a bit mixer in which every input bit reaches every
/// output bit.
///
/// ```
/// use pointmill_core::hash::first_slot;
/// let mask = (1 << 18) - 1;
/// assert_eq!(first_slot(41, mask), first_slot(40, mask) + 1);
/// assert!(first_slot(u64::MAX, mask) <= mask);
/// ```
#[inline(always)]
pub const fn first_slot(key: u64, mask: u32) -> u32 {
    let run = mix((key / RUN) as u32 ^ mix((key >> 34) as u32));
    (run.wrapping_mul(RUN as u32) | (key % RUN) as u32) & mask
}

/// A 32-bit finalizer: multiply and xor-shift, invertible, so different inputs stay different.
#[inline(always)]
const fn mix(k: u32) -> u32 {
    let k = (k ^ (k >> 16)).wrapping_mul(0x7feb_352d);
    let k = (k ^ (k >> 15)).wrapping_mul(0x846c_a68b);
    k ^ (k >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longest linear probe when `keys` fill a table to one half.
    fn longest_probe(keys: impl ExactSizeIterator<Item = u64>) -> u32 {
        extern crate alloc;
        let mask = (keys.len() * 2).next_power_of_two() as u32 - 1;
        let mut used = alloc::vec![false; mask as usize + 1];
        let mut longest = 0;
        for key in keys {
            let start = first_slot(key, mask);
            let step = (0..=mask).find(|s| !used[((start + s) & mask) as usize]).unwrap();
            used[((start + step) & mask) as usize] = true;
            longest = longest.max(step);
        }
        longest
    }

    #[test]
    fn regular_patterns_do_not_cluster() {
        assert!(longest_probe((0..100_000u32).map(u64::from)) < 64);
        assert!(longest_probe((0..100_000u32).map(|k| u64::from(k) * 540)) < 200);
        assert!(longest_probe((0..100_000u32).map(|k| u64::from(k) * 540 * 540)) < 200);
        assert!(longest_probe((0..100_000u32).map(|k| u64::from(k) << 34)) < 200);
        assert!(longest_probe((0..100_000u32).map(|k| (u64::from(k) << 34) + u64::from(k))) < 200);
    }
}
