//! Work on all threads of the machine, and memory for it.
//!
//! Threads live as long as one call: a process that was forked has none of its parent's, so that a
//! pool would wait forever.

use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_vec;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The number that was set; 0 for none.
static MAX: AtomicUsize = AtomicUsize::new(0);

/// Sets how many threads a reader of this process takes at most; by default one for each core. What
/// is read does not depend on it.
pub fn set_max_threads(threads: usize) {
    MAX.store(threads, Ordering::Relaxed);
}

/// How many threads a reader takes at most.
///
/// ```
/// assert!(pointmill_io::max_threads() > 0);
/// pointmill_io::set_max_threads(1);
/// assert_eq!(pointmill_io::max_threads(), 1);
/// ```
pub fn max_threads() -> usize {
    match MAX.load(Ordering::Relaxed) {
        0 => thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

/// Points that a thread takes at a time, where little is done with each.
pub(crate) const SHARE: usize = 1 << 16;

/// Does `work` with each item on as many threads as there may be, and returns what it made in
/// the order of the items.
pub(crate) fn on_threads<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let count = items.len();
    let queue = Mutex::new(items.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let one = || {
        let mut done = vec![];
        while let Some((i, item)) = next() {
            done.push((i, work(item)));
        }
        done
    };
    let threads = max_threads().min(count);
    let mut done = thread::scope(|scope| {
        // A thread that the system refuses is one fewer.
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, one).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut done = one();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, made)| made).collect()
}

/// Adds zeros. The first are memory that the system clears when a thread comes to it.
pub(crate) fn zeros<T: Clone + Zeroable>(values: &mut Vec<T>, count: usize) -> Result<&mut [T], OutOfMemory> {
    let first = values.len();
    if values.capacity() == 0 {
        *values = try_zeroed_vec(count).map_err(|()| OutOfMemory)?;
    } else {
        values.try_reserve(count).map_err(|_| OutOfMemory)?;
        values.resize(first + count, T::zeroed());
    }
    Ok(&mut values[first..])
}

/// There is no memory for what was asked.
pub(crate) struct OutOfMemory;

/// Takes the first values off a slice; none where it has fewer.
pub(crate) fn take_first<'v, T>(values: &mut &'v mut [T], count: usize) -> &'v mut [T] {
    values.split_off_mut(..count).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_taken_once_and_results_keep_their_order() {
        assert_eq!(on_threads((0..1000).collect(), |i| 2 * i), (0..1000).map(|i| 2 * i).collect::<Vec<_>>());
        assert_eq!(on_threads(Vec::<u8>::new(), |_| 7), [0; 0]);
    }

    #[test]
    #[should_panic(expected = "broken")]
    fn a_panic_goes_on() {
        on_threads(vec![1, 2, 3], |i| {
            assert!(i != 2, "broken");
        });
    }
}
