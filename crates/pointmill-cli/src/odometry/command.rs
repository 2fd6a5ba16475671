//! Runs `pointmill odometry`. A sweep is an input; sweeps are taken one after the other.

use super::args::OdometryArgs;
use super::files;
use super::records::{Begin, Row, Totals};
use crate::batch::prelude::*;
use crate::drive::{PosesSoFar, Scans};
use crate::flags::{BatchArgs, Jobs};
use pointmill::{Device, Pose};
use pointmill_data::runs::OdometryRun;
use pointmill_slam::odometry::OdometryParams;

/// Everything that is decided before the work.
struct Run<'a> {
    args: &'a OdometryArgs,
    params: OdometryParams,
    sensor: Option<Pose>,
    device: Device,
    inputs: Inputs,
    /// The number of sweeps that were asked for.
    sweeps: usize,
    poses: PosesSoFar,
}

/// Runs the command.
pub(crate) fn run(args: &OdometryArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let mut params = args.params();
    params.validate()?;
    let (sources, inputs) =
        Inputs::find_drive(&args.inputs, args.read.options()?, &args.frames.frames(), &stderr::Stderr)?;
    params.deskew = args.deskew.applies_to(&sources, &inputs);
    files::check(args, &sources.iter().filter_map(Source::path).collect::<Vec<_>>())?;
    let sensor = args.sensor.pose(&sources)?;
    let device = device::open(device, &sources)?;
    let job = Job {
        device: Some(&device),
        verbose: args.verbose,
        out: args.out.as_deref(),
        picture: args.visualize.as_deref(),
        writes: args.map_out.is_some(),
        origin: Some(inputs.origin()),
        in_turn: true,
        ..Job::new("odometry", &sources, BatchArgs { fail_fast: args.fail_fast, jobs: Jobs::Auto })
    };
    job.begin(Begin { sensor_pose: sensor, params: params.clone() }, printer)?;
    let sweeps = sources.len();
    let poses = PosesSoFar::new(args.out.as_deref(), args.format_poses, sweeps, Run::INPUT);
    let ran = job.run(&Run { args, params, sensor, device: device.clone(), inputs, sweeps, poses }, printer);
    PosesSoFar::end(ran)
}

impl Command for Run<'_> {
    type Worker = (OdometryRun, Scans);
    type Row = Row;
    type Totals = Totals;
    const INPUT: &'static str = "sweep";

    fn inputs(&self) -> Option<&Inputs> {
        Some(&self.inputs)
    }

    fn worker(&self) -> Result<Self::Worker, Failure> {
        let run = OdometryRun::new(&self.device.stream()?, &self.params, self.args.deskew, &self.inputs)?;
        let scans = Scans::new(self.args.visualize.as_deref(), self.sweeps, false).with_sensor_pose(self.sensor);
        Ok((run.with_sensor_pose(self.sensor), scans))
    }

    fn one(&self, (run, scans): &mut Self::Worker, index: usize, source: &Source) -> Result<Frame<Row>, InputError> {
        let name = source.name();
        let step = run.push(&self.inputs, source, &stderr::Stderr)?;
        self.poses.follow(run.trajectory(), step.scan.is_ok());
        scans.push(&name, step.scan.as_ref().ok())?;
        let scan = step.scan.map_err(|e| InputError::of_run("ShapeMismatch", e, &name))?;
        let mut notes = warnings(&scan);
        notes.warnings.extend(step.warnings);
        let mut found = step.found;
        found.time = Some(step.seconds);
        let row = Row { format: source.format(&scan).into(), step: found, moved: step.moved };
        let frame = Frame::read(index, name, step.read_ms, notes, row);
        Ok(Frame { device: Some(self.device.to_string()), ms: Some(step.ms), ..frame })
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.length += frame.of.moved;
        Ok(())
    }

    fn progress_suffix(&self, totals: &Totals) -> String {
        format!(" {:.0} m", totals.length)
    }

    fn cells(&self, Frame { of, .. }: &Frame<Row>) -> Vec<Cell> {
        vec![
            ("points", grouped(of.step.points)),
            ("status", format!("  {:>14}", of.step.status)),
            ("moved m", format!("{:.3}", of.moved)),
            ("map", grouped(of.step.map_points)),
        ]
    }

    fn finish(&self, totals: &mut Totals, workers: Vec<Self::Worker>, _: Counts) -> Result<bool, Failure> {
        let Some((run, scans)) = workers.into_iter().next() else { return Ok(true) };
        interrupt::check()?;
        totals.length = run.trajectory().length();
        totals.statuses = run.statuses();
        totals.unsure = run.unsure().to_string();
        totals.voxel_size = run.voxel_size();
        totals.times = run.times_column().cloned();
        totals.untracked = run.untracked().map(Into::into);
        files::write_all(self.args, &run, scans, self.inputs.origin(), totals)?;
        Ok(true)
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        let of = &summary.of;
        let sweeps = counted(summary.counts.done, "sweep");
        let on = format!("{}{}", summary.run.device_name(), percentiles(summary.ms.as_ref()));
        let voxels = of.voxel_size.map_or_else(String::new, |size| format!(", voxels of {size} m"));
        let mut lines = vec![format!("{sweeps}, {:.1} m on {on}{voxels}", of.length), of.statuses.to_string()];
        lines.extend((!of.unsure.is_empty()).then(|| format!("unsure: {}", of.unsure)));
        lines.extend(PosesSoFar::line(summary.out.as_deref(), summary.counts, Self::INPUT));
        lines.extend(of.poses_sha256.as_ref().map(|sha256| format!("sha256: {sha256}")));
        lines.extend(written("map", of.map.as_deref()));
        lines.extend(written("picture", summary.picture.as_deref()));
        if summary.out.is_none() && of.map.is_none() && summary.picture.is_none() {
            lines.push("nothing was written: --out poses.txt writes the poses".into());
        }
        lines
    }

    /// A drive of sweeps that cannot be aligned has no trajectory. One sweep, or the same sweep
    /// again and again, has.
    fn verdict(&self, summary: &Summary<Totals>) -> Result<(), Failure> {
        let Totals { statuses, untracked, .. } = &summary.of;
        match untracked {
            Some(reason) if statuses.tracked == 0 => {
                Err(Failure::No(format!("no sweep was tracked: {statuses}; {reason}")))
            }
            _ => Ok(()),
        }
    }
}
