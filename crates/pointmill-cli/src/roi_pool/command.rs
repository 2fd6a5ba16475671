//! Runs `pointmill roi-pool`. A scene is an input: boxes, points and, if they are pooled, features.

use super::args::{RoiPoolArgs, Task};
use super::files::{BOXES, FEATURES, POINTS, Sources};
use super::picture;
use super::records::{ArrayRecord, Begin, ParamsRecord, ReportRecord, Row, Totals};
use super::scenes::Scenes;
use super::worker::Worker;
use crate::batch::prelude::*;
use pointmill::roi_pool::{BoxReport, Report};
use pointmill::{Argument, Device, Error};
use pointmill_io::escape;
use std::path::PathBuf;
use std::time::Instant;

/// The name of the command.
const COMMAND: &str = "roi-pool";

/// Everything that is decided before the work.
struct RoiPool<'a> {
    args: &'a RoiPoolArgs,
    task: Task,
    device: Device,
    scenes: Scenes,
    inputs: Inputs,
    outputs: Outputs,
}

/// Runs the command.
pub(crate) fn run(args: &RoiPoolArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let task = Task::of(args);
    // The CPU checks the parameters at once; a GPU takes a while to start.
    Worker::new(&Device::cpu(), &task)?;
    let (sources, scenes) = Scenes::of(Sources::of(args)?)?;
    let (out, picture, resume) = (args.out.as_deref(), args.visualize.as_deref(), args.work.resume.resume);
    if let Some(scene) = &scenes.one {
        if resume {
            return Err(Failure::Usage("--resume: needs several scenes and --out with a folder, got one scene".into()));
        }
        picture.map(|path| plan(path, &["png", "html"])).transpose()?;
        out.map(|out| plan_file("--out", out, &["npz"], &scene.paths())).transpose()?;
    } else {
        require_one("--visualize", picture, "scene")?;
    }
    let device = device::open(device, &sources)?;
    let outputs = if scenes.one.is_some() { Outputs::one(out) } else { Outputs::of_many(out, &sources)? };
    let files: Vec<Vec<PathBuf>> = scenes.beside(&sources);
    outputs.spare(files.iter().flatten().map(PathBuf::as_path))?;
    let inputs = Inputs::of(&scenes.points(&sources), args.read.options()?);
    tell_origin(&inputs);
    let decides = format!("{COMMAND} {task:?} {:?}", inputs.options());
    let resume_log = ResumeLog::of(&[&outputs], &decides, resume)?.map(|resume_log| resume_log.with_beside(files));
    let origin = Some(inputs.origin());
    let job = Job { resume_log, out, picture, origin, ..Job::on(&device, COMMAND, &sources, &args.work) };
    job.begin(Begin { files: scenes.given.clone(), params: ParamsRecord::from(args) }, printer)?;
    job.run(&RoiPool { args, task, device: device.clone(), scenes, inputs, outputs }, printer)?;
    if args.boxes.is_none() && out.is_none() {
        stderr::hint(
            "this was a built-in synthetic street. Next: pointmill roi-pool --boxes B.npy --points P.npy --features F.npy --out pooled.npz",
        );
    }
    Ok(())
}

impl Command for RoiPool<'_> {
    type Worker = OperatorSlot<Worker>;
    type Row = Row;
    type Totals = Totals;
    const INPUT: &'static str = "scene";

    fn worker(&self) -> Result<OperatorSlot<Worker>, Failure> {
        OperatorSlot::new(&self.device, &self.args.work, false, |device| Worker::new(device, &self.task))
    }

    fn one(&self, slot: &mut OperatorSlot<Worker>, index: usize, source: &Source) -> Result<Frame<Row>, InputError> {
        let start = Instant::now();
        let files = self.scenes.files(index, source)?;
        let names = files.names();
        let input = files.load(&self.inputs);
        let input = input.map_err(|refused| InputError::Input(refused.into_iter().map(Into::into).collect()))?;
        let (name, read_ms) = (source.name(), since(start));
        let blame = |e: Error| InputError::blame("ShapeMismatch", e.clone(), &names[role_of(&e)]);
        let make = |device: &Device| Worker::new(device, &self.task);
        let called = slot.call(&name, blame, make, |worker| worker.run(&input))?;
        let to = self.outputs.place(index);
        let start = Instant::now();
        let answer = called.worker.answer(to.is_some() || called.cpu.is_some()).map_err(blame)?;
        to.map_or(Ok(()), |to| answer.write(to, self.inputs.origin()))?;
        let write_ms = to.map(|_| since(start));
        let compare = |cpu: &Called<'_, Worker, ()>| Ok(answer.differences(&cpu.worker.answer(true)?));
        let cpu = called.compare(compare).map_err(blame)?;
        if let (Some(path), Task::Pool(params)) = (&self.args.visualize, &self.task) {
            interrupt::check()?;
            picture::write(path, &input, params, called.device)?;
        }
        let (channels, element) = input.features_type();
        let arrays = to.map(|_| ArrayRecord::all(&answer));
        let of = Row { files: names.clone(), channels, element, report: answer.report(), arrays };
        let frame = called.on(Frame::read(index, name.clone(), read_ms, input.notes, of));
        Ok(Frame { write_ms, out: to.map(|to| shown(to.path)), cpu, ..frame })
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        let [boxes, points] = frame.of.report.sizes();
        totals.boxes += boxes;
        totals.points += points;
        if self.scenes.one.is_some() {
            totals.scene = vec![self.describe(&frame.of)];
            let (out, arrays) = (frame.out.as_deref(), frame.of.arrays.as_ref());
            totals.scene.extend(out.zip(arrays).map(|(out, arrays)| {
                let arrays: Vec<_> = arrays.iter().map(|a| format!("{} {} {:?}", a.name, a.r#type, a.shape)).collect();
                format!("{}: {}", escape(out), arrays.join(", "))
            }));
        }
        Ok(())
    }

    fn cells(&self, frame: &Frame<Row>) -> Vec<Cell> {
        match &frame.of.report {
            ReportRecord::Pool(report) => pooled(report),
            ReportRecord::Inside(report) => inside(report),
        }
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        if let [task, rest @ ..] = &summary.of.scene[..] {
            let task = format!("{task} on {}", summary.run.device_name());
            let picture = written("picture", summary.picture.as_deref());
            return std::iter::once(task).chain(rest.iter().cloned()).chain(picture).collect();
        }
        let scenes = counted(summary.counts.done, "scene");
        let (boxes, points) = (grouped(summary.of.boxes), grouped(summary.of.points));
        let device = summary.run.device_name();
        vec![format!("{scenes}, {boxes} boxes, {points} points on {device}{}", percentiles(summary.ms.as_ref()))]
    }

    fn warning(&self, _: &Frame<Row>, warning: &str) -> String {
        warning.into()
    }
}

impl RoiPool<'_> {
    /// The task in words.
    fn describe(&self, row: &Row) -> String {
        if let Some(inside) = self.args.inside {
            return format!("{inside} of points in boxes");
        }
        let RoiPoolArgs { out_size: [x, y, z], mode, layout, .. } = *self.args;
        let (channels, element) = (row.channels.unwrap_or(0), row.element.unwrap_or("f32"));
        let s = if channels == 1 { "" } else { "s" };
        format!("{mode} of {channels} {element} channel{s} in {x} x {y} x {z} voxels a box, {layout},")
    }
}

fn pooled(report: &Report) -> Vec<Cell> {
    let &Report { boxes, empty_boxes, points, voxels, inside, kept, dropped, .. } = report;
    let names = ["boxes", "empty boxes", "points", "voxels", "inside", "kept", "dropped"];
    names.into_iter().zip([boxes, empty_boxes, points, voxels, inside, kept, dropped].map(grouped)).collect()
}

fn inside(report: &BoxReport) -> Vec<Cell> {
    let &BoxReport { boxes, points, points_inside, pairs, .. } = report;
    let mut cells = vec![("boxes", grouped(boxes)), ("points", grouped(points))];
    cells.extend(points_inside.map(|n| ("points inside", grouped(n))));
    cells.extend(pairs.map(|n| ("pairs", grouped(n))));
    cells
}

/// The file that an error of a call is about. Errors about points in boxes are about the points.
const fn role_of(e: &Error) -> usize {
    match e {
        Error::Argument { argument: Argument::Boxes, .. } => BOXES,
        Error::Argument { argument: Argument::Features, .. } => FEATURES,
        _ => POINTS,
    }
}
