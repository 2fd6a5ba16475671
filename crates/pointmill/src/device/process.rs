//! Forked processes: a child has the memory of its parent, and none of its threads.
//!
//! A lock that another thread of the parent held stays locked in the child, a pool of threads has
//! no threads there, and CUDA does not work. So what depends on threads is made anew in each
//! process, and what cannot be made anew is refused.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// 1 in the process of the first call, one more in each child; 0 before the first call.
static GENERATION: AtomicUsize = AtomicUsize::new(0);

#[cfg(unix)]
unsafe extern "C" {
    /// Of the C library: calls `child` in each child right after `fork`.
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> std::ffi::c_int;
}

#[cfg(unix)]
extern "C" fn forked() {
    GENERATION.fetch_add(1, Ordering::Release);
}

/// 1 in the process of the first call, and another number in each process that was forked from it
/// since.
pub(crate) fn generation() -> usize {
    match GENERATION.load(Ordering::Acquire) {
        0 => first(),
        number => number,
    }
}

/// The first call. Two threads may both get here; the children's numbers then grow by two, and
/// differ all the same.
#[cold]
fn first() -> usize {
    #[cfg(unix)]
    {
        // SAFETY: the handler adds to an atomic number, which a child may do whatever other threads
        // of its parent were doing; it lives as long as this code is loaded.
        unsafe { pthread_atfork(None, None, Some(forked)) };
    }
    GENERATION.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).map_or_else(|number| number, |_| 1)
}

/// Counts forks from this call on; the first use of a CPU or a GPU does it too.
///
/// A process that was forked after it works with threads of its own, see
/// [`set_num_threads`](crate::set_num_threads). For bindings, at the time they are loaded.
pub fn count_forks() {
    generation();
}

/// A value of each process: a forked child makes its own on first use, and leaves its parent's as
/// it was at the fork.
///
/// For what does not outlive a fork, such as locks that another thread may hold at that moment.
/// Getting the value takes no lock.
///
/// ```
/// use pointmill::device::PerProcess;
/// use std::sync::Mutex;
/// static SEEN: PerProcess<Mutex<Vec<u32>>> = PerProcess::new(|| Mutex::new(Vec::new()));
/// SEEN.get().lock().unwrap().push(7);
/// assert_eq!(*SEEN.get().lock().unwrap(), [7]);
/// ```
pub struct PerProcess<T> {
    current: AtomicPtr<Made<T>>,
    make: fn() -> T,
}

struct Made<T> {
    generation: usize,
    value: T,
}

impl<T: Send + Sync> PerProcess<T> {
    /// A value that `make` makes on first use in each process.
    pub const fn new(make: fn() -> T) -> Self {
        Self { current: AtomicPtr::new(std::ptr::null_mut()), make }
    }

    /// The value of this process.
    pub fn get(&'static self) -> &'static T {
        let now = generation();
        let known = self.current.load(Ordering::Acquire);
        // SAFETY: null, or a value that was made below and is never freed.
        match unsafe { known.as_ref() } {
            Some(made) if made.generation == now => &made.value,
            _ => self.make_for(now, known),
        }
    }

    #[cold]
    fn make_for(&'static self, generation: usize, known: *mut Made<T>) -> &'static T {
        let made = Box::into_raw(Box::new(Made { generation, value: (self.make)() }));
        match self.current.compare_exchange(known, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: it was made just now, and nobody frees it from here on.
            Ok(_) => unsafe { &(*made).value },
            Err(other) => {
                // SAFETY: it was made just now, and nobody else has seen it.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: another thread of this process was faster; what it made is never freed.
                unsafe { &(*other).value }
            }
        }
    }
}

impl<T> std::fmt::Debug for PerProcess<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PerProcess")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_one_value() {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        static VALUE: PerProcess<usize> = PerProcess::new(|| MADE.fetch_add(1, Ordering::Relaxed));
        let seen: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| std::ptr::from_ref(VALUE.get()) as usize)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(seen.iter().all(|address| *address == seen[0]));
        assert_eq!(generation(), generation());
    }
}
