//! Takes inputs through workers, one after the other or several at a time, and reports them in
//! their order.

use super::input_error::InputError;
use super::resume_log::ResumeLog;
use crate::failure::Failure;
use crate::flags::{BatchArgs, Jobs};
use crate::inputs::Source;
use crate::json::{Counts, KeptRecord};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::text::counted;
use crate::{interrupt, stderr};
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
    pub(super) resume_log: Option<&'a ResumeLog>,
    /// Whether there are outputs beside what is printed.
    pub(super) writes: bool,
}

impl Batch<'_> {
    /// Does `one` with every input, each worker with one at a time, and calls `tell` for those that
    /// were done.
    ///
    /// An input that cannot be used is reported and the rest is done. Returns `None` if stdout was
    /// closed and nothing is written.
    pub(super) fn run<L: Send, F: Send>(
        &self,
        workers: Vec<L>,
        printer: &mut Printer,
        one: impl Fn(&mut L, usize, &Source) -> Result<F, InputError> + Sync,
        mut tell: impl FnMut(&mut Printer, F) -> Result<String, Failure>,
    ) -> Result<Option<(Vec<L>, Counts)>, Failure> {
        let name = |index: usize| self.sources.get(index).map(Source::name);
        let mut progress = Progress::new(self.sources.len(), &name(0).unwrap_or_default(), printer.json());
        let mut counts = Counts { inputs: self.sources.len(), ..Counts::default() };
        let stop = AtomicBool::new(false);
        let answer = |worker: &mut L, index: usize| {
            let answer = self.answer(worker, index, &one);
            let ends = match &answer {
                Ok(_) | Err(InputError::AlreadyDone) => false,
                Err(InputError::Input(_)) => self.args.fail_fast,
                Err(InputError::Fatal(_)) => true,
            };
            // Before anyone takes the next.
            stop.fetch_or(ends, Ordering::Relaxed);
            answer
        };
        let mut listen = |index: usize, answer: Result<Option<F>, InputError>| {
            interrupt::check()?;
            let by_this_run = !matches!(answer, Ok(None));
            let suffix = progress.suspend(|| match answer {
                Ok(Some(done)) => {
                    counts.done += 1;
                    tell(printer, done)
                }
                Ok(None) => {
                    counts.kept += 1;
                    let outputs = self.resume_log.map_or_else(Vec::new, |resume_log| resume_log.names(index));
                    printer
                        .record("kept", &KeptRecord { index, input: self.sources[index].name(), outputs })
                        .map(|()| String::new())
                }
                Err(input_error) => {
                    counts.failed += 1;
                    input_error.tell(printer, index, &self.sources[index].name()).map(|()| String::new())
                }
            })?;
            // Not within `suspend`, which holds the bar.
            progress.advance(by_this_run, name(index + 1).as_deref(), &suffix);
            if printer.is_closed() && !self.writes {
                stop.store(true, Ordering::Relaxed);
            }
            Ok(())
        };
        let asked = matches!(self.args.jobs, Jobs::Given(_));
        let ran = in_order(workers, self.sources.len(), (&stop, asked), answer, &mut listen);
        let ran = interrupt::check().and(ran);
        let done = counts.done + counts.kept;
        let is_interrupted = matches!(ran, Err(Failure::Interrupted(_)));
        // What is still written tells itself how far it goes.
        let says = (is_interrupted && !interrupt::has_last_write()) || (ran.is_err() && self.resume_log.is_some());
        if says && done > 0 && counts.inputs > 1 {
            progress.clear();
            let way_out = if self.resume_log.is_some() { "; run again with --resume" } else { "" };
            stderr::note(format_args!("{done} of {} done{way_out}", counted(counts.inputs, "input")));
        }
        let workers = ran?;
        progress.clear();
        if printer.is_closed() && !self.writes {
            return Ok(None);
        }
        if counts.kept == counts.inputs && counts.kept > 1 {
            stderr::note(format_args!("all {} are already done", counted(counts.inputs, "input")));
        } else if counts.kept > 0 {
            stderr::note(format_args!(
                "skipped {} of {}: finished by an earlier run",
                counts.kept,
                counted(counts.inputs, "input")
            ));
        }
        let left = counts.inputs - counts.done - counts.kept - counts.failed;
        if left > 0 {
            stderr::note(format_args!("{left} of {} were not started", counted(counts.inputs, "input")));
        }
        Ok(Some((workers, counts)))
    }

    /// The result of an input; `None` if an earlier run has done it.
    fn answer<L, F>(
        &self,
        worker: &mut L,
        index: usize,
        one: &impl Fn(&mut L, usize, &Source) -> Result<F, InputError>,
    ) -> Result<Option<F>, InputError> {
        let source = &self.sources[index];
        let one = |worker: &mut L| match one(worker, index, source) {
            Err(InputError::AlreadyDone) => Ok(None),
            done => done.map(Some),
        };
        // Taken before the input is read, so that one that changes meanwhile is done again.
        let Some((resume_log, stamp)) = self.resume_log.and_then(|l| Some((l, l.stamp(index, source)?))) else {
            return one(worker);
        };
        if resume_log.keeps(&stamp) {
            return Ok(None);
        }
        let done = one(worker)?;
        resume_log.note(index, stamp)?;
        Ok(done)
    }
}

/// Makes answers for `0..n` in the workers and passes them to `listen` in order on this thread,
/// until `stop`.
///
/// Answers that were begun before the stop are still passed on, so there are no gaps. Where the
/// system refuses a thread for a worker, the others do its work; if so many workers were asked for,
/// no further input is begun and the call fails.
fn in_order<L: Send, A: Send>(
    mut workers: Vec<L>,
    n: usize,
    (stop, asked): (&AtomicBool, bool),
    answer: impl Fn(&mut L, usize) -> A + Sync,
    listen: &mut dyn FnMut(usize, A) -> Result<(), Failure>,
) -> Result<Vec<L>, Failure> {
    let goes_on = || !stop.load(Ordering::Relaxed) && interrupt::check().is_ok();
    let alone = |worker: &mut L, listen: &mut dyn FnMut(usize, A) -> Result<(), Failure>| {
        (0..n).take_while(|_| goes_on()).try_for_each(|index| listen(index, answer(worker, index)))
    };
    if let [worker] = &mut workers[..] {
        return alone(worker, listen).map(|()| workers);
    }
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::channel();
    let wanted = workers.len();
    let work = |mut worker: L, send: mpsc::Sender<(usize, A)>| {
        while goes_on() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= n || send.send((index, answer(&mut worker, index))).is_err() {
                break;
            }
        }
        worker
    };
    let work = &work;
    thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut refused = Ok(());
        while let Some(worker) = workers.pop() {
            let send = send.clone();
            match thread::Builder::new().spawn_scoped(scope, move || work(worker, send)) {
                Ok(thread) => threads.push(thread),
                Err(_) if !asked => break,
                Err(e) => {
                    stop.store(true, Ordering::Relaxed);
                    let got = format!("{} of them: {e}", threads.len());
                    refused = Err(Failure::Io(format!("--jobs: expected {wanted} threads, the system gave {got}")));
                    break;
                }
            }
        }
        drop(send);
        if let (true, true, Some(mut worker)) = (threads.is_empty(), refused.is_ok(), workers.pop()) {
            return alone(&mut worker, listen).map(|()| vec![worker]);
        }
        let mut waiting = BTreeMap::new();
        let mut turn = 0;
        let mut outcome = Ok(());
        for (index, answer) in &receive {
            waiting.insert(index, answer);
            while let (Ok(()), Some(answer)) = (&outcome, waiting.remove(&turn)) {
                outcome = listen(turn, answer);
                turn += 1;
            }
            if outcome.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        let workers = threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let workers = workers.collect();
        outcome.and(refused).map(|()| workers)
    })
}

#[cfg(test)]
#[path = "../../tests/unit/batch_engine.rs"]
mod tests;
