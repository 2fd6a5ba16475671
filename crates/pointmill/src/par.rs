//! How work is split over threads: not at all where the calling thread works alone. And whether it
//! is still wanted.
//!
//! A parallel iterator with a [`grain`] that is larger than half of its items calls no other
//! thread, and does not enter rayon's pool.

use rayon::prelude::*;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};

thread_local! {
    /// Whether this thread does all work by itself.
    static ALONE: Cell<bool> = const { Cell::new(false) };
    /// Of a thread of a team: which of its jobs is stopped.
    static JOBS: RefCell<Option<Arc<Jobs>>> = const { RefCell::new(None) };
}

/// Whether this thread does all work by itself.
pub(crate) fn is_alone() -> bool {
    ALONE.get()
}

/// Runs `work` in this thread, without others.
pub(crate) fn alone<R>(work: impl FnOnce() -> R) -> R {
    /// What was before, also after a panic.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _before = Before(ALONE.replace(true));
    work()
}

/// The fewest items that a thread takes: so many, or all of them where this thread works alone.
pub fn grain(least: usize) -> usize {
    if is_alone() { usize::MAX } else { least }
}

/// The number of threads that share work.
pub(crate) fn threads() -> usize {
    if is_alone() { 1 } else { rayon::current_num_threads() }
}

/// Does two things, at the same time where there are other threads.
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if is_alone() { (a(), b()) } else { rayon::join(a, b) }
}

/// Sorts; equal values may change places.
pub(crate) fn sort_unstable_by<T: Send>(values: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
    if is_alone() { values.sort_unstable_by(compare) } else { values.par_sort_unstable_by(compare) }
}

/// The jobs of a team, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    /// The number of the job that is being done.
    pub(crate) current: AtomicU64,
    /// The number of the last job that was stopped.
    pub(crate) stopped: AtomicU64,
}

/// Makes this thread one of a team.
pub(crate) fn work_for(jobs: Arc<Jobs>) {
    JOBS.set(Some(jobs));
}

/// What work that was stopped unwinds with.
#[derive(Debug)]
struct Stopped;

/// Ends work that nobody wants any more; for loops, between parts that take at most some
/// milliseconds. The stack is unwound as by a panic that is not told: what was changed half-way
/// must not be used again.
#[inline]
pub fn check() {
    let is_stopped = |jobs: &Option<Arc<Jobs>>| {
        jobs.as_ref().is_some_and(|jobs| {
            let [stopped, current] = [&jobs.stopped, &jobs.current].map(|job| job.load(atomic::Ordering::Relaxed));
            stopped == current
        })
    };
    if JOBS.with_borrow(is_stopped) {
        std::panic::resume_unwind(Box::new(Stopped));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that works alone hands nothing over.
    #[test]
    fn alone_all_work_stays_in_the_thread() {
        let here = std::thread::current().id();
        let id = || std::thread::current().id();
        let ids = || (0..10_000usize).into_par_iter().with_min_len(grain(1)).map(|_| id()).collect::<Vec<_>>();
        let mut values: Vec<u32> = (0..10_000).rev().collect();
        alone(|| {
            assert!(ids().iter().all(|id| *id == here));
            assert_eq!(join(id, id), (here, here));
            assert_eq!((threads(), grain(7)), (1, usize::MAX));
            sort_unstable_by(&mut values, Ord::cmp);
        });
        assert!(values.is_sorted());
        assert_eq!((is_alone(), grain(7)), (false, 7));
        let caught = std::panic::catch_unwind(|| alone(|| std::panic::resume_unwind(Box::new(()))));
        assert!(caught.is_err() && !is_alone());
    }
}
