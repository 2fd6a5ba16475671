//! `pointmill roi-pool`: features pooled in boxes, or points in boxes; one scene and one answer, or many.

mod answer;
mod batch;
mod files;
mod lane;
mod picture;
mod records;
mod scenes;
mod table;
mod task;

pub(crate) use task::{Inside, Mode, Origin, Output};

use crate::args::{Global, RoiPoolArgs};
use crate::batch::{Refused, Trouble as Blamed};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::records::Run;
use crate::stats::{milliseconds, ratio};
use crate::{device, interrupt, outputs, say};
use answer::Answer;
use files::{Features, Loaded, Sources};
use lane::Lane;
use pointmill::{Argument, Device, Error};
use records::{ArrayRecord, Begin, CpuRecord, ParamsRecord, Summary};
use scenes::Scenes;
use std::path::Path;
use std::time::Instant;
use task::Task;

/// The command's name.
const COMMAND: &str = "roi-pool";

/// Runs the command.
pub(crate) fn run(args: &RoiPoolArgs, global: &Global, printer: &mut Printer) -> Result<(), Failure> {
    let task = Task::of(args);
    // The CPU checks parameters at once; a GPU takes a while to wake.
    Lane::new(Device::cpu(), &task, false)?;
    let sources = Sources::of(args)?;
    let device = global.device.as_deref().unwrap_or("auto");
    if let Some(scenes) = Scenes::of(&sources)? {
        return batch::run(args, &task, scenes, device, printer);
    }
    if args.resume.resume {
        return Err(Failure::Usage("--resume: expected a folder that outputs go to, got one scene".into()));
    }
    args.visualize.as_deref().map(picture::plan).transpose()?;
    args.out.as_deref().map(|out| outputs::plan_file(out, &["npz"], &sources.paths())).transpose()?;
    let device = device::open(device)?;
    let cpu = if args.cpu { Some(Lane::new(device::cpu_beside(&device)?, &task, true)?) } else { None };
    let lane = Lane::new(device, &task, args.cpu)?;
    printer.record(
        "begin",
        &Begin { run: Run::new(COMMAND, &lane.device), inputs: sources.names(), params: ParamsRecord::from(args) },
    )?;
    let start = Instant::now();
    let input = load(&sources, printer)?;
    let read_ms = milliseconds(start.elapsed());
    interrupt::check()?;
    input.warnings.iter().for_each(say::warning);
    tracing::info!("{} boxes, {} points of {} columns", input.num_boxes(), input.points.len(), input.points.columns());
    let summary = work(args, &task, lane, cpu, input, read_ms).map_err(|trouble| match trouble {
        Trouble::Input { index, error } => {
            let names = sources.names();
            let refused = match Blamed::blame("ShapeMismatch", error, &names[index]) {
                Blamed::Input(refused) => refused,
                Blamed::Fatal(failure) => return failure,
            };
            match refused.tell(printer, index, &names[index]) {
                Ok(()) => Failure::Inputs { failed: 1, inputs: names.len() },
                Err(failure) => failure,
            }
        }
        Trouble::Fatal(failure) => failure,
    })?;
    printer.record("summary", &summary)?;
    table::lines(&summary, args).iter().try_for_each(|line| printer.text(line))?;
    match &summary.cpu {
        Some(cpu) if !cpu.equal => {
            let differs = cpu.differs.join(", ");
            Err(Failure::No(format!("{} and the CPU differ in {differs}", summary.run.device_name)))
        }
        _ => Ok(()),
    }
}

/// Why there is no answer.
enum Trouble {
    /// What the library says about an array, which is the input's fault, since the parameters are checked.
    Input { index: usize, error: Error },
    /// It is not.
    Fatal(Failure),
}

impl<T: Into<Failure>> From<T> for Trouble {
    fn from(e: T) -> Self {
        Self::Fatal(e.into())
    }
}

/// Reads the inputs; tells of each that cannot be used.
fn load(sources: &Sources, printer: &mut Printer) -> Result<Loaded, Failure> {
    let refused = match sources.load()? {
        Ok(loaded) => return Ok(loaded),
        Err(refused) => refused,
    };
    let names = sources.names();
    let failed = refused.len();
    for e in refused {
        let index = e.index;
        Refused::from(e.error).tell(printer, index, &names[index])?;
    }
    Err(Failure::Inputs { failed, inputs: names.len() })
}

/// From the inputs to the files.
fn work(
    args: &RoiPoolArgs,
    task: &Task,
    mut lane: Lane,
    cpu: Option<Lane>,
    input: Loaded,
    read_ms: f64,
) -> Result<Summary, Trouble> {
    let ms = match lane.run(&input) {
        Err(e) if args.on_oom.on_oom.redoes(&e, &lane.device) => {
            device::say_redone(COMMAND, &e);
            lane = Lane::new(Device::cpu(), task, args.cpu)?;
            lane.run(&input)
        }
        done => done,
    };
    let ms = ms.map_err(blame)?;
    interrupt::check()?;
    let start = Instant::now();
    let answer = lane.answer(&input, args.out.is_some() || args.cpu)?;
    let mut write_ms = None;
    let mut arrays = None;
    if let Some(out) = &args.out {
        answer.write(out)?;
        write_ms = Some(milliseconds(start.elapsed()));
        arrays = Some(arrays_of(&answer));
    }
    let mut compared = None;
    if let Some(mut cpu) = cpu {
        interrupt::check()?;
        compared = Some(beside(&mut cpu, &input, &answer, ms)?);
    }
    if let (Some(path), Task::Pool(params)) = (&args.visualize, task) {
        interrupt::check()?;
        picture::write(path, &input, params, &lane.device)?;
    }
    let (channels, element) = features_of(&input);
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    Ok(Summary {
        run: Run::new(COMMAND, &lane.device),
        channels,
        element,
        report: answer.report,
        ms,
        read_ms,
        write_ms,
        out: args.out.as_deref().map(shown),
        arrays,
        warnings: input.warnings,
        cpu: compared,
        picture: args.visualize.as_deref().map(shown),
    })
}

/// The CPU's answer beside that of a device, which took `ms`.
fn beside(cpu: &mut Lane, input: &Loaded, answer: &Answer, ms: f64) -> Result<CpuRecord, Error> {
    let cpu_ms = cpu.run(input)?;
    let differs = answer.differences(&cpu.answer(input, true)?);
    Ok(CpuRecord {
        threads: cpu.device.threads(),
        ms: cpu_ms,
        ratio: ratio(cpu_ms, ms),
        equal: differs.is_empty(),
        differs,
    })
}

/// Values a feature has, and their type.
const fn features_of(input: &Loaded) -> (Option<usize>, Option<&'static str>) {
    match &input.features {
        Some(Features::F32(_, channels)) => (Some(*channels), Some("f32")),
        Some(Features::F16(_, channels)) => (Some(*channels), Some("f16")),
        None => (None, None),
    }
}

/// What is written, without the report.
fn arrays_of(answer: &Answer) -> Vec<ArrayRecord> {
    answer.arrays.iter().map(|(name, array)| ArrayRecord::new(name, array)).collect()
}

/// Whose fault an error of a call is.
fn blame(e: Error) -> Trouble {
    match file_of(&e) {
        Some(index) => Trouble::Input { index, error: e },
        None => e.into(),
    }
}

/// The number of the file that an error of a call is about: 0 for boxes, 1 for points, 2 for features.
fn file_of(e: &Error) -> Option<usize> {
    match e {
        Error::Argument { argument: Argument::Boxes, .. } => Some(0),
        Error::Argument { argument: Argument::Features, .. } => Some(2),
        // Of the points alone, or of the points in the boxes.
        Error::Argument { .. } => Some(1),
        _ => None,
    }
}
