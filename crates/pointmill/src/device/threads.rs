//! The threads of the CPU: rayon's in the process that loads the library, and a pool of its own in
//! each forked one.

use super::process::{PerProcess, generation};
use crate::{Argument, Error, Result, par};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

/// Most threads that can be asked for.
pub const MAX_THREADS: usize = 1024;

/// The number of threads that was asked for; 0 for none. A child takes it over.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Pools by their number of threads. They are kept: a process asks for few numbers.
static POOLS: PerProcess<Mutex<HashMap<usize, Arc<ThreadPool>>>> = PerProcess::new(Mutex::default);

/// The number of threads of a forked process where nobody asked for one.
static FORKED: PerProcess<usize> = PerProcess::new(|| {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|number| number.parse().ok());
    asked.filter(|number| *number > 0).unwrap_or(1)
});

/// Sets the number of threads that [`Device::cpu`](super::Device::cpu) works with, in this process
/// and in those that are forked from it afterwards.
///
/// Without it a process works with the threads of rayon's current pool, as many as there are cores;
/// a process that was forked from one that has used the library works with one thread, or with as
/// many as the environment variable `RAYON_NUM_THREADS` says: forked processes often come in
/// numbers, as the workers of data loaders, and with one thread each they do not compete for the
/// cores. Work that is called from a thread of a pool of rayon's stays in that pool. Results never
/// depend on the number.
///
/// # Errors
/// Zero threads, more than [`MAX_THREADS`], or threads that the system refuses; the number stays as
/// it was then.
///
/// ```
/// pointmill::set_num_threads(2)?;
/// assert_eq!(pointmill::num_threads(), 2);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn set_num_threads(threads: usize) -> Result<()> {
    check_number(threads)?;
    if threads > 1 {
        pool(threads)?;
    }
    ASKED.store(threads, Ordering::Relaxed);
    Ok(())
}

/// Refuses numbers of threads that no machine has, which would take minutes to start.
fn check_number(threads: usize) -> Result<()> {
    if (1..=MAX_THREADS).contains(&threads) {
        return Ok(());
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let expected = format!("1 to {MAX_THREADS}, such as {cores}, the number of cores");
    Err(Error::argument(Argument::Threads, expected, threads))
}

/// The number of threads that [`Device::cpu`](super::Device::cpu) works with when it is called from
/// this thread; see [`set_num_threads`].
pub fn num_threads() -> usize {
    own_number().unwrap_or_else(|| {
        ensure_pool();
        rayon::current_num_threads()
    })
}

/// Runs `work` with the threads of this process. In a process that was not forked, and asked for no
/// number, that is the caller's thread with rayon's current pool; of one thread it is the caller's.
pub(crate) fn on_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if par::is_alone() {
        return work();
    }
    match own_number() {
        Some(1) => in_this_thread(work),
        None => {
            ensure_pool();
            work()
        }
        Some(threads) => on_pool(threads, work),
    }
}

/// Runs `work` in the calling thread, without others: for work that is done before other threads
/// are awake.
///
/// ```
/// let here = std::thread::current().id();
/// assert_eq!(pointmill::device::in_this_thread(|| std::thread::current().id()), here);
/// ```
pub fn in_this_thread<R>(work: impl FnOnce() -> R) -> R {
    // Parallel iterators ask for the number of its threads, also where they use none of them.
    ensure_pool();
    par::alone(work)
}

/// The number of threads of a pool of this process's own; none where work goes to rayon's current
/// pool.
fn own_number() -> Option<usize> {
    let number = match (ASKED.load(Ordering::Relaxed), generation()) {
        (0, 1) => return None,
        (0, _) => *FORKED.get(),
        (asked, _) => asked,
    };
    rayon::current_thread_index().is_none().then_some(number)
}

/// Sees to it that rayon has a current pool. The first use of rayon's global pool starts its
/// threads; where the system refuses them, which to rayon is a panic, the calling thread works
/// alone.
fn ensure_pool() {
    // Threads of a pool need no other one.
    if rayon::current_thread_index().is_none()
        && let Some(reason) = refused()
    {
        static TOLD: Once = Once::new();
        TOLD.call_once(|| {
            tracing::warn!("the system refuses threads ({reason}): each call works on its own thread alone");
        });
        alone();
    }
}

/// Why the system gave no threads for rayon's global pool; `None` where there is one. rayon itself
/// tries only once.
fn refused() -> Option<&'static str> {
    static REFUSED: OnceLock<Option<String>> = OnceLock::new();
    let refused = REFUSED.get_or_init(|| {
        // A forked process does no work there.
        let threads = if generation() > 1 { 1 } else { 0 };
        let error = ThreadPoolBuilder::new().num_threads(threads).build_global().err()?;
        // One without a source says that the pool was there before.
        std::error::Error::source(&error).map(ToString::to_string)
    });
    refused.as_deref()
}

fn on_pool<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    match pool(threads) {
        Ok(pool) => pool.install(work),
        Err(why) => {
            tracing::warn!("work on one thread: {why}");
            alone();
            work()
        }
    }
}

/// Makes the current thread a pool by itself, which takes no new thread.
fn alone() {
    // It fails where the thread belongs to a pool already, and is as good then.
    let _ = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
}

/// The pool of so many threads of this process.
fn pool(threads: usize) -> Result<Arc<ThreadPool>> {
    let mut pools = POOLS.get().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&threads) {
        return Ok(pool.clone());
    }
    let pool = Arc::new(build(threads)?);
    pools.insert(threads, pool.clone());
    Ok(pool)
}

fn build(threads: usize) -> Result<ThreadPool> {
    build_with(threads, |builder| builder)
}

/// A pool of so many threads, built in a certain way.
pub(super) fn build_with(
    threads: usize,
    with: impl FnOnce(ThreadPoolBuilder) -> ThreadPoolBuilder,
) -> Result<ThreadPool> {
    with(ThreadPoolBuilder::new().num_threads(threads)).build().map_err(|e| Error::Device {
        device: "cpu".into(),
        action: "start its threads",
        reason: format!("{threads} were asked for: {e}"),
    })
}

/// The threads of a device of its own.
pub(crate) struct Threads {
    generation: usize,
    number: usize,
    /// Their pool. One thread, which is the caller's, has none.
    pool: Option<ManuallyDrop<ThreadPool>>,
}

impl Threads {
    pub(crate) fn new(number: usize) -> Result<Self> {
        check_number(number)?;
        let pool = if number == 1 { None } else { Some(ManuallyDrop::new(build(number)?)) };
        Ok(Self { generation: generation(), number, pool })
    }

    pub(crate) const fn number(&self) -> usize {
        self.number
    }

    /// Runs `work` with so many threads: those of the pool, or in a forked process, where it has
    /// none, those of another.
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            None => in_this_thread(work),
            Some(pool) if self.generation == generation() => pool.install(work),
            Some(_) => on_pool(self.number, work),
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // The end of a pool wakes its threads and takes their locks, which in a forked process may
        // be held for ever.
        if let Some(pool) = &mut self.pool
            && self.generation == generation()
        {
            // SAFETY: nobody uses the pool after this.
            unsafe { ManuallyDrop::drop(pool) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a pool of its own work has as many threads as were asked for, and what it calls stays
    /// there.
    #[test]
    fn work_in_a_pool_stays_there() {
        for threads in [1, 3, 1] {
            let seen = on_pool(threads, || {
                (rayon::current_num_threads(), num_threads(), on_threads(rayon::current_thread_index).is_some())
            });
            assert_eq!(seen, (threads, threads, true));
        }
        let (a, b) = (pool(2).unwrap(), pool(2).unwrap());
        assert!(Arc::ptr_eq(&a, &b));
        for refused in [0, MAX_THREADS + 1, usize::MAX] {
            let told = set_num_threads(refused).unwrap_err().to_string();
            assert!(told.starts_with("threads: expected 1 to 1024, such as "), "{told}");
            assert!(told.ends_with(&format!("the number of cores, got {refused}")), "{told}");
        }
    }

    /// What a process was not asked for goes to no other thread.
    #[test]
    fn work_of_the_first_process_stays_in_its_thread() {
        let here = std::thread::current().id();
        assert_eq!(on_threads(|| std::thread::current().id()), here);
        assert_eq!(super::super::Device::cpu().install(|| std::thread::current().id()), here);
    }

    /// A pool of another process is left alone, in work and at its end.
    #[test]
    fn the_pool_of_a_parent_is_not_used() {
        let mut threads = Threads::new(2).unwrap();
        let name = || std::thread::current().id();
        let own: Vec<_> = threads.pool.as_ref().expect("a pool of two").broadcast(|_| name());
        assert!(own.contains(&threads.install(name)));
        threads.generation += 1;
        assert_eq!(threads.install(rayon::current_num_threads), 2);
        assert!(!own.contains(&threads.install(name)));
        drop(threads);
    }

    /// Where the system refuses threads, the current one works alone.
    #[test]
    fn a_thread_can_work_alone() {
        let work = || {
            alone();
            let here = std::thread::current().id();
            let (a, b) = rayon::join(|| std::thread::current().id(), || std::thread::current().id());
            assert_eq!([a, b], [here; 2]);
            rayon::current_num_threads()
        };
        assert_eq!(std::thread::spawn(work).join().unwrap(), 1);
    }
}
