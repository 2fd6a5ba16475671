//! Runs `pointmill icp`. A source is an input; the target is prepared once for each device.

use super::args::IcpArgs;
use super::picture;
use super::records::{Begin, Row, Totals};
use super::{IcpTarget, plot, report};
use crate::batch::prelude::*;
use crate::onto::{self, ALIGNED, check_many, check_one, write_aligned};
use pointmill::icp::{self, Dropped, IcpParams, Metric, Registration, Target};
use pointmill::registration::Status;
use pointmill::{Device, Error, Rows};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the command.
const COMMAND: &str = "icp";

/// Everything that is decided before the work.
struct Icp<'a> {
    args: &'a IcpArgs,
    device: Device,
    onto: IcpTarget,
    inputs: Inputs,
    outputs: Outputs,
    files: Files<'a>,
}

/// The files of a source alone, with their extensions.
#[derive(Debug, Default)]
struct Files<'a> {
    out: Option<&'static str>,
    picture: Option<(&'a Path, &'static str)>,
    plot: Option<(&'a Path, &'static str)>,
}

/// Runs the command.
pub(crate) fn run(args: &IcpArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let (options, params) = (args.read.options()?, args.params());
    let resume = args.work.resume.resume;
    let alone = is_one_file(&args.source);
    let files = if alone {
        Files::plan(args, check_one([&args.source, &args.target], &options, resume)?)?
    } else {
        require_one("--visualize", args.visualize.as_deref(), "source")?;
        require_one("--plot", args.plot.as_deref(), "source")?;
        check_many(&args.target, &options, resume)?;
        Files::default()
    };
    params.validate()?;
    let (sources, inputs) = Inputs::find_frames(std::slice::from_ref(&args.source), options, &args.frames.frames())?;
    let device = device::open(device, &sources)?;
    let shared: Vec<&Path> = std::iter::once(args.target.as_path()).chain(args.guess.as_deref()).collect();
    let out = args.out.as_deref();
    let outputs = if alone { Outputs::one(out) } else { onto::folder(out, &sources)? };
    // Before they are read, so that a run that resumes sees a file that changes meanwhile.
    let resume_log = ResumeLog::of(&[&outputs], &format!("{COMMAND} {params:?} {:?}", inputs.options()), resume)?;
    let job = Job {
        resume_log: resume_log.map(|resume_log| resume_log.with_shared(&shared)),
        out,
        picture: args.visualize.as_deref(),
        writes: args.plot.is_some(),
        origin: Some(inputs.origin()),
        ..Job::on(&device, COMMAND, &sources, &args.work)
    };
    let begin = Begin {
        source: shown(&args.source),
        target: shown(&args.target),
        guess: args.guess.as_deref().map(shown),
        params: params.clone(),
    };
    job.begin(begin, printer)?;
    let files_of_target = (args.target.as_path(), args.guess.as_deref());
    let prepare = (params, super::prepare as _);
    let onto = IcpTarget::load(files_of_target, inputs.options(), prepare, &device, sources.len(), printer)?;
    interrupt::check()?;
    job.run(&Icp { args, device: device.clone(), onto, inputs, outputs, files }, printer)
}

impl<'a> Files<'a> {
    /// Checks the files that are written, which are none of the inputs.
    fn plan(args: &'a IcpArgs, mut inputs: Vec<&'a Path>) -> Result<Self, Failure> {
        inputs.extend(args.guess.as_deref());
        let file = |flag, path: &'a Option<PathBuf>, extensions: &[&'static str]| {
            let path = path.as_deref();
            path.map(|path| Ok::<_, Failure>((path, plan_file(flag, path, extensions, &inputs)?))).transpose()
        };
        let out = file("--out", &args.out, &ALIGNED)?;
        let plot = file("--plot", &args.plot, &["svg", "png"])?;
        let picture = file("--visualize", &args.visualize, &["gif", "png", "html"])?;
        let mut paths: Vec<_> = [out, plot, picture].into_iter().flatten().map(|(path, _)| path).collect();
        paths.sort_unstable();
        if let Some(twice) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
            let message = format!("{}: expected files that differ, got it twice", twice[0].display());
            return Err(Failure::Usage(message));
        }
        Ok(Self { out: out.map(|(_, extension)| extension), picture, plot })
    }
}

impl Icp<'_> {
    /// Why a source has no pairs, where that is not the distance: without normals point-to-point has some.
    fn cause(&self, source: Rows<'_>, found: &Registration) -> Result<Option<String>, Error> {
        if found.status != Status::NoPairs {
            return Ok(None);
        }
        let usable = |points: usize, dropped: Dropped| points - dropped.non_finite - dropped.zeros;
        let target = rows(&self.onto.scan)?;
        let of_target = usable(target.len(), found.fit.target_dropped);
        let of_source = usable(source.len(), found.fit.source_dropped);
        for (name, points) in [("source", of_source), ("target", of_target)] {
            if points == 0 {
                return Ok(Some(format!("the {name} has no point that is finite and not left out")));
            }
        }
        let params = IcpParams { metric: Metric::PointToPoint, max_iterations: 1, ..self.args.params() };
        let without = icp::align(source, target, &self.onto.guess, &params, &Device::cpu())?;
        let why = if of_target < 3 {
            format!("it has {}", counted(of_target, "point"))
        } else {
            "its neighbours lie on a line".into()
        };
        let cause = format!("no point of the target has a normal ({why}): use --metric point-to-point");
        Ok((without.fit.num_inliers > 0).then_some(cause))
    }
}

impl Command for Icp<'_> {
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
        let called = slot.call(&name, blame, on, |target| target.align(from, &self.onto.guess))?;
        let compare = |cpu: &Called<'_, Arc<Target>, Registration>| Ok(differences(&called.found, &cpu.found));
        let cpu = called.compare(compare).map_err(blame)?;
        let clouds = [&scan, &self.onto.scan];
        let written = write_aligned(&self.outputs, index, self.files.out, clouds, &called.found.target_from_source)?;
        if let Some((path, extension)) = self.files.picture {
            let named = ([&*name, &shown(&self.args.target)], clouds);
            picture::write(path, extension, &self.device, named, &called.found)?;
        }
        if let Some((path, extension)) = self.files.plot {
            plot::write(path, extension, &self.device, &scan, &self.onto, &called.found)?;
        }
        let [source_points, target_points] = clouds.map(|scan| scan.cloud.len());
        let cause = self.cause(from, &called.found).map_err(blame)?;
        let of = Row { found: called.found.clone(), source_points, target_points, cause };
        let frame = called.on(Frame::read(index, name.clone(), read_ms, warnings_of_rows(&scan), of));
        let (out, write_ms) = written.unzip();
        Ok(Frame { cpu, out, write_ms, ..frame })
    }

    fn settled(&self, frame: &Frame<Row>) -> bool {
        frame.of.found.converged()
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.source_points;
        totals.converged += usize::from(frame.of.found.converged());
        totals.status = Some(frame.of.found.status);
        totals.cause.clone_from(&frame.of.cause);
        Ok(())
    }

    fn cells(&self, frame: &Frame<Row>) -> Vec<Cell> {
        report::cells(&frame.of)
    }

    fn detail(&self, frame: &Frame<Row>, alone: bool) -> Option<Vec<String>> {
        alone.then(|| report::detail(frame, &device::describe(&self.device)))
    }

    fn finish(&self, totals: &mut Totals, _: Vec<Self::Worker>, counts: Counts) -> Result<bool, Failure> {
        totals.target_points = self.onto.scan.cloud.len();
        totals.target_ms = self.onto.ms;
        totals.target_read_ms = self.onto.read_ms;
        totals.target_warnings.clone_from(&self.onto.warnings);
        totals.plot = self.files.plot.filter(|_| counts.done > 0).map(|(path, _)| shown(path));
        Ok(true)
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        report::lines(summary)
    }

    fn verdict(&self, summary: &Summary<Totals>) -> Result<(), Failure> {
        let status = summary.of.status.map_or("", |status| status.as_str());
        if let Some(cause) = summary.of.cause.as_deref().filter(|_| summary.counts.inputs == 1) {
            return Err(Failure::No(format!("not converged: {status}; {cause}")));
        }
        not_converged(summary.counts, summary.of.converged, status, (Self::INPUT, "--max-distance"))
    }
}
