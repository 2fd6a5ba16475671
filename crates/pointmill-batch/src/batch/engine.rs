//! Takes inputs through lanes, one after the other or several at a time, and reports them in their order.

use super::ledger::Ledger;
use super::trouble::Trouble;
use crate::failure::Failure;
use crate::flags::BatchArgs;
use crate::inputs::Source;
use crate::json::{Counts, Kept};
use crate::printer::Printer;
use crate::{interrupt, say};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// The inputs of a command.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    pub(super) sources: &'a [Source],
    pub(super) args: BatchArgs,
    /// What is done already, if outputs go to a folder.
    pub(super) ledger: Option<&'a Ledger>,
    /// Whether there are outputs beside what is printed.
    pub(super) writes: bool,
}

impl Batch<'_> {
    /// Does `one` with every input, each lane with one at a time, and calls `tell` for those that were done.
    ///
    /// An input that cannot be used is reported and the rest is done. Returns `None` if stdout was closed and nothing is written.
    pub(super) fn run<L: Send, F: Send>(
        &self,
        lanes: Vec<L>,
        printer: &mut Printer,
        one: impl Fn(&mut L, usize, &Source) -> Result<F, Trouble> + Sync,
        mut tell: impl FnMut(&mut Printer, F) -> Result<String, Failure>,
    ) -> Result<Option<(Vec<L>, Counts)>, Failure> {
        let progress = say::progress(self.sources.len(), printer.json());
        let mut counts = Counts { inputs: self.sources.len(), ..Counts::default() };
        let stop = AtomicBool::new(false);
        let answer = |lane: &mut L, index: usize| {
            let answer = self.answer(lane, index, &one);
            let ends = match &answer {
                Ok(_) | Err(Trouble::Kept) => false,
                Err(Trouble::Input(_)) => self.args.fail_fast,
                Err(Trouble::Fatal(_)) => true,
            };
            // Before anyone takes the next.
            stop.fetch_or(ends, Ordering::Relaxed);
            answer
        };
        let mut listen = |index: usize, answer: Result<Option<F>, Trouble>| {
            interrupt::check()?;
            let so_far = progress.suspend(|| match answer {
                Ok(Some(done)) => {
                    counts.done += 1;
                    tell(printer, done).map(Some)
                }
                Ok(None) => {
                    counts.kept += 1;
                    let outputs = self.ledger.map_or_else(Vec::new, |ledger| ledger.names(index));
                    printer.record("kept", &Kept { index, input: self.sources[index].name(), outputs }).map(|()| None)
                }
                Err(trouble) => {
                    counts.failed += 1;
                    trouble.tell(printer, index, &self.sources[index].name()).map(|()| None)
                }
            })?;
            // Not within `suspend`, which holds the bar.
            if let Some(so_far) = so_far {
                progress.set_message(so_far);
            }
            progress.inc(1);
            if printer.is_closed() && !self.writes {
                stop.store(true, Ordering::Relaxed);
            }
            Ok(())
        };
        let lanes = in_order(lanes, self.sources.len(), &stop, answer, &mut listen)?;
        interrupt::check()?;
        progress.finish_and_clear();
        if printer.is_closed() && !self.writes {
            return Ok(None);
        }
        if counts.kept > 0 {
            say::note(format_args!(
                "skipped {} of {} input(s): finished by an earlier run",
                counts.kept, counts.inputs
            ));
        }
        let left = counts.inputs - counts.done - counts.kept - counts.failed;
        if left > 0 {
            say::note(format_args!("{left} of {} input(s) were not started", counts.inputs));
        }
        Ok(Some((lanes, counts)))
    }

    /// The result of an input; `None` if an earlier run has done it.
    fn answer<L, F>(
        &self,
        lane: &mut L,
        index: usize,
        one: &impl Fn(&mut L, usize, &Source) -> Result<F, Trouble>,
    ) -> Result<Option<F>, Trouble> {
        let source = &self.sources[index];
        let one = |lane: &mut L| match one(lane, index, source) {
            Err(Trouble::Kept) => Ok(None),
            done => done.map(Some),
        };
        // Taken before the input is read, so that one that changes meanwhile is done again.
        let Some((ledger, stamp)) = self.ledger.and_then(|l| Some((l, l.stamp(index, source)?))) else {
            return one(lane);
        };
        if ledger.keeps(&stamp) {
            return Ok(None);
        }
        let done = one(lane)?;
        ledger.note(index, stamp)?;
        Ok(done)
    }
}

/// Makes answers for `0..n` in the lanes and passes them to `listen` in order on this thread, until `stop`.
///
/// Answers that were begun before the stop are still passed on, so there are no gaps. If the system refuses a thread for a lane, no further input is begun and the call fails.
fn in_order<L: Send, A: Send>(
    mut lanes: Vec<L>,
    n: usize,
    stop: &AtomicBool,
    answer: impl Fn(&mut L, usize) -> A + Sync,
    listen: &mut dyn FnMut(usize, A) -> Result<(), Failure>,
) -> Result<Vec<L>, Failure> {
    let goes_on = || !stop.load(Ordering::Relaxed) && interrupt::check().is_ok();
    if let [lane] = &mut lanes[..] {
        for index in (0..n).take_while(|_| goes_on()) {
            listen(index, answer(lane, index))?;
        }
        return Ok(lanes);
    }
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::channel();
    let wanted = lanes.len();
    let work = |mut lane: L, send: mpsc::Sender<(usize, A)>| {
        while goes_on() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= n || send.send((index, answer(&mut lane, index))).is_err() {
                break;
            }
        }
        lane
    };
    let work = &work;
    thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut refused = Ok(());
        for lane in lanes.drain(..) {
            let send = send.clone();
            match thread::Builder::new().spawn_scoped(scope, move || work(lane, send)) {
                Ok(thread) => threads.push(thread),
                Err(e) => {
                    stop.store(true, Ordering::Relaxed);
                    let got = format!("{} of them: {e}", threads.len());
                    refused = Err(Failure::Io(format!("--jobs: expected {wanted} threads, the system gave {got}")));
                    break;
                }
            }
        }
        drop(send);
        let mut waiting = BTreeMap::new();
        let mut turn = 0;
        let mut told = Ok(());
        for (index, answer) in &receive {
            waiting.insert(index, answer);
            while let (Ok(()), Some(answer)) = (&told, waiting.remove(&turn)) {
                told = listen(turn, answer);
                turn += 1;
            }
            if told.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        let lanes = threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let lanes = lanes.collect();
        told.and(refused).map(|()| lanes)
    })
}

#[cfg(test)]
#[path = "../../tests/unit/batch_engine.rs"]
mod tests;
