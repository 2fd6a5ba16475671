//! Tests of `src/batch/engine.rs`.

use super::*;
use std::time::Duration;

/// Answers `0..n` with so many workers, the even ones slower; what was listened to.
fn heard(workers: usize, n: usize, stop_at: usize) -> (Vec<usize>, usize) {
    let stop = AtomicBool::new(false);
    let mut heard = Vec::new();
    let answer = |done: &mut usize, index: usize| {
        *done += 1;
        stop.fetch_or(index == stop_at, Ordering::Relaxed);
        thread::sleep(Duration::from_micros(if index.is_multiple_of(2) { 700 } else { 10 }));
        index * 10
    };
    let workers = in_order(vec![0; workers], n, (&stop, true), answer, &mut |index, answer| {
        assert_eq!(answer, index * 10);
        heard.push(index);
        Ok(())
    });
    (heard, workers.unwrap().iter().sum())
}

#[test]
fn answers_come_in_order_from_any_number_of_workers() {
    for workers in [1, 2, 3, 8] {
        assert_eq!(heard(workers, 40, usize::MAX), ((0..40).collect(), 40), "{workers} workers");
        assert_eq!(heard(workers, 0, usize::MAX), (vec![], 0));
    }
}

#[test]
fn a_stop_leaves_no_gap_and_begins_nothing_more() {
    assert_eq!(heard(1, 40, 7), ((0..8).collect(), 8));
    let (heard, done) = heard(4, 40, 7);
    assert!(heard.iter().copied().eq(0..done) && (8..=11).contains(&done), "{heard:?}");
}

#[test]
fn a_failure_ends_all_workers() {
    for workers in [1, 4] {
        let stop = AtomicBool::new(false);
        let mut heard = 0;
        let told = in_order(vec![(); workers], 1000, (&stop, false), |(), index| index, &mut |index, _| {
            heard = index;
            if index == 5 { Err(Failure::Io("full".into())) } else { Ok(()) }
        });
        assert!(told.is_err() && heard == 5, "{workers} workers: {heard}");
    }
}
