//! Runs `pointmill register`. A source is an input; the target is made ready once.

use super::args::RegisterArgs;
use super::records::{Begin, Row, Totals};
use super::report;
use crate::batch::Shared;
use crate::batch::prelude::*;
use crate::icp::{distances, draw_alignment};
use crate::inputs::{read_cloud, require_format};
use crate::outputs::has_extension;
use pointmill::registration::global::{RegisterParams, Registered, Target, Verdict};
use pointmill::{Device, Error, Pose};
use pointmill_io::{Format, ReadOptions, Scan, WriteOptions, write};
use pointmill_view::{IcpIteration, require_memory};
use std::path::Path;
use std::sync::Arc;

/// The name of the command.
const COMMAND: &str = "register";
/// The extensions of files that keep names and `f64`; the first is the one of files in folders.
const ALIGNED: [&str; 3] = ["ply", "pcd", "npz"];

/// Everything that is decided before the work.
struct Register<'a> {
    args: &'a RegisterArgs,
    device: Device,
    onto: Onto,
    inputs: Inputs,
    outputs: Outputs,
    format: Option<&'static str>,
    picture: Option<&'a Path>,
}

/// The target, which all sources share.
struct Onto {
    scan: Scan,
    params: RegisterParams,
    prepared: Shared<Target>,
    read_ms: f64,
    ms: f64,
    warnings: Vec<String>,
}

impl Onto {
    /// Reads the target and makes it ready. One that cannot be used is reported, and then no source
    /// is registered.
    fn load(
        args: &RegisterArgs,
        options: &ReadOptions,
        device: &Device,
        sources: usize,
        printer: &mut Printer,
    ) -> Result<Self, Failure> {
        let name = shown(&args.target);
        let loaded = || -> Result<Self, InputError> {
            let (scan, read_ms) = timed(|| read_cloud(&args.target, options))?;
            let warnings = warnings_of_rows(&scan).warnings;
            warnings.iter().for_each(|warning| stderr::warning(format_args!("{name}: {warning}")));
            let onto = Self { scan, params: args.params(), prepared: Shared::default(), read_ms, ms: 0.0, warnings };
            let (_, ms) = timed(|| onto.on(device)).map_err(|e| InputError::blame("BadValue", e, &name))?;
            Ok(Self { ms, ..onto })
        };
        loaded().or_else(|input_error| {
            input_error.tell(printer, sources, &name)?;
            Err(Failure::Inputs { failed: 1, inputs: sources + 1 })
        })
    }

    /// The target, made ready once.
    fn on(&self, device: &Device) -> Result<Arc<Target>, Error> {
        self.prepared.get(device, || Target::new(rows(&self.scan)?, &self.params, device))
    }
}

/// Runs the command.
pub(crate) fn run(args: &RegisterArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let (options, params) = (args.read.options()?, args.params());
    let alone = is_one_file(&args.source);
    let resume = args.work.resume.resume;
    let mut format = None;
    if alone {
        if resume {
            let message = "--resume: needs several sources and --out with a folder, got one source";
            return Err(Failure::Usage(message.into()));
        }
        format = plan_files(args, &options)?;
    } else {
        require_one("--visualize", args.visualize.as_deref(), "source")?;
        if is_stdin(&args.target) {
            require_format(&options)?;
        }
        if resume && is_stdin(&args.target) {
            let message = "--resume: needs TARGET as a file, because the standard input can differ between runs";
            return Err(Failure::Usage(message.into()));
        }
    }
    params.validate()?;
    let (sources, inputs) = Inputs::find_frames(std::slice::from_ref(&args.source), options, &args.frames.frames())?;
    // It runs on the CPU, whatever else the machine has.
    let device = device::open(if device == "auto" { "cpu" } else { device })?;
    if !device.is_cpu() {
        let message = format!("--device: expected auto or cpu, because register runs on the CPU, got {device}");
        return Err(Failure::Usage(message));
    }
    let outputs = if alone { Outputs::one(args.out.as_deref()) } else { folder(args, &sources)? };
    let resume_log = ResumeLog::of(&[&outputs], &format!("{COMMAND} {params:?} {:?}", inputs.options()), resume)?;
    let job = Job {
        resume_log: resume_log.map(|resume_log| resume_log.with_shared(&[args.target.as_path()])),
        out: args.out.as_deref(),
        picture: args.visualize.as_deref(),
        origin: Some(inputs.origin()),
        ..Job::on(&device, COMMAND, &sources, &args.work)
    };
    job.begin(Begin { source: shown(&args.source), target: shown(&args.target), params }, printer)?;
    let onto = Onto::load(args, inputs.options(), &device, sources.len(), printer)?;
    interrupt::check()?;
    let picture = args.visualize.as_deref();
    job.run(&Register { args, device: device.clone(), onto, inputs, outputs, format, picture }, printer)
}

/// Checks the files of a source alone; the format of the aligned one.
fn plan_files(args: &RegisterArgs, options: &ReadOptions) -> Result<Option<&'static str>, Failure> {
    let mut inputs: Vec<&Path> = vec![&args.source, &args.target];
    inputs.retain(|input| !is_stdin(input));
    match inputs.len() {
        0 => return Err(Failure::Usage("-: can be used for one input only".into())),
        1 => require_format(options)?,
        _ => {}
    }
    let format = args.out.as_deref().map(|path| plan_file("--out", path, &ALIGNED, &inputs)).transpose()?;
    if let Some(path) = args.visualize.as_deref() {
        plan_file("--visualize", path, &["gif", "png", "html"], &inputs)?;
    }
    Ok(format)
}

/// A folder of aligned sources, or nothing.
fn folder(args: &RegisterArgs, sources: &[Source]) -> Result<Outputs, Failure> {
    let Some(out) = args.out.as_deref() else { return Outputs::plan(None, sources) };
    if ALIGNED.iter().any(|extension| has_extension(out, extension)) && !out.is_dir() {
        let message = format!("--out {}: expected a folder, since there may be several sources", out.display());
        return Err(Failure::Usage(message));
    }
    let outputs = Outputs::folder("--out", out, ALIGNED[0], sources)?;
    outputs.spare(std::iter::once(args.target.as_path()))?;
    Ok(outputs)
}

impl Register<'_> {
    /// Draws the source at the identity and at the pose, with its distance from the target.
    fn draw(&self, path: &Path, source: &Scan, found: &Registered) -> Result<(), Failure> {
        let clouds = [source, &self.onto.scan];
        require_memory(2, 3 * (clouds[0].cloud.len() + clouds[1].cloud.len()))?;
        let at = |target_from_source| -> Result<IcpIteration, Failure> {
            let distances = distances(&self.device, clouds, &target_from_source)?;
            let squares = distances.iter().filter(|d| d.is_finite()).map(|d| d * d);
            let (pairs, sum) = squares.fold((0, 0.0), |(pairs, sum), square| (pairs + 1, sum + square));
            let rmse = (sum / pairs.max(1) as f64).sqrt();
            Ok(IcpIteration { target_from_source, stage: 0, pairs, rmse })
        };
        let poses = [at(Pose::IDENTITY)?, at(found.target_from_source)?];
        draw_alignment(path, &self.device, clouds, &poses, found.verdict.as_str())
    }
}

impl Command for Register<'_> {
    type Worker = OperatorSlot<Arc<Target>>;
    type Row = Row;
    type Totals = Totals;
    const INPUT: &'static str = "source";

    fn worker(&self) -> Result<Self::Worker, Failure> {
        OperatorSlot::new(&self.device, &self.args.work, false, |device| self.onto.on(device))
    }

    fn one(&self, slot: &mut Self::Worker, index: usize, source: &Source) -> Result<Frame<Row>, InputError> {
        let (scan, read_ms) = self.inputs.read(source)?;
        let name = source.name();
        let blame = |e| InputError::blame("BadValue", e, &name);
        let from = rows(&scan).map_err(blame)?;
        let on = |device: &Device| self.onto.on(device);
        let called = slot.call(&name, blame, on, |target| target.register(from))?;
        let found = &called.found;
        let compare = |cpu: &Called<'_, Arc<Target>, Registered>| {
            let same = found.target_from_source == cpu.found.target_from_source && found.verdict == cpu.found.verdict;
            Ok(if same { vec![] } else { vec!["target_from_source"] })
        };
        let cpu = called.compare(compare).map_err(blame)?;
        let mut saved = None;
        if let Some(to) = self.outputs.place(index).filter(|_| found.verdict == Verdict::Found) {
            let format = self.format.unwrap_or(ALIGNED[0]).parse::<Format>().ok();
            saved = Some(timed(|| -> Result<_, Failure> {
                let moved = scan.transformed(&found.target_from_source, self.onto.scan.is_f64());
                undivided(|| write(to, &moved, &WriteOptions { format }))?;
                Ok(shown(to.path))
            })?);
        }
        if let Some(path) = self.picture {
            self.draw(path, &scan, found)?;
        }
        let of = Row::new(found, [&scan, &self.onto.scan].map(|scan| scan.cloud.len()));
        let frame = called.on(Frame::read(index, name.clone(), read_ms, warnings_of_rows(&scan), of));
        let (out, write_ms) = saved.unzip();
        Ok(Frame { cpu, out, write_ms, ..frame })
    }

    fn settled(&self, frame: &Frame<Row>) -> bool {
        frame.of.verdict == Verdict::Found
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.source_points;
        totals.found += usize::from(frame.of.verdict == Verdict::Found);
        totals.verdict = Some(frame.of.verdict);
        Ok(())
    }

    fn cells(&self, frame: &Frame<Row>) -> Vec<Cell> {
        report::cells(&frame.of)
    }

    fn detail(&self, frame: &Frame<Row>, alone: bool) -> Option<Vec<String>> {
        alone.then(|| report::detail(frame, &device::describe(&self.device)))
    }

    fn finish(&self, totals: &mut Totals, _: Vec<Self::Worker>, _: Counts) -> Result<bool, Failure> {
        totals.target_points = self.onto.scan.cloud.len();
        (totals.target_ms, totals.target_read_ms) = (self.onto.ms, self.onto.read_ms);
        totals.target_warnings.clone_from(&self.onto.warnings);
        Ok(true)
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        report::lines(summary)
    }

    fn verdict(&self, summary: &Summary<Totals>) -> Result<(), Failure> {
        let lost = summary.counts.done - summary.of.found;
        match (lost, summary.counts.inputs, summary.of.verdict) {
            (0, ..) => Ok(()),
            (_, 1, Some(verdict)) => Err(Failure::No(format!("no answer: {verdict}{}", report::way_out(verdict)))),
            _ => Err(Failure::No(format!("no answer: {lost} of {}", counted(summary.counts.done, Self::INPUT)))),
        }
    }
}
