//! Runs `pointmill ndt build`: all clouds into one grid, or each into a grid of its own.

use super::args::BuildArgs;
use super::cloud::Cloud;
use super::files::{Targets, tiles};
use super::grid::{check, differences, finish, warn_if_empty};
use super::picture::MapPicture;
use super::records::{BuildBegin, BuildRow, CellsRecord, GridTotals};
use super::report;
use crate::batch::{Called, Cell, Command, Job, Station, Trouble};
use crate::failure::Failure;
use crate::inputs::{Inputs, Source};
use crate::json::{Counts, Frame, FrameCpu, Summary};
use crate::picture::plan;
use crate::printer::Printer;
use crate::stats::milliseconds;
use crate::{device, interrupt, say};
use pointmill::Device;
use pointmill::ndt::{NdtBuilder, NdtGrid, NdtParams};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The name of the command.
const COMMAND: &str = "ndt build";

/// Everything that is decided before the work.
struct Build<'a> {
    args: &'a BuildArgs,
    params: NdtParams,
    inputs: Inputs,
    targets: Targets,
    device: Device,
    picture: Option<Mutex<Drawing>>,
}

/// A picture, and whether there is a grid on it.
struct Drawing {
    picture: MapPicture,
    drawn: bool,
}

/// Runs the command.
pub(super) fn run(args: &BuildArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let params = args.cells.params();
    check(args.resolution, &params)?;
    let mut inputs = Inputs::find(&args.inputs, args.read.options())?;
    let sources = std::mem::take(&mut inputs.sources);
    let tiles = tiles(args)?;
    let visualize = args.visualize.as_deref();
    visualize.map(|path| plan(path, &["png"])).transpose()?;
    args.work.check_picture(visualize.is_some())?;
    let device = device::open(device)?;
    let targets = Targets::plan(args, tiles, &sources)?;
    let record = CellsRecord { resolution: Some(args.resolution), params };
    let decides = format!("{COMMAND} {record:?} {} {:?}", args.drop_zeros, args.read.options());
    let job = Job {
        name: COMMAND,
        device: Some(&device),
        sources: &sources,
        batch: args.work.batch,
        verbose: args.work.verbose,
        ledger: targets.ledger(&decides, args.work.resume.resume)?,
        out: args.out.as_deref(),
        picture: visualize,
        writes: args.moments.is_some(),
    };
    job.begin(BuildBegin { tiles, params: record }, printer)?;
    let picture = visualize.map(|path| Mutex::new(Drawing { picture: MapPicture::new(path), drawn: false }));
    job.run(&Build { args, params, inputs, targets, device: device.clone(), picture }, printer)?;
    if args.inputs.is_empty() && job.out.is_none() && args.moments.is_none() {
        say::hint("this was a built-in drive; next: pointmill ndt build TILES/ --out map.npz --visualize map.png");
    }
    Ok(())
}

impl Build<'_> {
    fn make(&self, device: &Device) -> Result<NdtBuilder, pointmill::Error> {
        NdtBuilder::new(&device.stream()?, self.args.resolution, &self.params)
    }

    const fn is_one(&self) -> bool {
        matches!(self.targets, Targets::One(_))
    }
}

impl Command for Build<'_> {
    type Lane = Station<NdtBuilder>;
    type Row = BuildRow;
    type Totals = GridTotals;
    const INPUT: &'static str = "input";

    fn lane(&self) -> Result<Self::Lane, Failure> {
        Station::new(&self.device, &self.args.work, self.is_one(), |device| self.make(device))
    }

    fn one(&self, station: &mut Self::Lane, index: usize, source: &Source) -> Result<Frame<BuildRow>, Trouble> {
        let start = Instant::now();
        let mut read = self.inputs.load_exact(source)?;
        let name = source.name();
        let blame = |e| Trouble::blame("BadValue", e, &name);
        let (format, warnings) = (std::mem::take(&mut read.format), std::mem::take(&mut read.warnings));
        let points = read.cloud.len();
        let (cloud, zeros) = Cloud::new(read, self.args.drop_zeros)?;
        let read_ms = milliseconds(start.elapsed());
        interrupt::check()?;
        let files = self.targets.of(index);
        let called = station.call(
            &name,
            |device| self.make(device),
            |builder| {
                if files.is_none() {
                    return builder.add(cloud.view()?).map(|()| None);
                }
                builder.clear()?;
                builder.add(cloud.view()?)?;
                builder.finish().map(Some)
            },
        );
        let called = called.map_err(blame)?;
        interrupt::check()?;
        let (ms, device) = (called.ms, called.device.to_string());
        let compare = |cpu: &Called<'_, NdtBuilder, Option<NdtGrid>>| match (&called.found, &cpu.found) {
            (Some(a), Some(b)) => differences(a, b),
            _ => Ok(vec![]),
        };
        let cpu = called.compare(compare).map_err(blame)?;
        // Of one grid of all inputs only the end can be compared.
        let cpu = cpu.map(|cpu| if files.is_none() { FrameCpu { equal: None, ..cpu } } else { cpu });
        let start = Instant::now();
        let grid = called.found;
        if let (Some(files), Some(grid)) = (&files, &grid) {
            warn_if_empty(&name, grid);
            files.write(called.lane, grid)?;
        }
        let write_ms = files.as_ref().filter(|files| !files.is_empty()).map(|_| milliseconds(start.elapsed()));
        if let Some(drawing) = &self.picture {
            drawing.lock().unwrap_or_else(PoisonError::into_inner).add(&cloud, grid.as_ref())?;
        }
        tracing::info!("{name}: {points} points of {}, {format}; read {read_ms} ms, {device} {ms} ms", cloud.element());
        let [out, moments] = files.map_or([None, None], |files| files.names());
        let report = grid.as_ref().map(|grid| *grid.report());
        Ok(Frame {
            index,
            input: name,
            device: Some(device),
            ms: Some(ms),
            read_ms,
            write_ms,
            out,
            warnings,
            cpu,
            of: BuildRow { format, element: cloud.element(), points, zeros, report, moments },
        })
    }

    fn add(&self, totals: &mut GridTotals, frame: &mut Frame<BuildRow>) -> Result<(), Failure> {
        totals.points += frame.of.points - frame.of.zeros;
        totals.voxels += frame.of.report.map_or(0, |report| report.voxels);
        Ok(())
    }

    fn cells(&self, frame: &Frame<BuildRow>) -> Vec<Cell> {
        report::build_cells(&frame.of, self.is_one())
    }

    fn finish(&self, totals: &mut GridTotals, stations: Vec<Self::Lane>, counts: Counts) -> Result<bool, Failure> {
        let (mut lanes, mut beside) = (Vec::new(), Vec::new());
        for station in stations {
            let (own, other) = station.into_lanes();
            lanes.extend(own);
            beside.extend(other);
        }
        let mut builder = sum(lanes, self.is_one())?.expect("a job has a lane");
        totals.resolution = builder.lattice().unit();
        if counts.done + counts.kept > 0 {
            totals.moments = self.targets.asked().names()[1].take();
        }
        // Where every input failed there is no grid, rather than one without cells.
        let (Targets::One(files), 1..) = (&self.targets, counts.done) else { return Ok(true) };
        let mut beside = sum(beside, true)?;
        let made = finish(&mut builder, beside.as_mut(), &self.params, &self.device, &self.args.work)?;
        warn_if_empty("all inputs", &made.grid);
        files.write(&mut builder, &made.grid)?;
        if let Some(drawing) = &self.picture {
            interrupt::check()?;
            drawing.lock().unwrap_or_else(PoisonError::into_inner).picture.write(&made.grid)?;
        }
        totals.voxels = made.grid.len();
        totals.report = Some(*made.grid.report());
        totals.finish_ms = Some(made.ms);
        totals.finish_cpu = made.cpu;
        Ok(totals.finish_cpu.as_ref().is_none_or(|cpu| cpu.equal == Some(true)))
    }

    fn lines(&self, summary: &Summary<GridTotals>) -> Vec<String> {
        report::grid_lines(summary)
    }
}

/// The sums of all builders in the first. They are whole numbers, so the order does not matter.
fn sum(builders: Vec<NdtBuilder>, one: bool) -> Result<Option<NdtBuilder>, Failure> {
    let mut builders = builders.into_iter();
    let Some(mut first) = builders.next() else { return Ok(None) };
    for mut other in builders.filter(|_| one) {
        first.merge(&other.moments()?)?;
    }
    Ok(Some(first))
}

impl Drawing {
    /// Keeps the points. If each input has a grid, the first is drawn at once.
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
