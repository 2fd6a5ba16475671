//! Work on all threads of the machine, and memory for it.

use std::collections::TryReserveError;
use std::sync::Mutex;
use std::thread;

/// Points that a thread takes at a time, where little is done with each.
pub(crate) const SHARE: usize = 1 << 16;

/// Does `work` with each item, on as many threads as the machine has, at most one for each item. Threads take the items in order. Each
/// thread has a state of its own, and all states are returned. After `work` has returned false, no further item is taken.
pub(crate) fn on_threads<T: Send, S: Send>(
    items: Vec<T>,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) -> bool + Sync,
) -> Vec<S> {
    in_two_steps(items, 0, state, |state, item| (work(state, item), None::<()>), |_, ()| ())
}

/// As [`on_threads`], with a `second` step for what the first makes of an item. Second steps wait for threads that find no further item, but at
/// most so many of them: so threads that have one item fewer than others do the second steps of these.
pub(crate) fn in_two_steps<T: Send, M: Send, S: Send>(
    items: Vec<T>,
    most: usize,
    state: impl Fn() -> S + Sync,
    first: impl Fn(&mut S, T) -> (bool, Option<M>) + Sync,
    second: impl Fn(&mut S, M) + Sync,
) -> Vec<S> {
    enum Next<T, M> {
        First(T),
        Second(M),
    }
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let queue = Mutex::new((items.into_iter(), Vec::new()));
    let next = || {
        let mut queue = queue.lock().ok()?;
        let (items, waiting) = &mut *queue;
        let item = if waiting.len() > most { None } else { items.next() };
        item.map(Next::First).or_else(|| waiting.pop().map(Next::Second))
    };
    let one = || {
        let mut state = state();
        while let Some(next) = next() {
            match next {
                Next::First(item) => {
                    let (goes_on, made) = first(&mut state, item);
                    if (made.is_some() || !goes_on)
                        && let Ok(mut queue) = queue.lock()
                    {
                        queue.1.extend(made);
                        if !goes_on {
                            queue.0.by_ref().for_each(drop);
                        }
                    }
                }
                Next::Second(made) => second(&mut state, made),
            }
        }
        state
    };
    thread::scope(|scope| {
        // A thread that the system refuses is one fewer.
        let others: Vec<_> =
            (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, one).ok()).collect();
        let mut states = vec![one()];
        let joined =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        states.extend(joined);
        states
    })
}

/// Does two things, at the same time if they are `long`.
pub(crate) fn both<A: Send, B>(long: bool, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B) -> (A, B) {
    if !long {
        return (a(), b());
    }
    let first = Mutex::new(Some(a));
    let take = || first.lock().ok().and_then(|mut first| first.take()).map(|a| a());
    thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, take);
        let b = b();
        // A thread that the system refuses leaves it to this one.
        let a = other
            .map_or_else(|_| take(), |other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        (a.expect("done once"), b)
    })
}

/// Memory in bytes that takes longer to clear than a thread to start.
pub(crate) const LARGE: usize = 2 << 20;

/// Adds zeros. The first are memory that the system clears when a thread comes to it.
pub(crate) fn zeros<T: Clone + Default>(values: &mut Vec<T>, count: usize) -> Result<&mut [T], TryReserveError> {
    let first = values.len();
    if values.capacity() == 0 {
        // Whether it is there: `vec` does not say.
        values.try_reserve_exact(count)?;
        *values = vec![];
        *values = vec![T::default(); count];
    } else {
        values.try_reserve(count)?;
        values.resize(first + count, T::default());
    }
    Ok(&mut values[first..])
}

/// Takes the first values off a slice; none where it has fewer.
pub(crate) fn take_first<'v, T>(values: &mut &'v mut [T], count: usize) -> &'v mut [T] {
    values.split_off_mut(..count).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_taken_once_and_none_after_a_stop() {
        let done = on_threads((0..1000).collect(), Vec::new, |done, i| {
            done.push(i);
            true
        });
        let mut done = done.concat();
        done.sort_unstable();
        assert_eq!(done, (0..1000).collect::<Vec<_>>());
        // Items are taken in order, so that those before the stop are done.
        let done = on_threads((0..1000).collect(), Vec::new, |done, i| {
            done.push(i);
            i != 500
        });
        let mut done = done.concat();
        done.sort_unstable();
        assert!(done[..=500].iter().copied().eq(0..=500), "{done:?}");
        assert!(done.len() < 1000, "{}", done.len());
        assert_eq!(on_threads(Vec::<u8>::new(), || 7, |_, _| true), [7]);
    }

    #[test]
    fn second_steps_are_done_once_each_and_few_wait() {
        use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        for most in [0, 1, 7, 2000] {
            let (waiting, longest) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let first = |done: &mut Vec<usize>, i: usize| {
                if i.is_multiple_of(10) {
                    done.push(i);
                    return (true, None);
                }
                longest.fetch_max(waiting.fetch_add(1, SeqCst) + 1, SeqCst);
                (true, Some(i))
            };
            let second = |done: &mut Vec<usize>, i| {
                waiting.fetch_sub(1, SeqCst);
                done.push(i);
            };
            let mut done = in_two_steps((0..1000).collect(), most, Vec::new, first, second).concat();
            done.sort_unstable();
            assert_eq!(done, (0..1000).collect::<Vec<_>>());
            // One more for each thread, which made it before others were done with theirs.
            let threads = thread::available_parallelism().map_or(1, usize::from);
            assert!(longest.into_inner() <= most + 2 * threads, "{most}");
        }
    }

    #[test]
    fn two_things_are_done_once_each() {
        for long in [false, true] {
            let (mut a, mut b) = (vec![1], vec![2]);
            assert_eq!(both(long, || a.push(3), || b.push(4)), ((), ()));
            assert_eq!((a, b), (vec![1, 3], vec![2, 4]));
        }
    }

    #[test]
    #[should_panic(expected = "broken")]
    fn a_panic_goes_on() {
        on_threads(vec![1, 2, 3], || (), |(), i| if i == 2 { panic!("broken") } else { true });
    }
}
