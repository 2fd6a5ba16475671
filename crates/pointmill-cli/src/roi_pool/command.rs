//! Runs `pointmill roi-pool`. A scene is an input: boxes, points and, if they are pooled, features.

use super::answer::Answer;
use super::args::{RoiPoolArgs, Task};
use super::files::{Features, Loaded, Sources};
use super::lane::Lane;
use super::picture;
use super::records::{ArrayRecord, Begin, InsideReport, ParamsRecord, ReportRecord, Row, Totals};
use super::scenes::Scenes;
use crate::batch::{Called, Cell, Command, Job, Ledger, Station, Trouble};
use crate::failure::Failure;
use crate::inputs::Source;
use crate::json::{Frame, Summary};
use crate::outputs::{Outputs, plan_file};
use crate::picture::{plan, require_one};
use crate::printer::Printer;
use crate::stats::milliseconds;
use crate::text::{counted, grouped, percentiles, shown, written};
use crate::{device, interrupt, say};
use clap::ValueEnum;
use pointmill::roi_pool::Report;
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
    outputs: Outputs,
}

/// Runs the command.
pub(crate) fn run(args: &RoiPoolArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let task = Task::of(args);
    // The CPU checks the parameters at once; a GPU takes a while to start.
    Lane::new(&Device::cpu(), &task)?;
    let mut scenes = Scenes::of(Sources::of(args)?)?;
    let (out, resume) = (args.out.as_deref(), args.work.resume.resume);
    if let Some(scene) = scenes.alone() {
        if resume {
            return Err(Failure::Usage("--resume: expected a folder that outputs go to, got one scene".into()));
        }
        args.visualize.as_deref().map(|path| plan(path, &["png"])).transpose()?;
        out.map(|out| plan_file("--out", out, &["npz"], &scene.paths())).transpose()?;
    } else {
        require_one("--visualize", args.visualize.as_deref(), "scene")?;
    }
    let device = device::open(device)?;
    let sources = std::mem::take(&mut scenes.sources);
    let outputs = if scenes.alone().is_some() { Outputs::one(out) } else { Outputs::of_many(out, &sources)? };
    let files: Vec<Vec<PathBuf>> = scenes.beside(&sources);
    outputs.spare(files.iter().flatten().map(PathBuf::as_path))?;
    let decides = format!("{COMMAND} {task:?} {:?}", args.read.options());
    let job = Job {
        name: COMMAND,
        device: Some(&device),
        sources: &sources,
        batch: args.work.batch,
        verbose: args.work.verbose,
        ledger: Ledger::of(&[&outputs], &decides, resume)?.map(|ledger| ledger.with_beside(files)),
        out,
        picture: args.visualize.as_deref(),
        writes: false,
    };
    job.begin(Begin { files: scenes.given().to_vec(), params: ParamsRecord::from(args) }, printer)?;
    job.run(&RoiPool { args, task, device: device.clone(), scenes, outputs }, printer)?;
    if args.boxes.is_none() && out.is_none() {
        say::hint(
            "this was a built-in street; next: pointmill roi-pool --boxes B.npy --points P.npy --features F.npy --out pooled.npz",
        );
    }
    Ok(())
}

impl Command for RoiPool<'_> {
    type Lane = Station<Lane>;
    type Row = Row;
    type Totals = Totals;
    const INPUT: &'static str = "scene";

    fn lane(&self) -> Result<Station<Lane>, Failure> {
        Station::new(&self.device, &self.args.work, false, |device| Lane::new(device, &self.task))
    }

    fn one(&self, station: &mut Station<Lane>, index: usize, source: &Source) -> Result<Frame<Row>, Trouble> {
        let start = Instant::now();
        let files = self.scenes.files(index, source)?;
        let names = files.names();
        let input = files.load().map_err(|refused| Trouble::Input(refused.into_iter().map(Into::into).collect()))?;
        let read_ms = milliseconds(start.elapsed());
        interrupt::check()?;
        let blame = |e: Error| Trouble::blame("ShapeMismatch", e.clone(), &names[role_of(&e)]);
        let make = |device: &Device| Lane::new(device, &self.task);
        let called = station.call(&source.name(), make, |lane| lane.run(&input)).map_err(blame)?;
        interrupt::check()?;
        let start = Instant::now();
        let to = self.outputs.place(index);
        let answer = called.lane.answer(&input, to.is_some() || called.cpu.is_some()).map_err(blame)?;
        let mut write_ms = None;
        if let Some(to) = to {
            answer.write(to)?;
            write_ms = Some(milliseconds(start.elapsed()));
        }
        let compare = |cpu: &Called<'_, Lane, ()>| Ok(answer.differences(&cpu.lane.answer(&input, true)?));
        let cpu = called.compare(compare).map_err(blame)?;
        if let (Some(path), Task::Pool(params)) = (&self.args.visualize, &self.task) {
            interrupt::check()?;
            picture::write(path, &input, params, called.device)?;
        }
        let (ms, device, name) = (called.ms, called.device.to_string(), source.name());
        let (boxes, points, written) = (input.num_boxes(), input.points.len(), write_ms.unwrap_or(0.0));
        tracing::info!(
            "{name}: {boxes} boxes, {points} points; read {read_ms} ms, {device} {ms} ms, written {written} ms"
        );
        let (channels, element) = features_of(&input);
        let out = self.outputs.of(index).map(shown);
        let record =
            |answer: &Answer| answer.arrays.iter().map(|(name, array)| ArrayRecord::new(name, array)).collect();
        Ok(Frame {
            index,
            input: name,
            device: Some(device),
            ms: Some(ms),
            read_ms,
            write_ms,
            warnings: input.warnings,
            cpu,
            of: Row {
                files: names,
                channels,
                element,
                arrays: out.as_ref().map(|_| record(&answer)),
                report: answer.report,
            },
            out,
        })
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        let [boxes, points] = frame.of.report.sizes();
        totals.boxes += boxes;
        totals.points += points;
        if self.scenes.alone().is_some() {
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
            return format!("{} of points in boxes", name(inside));
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

fn inside(report: &InsideReport) -> Vec<Cell> {
    let &InsideReport { boxes, points, points_inside, pairs } = report;
    let mut cells = vec![("boxes", grouped(boxes)), ("points", grouped(points))];
    cells.extend(points_inside.map(|n| ("points inside", grouped(n))));
    cells.extend(pairs.map(|n| ("pairs", grouped(n))));
    cells
}

/// A value of a flag, as it is typed.
fn name<T: ValueEnum>(value: T) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().into())
}

/// Values per feature, and their type.
const fn features_of(input: &Loaded) -> (Option<usize>, Option<&'static str>) {
    match &input.features {
        Some(Features::F32(_, channels)) => (Some(*channels), Some("f32")),
        Some(Features::F16(_, channels)) => (Some(*channels), Some("f16")),
        None => (None, None),
    }
}

/// The file that an error of a call is about: 0 boxes, 1 points, 2 features. Points take the errors about points in boxes too.
const fn role_of(e: &Error) -> usize {
    match e {
        Error::Argument { argument: Argument::Boxes, .. } => 0,
        Error::Argument { argument: Argument::Features, .. } => 2,
        _ => 1,
    }
}
