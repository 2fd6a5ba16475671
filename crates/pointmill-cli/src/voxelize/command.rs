//! Runs `pointmill voxelize`: each job has a voxelizer that keeps its memory from one input to the
//! next.

use super::args::VoxelizeArgs;
use super::picture::Picture;
use super::records::{Begin, ParamsRecord, Row, Totals};
use super::sweeps::{self, Sweeps};
use crate::batch::InputIssue;
use crate::batch::prelude::*;
use crate::inputs::may_be_many;
use pointmill::voxelize::{VoxelizeParams, Voxelizer, Voxels};
use pointmill::{Aabb, Argument, Device, Error, PointCloud, Stream, VoxelGrid};
use pointmill_data::write_result;
use pointmill_io::About;
use std::time::Instant;

/// The name of the command.
const COMMAND: &str = "voxelize";

/// Everything that is decided before the work.
struct Voxelize<'a> {
    args: &'a VoxelizeArgs,
    /// With `--range auto` each input has a range of its own.
    params: VoxelizeParams,
    device: Device,
    inputs: Inputs,
    sweeps: Option<Sweeps<'a>>,
    outputs: Outputs,
    picture: Option<Picture>,
}

/// A voxelizer and its result.
struct Worker {
    voxelizer: Voxelizer,
    voxels: Voxels,
}

impl Worker {
    fn new(stream: &Stream, params: &VoxelizeParams) -> Result<Self, Error> {
        let voxelizer = Voxelizer::new(stream, params)?;
        Ok(Self { voxels: voxelizer.output()?, voxelizer })
    }
}

/// A cloud that is wider is hardly in metres.
const WIDEST: f32 = 20_000.0;
/// Up to so many voxels are few, if the cloud has more points.
const FEW: usize = 8;

/// The longest edge of a box.
fn span(bounds: &Aabb) -> f32 {
    (0..3).map(|axis| bounds.max[axis] - bounds.min[axis]).fold(0.0, f32::max)
}

/// What to do about a cloud that is hardly larger than a voxel; `None` for others.
fn too_few_voxels(params: &VoxelizeParams, bounds: &Aabb) -> Option<String> {
    let (span, voxel) = (span(bounds), params.voxel_size.into_iter().fold(0.0, f32::max));
    let short: f32 = format!("{span:.1e}").parse().unwrap_or(span);
    (span < 2.0 * voxel).then(|| format!("the cloud spans {short} m, a voxel is {voxel} m; lower --voxel-size"))
}

/// What to do about a cloud of which no point is in the range.
fn nothing_in_range(params: &VoxelizeParams, bounds: &Aabb) -> String {
    let span = span(bounds);
    if span > WIDEST {
        let km = span / 1000.0;
        return format!("no point is in the range; the cloud spans {km:.0} km: are these millimetres?");
    }
    let shown = |b: &Aabb| {
        let [[x, y, z], [u, v, w]] = [b.min, b.max];
        format!("x {x}..{u}, y {y}..{v}, z {z}..{w}")
    };
    let (range, bounds) = (shown(&params.range), shown(bounds));
    format!("no point is in the range ({range} m); the points are in {bounds} m; --range auto takes them all")
}

/// Runs the command.
pub(crate) fn run(args: &VoxelizeArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    args.params([0.0; 3])?.validate()?;
    let (mut sources, inputs) = Inputs::find_frames(&args.inputs, args.read.options()?, &args.frames.frames())?;
    let poses = sweeps::poses(args, &mut sources, &inputs)?;
    let params = args.params(inputs.shift())?;
    params.validate()?;
    let auto = args.range.0.is_none();
    let grid = VoxelGrid::new(params.voxel_size, params.range).map_err(Error::from)?.dims();
    let decides = format!("{COMMAND} {params:?} {auto} {:?}", inputs.options());
    let picture =
        args.visualize.as_deref().map(|path| Picture::plan(path, sources.len(), inputs.origin())).transpose()?;
    args.work.check_picture(picture.is_some())?;
    tell_origin(&inputs);
    let device = device::open(device, &sources)?;
    let plan = if may_be_many(&args.inputs) { Outputs::of_many } else { Outputs::plan };
    let outputs = plan(args.out.as_deref(), &sources)?;
    let resume_log = ResumeLog::of(&[&outputs], &decides, args.work.resume.resume)?;
    let (out, drawn) = (args.out.as_deref(), args.visualize.as_deref());
    let origin = Some(inputs.origin());
    let sweeps = poses.map(|poses| Sweeps::new(args.sweeps, &sources, poses));
    let job = Job { resume_log, out, picture: drawn, origin, ..Job::on(&device, COMMAND, &sources, &args.work) };
    job.begin(
        Begin { params: ParamsRecord { auto_range: auto, grid: (!auto).then_some(grid), params: params.clone() } },
        printer,
    )?;
    job.run(&Voxelize { args, params, device: device.clone(), inputs, sweeps, outputs, picture }, printer)?;
    if args.inputs.is_empty() && out.is_none() && drawn.is_none() {
        stderr::hint(
            "these were built-in synthetic sweeps. Next: pointmill voxelize YOUR.bin --out voxels.npz --visualize sweep.png",
        );
    }
    Ok(())
}

impl Voxelize<'_> {
    fn make(&self, device: &Device) -> Result<Worker, Error> {
        Worker::new(&device.stream()?, &self.params)
    }

    /// The parameters of a cloud.
    fn params_of(&self, cloud: &PointCloud) -> Result<VoxelizeParams, Error> {
        let mut params = self.params.clone();
        let auto = self.args.range.0.is_none();
        if let Some(bounds) = auto.then(|| cloud.bounds()).flatten() {
            params.range = *VoxelGrid::around(params.voxel_size, bounds)?.range();
        }
        Ok(params)
    }
}

impl Command for Voxelize<'_> {
    type Worker = OperatorSlot<Worker>;
    type Row = Row;
    type Totals = Totals;

    fn inputs(&self) -> Option<&Inputs> {
        Some(&self.inputs)
    }

    fn worker(&self) -> Result<OperatorSlot<Worker>, Failure> {
        OperatorSlot::new(&self.device, &self.args.work, false, |device| self.make(device))
    }

    fn one(&self, slot: &mut OperatorSlot<Worker>, index: usize, source: &Source) -> Result<Frame<Row>, InputError> {
        let ((mut scan, stamp_ns), mut read_ms) = self.inputs.read_stamped(source)?;
        if let Some(sweeps) = &self.sweeps {
            let stamp = stamp_ns.map(|ns| ns as f64 / 1e9);
            read_ms += timed(|| sweeps.add_earlier(index, &self.inputs, &mut scan, stamp))?.1;
        }
        let (cloud, name) = (&scan.cloud, source.name());
        let blame = |e| match e {
            Error::Argument { argument: Argument::Pick, expected, got } => {
                let reason = format_args!("--pick-column: expected {expected}, got {got}");
                InputIssue::new("ShapeMismatch", &name, reason).into()
            }
            e => InputError::blame("ShapeMismatch", e, &name),
        };
        let params = self.params_of(cloud).map_err(blame)?;
        let make = |device: &Device| self.make(device);
        let called = slot.call(&name, blame, make, |worker| {
            if self.args.range.0.is_none() {
                *worker = Worker::new(worker.voxels.stream(), &params)?;
            }
            let Worker { voxelizer, voxels } = worker;
            voxelizer.run(cloud, voxels)?;
            voxels.stream().synchronize()
        })?;
        let report = called.worker.voxels.report()?;
        let in_range = report.points - report.out_of_range - report.non_finite;
        let (points, columns, voxels) = (cloud.len(), cloud.columns(), report.voxels);
        let range = self.args.range.0.is_none().then_some(params.range);
        let of = Row { format: source.format(&scan), points, columns, range, in_range, voxels, report };
        let mut odd = warnings(&scan);
        let missed = (in_range == 0).then(|| cloud.bounds()).flatten();
        odd.warnings.extend(missed.map(|bounds| nothing_in_range(&params, &bounds)));
        let few = ((1..=FEW).contains(&voxels) && in_range > FEW).then(|| cloud.bounds()).flatten();
        odd.warnings.extend(few.and_then(|bounds| too_few_voxels(&params, &bounds)));
        let mut frame = called.on(Frame::read(index, name.clone(), read_ms, odd, of));
        let picture = self.picture.as_ref().filter(|picture| picture.wants_more());
        let start = Instant::now();
        let to = self.outputs.place(index);
        if to.is_none() && picture.is_none() && called.cpu.is_none() {
            return Ok(frame);
        }
        let arrays = called.worker.voxels.read().map_err(blame)?;
        if let Some(to) = to {
            let about = About { result: &arrays, origin: cloud.origin() };
            undivided(|| write_result(to, &about, &report)).map_err(Failure::from)?;
            (frame.write_ms, frame.out) = (Some(since(start)), Some(shown(to.path)));
        }
        let compare = |cpu: &Called<'_, Worker, ()>| {
            let other = cpu.worker.voxels.read()?;
            let report = (arrays.report != other.report).then_some("report");
            Ok(pointmill::differences(&arrays, &other).into_iter().chain(report).collect())
        };
        frame.cpu = called.compare(compare).map_err(blame)?;
        if let Some(picture) = picture {
            interrupt::check()?;
            picture.add(&name, cloud, &arrays, &params)?;
        }
        Ok(frame)
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.points;
        totals.voxels += frame.of.voxels;
        let report = &frame.of.report;
        totals.over_max_points += report.points_dropped_full_voxel;
        totals.over_max_voxels[0] += report.voxels_dropped;
        totals.over_max_voxels[1] += report.points_dropped_dropped_voxel;
        Ok(())
    }

    fn cells(&self, Frame { of, .. }: &Frame<Row>) -> Vec<Cell> {
        let dropped = of.report.points_dropped_full_voxel + of.report.points_dropped_dropped_voxel;
        let numbers = [of.points, of.in_range, dropped, of.voxels].map(grouped);
        ["points", "in range", "dropped", "voxels"].into_iter().zip(numbers).collect()
    }

    fn finish(&self, _: &mut Totals, _: Vec<OperatorSlot<Worker>>, _: Counts) -> Result<bool, Failure> {
        self.picture.as_ref().map_or(Ok(()), Picture::write)?;
        Ok(true)
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        let (points, voxels) = (grouped(summary.of.points), grouped(summary.of.voxels));
        let inputs = counted(summary.counts.done, "input");
        let device = summary.run.device_name();
        let times = percentiles(summary.ms.as_ref());
        let mut lines = vec![format!("{inputs}, {points} points, {voxels} voxels on {device}{times}")];
        let VoxelizeParams { max_points_per_voxel, max_voxels, .. } = self.params;
        let Totals { over_max_points, over_max_voxels: [voxels, points], .. } = summary.of;
        if let (Some(most), 1..) = (max_points_per_voxel, over_max_points) {
            lines.push(format!("dropped: {} over --max-points {most}", counted(over_max_points, "point")));
        }
        if voxels > 0 {
            let (voxels, points) = (counted(voxels, "voxel"), counted(points, "point"));
            lines.push(format!("dropped: {voxels} with {points} over --max-voxels {max_voxels}"));
        }
        lines.extend(written("arrays", summary.out.as_deref()));
        lines.extend(written("picture", summary.picture.as_deref()));
        lines
    }
}

#[cfg(test)]
#[path = "../../tests/unit/voxelize_command.rs"]
mod tests;
