//! Many sources onto one target, which is made ready once.

use super::records::{BatchBegin, BatchSummary, FoundRecord, Frame, ParamsRecord};
use super::table::{SourceTable, batch_line};
use super::{COMMAND, IcpArgs, cloud, guess, shown};
use crate::batch::{Batch, Counts, Ledger, Refused, Trouble, state_of};
use crate::failure::Failure;
use crate::inputs::{Inputs, STDIN, Source, load_one, require_format};
use crate::interrupt::{self, undivided};
use crate::outputs::Outputs;
use crate::printer::Printer;
use crate::records::Run;
use crate::stats::{Times, milliseconds};
use crate::{convert, device, say};
use pointmill::icp::{IcpParams, Target};
use pointmill::{Device, Error, Pose};
use pointmill_io::{IoError, Scan};
use std::path::Path;
use std::time::Instant;

/// The ending of what is written into a folder.
const ALIGNED: &str = "ply";

/// The target and where everything goes.
struct Plan<'a> {
    target: &'a Onto,
    inputs: Inputs,
    outputs: Outputs,
    device: &'a Device,
}

/// The target as it was read, and made ready.
struct Onto {
    scan: Scan,
    ready: Target,
    guess: Pose,
    read_ms: f64,
    ms: f64,
    warnings: Vec<String>,
}

/// What was done so far.
#[derive(Default)]
struct Totals {
    points: usize,
    converged: usize,
    times: Vec<f64>,
}

/// Aligns every source.
pub(super) fn run(args: &IcpArgs, params: IcpParams, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let options = args.read.options();
    for (flag, path) in [("--visualize", &args.visualize), ("--plot", &args.plot)] {
        if let Some(path) = path {
            let told = format!("{flag} {}: expected one source, got a folder or a pattern", path.display());
            return Err(Failure::Usage(told));
        }
    }
    if args.target == STDIN {
        require_format(&options)?;
    }
    if args.resume.resume && args.target == STDIN {
        let told = "--resume: expected a target that is a file, since the standard input may be another each time";
        return Err(Failure::Usage(told.into()));
    }
    params.validate()?;
    let mut inputs = Inputs::find(std::slice::from_ref(&args.source), options.clone())?;
    let sources = std::mem::take(&mut inputs.sources);
    let device = device::open(device)?;
    let outputs = outputs(args, &sources)?;
    let ledger = ledger(args, &params, &outputs)?;
    let begin = BatchBegin {
        run: Run::new(COMMAND, &device),
        source: args.source.clone(),
        target: args.target.clone(),
        inputs: sources.len(),
        params: ParamsRecord::new(args, &params),
    };
    printer.record("begin", &begin)?;
    let onto = Onto::load(args, &params, &device, sources.len(), printer)?;
    interrupt::check()?;
    onto.warnings.iter().for_each(say::warning);
    let batch = Batch { sources: &sources, args: args.batch, ledger, writes: args.out.is_some() };
    Plan { target: &onto, inputs, outputs, device: &device }.run(&batch, args, printer)
}

/// A folder of aligned sources, or nothing.
fn outputs(args: &IcpArgs, sources: &[Source]) -> Result<Outputs, Failure> {
    let Some(out) = args.out.as_deref() else { return Outputs::plan(None, sources) };
    let named = out.extension().and_then(|e| e.to_str()).is_some_and(|e| super::ALIGNED.contains(&e));
    if named && !crate::outputs::is_folder(out) {
        let told = format!("--out {}: expected a folder, since there may be several sources", out.display());
        return Err(Failure::Usage(told));
    }
    let outputs = Outputs::folder("--out", out, ALIGNED, sources)?;
    outputs.spare(std::iter::once(Path::new(&args.target)).chain(args.guess.as_deref()))?;
    Ok(outputs)
}

/// What was done before, with this target and this guess as they are now.
fn ledger(args: &IcpArgs, params: &IcpParams, outputs: &Outputs) -> Result<Option<Ledger>, Failure> {
    // Before they are read: where one changes meanwhile, a run that resumes sees it.
    let files = [Some(Path::new(&args.target)), args.guess.as_deref()].map(|path| path.and_then(state_of));
    outputs.ledger(&format!("{COMMAND} {params:?} {:?} {files:?}", args.read.options()), args.resume.resume)
}

impl Onto {
    /// Reads the target and the guess; what cannot be used is told, and there is no answer then.
    fn load(
        args: &IcpArgs,
        params: &IcpParams,
        device: &Device,
        sources: usize,
        printer: &mut Printer,
    ) -> Result<Self, Failure> {
        let start = Instant::now();
        let mut failed = 0;
        let mut tell = |index: usize, input: &str, refused: Refused| {
            failed += 1;
            refused.tell(printer, sources + index, input)
        };
        let scan = match load_one(&args.target, &args.read.options())? {
            Ok(scan) => Some(scan),
            Err(e) => tell(0, &args.target, e.into()).map(|()| None)?,
        };
        let mut from = Pose::IDENTITY;
        if let Some(path) = &args.guess {
            match guess(path) {
                Ok(pose) => from = pose,
                Err(e) => tell(1, &path.to_string_lossy(), e.into())?,
            }
        }
        let read_ms = milliseconds(start.elapsed());
        let start = Instant::now();
        let ready = scan
            .as_ref()
            .map(|scan| -> Result<Target, Error> { Target::new(&device.stream()?, cloud::coordinates(scan)?, params) });
        let ready = match ready.transpose().map_err(|e| Trouble::blame("BadValue", e, &args.target)) {
            Ok(ready) => ready,
            Err(Trouble::Input(refused)) => tell(0, &args.target, refused).map(|()| None)?,
            Err(Trouble::Fatal(failure)) => return Err(failure),
        };
        let ms = milliseconds(start.elapsed());
        let (Some(scan), Some(ready), 0) = (scan, ready, failed) else {
            return Err(Failure::Inputs { failed, inputs: sources + 1 + usize::from(args.guess.is_some()) });
        };
        let warnings = cloud::warnings(&args.target, &scan).collect();
        Ok(Self { scan, ready, guess: from, read_ms, ms, warnings })
    }
}

impl Plan<'_> {
    fn run(&self, batch: &Batch<'_>, args: &IcpArgs, printer: &mut Printer) -> Result<(), Failure> {
        let names: Vec<_> = batch.sources.iter().map(Source::name).collect();
        let table = SourceTable::new(&names);
        let mut head = table.head();
        let mut totals = Totals::default();
        let lanes = vec![(); args.batch.lanes(batch.sources.len())];
        let one = |(): &mut (), index: usize, source: &Source| {
            let frame = self.one(index, source)?;
            if !frame.found.converged
                && let Some(ledger) = &batch.ledger
            {
                // So that a run that resumes has the same answer, which is "no".
                ledger.leave(index);
            }
            Ok(frame)
        };
        let ran = batch.run(lanes, printer, one, |printer, frame: Frame| {
            totals.points += frame.source_points;
            totals.converged += usize::from(frame.found.converged);
            totals.times.push(frame.ms);
            frame.warnings.iter().for_each(say::warning);
            printer.record("frame", &frame)?;
            head.take().into_iter().chain(table.row(&frame)).try_for_each(|line| printer.text(&line))
        })?;
        match ran {
            Some((_, counts)) => self.finish(&totals, counts, args, printer),
            None => Ok(()),
        }
    }

    /// One source, from reading to writing.
    fn one(&self, index: usize, source: &Source) -> Result<Frame, Trouble> {
        let start = Instant::now();
        let scan = self.inputs.scan(source)?;
        let read_ms = milliseconds(start.elapsed());
        interrupt::check()?;
        let name = source.name();
        let blame = |e: Error| Trouble::blame("BadValue", e, &name);
        let start = Instant::now();
        let from = cloud::coordinates(&scan).map_err(blame)?;
        let found = self.target.ready.align(from, &self.target.guess).map_err(blame)?;
        let ms = milliseconds(start.elapsed());
        interrupt::check()?;
        let start = Instant::now();
        let out = self.outputs.of(index);
        if let Some(to) = self.outputs.place(index) {
            let aligned = cloud::aligned(&scan, &self.target.scan, &found.target_from_source).map_err(blame)?;
            undivided(|| convert::write(to, ALIGNED, &aligned)).map_err(|e: IoError| Failure::from(e))?;
        }
        let write_ms = out.map(|_| milliseconds(start.elapsed()));
        tracing::info!("{name}: {} points; read {read_ms} ms, aligned {ms} ms", scan.cloud.len());
        Ok(Frame {
            index,
            warnings: cloud::warnings(&name, &scan).collect(),
            input: name,
            found: FoundRecord::from(&found),
            source_points: scan.cloud.len(),
            ms,
            read_ms,
            write_ms,
            out: out.map(|path| path.to_string_lossy().into_owned()),
        })
    }

    fn finish(&self, totals: &Totals, counts: Counts, args: &IcpArgs, printer: &mut Printer) -> Result<(), Failure> {
        let onto = self.target;
        let summary = BatchSummary {
            run: Run::new(COMMAND, self.device),
            counts,
            converged: totals.converged,
            points: totals.points,
            target_points: onto.scan.cloud.len(),
            ms: Times::of(&totals.times),
            target_ms: onto.ms,
            read_ms: onto.read_ms,
            warnings: onto.warnings.clone(),
            out: shown(&args.out),
        };
        printer.record("summary", &summary)?;
        printer.text(&batch_line(&summary))?;
        counts.verdict()?;
        let lost = counts.done - totals.converged;
        if lost > 0 { Err(Failure::No(format!("not converged: {lost} of {} source(s)", counts.done))) } else { Ok(()) }
    }
}
