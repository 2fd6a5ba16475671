//! The order of sweeps by the times of their points.

use super::arguments::is_bag;
use super::source::{Source, shown};
use crate::{DataError, Observer};
use pointmill_io::{ReadOptions, begin_seconds, max_threads};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Seconds that count from a moment that all sweeps share: from 1970, or of GPS, from 1980 less 1e9.
/// What counts from when a sensor was switched on, or from the start of the week, is less.
const SHARED: Range<f64> = 1e8..1e10;

/// Puts the files of each folder and pattern in the order of their times, and tells the observer
/// where the names or the arguments have another order. `groups` are the inputs of each argument.
///
/// The times of a file are read only where those of the first one are shared by all.
pub(super) fn settle(
    args: &[PathBuf],
    groups: &mut [Vec<Source>],
    options: &ReadOptions,
    observer: &dyn Observer,
) -> Result<(), DataError> {
    for (arg, group) in args.iter().zip(&mut *groups) {
        let Some(order) = order(&group.iter().collect::<Vec<_>>(), options, observer)? else { continue };
        let (n, moved) = (group.len(), elsewhere(&order));
        let mut files: Vec<_> = std::mem::take(group).into_iter().map(Some).collect();
        group.extend(order.iter().filter_map(|&i| files[i].take()));
        if moved > 0 {
            observer.warning(&format!(
                "{}: the names of {moved} of {n} sweeps give another order than the times of their points; sweeps are \
                 taken in the order of the times",
                shown(arg)
            ));
        }
    }
    let given: Vec<&Source> = groups.iter().filter(|group| group.len() == 1).flatten().collect();
    match order(&given, options, observer)?.map_or(0, |order| elsewhere(&order)) {
        0 => {}
        moved => observer.warning(&format!(
            "{moved} of {} sweeps are given in another order than the times of their points; sweeps are taken in the \
             order given; name their folder to take them in the order of the times",
            given.len()
        )),
    }
    Ok(())
}

/// How many places of an order have another sweep than before.
fn elsewhere(order: &[usize]) -> usize {
    order.iter().enumerate().filter(|(at, i)| at != *i).count()
}

/// The order of sweeps by their times, of equal ones as they are; `None` where they have none that
/// all share. A file without a time stays behind the one before it.
fn order(sources: &[&Source], options: &ReadOptions, observer: &dyn Observer) -> Result<Option<Vec<usize>>, DataError> {
    let time = |i: usize| {
        let path = sources[i].path().filter(|path| !is_bag(path))?;
        begin_seconds(path, options).ok().flatten().filter(|time| SHARED.contains(time))
    };
    if sources.len() < 2 || sources.iter().any(|source| source.path().is_some_and(is_bag)) {
        return Ok(None);
    }
    let Some(first) = time(0) else { return Ok(None) };
    let (next, times) = (AtomicUsize::new(1), Mutex::new(vec![None; sources.len()]));
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= sources.len() || observer.should_stop() {
                return;
            }
            let time = time(i);
            times.lock().unwrap_or_else(PoisonError::into_inner)[i] = time;
        }
    };
    thread::scope(|scope| {
        for _ in 1..max_threads().min(sources.len()) {
            // One that the system refuses is one fewer.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    if observer.should_stop() {
        return Err(DataError::Stopped);
    }
    let mut last = first;
    let times = times.into_inner().unwrap_or_else(PoisonError::into_inner);
    let filled = times.into_iter().map(|time| {
        last = time.unwrap_or(last);
        last
    });
    let times: Vec<f64> = filled.collect();
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
    Ok(Some(order))
}

#[cfg(test)]
mod tests {
    use crate::Observer;
    use crate::inputs::{Frames, Inputs};
    use pointmill_io::ReadOptions;
    use std::path::{Path, PathBuf};
    use std::sync::Mutex;

    /// Hears warnings.
    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Observer for Heard {
        fn warning(&self, message: &str) {
            self.0.lock().unwrap().push(message.into());
        }
    }

    /// Sweeps of two points in a folder; the time of each, or none.
    fn write(folder: &Path, sweeps: &[(&str, Option<f64>)]) {
        for (name, time) in sweeps {
            let rows = |t: Option<f64>| t.map_or_else(String::new, |t| format!(",{t}"));
            let head = if time.is_some() { "x,y,z,timestamp" } else { "x,y,z" };
            let text = format!("{head}\n1,2,3{}\n4,5,6{}\n", rows(*time), rows(time.map(|t| t + 0.0625)));
            std::fs::write(folder.join(name), text).unwrap();
        }
    }

    fn found(args: &[PathBuf], frames: &str) -> (String, Vec<String>) {
        let (heard, frames) = (Heard::default(), Frames { range: frames.parse().unwrap(), ..Frames::default() });
        let (sources, _) = Inputs::find_drive(args, ReadOptions::default(), &frames, &heard).unwrap();
        let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
        let names: Vec<_> = sources.iter().map(|source| name(Path::new(&source.name()))).collect();
        (names.join(" "), heard.0.into_inner().unwrap())
    }

    #[test]
    fn times_decide_the_order_of_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let at = |t: f64| Some(1.5e9 + t);
        let pattern = root.join("*.csv");
        write(root, &[("1.csv", at(0.3)), ("2.csv", at(0.1)), ("3.csv", at(0.2)), ("10.csv", at(0.4))]);
        let shown = crate::inputs::shown(&pattern);
        let warning = format!(
            "{shown}: the names of 3 of 4 sweeps give another order than the times of their points; sweeps are taken in \
             the order of the times"
        );
        assert_eq!(found(std::slice::from_ref(&pattern), ":"), ("2 3 1 10".into(), vec![warning]));
        // Frames count in the order of times.
        assert_eq!(found(std::slice::from_ref(&pattern), ":2").0, "2 3");
        // What was given stays.
        let given: Vec<_> = [3, 1, 2].map(|i| root.join(format!("{i}.csv"))).into();
        let (names, warnings) = found(&given, ":");
        assert_eq!((&*names, warnings.len()), ("3 1 2", 1));
        assert!(warnings[0].starts_with("3 of 3 sweeps are given in another order than the times"), "{warnings:?}");
        // A file that cannot be read stays behind the one before it, and fails in its turn.
        std::fs::write(root.join("2b.csv"), "x,y,z,timestamp\n1,2\n").unwrap();
        assert_eq!(found(&[pattern], ":").0, "2 2b 3 1 10");
    }

    #[test]
    fn other_times_say_nothing_of_the_order() {
        for first in [Some(0.3), Some(4e5), None] {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &[("1.csv", first), ("2.csv", Some(0.1)), ("3.csv", Some(0.2))]);
            assert_eq!(found(&[folder.path().join("*.csv")], ":"), ("1 2 3".into(), vec![]), "{first:?}");
        }
        // In order, of equal times, and alone nothing is told.
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &[("1.csv", Some(1.5e9)), ("2.csv", Some(1.5e9)), ("3.csv", Some(1.6e9))]);
        let pattern = folder.path().join("*.csv");
        assert_eq!(found(std::slice::from_ref(&pattern), ":"), ("1 2 3".into(), vec![]));
        assert_eq!(found(&[folder.path().join("3.csv")], ":"), ("3".into(), vec![]));
    }
}
