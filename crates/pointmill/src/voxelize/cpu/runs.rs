//! Runs of points in the same cell.

use super::keys::Key;

/// Runs that are looked up together, and points whose runs are found together.
pub(super) const BLOCK: usize = 256;

/// Points that follow each other and have the same key: 7 of 10 points of a sweep in firing order
/// have the key of the point before. What is done run by run costs that much less.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run<K> {
    pub(super) key: K,
    pub(super) first: u32,
    pub(super) len: u32,
}

/// Finds the runs of up to [`BLOCK`] keys, the first of which belongs to point `first`; returns how
/// many there are.
pub(super) fn find_runs<K: Key>(keys: &[K], first: u32, runs: &mut [Run<K>; BLOCK]) -> usize {
    let mut starts = [0u32; BLOCK + 1];
    let mut n = 0;
    for (i, &key) in keys.iter().enumerate() {
        // Overwritten by the next point if this one starts no run: there is no branch to
        // mispredict.
        starts[n % BLOCK] = i as u32;
        n += usize::from(i == 0 || key != keys[i - 1]);
    }
    starts[n] = keys.len() as u32;
    for (run, range) in runs.iter_mut().zip(starts[..=n].windows(2)) {
        *run = Run { key: keys[range[0] as usize], first: first + range[0], len: range[1] - range[0] };
    }
    n
}
