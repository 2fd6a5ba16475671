//! Operators that keep their memory between calls.
//!
//! A call takes an operator of its place and parameters out of the cache and puts it back when its
//! work is queued, so that calls that follow each other allocate nothing, and calls of several
//! threads never wait for each other. The cache is short: what was not used for long goes.

use crate::arrays::Place;
use crate::errors::{Names, OrRaise};
use crate::interrupt::{self, Effort};
use pointmill::Stream;
use pointmill::device::PerProcess;
use pyo3::prelude::*;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Operators of a kind that are cached at most.
const MOST: usize = 16;

/// An operator and the stream that it works on.
pub(crate) struct CachedWorker<V> {
    pub(crate) worker: V,
    pub(crate) stream: Stream,
}

impl<V> CachedWorker<V> {
    /// Lets an operator go. Its stream is the caller's, who may have destroyed it since.
    fn retire(self) {
        // An error of the device has nobody here to hear it; the next call will.
        let _ = self.stream.retire();
    }
}

/// An operator that nobody uses at the moment.
struct CacheEntry<P, V> {
    place: Place,
    params: P,
    cached: CachedWorker<V>,
}

/// Operators that nobody uses at the moment. A forked process begins with none: those of its parent
/// may be in the hands of a thread that it has not, and those of a GPU are not its own.
pub(crate) struct Cache<P: 'static, V: 'static>(PerProcess<Mutex<Idle<P, V>>>);

struct Idle<P, V> {
    /// The last used last.
    free: VecDeque<CacheEntry<P, V>>,
    /// Those that a capture used, with its number. Its graph may use their memory as long as the
    /// process lives, so only later calls of the same capture take them.
    captured: Vec<(u64, CacheEntry<P, V>)>,
}

impl<P, V> Default for Idle<P, V> {
    fn default() -> Self {
        Self { free: VecDeque::new(), captured: Vec::new() }
    }
}

impl<P: PartialEq + Clone + Send + 'static, V: Send + 'static> Cache<P, V> {
    pub(crate) const fn new() -> Self {
        Self(PerProcess::new(Mutex::default))
    }

    fn idle(&'static self) -> MutexGuard<'static, Idle<P, V>> {
        self.0.get().lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls an operator for a place and parameters: `take` looks at it and takes the arguments,
    /// `work` runs without the interpreter's lock (see [`interrupt::run`]). Errors name arguments
    /// as `names` does.
    pub(crate) fn call<J, R, E>(
        &'static self,
        py: Python<'_>,
        (place, params, names): (Place, &P, Names),
        make: impl FnOnce(&Stream) -> pointmill::Result<V>,
        take: impl FnOnce(&V, &Stream) -> PyResult<J>,
        effort: Effort,
        work: impl FnOnce(&mut V, &Stream, &J) -> Result<R, E> + Send + 'static,
    ) -> PyResult<R>
    where
        J: Send + Sync + 'static,
        Result<R, E>: OrRaise<R> + Send + 'static,
    {
        let mut cached = self.take(place, params, make).or_raise(names)?;
        let taken = match take(&cached.worker, &cached.stream) {
            Ok(taken) => taken,
            Err(refused) => {
                self.put(place, params.clone(), cached);
                return Err(refused);
            }
        };
        let params = params.clone();
        let done = interrupt::run(py, effort, taken, move |taken| {
            let done = work(&mut cached.worker, &cached.stream, taken);
            self.put(place, params, cached);
            done
        })?;
        done.or_raise(names)
    }

    /// An operator for a place and parameters; a new one if there is none.
    pub(crate) fn take(
        &'static self,
        place: Place,
        params: &P,
        make: impl FnOnce(&Stream) -> pointmill::Result<V>,
    ) -> pointmill::Result<CachedWorker<V>> {
        let mut idle = self.idle();
        let fits = |one: &CacheEntry<P, V>| one.place == place && one.params == *params;
        if !idle.captured.is_empty() {
            // Who asks while nothing is captured shows that the captures of the place are over.
            let now = place.stream()?.capture_number()?;
            let over = idle.captured.extract_if(.., |(capture, one)| one.place == place && Some(*capture) != now);
            over.for_each(std::mem::forget);
            let found = idle.captured.iter().position(|(capture, one)| Some(*capture) == now && fits(one));
            if let Some(at) = found {
                return Ok(idle.captured.swap_remove(at).1.cached);
            }
        }
        let found = idle.free.iter().rposition(fits);
        if let Some(one) = found.and_then(|at| idle.free.remove(at)) {
            return Ok(one.cached);
        }
        drop(idle);
        let stream = place.stream()?;
        Ok(CachedWorker { worker: make(&stream)?, stream })
    }

    /// Puts an operator back.
    pub(crate) fn put(&'static self, place: Place, params: P, cached: CachedWorker<V>) {
        let Ok(capture) = cached.stream.capture_number() else {
            // Perhaps a graph may use its memory.
            return std::mem::forget(cached);
        };
        let mut idle = self.idle();
        let entry = CacheEntry { place, params, cached };
        if let Some(capture) = capture {
            return idle.captured.push((capture, entry));
        }
        idle.free.push_back(entry);
        let oldest = if idle.free.len() > MOST { idle.free.pop_front() } else { None };
        drop(idle);
        if let Some(oldest) = oldest {
            oldest.cached.retire();
        }
    }

    /// Lets all operators go.
    pub(crate) fn clear(&'static self) {
        let Idle { free, captured } = std::mem::take(&mut *self.idle());
        free.into_iter().for_each(|one| one.cached.retire());
        captured.into_iter().for_each(std::mem::forget);
    }
}
