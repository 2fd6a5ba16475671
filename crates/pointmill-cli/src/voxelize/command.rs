//! Runs `pointmill voxelize`: each job has a voxelizer that keeps its memory from one input to the next.

use super::args::VoxelizeArgs;
use super::picture::Picture;
use super::records::{Begin, ParamsRecord, Row, Totals};
use crate::batch::prelude::*;
use crate::inputs::may_be_many;
use pointmill::voxelize::{VoxelizeParams, Voxelizer, Voxels};
use pointmill::{Device, Error, VoxelGrid};
use pointmill_io::write_result;
use std::time::Instant;

/// The name of the command.
const COMMAND: &str = "voxelize";

/// Everything that is decided before the work.
struct Voxelize<'a> {
    args: &'a VoxelizeArgs,
    params: VoxelizeParams,
    device: Device,
    inputs: Inputs,
    outputs: Outputs,
    picture: Option<Picture>,
}

/// A voxelizer and its result.
struct Lane {
    voxelizer: Voxelizer,
    voxels: Voxels,
}

/// Runs the command.
pub(crate) fn run(args: &VoxelizeArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let params = args.params()?;
    params.validate()?;
    let grid = VoxelGrid::new(params.voxel_size, params.range).map_err(Error::from)?.dims();
    let options = args.read.options();
    let decides = format!("{COMMAND} {params:?} {options:?}");
    let (sources, inputs) = Inputs::find(&args.inputs, options)?;
    let picture = args.visualize.as_deref().map(|path| Picture::plan(path, sources.len())).transpose()?;
    args.work.check_picture(picture.is_some())?;
    let device = device::open(device)?;
    let plan = if may_be_many(&args.inputs) { Outputs::of_many } else { Outputs::plan };
    let outputs = plan(args.out.as_deref(), &sources)?;
    let ledger = Ledger::of(&[&outputs], &decides, args.work.resume.resume)?;
    let (out, drawn) = (args.out.as_deref(), args.visualize.as_deref());
    let job = Job { ledger, out, picture: drawn, ..Job::on(&device, COMMAND, &sources, &args.work) };
    job.begin(Begin { params: ParamsRecord { grid, params: params.clone() } }, printer)?;
    job.run(&Voxelize { args, params, device: device.clone(), inputs, outputs, picture }, printer)?;
    if args.inputs.is_empty() && out.is_none() && drawn.is_none() {
        say::hint(
            "these were built-in synthetic sweeps. Next: pointmill voxelize YOUR.bin --out voxels.npz --visualize sweep.png",
        );
    }
    Ok(())
}

impl Voxelize<'_> {
    fn make(&self, device: &Device) -> Result<Lane, Error> {
        let voxelizer = Voxelizer::new(&device.stream()?, &self.params)?;
        Ok(Lane { voxels: voxelizer.output()?, voxelizer })
    }
}

impl Command for Voxelize<'_> {
    type Lane = Station<Lane>;
    type Row = Row;
    type Totals = Totals;

    fn lane(&self) -> Result<Station<Lane>, Failure> {
        Station::new(&self.device, &self.args.work, false, |device| self.make(device))
    }

    fn one(&self, station: &mut Station<Lane>, index: usize, source: &Source) -> Result<Frame<Row>, Trouble> {
        let (scan, read_ms) = timed(|| self.inputs.read(source))?;
        let (cloud, name) = (&scan.cloud, source.name());
        let blame = |e| Trouble::blame("ShapeMismatch", e, &name);
        let make = |device: &Device| self.make(device);
        let called = station.call(&name, blame, make, |Lane { voxelizer, voxels }| {
            voxelizer.run(cloud, voxels)?;
            voxels.stream().synchronize()
        })?;
        let report = called.lane.voxels.report()?;
        let in_range = report.points - report.out_of_range - report.non_finite;
        let (points, columns, voxels) = (cloud.len(), cloud.columns(), report.voxels);
        let of = Row { format: source.format(&scan), points, columns, in_range, voxels, report };
        let mut frame = called.on(Frame::read(index, name.clone(), read_ms, warnings(&scan), of));
        let picture = self.picture.as_ref().filter(|picture| picture.wants_more());
        let start = Instant::now();
        let to = self.outputs.place(index);
        if to.is_none() && picture.is_none() && called.cpu.is_none() {
            return Ok(frame);
        }
        let arrays = called.lane.voxels.read().map_err(blame)?;
        if let Some(to) = to {
            undivided(|| write_result(to, &arrays, &report)).map_err(Failure::from)?;
            (frame.write_ms, frame.out) = (Some(since(start)), Some(shown(to.path)));
        }
        let compare = |cpu: &Called<'_, Lane, ()>| {
            let other = cpu.lane.voxels.read()?;
            let report = (arrays.report != other.report).then_some("report");
            Ok(pointmill::differences(&arrays, &other).into_iter().chain(report).collect())
        };
        frame.cpu = called.compare(compare).map_err(blame)?;
        if let Some(picture) = picture {
            interrupt::check()?;
            picture.add(&name, cloud, &arrays, &self.params)?;
        }
        Ok(frame)
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.points;
        totals.voxels += frame.of.voxels;
        Ok(())
    }

    fn cells(&self, Frame { of, .. }: &Frame<Row>) -> Vec<Cell> {
        let numbers = [of.points, of.in_range, of.voxels].map(grouped);
        ["points", "in range", "voxels"].into_iter().zip(numbers).collect()
    }

    fn finish(&self, _: &mut Totals, _: Vec<Station<Lane>>, _: Counts) -> Result<bool, Failure> {
        self.picture.as_ref().map_or(Ok(()), Picture::write)?;
        Ok(true)
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        let (points, voxels) = (grouped(summary.of.points), grouped(summary.of.voxels));
        let inputs = counted(summary.counts.done, "input");
        let device = summary.run.device_name();
        let times = percentiles(summary.ms.as_ref());
        let mut lines = vec![format!("{inputs}, {points} points, {voxels} voxels on {device}{times}")];
        lines.extend(written("arrays", summary.out.as_deref()));
        lines.extend(written("picture", summary.picture.as_deref()));
        lines
    }
}

#[cfg(test)]
#[path = "../../tests/unit/voxelize_command.rs"]
mod tests;
