//! Several scenes: each through lanes that keep their memory from one to the next.

use super::files::Loaded;
use super::lane::Lane;
use super::records::{BatchBegin, BatchSummary, Frame, ParamsRecord};
use super::scenes::Scenes;
use super::table::{SceneTable, batch_lines};
use super::task::Task;
use super::{COMMAND, arrays_of, beside, features_of, file_of};
use crate::args::RoiPoolArgs;
use crate::batch::{Batch, Counts, Trouble};
use crate::failure::Failure;
use crate::inputs::Source;
use crate::outputs::Outputs;
use crate::printer::Printer;
use crate::records::{Run, SummaryCpu};
use crate::stats::{Times, milliseconds};
use crate::{device, interrupt, say};
use pointmill::{Device, Error};
use std::path::PathBuf;
use std::time::Instant;

/// Everything that is settled before the work.
struct Plan<'a> {
    args: &'a RoiPoolArgs,
    task: &'a Task,
    scenes: Scenes,
    outputs: Outputs,
}

/// What works on one scene at a time.
struct Station {
    lane: Lane,
    /// The CPU beside it.
    cpu: Option<Lane>,
    /// The CPU instead of it, once its memory was short.
    spare: Option<Lane>,
    /// Milliseconds of its scenes, and of the CPU beside it.
    times: [Vec<f64>; 2],
}

/// What was done so far.
#[derive(Default)]
struct Totals {
    boxes: usize,
    points: usize,
    different: usize,
}

/// Does the task with every scene.
pub(super) fn run(
    args: &RoiPoolArgs,
    task: &Task,
    mut scenes: Scenes,
    device: &str,
    printer: &mut Printer,
) -> Result<(), Failure> {
    if let Some(path) = &args.visualize {
        let told = format!("--visualize {}: expected one scene, got a folder or a pattern", path.display());
        return Err(Failure::Usage(told));
    }
    let device = device::open(device)?;
    let sources = std::mem::take(&mut scenes.sources);
    let outputs = Outputs::of_many(args.out.as_deref(), &sources)?;
    let files: Vec<Vec<PathBuf>> = scenes.beside(&sources);
    outputs.spare(files.iter().flatten().map(PathBuf::as_path))?;
    let decides = format!("{COMMAND} {task:?} {:?}", args.read.options());
    let ledger = outputs.ledger(&decides, args.resume.resume)?.map(|ledger| ledger.with_beside(files));
    let lanes = args.batch.lanes(sources.len());
    let stations = (0..lanes).map(|_| Station::new(&device, task, args.cpu)).collect::<Result<_, _>>()?;
    let begin = BatchBegin {
        run: Run::new(COMMAND, &device),
        inputs: scenes.given().to_vec(),
        scenes: sources.len(),
        params: ParamsRecord::from(args),
    };
    printer.record("begin", &begin)?;
    let batch = Batch { sources: &sources, args: args.batch, ledger, writes: args.out.is_some() };
    Plan { args, task, scenes, outputs }.run(&batch, stations, printer)
}

impl Station {
    fn new(device: &Device, task: &Task, beside: bool) -> Result<Self, Failure> {
        let cpu = if beside { Some(Lane::new(device::cpu_beside(device)?, task, true)?) } else { None };
        Ok(Self { lane: Lane::new(device.clone(), task, beside)?, cpu, spare: None, times: [Vec::new(), Vec::new()] })
    }
}

impl Plan<'_> {
    fn run(self, batch: &Batch<'_>, stations: Vec<Station>, printer: &mut Printer) -> Result<(), Failure> {
        let names: Vec<_> = batch.sources.iter().map(Source::name).collect();
        let mut table = SceneTable::new(&names);
        let mut totals = Totals::default();
        let one = |station: &mut Station, index: usize, source: &Source| self.one(station, index, source);
        let ran = batch.run(stations, printer, one, |printer, frame: Frame| {
            totals.add(&frame);
            frame.warnings.iter().for_each(say::warning);
            printer.record("frame", &frame)?;
            table.rows(&frame).iter().try_for_each(|line| printer.text(line))
        })?;
        match ran {
            Some((stations, counts)) => self.finish(&stations, &totals, counts, printer),
            None => Ok(()),
        }
    }

    /// One scene, from reading to writing.
    fn one(&self, station: &mut Station, index: usize, source: &Source) -> Result<Frame, Trouble> {
        let start = Instant::now();
        let files = self.scenes.files(index, source)?;
        let names = files.names();
        let input = match files.load()? {
            Ok(input) => input,
            // Of several files the first, as boxes, points and features are told.
            Err(refused) => return Err(refused.into_iter().next().expect("a reason").error.into()),
        };
        let read_ms = milliseconds(start.elapsed());
        interrupt::check()?;
        let blame = |e: Error| Trouble::blame("ShapeMismatch", e.clone(), file_of(&e).map_or(&names[1], |i| &names[i]));
        let Station { lane, cpu, spare, times } = station;
        let (ms, lane) = self.call(lane, spare, &source.name(), &input).map_err(blame)?;
        times[0].push(ms);
        let start = Instant::now();
        let out = self.outputs.of(index);
        let answer = lane.answer(&input, out.is_some() || cpu.is_some()).map_err(blame)?;
        let mut write_ms = None;
        if let Some(to) = self.outputs.place(index) {
            interrupt::check()?;
            answer.write(to)?;
            write_ms = Some(milliseconds(start.elapsed()));
        }
        let mut equal = None;
        if let Some(cpu) = cpu {
            interrupt::check()?;
            let told = beside(cpu, &input, &answer, ms).map_err(blame)?;
            times[1].push(told.ms);
            equal = Some(told);
        }
        tracing::info!(
            "{}: {} boxes, {} points; read {read_ms} ms, {} {ms} ms, written {} ms",
            source.name(),
            input.num_boxes(),
            input.points.len(),
            lane.device,
            write_ms.unwrap_or(0.0)
        );
        let (channels, element) = features_of(&input);
        Ok(Frame {
            index,
            input: source.name(),
            files: names,
            device: lane.device.to_string(),
            channels,
            element,
            ms,
            read_ms,
            write_ms,
            out: out.map(|path| path.to_string_lossy().into_owned()),
            arrays: out.map(|_| arrays_of(&answer)),
            report: answer.report,
            warnings: input.warnings,
            cpu: equal,
        })
    }

    /// Does the task on the device, or where its memory is short and that is asked for, on the CPU; who has the result.
    fn call<'a>(
        &self,
        lane: &'a mut Lane,
        spare: &'a mut Option<Lane>,
        name: &str,
        input: &Loaded,
    ) -> Result<(f64, &'a Lane), Error> {
        match lane.run(input) {
            Ok(ms) => return Ok((ms, lane)),
            Err(e) if self.args.on_oom.on_oom.redoes(&e, &lane.device) => device::say_redone(name, &e),
            Err(e) => return Err(e),
        }
        let spare = match spare {
            Some(spare) => spare,
            none => none.insert(Lane::new(Device::cpu(), self.task, false)?),
        };
        Ok((spare.run(input)?, spare))
    }

    fn finish(
        &self,
        stations: &[Station],
        totals: &Totals,
        counts: Counts,
        printer: &mut Printer,
    ) -> Result<(), Failure> {
        let times = |of: usize| {
            let all: Vec<f64> = stations.iter().flat_map(|station| &station.times[of]).copied().collect();
            Times::of(&all)
        };
        let ms = times(0);
        let (beside, equal) = (stations[0].cpu.as_ref().zip(times(1)).zip(ms), totals.different == 0);
        let cpu = beside.map(|((lane, cpu), ms)| SummaryCpu::new(lane.device.threads(), cpu, &ms, equal));
        let summary = BatchSummary {
            run: Run::new(COMMAND, &stations[0].lane.device),
            counts,
            boxes: totals.boxes,
            points: totals.points,
            ms,
            cpu,
        };
        printer.record("summary", &summary)?;
        batch_lines(&summary).iter().try_for_each(|line| printer.text(line))?;
        if totals.different > 0 {
            let n = totals.different;
            return Err(Failure::No(format!("{} and the CPU differ on {n} scene(s)", summary.run.device_name)));
        }
        counts.verdict()
    }
}

impl Totals {
    fn add(&mut self, frame: &Frame) {
        let [boxes, points] = frame.report.sizes();
        self.boxes += boxes;
        self.points += points;
        self.different += usize::from(frame.cpu.as_ref().is_some_and(|cpu| !cpu.equal));
    }
}
