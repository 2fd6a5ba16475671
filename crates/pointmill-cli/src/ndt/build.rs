//! `pointmill ndt build`: clouds into a grid, or each into one of its own.

use super::args::BuildArgs;
use super::cloud::Cloud;
use super::picture::{self, MapPicture};
use super::records::{BuildBegin, BuildFrame, BuildSummary, ParamsRecord};
use super::table::{BuildTable, build_lines};
use super::targets::{self, Targets};
use super::{check, shown, warn_if_empty};
use crate::batch::{Batch, Counts, Trouble};
use crate::device::OnOom;
use crate::failure::Failure;
use crate::inputs::{Inputs, Source};
use crate::printer::Printer;
use crate::records::Run;
use crate::stats::{Times, milliseconds};
use crate::{device, interrupt, say};
use pointmill::ndt::{NdtBuilder, NdtGrid, NdtParams, NdtReport};
use pointmill::{Device, Error};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The command's name.
const COMMAND: &str = "ndt build";

/// Everything that is settled before the work.
struct Plan {
    params: NdtParams,
    resolution: f64,
    drop_zeros: bool,
    on_oom: OnOom,
    inputs: Inputs,
    targets: Targets,
    device: Device,
    picture: Option<Mutex<Drawing>>,
}

/// What works on one input at a time, and sums up those it had.
struct Station {
    builder: NdtBuilder,
    /// The CPU instead of the device, once its memory was short.
    spare: Option<NdtBuilder>,
    times: Vec<f64>,
}

/// A picture, and whether there is a grid on it.
struct Drawing {
    picture: MapPicture,
    drawn: bool,
}

/// What was done so far.
#[derive(Default)]
struct Totals {
    points: usize,
    voxels: usize,
}

/// Runs the command.
pub(super) fn run(
    args: &BuildArgs,
    open: impl FnOnce() -> Result<Device, Failure>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let model = args.covariance.unwrap_or_default();
    let params = args.cells.params(model);
    check(args.resolution, &params)?;
    let mut inputs = Inputs::find(&args.inputs, args.read.options())?;
    let sources = std::mem::take(&mut inputs.sources);
    let tiles = targets::tiles(args)?;
    args.visualize.as_deref().map(|path| picture::plan(path, &["png"])).transpose()?;
    args.batch.check(args.resume.resume, args.visualize.is_some())?;
    let device = open()?;
    let targets = Targets::plan(args, tiles, &sources)?;
    let record = ParamsRecord::new(Some(args.resolution), model, &args.cells);
    let decides = format!("{COMMAND} {record:?} {} {:?}", args.drop_zeros, args.read.options());
    let ledger = targets.ledger(&decides, args.resume.resume)?;
    let lanes = args.batch.lanes(sources.len());
    let stations = (0..lanes).map(|_| Station::new(&device, args.resolution, &params)).collect::<Result<_, _>>()?;
    let begin = BuildBegin { run: Run::new(COMMAND, &device), inputs: sources.len(), tiles, params: record };
    printer.record("begin", &begin)?;
    let picture = args.visualize.as_deref().map(MapPicture::new);
    let writes = !targets.asked().is_empty() || picture.is_some();
    let picture = picture.map(|picture| Mutex::new(Drawing { picture, drawn: false }));
    let batch = Batch { sources: &sources, args: args.batch, ledger, writes };
    let (resolution, drop_zeros, on_oom) = (args.resolution, args.drop_zeros, args.on_oom.on_oom);
    Plan { params, resolution, drop_zeros, on_oom, inputs, targets, device, picture }.run(&batch, stations, printer)
}

impl Station {
    fn new(device: &Device, resolution: f64, params: &NdtParams) -> Result<Self, Failure> {
        Ok(Self { builder: NdtBuilder::new(&device.stream()?, resolution, params)?, spare: None, times: Vec::new() })
    }

    /// Does `work` on the device, or where its memory is short and that is asked for, on the CPU; who has done it.
    fn run<R>(
        &mut self,
        name: &str,
        plan: &Plan,
        work: impl Fn(&mut NdtBuilder) -> Result<R, Error>,
    ) -> Result<(R, &mut NdtBuilder, bool), Error> {
        match work(&mut self.builder) {
            Ok(done) => return Ok((done, &mut self.builder, false)),
            Err(e) if plan.on_oom.redoes(&e, &plan.device) => device::say_redone(name, &e),
            Err(e) => return Err(e),
        }
        let spare = match &mut self.spare {
            Some(spare) => spare,
            none => none.insert(NdtBuilder::new(&Device::cpu().stream()?, plan.resolution, &plan.params)?),
        };
        Ok((work(spare)?, spare, true))
    }
}

impl Plan {
    fn run(self, batch: &Batch<'_>, stations: Vec<Station>, printer: &mut Printer) -> Result<(), Failure> {
        let names: Vec<_> = batch.sources.iter().map(Source::name).collect();
        let table = BuildTable::new(&names, matches!(self.targets, Targets::Tiles { .. }));
        let mut head = table.head();
        let mut totals = Totals::default();
        let one = |station: &mut Station, index: usize, source: &Source| self.one(station, index, source);
        let ran = batch.run(stations, printer, one, |printer, frame: BuildFrame| {
            totals.points += frame.points - frame.zeros;
            totals.voxels += frame.report.map_or(0, |report| NdtReport::from(report).voxels);
            for warning in &frame.warnings {
                say::warning(format_args!("{}: {warning}", frame.input));
            }
            printer.record("frame", &frame)?;
            head.take().into_iter().chain(table.row(&frame)).try_for_each(|line| printer.text(&line))
        })?;
        match ran {
            Some((stations, counts)) => self.finish(stations, totals, counts, printer),
            None => Ok(()),
        }
    }

    /// One input: its points added, and where it has a grid of its own that written.
    fn one(&self, station: &mut Station, index: usize, source: &Source) -> Result<BuildFrame, Trouble> {
        let start = Instant::now();
        let mut read = self.inputs.load_exact(source)?;
        let name = source.name();
        let blame = |e| Trouble::blame("BadValue", e, &name);
        let (format, warnings) = (std::mem::take(&mut read.format), std::mem::take(&mut read.warnings));
        let points = read.cloud.len();
        let (cloud, zeros) = Cloud::new(read, self.drop_zeros)?;
        let read_ms = milliseconds(start.elapsed());
        interrupt::check()?;
        let files = self.targets.of(index);
        let start = Instant::now();
        let (grid, builder, spare) = station
            .run(&name, self, |builder| {
                if files.is_none() {
                    return builder.add(cloud.view()?).map(|()| None);
                }
                builder.clear()?;
                builder.add(cloud.view()?)?;
                builder.finish().map(Some)
            })
            .map_err(blame)?;
        let ms = milliseconds(start.elapsed());
        if let (Some(files), Some(grid)) = (&files, &grid) {
            interrupt::check()?;
            warn_if_empty(&name, grid);
            files.write(builder, grid)?;
        }
        station.times.push(ms);
        if let Some(drawing) = &self.picture {
            drawing.lock().unwrap_or_else(PoisonError::into_inner).add(&cloud, grid.as_ref())?;
        }
        let device = if spare { Device::cpu().to_string() } else { self.device.to_string() };
        tracing::info!("{name}: {points} points of {}, {format}; read {read_ms} ms, {device} {ms} ms", cloud.element());
        let [out, moments] = files.map_or([None, None], |files| files.names());
        Ok(BuildFrame {
            index,
            input: name,
            format,
            device,
            element: cloud.element(),
            points,
            zeros,
            report: grid.as_ref().map(|grid| grid.report().into()),
            ms,
            read_ms,
            out,
            moments,
            warnings,
        })
    }

    fn finish(
        self,
        mut stations: Vec<Station>,
        mut totals: Totals,
        counts: Counts,
        printer: &mut Printer,
    ) -> Result<(), Failure> {
        let times: Vec<f64> = stations.iter().flat_map(|station| &station.times).copied().collect();
        let mut builder = sum(&mut stations, matches!(self.targets, Targets::One(_)))?;
        let picture = self.picture.map(|p| p.into_inner().unwrap_or_else(PoisonError::into_inner).picture);
        let mut all: Option<(NdtGrid, f64)> = None;
        // Where every input failed there is no grid, rather than one of nothing.
        if let (Targets::One(files), 1..) = (&self.targets, counts.done) {
            let start = Instant::now();
            let grid = builder.finish()?;
            let ms = milliseconds(start.elapsed());
            warn_if_empty("all inputs", &grid);
            files.write(&mut builder, &grid)?;
            if let Some(picture) = &picture {
                interrupt::check()?;
                picture.write(&grid)?;
            }
            totals.voxels = grid.len();
            all = Some((grid, ms));
        }
        let written = if counts.done + counts.kept > 0 { self.targets.asked().names() } else { [None, None] };
        let [out, moments] = written;
        let summary = BuildSummary {
            run: Run::new(COMMAND, &self.device),
            counts,
            points: totals.points,
            resolution: builder.lattice().unit(),
            voxels: totals.voxels,
            report: all.as_ref().map(|(grid, _)| grid.report().into()),
            ms: Times::of(&times),
            finish_ms: all.map(|(_, ms)| ms),
            out,
            moments,
            picture: picture.filter(|_| counts.done > 0).map(|picture| shown(picture.path())),
        };
        printer.record("summary", &summary)?;
        build_lines(&summary).iter().try_for_each(|line| printer.text(line))?;
        counts.verdict()
    }
}

/// The sums of all stations in the builder of the first. They are whole numbers, so it does not matter who had which input.
fn sum(stations: &mut Vec<Station>, one: bool) -> Result<NdtBuilder, Failure> {
    let Station { mut builder, mut spare, .. } = stations.swap_remove(0);
    if one {
        let others = stations.iter_mut().flat_map(|other| std::iter::once(&mut other.builder).chain(&mut other.spare));
        for other in spare.iter_mut().chain(others) {
            let moments = other.moments()?;
            builder.merge(&moments)?;
        }
    }
    Ok(builder)
}

impl Drawing {
    /// Keeps the points; of grids for each input the first is drawn at once.
    fn add(&mut self, cloud: &Cloud, grid: Option<&NdtGrid>) -> Result<(), Failure> {
        match grid {
            None => self.picture.add_points(cloud)?,
            Some(grid) if !self.drawn => {
                self.picture.add_points(cloud)?;
                self.picture.write(grid)?;
                self.drawn = true;
            }
            Some(_) => {}
        }
        Ok(())
    }
}
