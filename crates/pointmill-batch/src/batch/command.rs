//! A command that works through inputs, and how it is run.

use super::at_once::at_once;
use super::engine::Batch;
use super::input_error::InputError;
use super::resume_log::ResumeLog;
use super::table::{Cell, Table};
use super::warnings::Warnings;
use crate::failure::Failure;
use crate::flags::{BatchArgs, Jobs, WorkArgs};
use crate::inputs::{Inputs, Source};
use crate::json::{Begin, Counts, FileFrame, Frame, Run, Summary, SummaryCpu};
use crate::printer::Printer;
use crate::stats::Times;
use crate::text::{counted, shown};
use pointmill::Device;
use pointmill::registration::Status;
use serde::Serialize;
use std::path::Path;

/// What a command does with one input, and how it reports it.
pub trait Command: Sync {
    /// What works on one input at a time, with memory that it keeps.
    type Worker: Send;
    /// The fields of the command in a `frame`.
    type Row: Serialize + Send;
    /// The fields of the command in the `summary`.
    type Totals: Serialize + Default;
    /// What an input is called in messages.
    const INPUT: &'static str = "input";
    /// Whether a device works on each input. Else its `frame` has no device, no time on it and no
    /// CPU beside it.
    const ON_DEVICE: bool = true;

    /// The inputs, if the command reads the sources by them. Where one worker takes all sources, the
    /// next ones are read meanwhile.
    fn inputs(&self) -> Option<&Inputs> {
        None
    }

    /// Makes a worker; each job has one.
    fn worker(&self) -> Result<Self::Worker, Failure>;

    /// Does one input, from reading to writing.
    fn one(&self, worker: &mut Self::Worker, index: usize, source: &Source) -> Result<Frame<Self::Row>, InputError>;

    /// Whether a run that resumes can keep the input. An answer that is "no" is given again.
    fn settled(&self, _: &Frame<Self::Row>) -> bool {
        true
    }

    /// Adds an input to the totals. Inputs come in their order.
    ///
    /// # Errors
    /// An input that does not go with those before it ends the command.
    fn add(&self, totals: &mut Self::Totals, frame: &mut Frame<Self::Row>) -> Result<(), Failure>;

    /// Text appended to the progress bar.
    fn progress_suffix(&self, _: &Self::Totals) -> String {
        String::new()
    }

    /// The cells of an input in the table for people, and in the log.
    fn cells(&self, frame: &Frame<Self::Row>) -> Vec<Cell>;

    /// The lines of an input for people; `None` for a line of the table. `alone` is true if there
    /// is no other input.
    fn detail(&self, _: &Frame<Self::Row>, alone: bool) -> Option<Vec<String>> {
        let _ = alone;
        None
    }

    /// Does what all inputs are needed for, if one of them was read: writes files, for one. Returns
    /// whether the CPU beside the device had the same result.
    fn finish(&self, _: &mut Self::Totals, _: Vec<Self::Worker>, _: Counts) -> Result<bool, Failure> {
        Ok(true)
    }

    /// The last lines for people.
    fn lines(&self, summary: &Summary<Self::Totals>) -> Vec<String>;

    /// Fails the command (exit code 6) if its result is negative, e.g. an alignment did not
    /// converge.
    fn verdict(&self, _: &Summary<Self::Totals>) -> Result<(), Failure> {
        Ok(())
    }

    /// A warning for people.
    fn warning(&self, frame: &Frame<Self::Row>, warning: &str) -> String {
        format!("{}: {warning}", frame.input)
    }
}

/// The inputs of a run, and where its outputs go.
#[derive(Debug)]
pub struct Job<'a> {
    /// The name of the command.
    pub name: &'static str,
    /// The device, for a command that uses one.
    pub device: Option<&'a Device>,
    /// The inputs, in their order.
    pub sources: &'a [Source],
    /// The number of workers, and what a failed input ends.
    pub batch: BatchArgs,
    /// Whether one worker takes all inputs, unless `--jobs` gives a number.
    pub in_turn: bool,
    /// Whether every input has a line, with the times of reading and writing.
    pub verbose: bool,
    /// Whether every input has a line, of columns that are as wide as their longest text.
    pub every_row: bool,
    /// What is done already, if outputs go to a folder.
    pub resume_log: Option<ResumeLog>,
    /// The value of `--out`.
    pub out: Option<&'a Path>,
    /// The value of `--visualize`.
    pub picture: Option<&'a Path>,
    /// Whether there are outputs beside `out` and `picture`.
    pub writes: bool,
    /// The origin of the inputs, if they are clouds.
    pub origin: Option<[f64; 3]>,
}

/// What ends a command whose inputs were done, of which only some converged; `status` is the reason
/// of the last one. The flag `reach` decides how far a neighbour may be.
pub fn not_converged(
    counts: Counts,
    converged: usize,
    status: &str,
    (input, reach): (&str, &str),
) -> Result<(), Failure> {
    let lost = counts.done - converged;
    if lost == 0 {
        return Ok(());
    }
    if counts.inputs > 1 {
        return Err(Failure::No(format!("not converged: {lost} of {}", counted(counts.done, input))));
    }
    let way_out = match status.parse() {
        Ok(Status::NoPairs) => {
            format!("; no point has a neighbour within reach: start from a better --guess, or raise {reach}")
        }
        Ok(Status::MaxIterations) => "; raise --max-iterations, or start from a better --guess".into(),
        Ok(Status::Cycle) => format!("; the same pairs come back: start from a better --guess, or change {reach}"),
        Ok(Status::Degenerate) => "; the clouds do not determine the whole pose: use clouds with more structure".into(),
        _ => String::new(),
    };
    Err(Failure::No(format!("not converged: {status}{way_out}")))
}

/// Logs what was done of an input.
fn log<R>(frame: &Frame<R>, cells: &[Cell]) {
    let cells = cells.iter().map(|(title, text)| format!("{title} {}", text.trim()));
    let times = [
        Some(format!("read {} ms", frame.read_ms)),
        frame.device.as_ref().zip(frame.ms).map(|(device, ms)| format!("{device} {ms} ms")),
        frame.write_ms.map(|ms| format!("written {ms} ms")),
    ];
    let done: Vec<_> = cells.chain(times.into_iter().flatten()).collect();
    tracing::info!("{}: {}", frame.input, done.join(", "));
}

impl<'a> Job<'a> {
    /// A job without outputs, for a command that uses no device.
    pub const fn new(name: &'static str, sources: &'a [Source], batch: BatchArgs) -> Self {
        let (device, resume_log, out, picture, origin) = (None, None, None, None, None);
        let in_turn = batch.fail_fast;
        let (verbose, every_row, writes) = (false, false, false);
        Self { name, device, sources, batch, in_turn, verbose, every_row, resume_log, out, picture, writes, origin }
    }

    /// A job without outputs, for an operator on a device.
    pub fn on(device: &'a Device, name: &'static str, sources: &'a [Source], work: &WorkArgs) -> Self {
        // Times that are compared are of one input at a time.
        let in_turn = work.batch.fail_fast || work.cpu;
        Self { device: Some(device), verbose: work.verbose, in_turn, ..Self::new(name, sources, work.batch) }
    }

    /// Prints `begin`.
    pub fn begin(&self, of: impl Serialize, printer: &mut Printer) -> Result<(), Failure> {
        printer.record(
            "begin",
            &Begin {
                run: Run::new(self.name, self.device),
                inputs: self.sources.len(),
                origin: self.origin.filter(|origin| *origin != [0.0; 3]),
                of,
            },
        )
    }

    /// Does all inputs, and prints frames and summary.
    pub fn run<C: Command>(&self, command: &C, printer: &mut Printer) -> Result<(), Failure> {
        let (workers, readers) = match self.batch.jobs {
            Jobs::Given(n) => (usize::from(n).min(self.sources.len()).max(1), 1),
            Jobs::Auto if self.in_turn || self.picture.is_some() => (1, at_once(self.sources, self.device)),
            Jobs::Auto => (at_once(self.sources, self.device), 1),
        };
        let mut work = || self.run_with(workers, command, printer);
        match command.inputs() {
            Some(inputs) => inputs.reading_ahead(self.sources, readers, work),
            None => work(),
        }
    }

    fn run_with<C: Command>(&self, workers: usize, command: &C, printer: &mut Printer) -> Result<(), Failure> {
        let &Self { sources, batch: args, .. } = self;
        let names: Vec<_> = sources.iter().map(Source::name).collect();
        let mut table = Table::new(&names, self.verbose, self.every_row);
        let writes = self.writes || self.out.is_some() || self.picture.is_some();
        let batch = Batch { sources, args, resume_log: self.resume_log.as_ref(), writes };
        let workers = (0..workers).map(|_| command.worker()).collect::<Result<_, _>>()?;
        let mut totals = C::Totals::default();
        let (mut times, mut cpu_times) = (Vec::new(), Vec::new());
        let (mut threads, mut different, mut salvaged) = (0, 0, 0);
        let mut warnings = Warnings::default();
        let one = |worker: &mut C::Worker, index: usize, source: &Source| {
            let frame = command.one(worker, index, source)?;
            if tracing::enabled!(tracing::Level::INFO) {
                log(&frame, &command.cells(&frame));
            }
            if let Some(resume_log) = self.resume_log.as_ref().filter(|_| !command.settled(&frame)) {
                resume_log.leave(index);
            }
            Ok(frame)
        };
        let ran = batch.run(workers, printer, one, |printer, mut frame: Frame<C::Row>| {
            command.add(&mut totals, &mut frame)?;
            times.extend(frame.ms);
            if let Some(cpu) = &frame.cpu {
                threads = cpu.threads;
                cpu_times.push(cpu.ms);
                different += usize::from(cpu.equal == Some(false));
            }
            salvaged += usize::from(frame.notes.salvaged.is_some());
            frame.notes.warnings.iter().for_each(|warning| warnings.add(warning, || command.warning(&frame, warning)));
            if C::ON_DEVICE {
                printer.record("frame", &frame)?;
            } else {
                printer.record("frame", &FileFrame::from(&frame))?;
            }
            let detail = command.detail(&frame, sources.len() == 1);
            let lines = detail.unwrap_or_else(|| table.rows(&frame, command.cells(&frame)));
            lines.iter().try_for_each(|line| printer.text(line))?;
            Ok(command.progress_suffix(&totals))
        });
        table.end().iter().try_for_each(|line| printer.text(line))?;
        warnings.print(C::INPUT);
        let Some((workers, counts)) = ran? else { return Ok(()) };
        let counts = Counts { salvaged, ..counts };
        // Nothing is written where nothing was read.
        let any = counts.done + counts.kept > 0;
        let equal = !any || command.finish(&mut totals, workers, counts)?;
        let ms = Times::of(&times);
        let cpu = Times::of(&cpu_times).zip(ms.as_ref());
        let cpu = cpu.map(|(cpu, ms)| SummaryCpu::new(threads, cpu, ms, different == 0 && equal));
        let out = self.out.filter(|_| any).map(shown);
        let picture = self.picture.filter(|_| counts.done > 0).map(shown);
        let summary = Summary { run: Run::new(self.name, self.device), counts, ms, cpu, out, picture, of: totals };
        printer.record("summary", &summary)?;
        if counts.done > 0 {
            let mut lines = command.lines(&summary);
            let cpu = summary.cpu.as_ref().zip(summary.ms.as_ref());
            lines.extend(cpu.map(|(cpu, ms)| cpu.line(ms, summary.run.device_name())));
            lines.extend(table.hint().map(Into::into));
            lines.iter().try_for_each(|line| printer.text(line))?;
        }
        let (device, input) = (summary.run.device_name(), C::INPUT);
        match (different, equal) {
            (0, true) => {}
            (0, false) => return Err(Failure::No(format!("{device} and the CPU differ"))),
            (n, _) => return Err(Failure::No(format!("{device} and the CPU differ on {}", counted(n, input)))),
        }
        counts.verdict()?;
        command.verdict(&summary)
    }
}
