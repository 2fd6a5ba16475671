//! Threads for one job at a time, so that no job waits for another.

use super::process::PerProcess;
use super::threads::{build_with, num_threads};
use crate::Result;
use crate::par::{Jobs, work_for};
use rayon::ThreadPool;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Teams that are kept for later jobs.
const KEPT: usize = 4;

/// Teams without a job, the last used last.
static IDLE: PerProcess<Mutex<Vec<Team>>> = PerProcess::new(Mutex::default);
/// The number of teams with a job.
static BUSY: PerProcess<AtomicUsize> = PerProcess::new(AtomicUsize::default);

/// Threads of the CPU for one job: a call of a binding, which the caller waits for and may stop.
///
/// Jobs that are done at the same time have teams of their own and share the machine: beside `n`
/// others a team has that part of [`num_threads`] that `n + 1` teams would have each.
#[derive(Debug)]
pub struct Team {
    pool: Arc<ThreadPool>,
    jobs: Arc<Jobs>,
}

/// Stops a job.
#[derive(Debug)]
pub struct Stop {
    jobs: Arc<Jobs>,
    job: u64,
}

impl Stop {
    /// Ends the job soon, if it is not done: it has no result then. What it was changing is not
    /// whole.
    pub fn stop(&self) {
        self.jobs.stopped.fetch_max(self.job, Ordering::Relaxed);
    }
}

fn idle() -> MutexGuard<'static, Vec<Team>> {
    IDLE.get().lock().unwrap_or_else(PoisonError::into_inner)
}

impl Team {
    /// Has `work` done by a team, in which all that it calls stays, and hands what it returns to
    /// `then`: nothing if it was stopped or panicked. `work` and `then` come back where the system
    /// refuses threads.
    ///
    /// ```
    /// use pointmill::device::Team;
    /// use std::sync::mpsc::channel;
    /// let (send, receive) = channel();
    /// let started = Team::start(|| 6 * 7, move |found| send.send(found).unwrap());
    /// assert!(started.is_ok());
    /// assert_eq!(receive.recv(), Ok(Some(42)));
    /// ```
    ///
    /// # Errors
    /// Threads that the system refuses.
    pub fn start<R, W, T>(work: W, then: T) -> Result<Stop, (W, T)>
    where
        R: Send + 'static,
        W: FnOnce() -> R + Send + 'static,
        T: FnOnce(Option<R>) + Send + 'static,
    {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let others = BUSY.get().fetch_add(1, Ordering::Relaxed);
        let Ok(team) = Self::of(num_threads().div_ceil(others + 1)) else {
            BUSY.get().fetch_sub(1, Ordering::Relaxed);
            return Err((work, then));
        };
        let job = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        team.jobs.current.store(job, Ordering::Relaxed);
        let stop = Stop { jobs: team.jobs.clone(), job };
        let pool = team.pool.clone();
        pool.spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(work)).ok();
            // Before the caller hears of it, so that its next call finds the team.
            BUSY.get().fetch_sub(1, Ordering::Relaxed);
            team.rest();
            then(result);
        });
        Ok(stop)
    }

    /// A team of so many threads, if possible one that has no job.
    fn of(threads: usize) -> Result<Self> {
        let mut idle = idle();
        let fits = |team: &Self| team.pool.current_num_threads() == threads;
        if let Some(at) = idle.iter().rposition(fits) {
            return Ok(idle.remove(at));
        }
        drop(idle);
        let jobs = Arc::new(Jobs::default());
        let own = jobs.clone();
        let pool = build_with(threads, move |builder| builder.start_handler(move |_| work_for(own.clone())))?;
        Ok(Self { pool: Arc::new(pool), jobs })
    }

    /// Keeps the team for a later job; if there are enough, the one that was not used for longest
    /// goes.
    fn rest(self) {
        let mut idle = idle();
        idle.push(self);
        let longest = if idle.len() > KEPT { Some(idle.remove(0)) } else { None };
        drop(idle);
        drop(longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::par;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    /// Starts work; where its result comes.
    fn start<R: Send + 'static>(
        work: impl FnOnce() -> R + Send + 'static,
    ) -> (Stop, std::sync::mpsc::Receiver<Option<R>>) {
        let (send, receive) = channel();
        let started = Team::start(work, move |result| send.send(result).unwrap());
        (started.unwrap_or_else(|_| panic!("no threads")), receive)
    }

    /// A job does not wait for another one, and work that is stopped ends, with no harm to later
    /// jobs.
    #[test]
    fn jobs_do_not_wait_and_can_be_stopped() {
        let (begun, first) = channel();
        let (stop, long) = start(move || {
            begun.send(()).unwrap();
            loop {
                rayon::join(par::check, || std::thread::sleep(Duration::from_millis(1)));
            }
        });
        first.recv().unwrap();
        for i in 0..20 {
            assert_eq!(start(move || i).1.recv_timeout(Duration::from_secs(60)), Ok(Some(i)));
        }
        assert_eq!(long.try_recv().map(|_: Option<()>| ()), Err(std::sync::mpsc::TryRecvError::Empty));
        stop.stop();
        assert_eq!(long.recv_timeout(Duration::from_secs(60)), Ok(None));
        // Too late, and of no consequence for whoever has the team now.
        let (_, later) = start(|| (0..100).for_each(|_| par::check()));
        stop.stop();
        assert_eq!(later.recv_timeout(Duration::from_secs(60)), Ok(Some(())));
    }

    /// Work that panics has no result, and its team goes on.
    #[test]
    fn a_panic_is_no_result() {
        let panics = || -> u8 { std::panic::resume_unwind(Box::new("broken")) };
        assert_eq!(start(panics).1.recv_timeout(Duration::from_secs(60)), Ok(None));
        let inside = || (rayon::current_thread_index().is_some(), rayon::current_num_threads() >= 1);
        assert_eq!(start(inside).1.recv_timeout(Duration::from_secs(60)), Ok(Some((true, true))));
    }
}
