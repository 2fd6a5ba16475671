//! Runs `pointmill localize`. A scan is an input; scans are taken one after the other.

use super::args::LocalizeArgs;
use super::records::{Begin, Row, Totals};
use crate::batch::prelude::*;
use crate::flags::BatchArgs;
use crate::ndt::map::{Asked, Map};
use crate::pose;
use pointmill::pipelines::localize::{Fix, Localizer, LocalizerParams};
use pointmill::{Device, Pose, Rows};
use pointmill_io::{PoseFormat, Poses, write_poses};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Everything that is decided before the work.
struct Run<'a> {
    args: &'a LocalizeArgs,
    params: LocalizerParams,
    start: Option<Pose>,
    device: Device,
    inputs: Inputs,
    map: Map,
}

/// The localizer, and the poses so far.
struct Lane {
    localizer: Localizer,
    poses: Vec<Pose>,
}

/// Runs the command.
pub(crate) fn run(args: &LocalizeArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let params = args.params();
    params.validate()?;
    let asked = Asked::new(&args.with, f64::INFINITY)?;
    let (sources, inputs) = Inputs::find(&args.inputs, args.with.read.options())?;
    if let Some(out) = &args.out {
        let paths: Vec<_> = sources.iter().filter_map(Source::path).collect();
        plan_file("--out", out, &["txt"], &paths)?;
    }
    let start = args.start.as_deref().map(pose::read_one).transpose();
    let start = start.map_err(|e| Failure::Usage(format!("--start: {e}")))?;
    let device = device::open(device)?;
    let job = Job {
        out: args.out.as_deref(),
        verbose: args.verbose,
        device: Some(&device),
        ..Job::new("localize", &sources, BatchArgs { fail_fast: args.fail_fast, jobs: 1 })
    };
    job.begin(Begin { map: shown(&args.with.map), start, params: params.clone() }, printer)?;
    let map = asked.load(&[], &device, &sources, printer)?;
    job.run(&Run { args, params, start, device: device.clone(), inputs, map }, printer)
}

impl Command for Run<'_> {
    type Lane = Lane;
    type Row = Row;
    type Totals = Totals;
    const INPUT: &'static str = "scan";

    fn lane(&self) -> Result<Lane, Failure> {
        let mut localizer = Localizer::new(&self.device.stream()?, Arc::clone(&self.map.grid), &self.params)?;
        self.start.as_ref().map(|start| localizer.start(start)).transpose()?;
        Ok(Lane { localizer, poses: Vec::new() })
    }

    fn one(&self, lane: &mut Lane, index: usize, source: &Source) -> Result<Frame<Row>, Trouble> {
        let name = source.name();
        let read = self.inputs.read_for_map(source, self.args.with.drop_zeros);
        let (scan, _, read_ms) = match read {
            Ok(read) => read,
            Err(e) => {
                // A scan that cannot be read was still taken: the pose goes on as expected.
                let nothing: &[[f64; 3]] = &[];
                let fix = lane.localizer.push(Rows::from(nothing), None)?;
                lane.poses.push(fix.map_from_sensor);
                return Err(e.into());
            }
        };
        interrupt::check()?;
        let pushed = timed(|| lane.localizer.push(rows(&scan)?, None));
        let (fix, ms) = pushed.map_err(|e| Trouble::blame("BadValue", e, &name))?;
        lane.poses.push(fix.map_from_sensor);
        let mut notes = warnings_of_rows(&scan);
        notes.warnings.extend(fix.rejection.map(|why| format!("no fix: {why}; the pose is the prediction")));
        let row = Row { format: source.format(&scan).into(), fix };
        let frame = Frame::read(index, name, read_ms, notes, row);
        Ok(Frame { device: Some(self.device.to_string()), ms: Some(ms), ..frame })
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.statuses.count(frame.of.fix.status);
        Ok(())
    }

    fn cells(&self, Frame { of: Row { fix, .. }, .. }: &Frame<Row>) -> Vec<Cell> {
        let number = |x: Option<f64>| x.map_or_else(String::new, |x| format!("{x:.3}"));
        let Fix { map_from_sensor, distance, registration, .. } = fix;
        let [x, y, _, _, _, yaw] = map_from_sensor.xyzrpy();
        vec![
            ("status", format!("  {:>8}", fix.status)),
            ("x", format!("{x:.3}")),
            ("y", format!("{y:.3}")),
            ("yaw", format!("{:.2}", yaw.to_degrees())),
            ("off m", number(*distance)),
            ("nvtl", number(registration.as_ref().map(|found| found.fit.nvtl))),
        ]
    }

    fn finish(&self, totals: &mut Totals, lanes: Vec<Lane>, _: Counts) -> Result<bool, Failure> {
        totals.map_cells = self.map.grid.len();
        totals.map_ms = self.map.ms;
        totals.map_warnings.clone_from(&self.map.warnings);
        interrupt::check()?;
        if let (Some(out), Some(lane)) = (&self.args.out, lanes.into_iter().next()) {
            undivided(|| write_poses(out, &Poses { poses: lane.poses, times: None }, PoseFormat::Kitti))?;
            let bytes = std::fs::read(out).map_err(Failure::io(out, "read"))?;
            totals.poses_sha256 = Some(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect());
        }
        Ok(true)
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        let (of, scans) = (&summary.of, counted(summary.counts.done, "scan"));
        let on = percentiles(summary.ms.as_ref());
        let mut lines =
            vec![format!("{scans} in {} cells on {}{on}", grouped(of.map_cells), self.device), of.statuses.line()];
        lines.extend(written("poses", summary.out.as_deref()));
        lines.extend(of.poses_sha256.as_ref().map(|sha256| format!("sha256: {sha256}")));
        lines
    }

    fn verdict(&self, summary: &Summary<Totals>) -> Result<(), Failure> {
        match summary.counts.done - summary.of.statuses.fixes() {
            0 => Ok(()),
            without => Err(Failure::No(format!("no fix: {without} of {} scan(s)", summary.counts.done))),
        }
    }
}
