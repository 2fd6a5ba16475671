//! `pointmill downsample`: clouds with one point for each voxel.

use crate::batch::prelude::*;
use crate::clouds::{CloudArgs, Clouds, Kept, Plan};
use crate::flags::{WorkArgs, names, parse_voxel_size};
use clap::Args;
use pointmill::Device;
use pointmill::downsample::{DownsampleParams, Downsampled, Downsampler, Keep};
use pointmill_data::thinned;
use serde::Serialize;

/// The name of the command.
const COMMAND: &str = "downsample";

/// `pointmill downsample`
#[derive(Debug, Args)]
pub(crate) struct DownsampleArgs {
    /// Edge of a voxel in metres, one value or x,y,z
    #[arg(long, value_name = "A[,B,C]", default_value = "0.2", allow_hyphen_values = true, value_parser = parse_voxel_size)]
    voxel_size: [f32; 3],
    /// Point to keep of each voxel: the mean of its points, the first, the one nearest to the
    /// centre, or one at random. With mean, columns of whole numbers such as classes and rings have
    /// the value of the point nearest to it
    #[arg(long, default_value = "mean", value_parser = names::<Keep>(Keep::NAMES))]
    keep: Keep,
    /// Seed of --keep random. The same seed keeps the same points on every machine
    #[arg(long, value_name = "N", default_value = "0")]
    seed: u64,
    #[command(flatten)]
    clouds: CloudArgs,
    #[command(flatten)]
    work: WorkArgs,
}

/// `begin` of `downsample`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The parameters in effect.
    params: DownsampleParams,
    /// The extension of the files that are written.
    to: String,
}

/// `frame` of `downsample`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the input.
    format: &'static str,
    /// Points of the input.
    points: usize,
    /// Points with a NaN or an infinity in x, y or z, which are dropped.
    non_finite: usize,
    /// Points of the result.
    kept: usize,
    /// The names of the columns, in order.
    columns: Vec<String>,
    /// The names of columns that are not written.
    #[serde(skip)]
    left_out: Vec<String>,
}

struct Downsample<'a> {
    args: &'a DownsampleArgs,
    params: DownsampleParams,
    device: Device,
    clouds: Clouds,
}

/// Runs the command.
pub(crate) fn run(args: &DownsampleArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let params = DownsampleParams { keep: args.keep, seed: args.seed, ..DownsampleParams::new(args.voxel_size) };
    params.validate()?;
    let plan = args.clouds.plan(&format!("{COMMAND} {params:?}"), args.work.resume.resume)?;
    let Plan { sources, clouds, resume_log } = plan;
    let device = device::open(device, &sources)?;
    let (out, origin) = (Some(args.clouds.out.as_path()), Some(clouds.inputs.origin()));
    let picture = args.clouds.see.visualize.as_deref();
    let job = Job { resume_log, out, picture, origin, ..Job::on(&device, COMMAND, &sources, &args.work) };
    job.begin(Begin { params, to: clouds.extension.clone() }, printer)?;
    job.run(&Downsample { args, params, device: device.clone(), clouds }, printer)
}

impl Command for Downsample<'_> {
    type Worker = OperatorSlot<Downsampler>;
    type Row = Row;
    type Totals = Kept;

    fn inputs(&self) -> Option<&Inputs> {
        Some(&self.clouds.inputs)
    }

    fn worker(&self) -> Result<OperatorSlot<Downsampler>, Failure> {
        let make = |device: &Device| Downsampler::new(&device.stream()?, &self.params);
        OperatorSlot::new(&self.device, &self.args.work, false, make)
    }

    fn one(
        &self,
        slot: &mut OperatorSlot<Downsampler>,
        index: usize,
        source: &Source,
    ) -> Result<Frame<Row>, InputError> {
        let (scan, read_ms) = self.clouds.read(source)?;
        let name = source.name();
        let blame = |e| InputError::blame("ShapeMismatch", e, &name);
        let make = |device: &Device| Downsampler::new(&device.stream()?, &self.params);
        let called = slot.call(&name, blame, make, |worker| {
            let thin = worker.run(&scan.cloud)?;
            thin.points().stream().synchronize()?;
            Ok(thin)
        })?;
        let thin = &called.found;
        let left = thinned(&scan, thin, self.params.keep).map_err(blame)?;
        let written = self.clouds.write(index, &left, &scan)?;
        let mut notes = Notes::of(&written.warnings);
        let report = thin.report();
        if report.kept == 0 && report.points > 0 {
            notes.warnings.push("no point is left, since no point is finite".into());
        }
        let (columns, left_out) = (written.columns, written.left_out);
        let (format, points) = (source.format(&scan), report.points);
        let of = Row { format, points, non_finite: report.non_finite, kept: report.kept, columns, left_out };
        let mut frame = called.on(Frame::read(index, name.clone(), read_ms, notes, of));
        let compare = |cpu: &Called<'_, Downsampler, Downsampled>| {
            let same = |a: &[f32], b: &[f32]| a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits()));
            let points = (!same(&thin.read()?, &cpu.found.read()?)).then_some("points");
            let indices = (thin.kept_indices()? != cpu.found.kept_indices()?).then_some("indices");
            let report = (report != cpu.found.report()).then_some("report");
            Ok([points, indices, report].into_iter().flatten().collect())
        };
        frame.cpu = called.compare(compare).map_err(blame)?;
        (frame.write_ms, frame.out) = (Some(written.ms), Some(written.out));
        Ok(frame)
    }

    fn add(&self, totals: &mut Kept, frame: &mut Frame<Row>) -> Result<(), Failure> {
        let Row { points, kept, columns, left_out, .. } = &mut frame.of;
        totals.add([*points, *kept], columns, std::mem::take(left_out));
        Ok(())
    }

    fn cells(&self, Frame { of, .. }: &Frame<Row>) -> Vec<Cell> {
        let numbers = [of.points, of.non_finite, of.kept].map(grouped);
        ["points", "not finite", "kept"].into_iter().zip(numbers).collect()
    }

    fn lines(&self, summary: &Summary<Kept>) -> Vec<String> {
        let (device, times) = (summary.run.device_name(), percentiles(summary.ms.as_ref()));
        summary.of.lines(summary.counts.done, &format!(" on {device}{times}"), &self.clouds)
    }
}
