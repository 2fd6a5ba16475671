//! Runs `pointmill register`. A source is an input; the target is made ready once.

use super::args::RegisterArgs;
use super::records::{Begin, Row, Totals};
use super::report;
use crate::batch::prelude::*;
use crate::icp::{distances, title};
use crate::onto::{self, ALIGNED, Onto, check_many, check_one, write_aligned};
use crate::picture::save_scene;
use pointmill::registration::global::{RegisterParams, Registered, Target, Verdict};
use pointmill::{Device, Error, Rows};
use pointmill_io::{Place, Scan};
use pointmill_view::{register_scene, require_memory};
use std::path::Path;
use std::sync::Arc;

/// The name of the command.
const COMMAND: &str = "register";

/// Everything that is decided before the work.
struct Register<'a> {
    args: &'a RegisterArgs,
    device: Device,
    onto: Onto<Target, RegisterParams>,
    inputs: Inputs,
    outputs: Outputs,
    format: Option<&'static str>,
    picture: Option<&'a Path>,
}

fn prepare(device: &Device, target: Rows<'_>, params: &RegisterParams) -> Result<Target, Error> {
    Target::new(target, params, device)
}

/// Runs the command.
pub(crate) fn run(args: &RegisterArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let (options, params) = (args.read.options()?, args.params());
    let alone = is_one_file(&args.source);
    let resume = args.work.resume.resume;
    let (out, picture) = (args.out.as_deref(), args.visualize.as_deref());
    let mut format = None;
    if alone {
        let inputs = check_one([&args.source, &args.target], &options, resume)?;
        format = out.map(|path| plan_file("--out", path, &ALIGNED, &inputs)).transpose()?;
        picture.map(|path| plan_file("--visualize", path, &["gif", "png", "html"], &inputs)).transpose()?;
    } else {
        require_one("--visualize", picture, "source")?;
        check_many(&args.target, &options, resume)?;
    }
    params.validate()?;
    let (sources, inputs) = Inputs::find_frames(std::slice::from_ref(&args.source), options, &args.frames.frames())?;
    let device = device::open(device, &sources)?;
    let shared = [args.target.as_path()];
    let outputs = if alone { Outputs::one(out) } else { onto::folder(out, &sources)? };
    let resume_log = ResumeLog::of(&[&outputs], &format!("{COMMAND} {params:?} {:?}", inputs.options()), resume)?;
    let job = Job {
        resume_log: resume_log.map(|resume_log| resume_log.with_shared(&shared)),
        out,
        picture,
        origin: Some(inputs.origin()),
        ..Job::on(&device, COMMAND, &sources, &args.work)
    };
    job.begin(Begin { source: shown(&args.source), target: shown(&args.target), params: params.clone() }, printer)?;
    let prepare = (params, prepare as _);
    let onto = Onto::load((&args.target, None), inputs.options(), prepare, &device, sources.len(), printer)?;
    interrupt::check()?;
    job.run(&Register { args, device: device.clone(), onto, inputs, outputs, format, picture }, printer)
}

impl Register<'_> {
    /// Draws the source at the identity and at the pose, with its distance from the target.
    fn draw(&self, path: &Path, (name, source): (&str, &Scan), found: &Registered) -> Result<(), Failure> {
        let clouds = [source, &self.onto.scan];
        require_memory(2, 3 * (clouds[0].cloud.len() + clouds[1].cloud.len()))?;
        let pose = &found.target_from_source;
        let distances = distances(&self.device, clouds, pose)?;
        let title = title([name, &shown(&self.args.target)], clouds, &report::verdict_and_overlap(found));
        let [from, to] = clouds.map(Scan::xyz);
        let verdict = found.verdict.as_str();
        save_scene(Place::named(path), &register_scene(&title, &from, &to, pose, verdict, &distances))
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
        let compare = |cpu: &Called<'_, Arc<Target>, Registered>| Ok(differences(found, &cpu.found));
        let cpu = called.compare(compare).map_err(blame)?;
        let clouds = [&scan, &self.onto.scan];
        let mut saved = None;
        if found.verdict == Verdict::Found {
            saved = write_aligned(&self.outputs, index, self.format, clouds, &found.target_from_source)?;
        }
        if let Some(path) = self.picture {
            self.draw(path, (&name, &scan), found)?;
        }
        let [source_points, target_points] = clouds.map(|scan| scan.cloud.len());
        let of = Row { found: found.clone(), source_points, target_points };
        let frame = called.on(Frame::read(index, name.clone(), read_ms, warnings_of_rows(&scan), of));
        let (out, write_ms) = saved.unzip();
        Ok(Frame { cpu, out, write_ms, ..frame })
    }

    fn settled(&self, frame: &Frame<Row>) -> bool {
        frame.of.found.verdict == Verdict::Found
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.source_points;
        totals.found += usize::from(frame.of.found.verdict == Verdict::Found);
        totals.verdict = Some(frame.of.found.verdict);
        Ok(())
    }

    fn cells(&self, frame: &Frame<Row>) -> Vec<Cell> {
        report::cells(&frame.of)
    }

    fn detail(&self, frame: &Frame<Row>, alone: bool) -> Option<Vec<String>> {
        alone.then(|| report::detail(frame, self.args.level, &device::describe(&self.device)))
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
