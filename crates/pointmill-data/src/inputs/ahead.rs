//! Inputs that are read on other threads before their turn.

use super::source::{Opened, Source};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Inputs that were read before their turn.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Inputs that were read, by their names.
    ready: Vec<(String, Opened)>,
    /// Names of the inputs that threads read now.
    under_way: Vec<String>,
    /// Inputs whose turn came before a thread began them.
    passed: HashSet<String>,
    /// The input that a thread begins next.
    next: usize,
    /// How many more inputs threads may begin.
    room: usize,
    /// Whether there are threads that read.
    runs: bool,
}

impl Ahead {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `work`, which takes inputs one after the other, while so many threads `open` the next ones.
    pub(super) fn during<R>(
        &self,
        sources: &[Source],
        threads: usize,
        open: impl Fn(&Source) -> Opened + Sync,
        work: impl FnOnce() -> R,
    ) -> R {
        if threads < 2 || sources.len() < 2 || sources.iter().any(|source| matches!(source, Source::Stdin)) {
            return work();
        }
        {
            let mut state = self.state();
            (state.room, state.runs, state.next) = (threads - state.ready.len().min(1), true, 0);
        }
        thread::scope(|scope| {
            let _end = End(self);
            for _ in 0..threads {
                // One that the system refuses is one fewer.
                let _ = thread::Builder::new().spawn_scoped(scope, || self.read(sources, &open));
            }
            work()
        })
    }

    /// Keeps an input until its turn.
    pub(super) fn keep(&self, name: String, read: Opened) {
        self.state().ready.push((name, read));
    }

    /// The input of this name, once the thread that reads it is done; `None` if the caller has to
    /// read it.
    pub(super) fn take(&self, name: &str) -> Option<Opened> {
        let mut state = self.state();
        loop {
            if let Some(i) = state.ready.iter().position(|(ready, _)| ready == name) {
                state.room += 1;
                self.changed.notify_all();
                return Some(state.ready.swap_remove(i).1);
            }
            if !state.under_way.iter().any(|other| other == name) {
                if state.runs {
                    state.passed.insert(name.into());
                }
                return None;
            }
            state = self.wait(state);
        }
    }

    /// Reads one input after the other, each that is not there yet, while there is room for more.
    fn read(&self, sources: &[Source], open: impl Fn(&Source) -> Opened) {
        let mut state = self.state();
        while state.runs {
            if state.room == 0 {
                state = self.wait(state);
                continue;
            }
            let Some(source) = sources.get(state.next) else { return };
            let name = source.name();
            state.next += 1;
            if state.passed.remove(&name) || state.ready.iter().any(|(ready, _)| *ready == name) {
                continue;
            }
            state.room -= 1;
            state.under_way.push(name.clone());
            drop(state);
            // After a panic the input is read once more in its turn, and the panic comes there.
            let read = catch_unwind(AssertUnwindSafe(|| open(source)));
            state = self.state();
            state.under_way.retain(|other| *other != name);
            match read {
                // The work may have ended meanwhile.
                Ok(read) if state.runs => state.ready.push((name, read)),
                _ => state.room += 1,
            }
            self.changed.notify_all();
        }
    }
}

/// Ends the threads, also where the work ends by a panic.
struct End<'a>(&'a Ahead);

impl Drop for End<'_> {
    fn drop(&mut self) {
        *self.0.state() = State::default();
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Inputs;
    use pointmill_io::ReadOptions;
    use std::path::PathBuf;

    /// So many sweeps of four columns, of which number 3 cannot be read.
    fn files(folder: &std::path::Path, n: usize) -> Vec<PathBuf> {
        let sweep = |i: usize| {
            let path = folder.join(format!("{i:03}.bin"));
            let bytes: Vec<u8> = (0..4 * (i + 1)).flat_map(|v| (v as f32).to_le_bytes()).collect();
            std::fs::write(&path, if i == 3 { &bytes[..15] } else { &bytes }).unwrap();
            path
        };
        (0..n).map(sweep).collect()
    }

    fn points(inputs: &Inputs, sources: &[Source]) -> Vec<Result<usize, String>> {
        let read = |source| inputs.read(source).map(|(scan, _)| scan.cloud.len()).map_err(|e| e.to_string());
        sources.iter().map(read).collect()
    }

    #[test]
    fn inputs_are_those_that_are_read_in_their_turn() {
        let folder = tempfile::tempdir().unwrap();
        let (sources, inputs) = Inputs::find(&files(folder.path(), 40), ReadOptions::default()).unwrap();
        let wanted = points(&inputs, &sources);
        assert!(wanted[3].is_err() && wanted[39] == Ok(40));
        for threads in [1, 2, 7, 64] {
            assert_eq!(inputs.reading_ahead(&sources, threads, || points(&inputs, &sources)), wanted);
            // Work that skips inputs, takes one twice, or ends early waits for nothing.
            let some = inputs.reading_ahead(&sources, threads, || {
                let last = inputs.read(&sources[39]).unwrap().0.cloud.len();
                (last, points(&inputs, &sources[5..7]), points(&inputs, &sources[5..6]))
            });
            assert_eq!(some, (40, vec![Ok(6), Ok(7)], vec![Ok(6)]));
            assert!(inputs.ahead.state().ready.is_empty());
        }
    }

    #[test]
    fn few_inputs_are_held_and_a_panic_of_the_work_ends_the_threads() {
        let folder = tempfile::tempdir().unwrap();
        let (sources, inputs) = Inputs::find(&files(folder.path(), 40), ReadOptions::default()).unwrap();
        inputs.reading_ahead(&sources, 3, || {
            for source in &sources {
                thread::sleep(std::time::Duration::from_millis(1));
                let held = {
                    let state = inputs.ahead.state();
                    state.ready.len() + state.under_way.len()
                };
                assert!(held <= 3, "{held}");
                let _ = inputs.read(source);
            }
        });
        let panics = AssertUnwindSafe(|| inputs.reading_ahead(&sources, 3, || panic!("the work")));
        assert!(catch_unwind(panics).is_err());
        assert_eq!(points(&inputs, &sources)[39], Ok(40));
    }
}
