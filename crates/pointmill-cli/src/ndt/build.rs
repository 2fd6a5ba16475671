//! Runs `pointmill ndt build`: all clouds into one grid, or each into a grid of its own.

use super::args::BuildArgs;
use super::blocks;
use super::files::Targets;
use super::grid::{check, finish, warn_if_empty};
use super::picture::MapPicture;
use super::records::{BuildBegin, BuildRow, CellsRecord, GridTotals};
use super::report;
use crate::batch::prelude::*;
use pointmill::Device;
use pointmill::ndt::{NdtBuilder, NdtGrid, NdtParams};
use pointmill_data::poses::Deskew;
use pointmill_data::poses::{InputPoses, log_poses};
use pointmill_io::Scan;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The name of the command.
const COMMAND: &str = "ndt build";

/// Everything that is decided before the work.
struct Build<'a> {
    args: &'a BuildArgs,
    params: NdtParams,
    inputs: Inputs,
    poses: Option<InputPoses>,
    targets: Targets,
    device: Device,
    picture: Option<Mutex<MapPicture>>,
}

/// Runs the command.
pub(super) fn run(args: &BuildArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let args =
        &BuildArgs { poses: args.poses.clone().or_else(|| log_poses(&args.inputs, &stderr::Stderr)), ..args.clone() };
    let params = args.cells.params();
    check(args.resolution, &params)?;
    args.sensor.require_poses(args.poses.is_some())?;
    if let Some(map) = Targets::map_by_blocks(args)? {
        return blocks::build(args, map, device, printer);
    }
    let (mut sources, inputs) = Inputs::find_frames(&args.inputs, args.read.options()?, &args.frames.frames())?;
    tell_origin(&inputs);
    let poses = InputPoses::read(args.poses.as_deref(), args.deskew, (&mut sources, &inputs), &stderr::Stderr)?;
    let sensor = args.sensor.pose(&sources)?;
    let poses = poses.map(|poses| poses.with_sensor_pose(sensor));
    let tiles = Targets::are_tiles(args)?;
    let (out, moments, picture) = (args.out.as_deref(), args.moments.as_deref(), args.visualize.as_deref());
    picture.map(|path| plan(path, &["png", "html"])).transpose()?;
    args.work.check_picture(picture.is_some())?;
    let device = device::open(device, &sources)?;
    let targets = match tiles {
        true => Targets::tiles(out, moments, &sources)?,
        false => Targets::one(out, moments, &sources, args.poses.as_deref())?,
    };
    let record = CellsRecord { resolution: Some(args.resolution), params };
    let moved = poses.as_ref().map(|poses| poses.state(0)).unwrap_or_default();
    let decides = format!("{COMMAND} {record:?} {} {:?}{moved}", args.drop_zeros, inputs.options());
    let resume_log = ResumeLog::of(&[&targets.grids, &targets.moments], &decides, args.work.resume.resume)?;
    let writes = moments.is_some();
    let mut job = Job {
        resume_log,
        out,
        picture,
        writes,
        origin: Some(inputs.origin()),
        ..Job::on(&device, COMMAND, &sources, &args.work)
    };
    // Each worker would hold a grid of all inputs.
    job.in_turn |= !tiles;
    let deskew = poses.as_ref().map_or(Deskew::Off, InputPoses::deskew);
    job.begin(BuildBegin { tiles, block: None, deskew, params: record }, printer)?;
    let picture = picture.map(|path| Mutex::new(MapPicture::new(path)));
    job.run(&Build { args, params, inputs, poses, targets, device: device.clone(), picture }, printer)?;
    if args.inputs.is_empty() && out.is_none() && moments.is_none() {
        stderr::hint(
            "these were built-in synthetic sweeps. Next: pointmill ndt build TILES/ --out map.npz --visualize map.png",
        );
    }
    Ok(())
}

impl Build<'_> {
    fn make(&self, device: &Device) -> Result<NdtBuilder, pointmill::Error> {
        NdtBuilder::new(&device.stream()?, self.args.resolution, &self.params)?.about(self.inputs.origin())
    }

    fn picture(&self) -> Option<MutexGuard<'_, MapPicture>> {
        self.picture.as_ref().map(|picture| picture.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Command for Build<'_> {
    type Worker = OperatorSlot<NdtBuilder>;
    type Row = BuildRow;
    type Totals = GridTotals;

    fn inputs(&self) -> Option<&Inputs> {
        Some(&self.inputs)
    }

    fn worker(&self) -> Result<Self::Worker, Failure> {
        OperatorSlot::new(&self.device, &self.args.work, !self.targets.tiles, |device| self.make(device))
    }

    fn one(&self, slot: &mut Self::Worker, index: usize, source: &Source) -> Result<Frame<BuildRow>, InputError> {
        let name = source.name();
        let moved = self.poses.as_ref().map(|poses| |scan: &Scan, stamp| poses.moved(index, &name, scan, stamp));
        let read = self.inputs.read_at(source, self.args.drop_zeros, moved)?;
        let blame = |e| InputError::blame("BadValue", e, &name);
        let make = |device: &Device| self.make(device);
        let called = slot.call(&name, blame, make, |builder| {
            if self.targets.tiles {
                builder.clear()?;
            }
            builder.add(rows(&read.scan)?)?;
            self.targets.tiles.then(|| builder.finish()).transpose()
        })?;
        let compare = |cpu: &Called<'_, NdtBuilder, Option<NdtGrid>>| match (&called.found, &cpu.found) {
            (Some(a), Some(b)) => a.differences(b),
            _ => Ok(vec![]),
        };
        let mut cpu = called.compare(compare).map_err(blame)?;
        let mut frame = called.on(report::build_frame(index, source, &read));
        let grid = called.found;
        if let Some(grid) = &grid {
            warn_if_empty(&name, grid);
            let ([out, moments], ms) = timed(|| self.targets.write(index, called.worker, grid))?;
            frame.write_ms = (out.is_some() || moments.is_some()).then_some(ms);
            (frame.out, frame.of.moments, frame.of.report) = (out, moments, Some(*grid.report()));
        } else if let Some(cpu) = &mut cpu {
            // Of one grid of all inputs only the end can be compared.
            cpu.equal = None;
        }
        self.picture().map_or(Ok(()), |mut picture| picture.add(&read.scan, grid.as_ref()))?;
        Ok(Frame { cpu, ..frame })
    }

    fn add(&self, totals: &mut GridTotals, frame: &mut Frame<BuildRow>) -> Result<(), Failure> {
        totals.points += frame.of.points - frame.of.zeros;
        totals.voxels += frame.of.report.map_or(0, |report| report.voxels);
        Ok(())
    }

    fn cells(&self, frame: &Frame<BuildRow>) -> Vec<Cell> {
        report::build_cells(&frame.of, self.targets.tiles)
    }

    fn finish(&self, totals: &mut GridTotals, slots: Vec<Self::Worker>, counts: Counts) -> Result<bool, Failure> {
        let (mut workers, mut beside) = (Vec::new(), Vec::new());
        for slot in slots {
            let (own, other) = slot.into_workers();
            workers.extend(own);
            beside.extend(other);
        }
        let tiles = self.targets.tiles;
        let mut builder = sum(workers, !tiles)?.expect("a job has a worker");
        totals.resolution = builder.lattice().unit();
        if counts.done + counts.kept > 0 {
            totals.moments = self.args.moments.as_deref().map(shown);
        }
        // Where every input failed there is no grid, rather than one without cells.
        if tiles || counts.done == 0 {
            return Ok(true);
        }
        let grid = finish(&mut builder, sum(beside, true)?, &self.params, &self.device, &self.args.work, totals)?;
        warn_if_empty("all inputs", &grid);
        self.targets.write(0, &mut builder, &grid)?;
        self.picture().map_or(Ok(()), |mut picture| picture.write(&grid))?;
        Ok(totals.equal())
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
