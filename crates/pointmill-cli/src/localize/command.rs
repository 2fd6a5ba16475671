//! Runs `pointmill localize`. A scan is an input; scans are taken one after the other.

use super::args::LocalizeArgs;
use super::map::MapSource;
use super::records::{Begin, Row, Totals};
use crate::batch::prelude::*;
use crate::drive::{PosesSoFar, Scans, plan_poses};
use crate::flags::{BatchArgs, Jobs};
use crate::ndt::map::MapRequest;
use crate::pose;
use crate::text::titled;
use pointmill::{Device, Pose};
use pointmill_data::runs::LocalizeRun;
use pointmill_slam::localize::{Fix, FixStatus, Localizer, LocalizerParams};
use pointmill_view::{DriveFix, DriveStatus, NdtEllipsoids};

/// Everything that is decided before the work.
struct Run<'a> {
    args: &'a LocalizeArgs,
    params: LocalizerParams,
    start: Option<Pose>,
    sensor: Option<Pose>,
    device: Device,
    inputs: Inputs,
    map: MapSource,
    /// The number of scans that were asked for.
    scans: usize,
    poses: PosesSoFar,
}

/// Runs the command.
pub(crate) fn run(args: &LocalizeArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let mut params = args.params();
    params.validate()?;
    let asked = MapRequest::new(&args.with, f64::INFINITY)?;
    let (sources, inputs) =
        Inputs::find_drive(&args.inputs, args.with.read.options()?, &args.frames.frames(), &stderr::Stderr)?;
    // A region is global, or relative to the origin that the user gave.
    let (origin, shift) = (inputs.origin(), inputs.shift());
    params.region.iter_mut().flat_map(|region| region.iter_mut().enumerate()).for_each(|(k, place)| {
        *place += origin[k % 2] - shift[k % 2];
    });
    if let Some(out) = &args.out {
        plan_poses(out, args.format_poses, &sources.iter().filter_map(Source::path).collect::<Vec<_>>())?;
    }
    args.visualize.as_deref().map(|path| plan(path, &["png", "gif", "html"])).transpose()?;
    let start = args.guess.as_deref().map(pose::read_one).transpose();
    let start = start.map_err(|e| Failure::Usage(format!("--guess: {e}")))?;
    let sensor = args.sensor.pose(&sources)?;
    let device = device::open(device, &sources)?;
    let job = Job {
        out: args.out.as_deref(),
        picture: args.visualize.as_deref(),
        verbose: args.verbose,
        device: Some(&device),
        origin: Some(inputs.origin()),
        in_turn: true,
        ..Job::new("localize", &sources, BatchArgs { fail_fast: args.fail_fast, jobs: Jobs::Auto })
    };
    job.begin(Begin { map: shown(&args.with.map), start, sensor_pose: sensor, params: params.clone() }, printer)?;
    let map = MapSource::open(&asked, args, &device, &sources, printer)?;
    let scans = sources.len();
    let poses = PosesSoFar::new(args.out.as_deref(), args.format_poses, scans, Run::INPUT);
    let ran = job.run(&Run { args, params, start, sensor, device: device.clone(), inputs, map, scans, poses }, printer);
    PosesSoFar::end(ran)
}

/// A fix as it is drawn.
fn drive_fix(fix: &Fix, pose: Pose) -> DriveFix {
    let status = match fix.status {
        status if status.is_fix() => DriveStatus::Fix,
        FixStatus::Rejected => DriveStatus::Rejected,
        _ => DriveStatus::Lost,
    };
    let covariance = fix.covariance.filter(|_| fix.status.is_fix());
    let covariance = covariance.map(|[x, y, z, ..]| [x[0], x[1], x[2], y[1], y[2], z[2]]);
    DriveFix { map_from_sensor: pose, status, covariance }
}

/// What a search found beside the fix, or without a fix: places and scores, which are drawn.
#[derive(Default)]
struct Rivals {
    best: Option<f64>,
    places: Vec<([f64; 3], f64)>,
}

impl Rivals {
    /// None where nothing was searched.
    fn new(fix: &Fix, sensor: Option<&Pose>) -> Option<Self> {
        let best = fix.candidates.first()?.score;
        let place = |pose: &Pose| sensor.map_or(*pose, |sensor| pose.compose(&sensor.inverse())).translation();
        let others = fix.candidates.iter().skip(usize::from(fix.status.is_fix()));
        let places = others.map(|one| (place(&one.registration.target_from_source), one.score)).collect();
        Some(Self { best: fix.status.is_fix().then_some(best), places })
    }
}

/// What is kept for a picture.
#[derive(Default)]
struct Drawn {
    fixes: Vec<DriveFix>,
    /// Of the last search.
    rivals: Rivals,
}

impl Command for Run<'_> {
    type Worker = (LocalizeRun, Scans, Drawn);
    type Row = Row;
    type Totals = Totals;
    const INPUT: &'static str = "scan";

    fn inputs(&self) -> Option<&Inputs> {
        Some(&self.inputs)
    }

    fn worker(&self) -> Result<Self::Worker, Failure> {
        let map = self.map.localizer(&self.params, &self.args.with.read.limits())?;
        let mut localizer = Localizer::new(&self.device.stream()?, map, &self.params)?;
        let start = self.start.map(|start| self.sensor.map_or(start, |sensor| start.compose(&sensor)));
        start.map(|start| localizer.start(&start)).transpose()?;
        let run = LocalizeRun::new(localizer, self.args.with.drop_zeros).with_sensor_pose(self.sensor);
        let scans = Scans::new(self.args.visualize.as_deref(), self.scans, true).with_sensor_pose(self.sensor);
        Ok((run, scans, Drawn::default()))
    }

    fn one(
        &self,
        (run, scans, drawn): &mut Self::Worker,
        index: usize,
        source: &Source,
    ) -> Result<Frame<Row>, InputError> {
        let name = source.name();
        let step = run.push(&self.inputs, source, &stderr::Stderr)?;
        self.poses.follow(run.trajectory(), step.scan.is_ok());
        scans.push(&name, step.scan.as_ref().ok())?;
        drawn.fixes.push(drive_fix(&step.found, run.trajectory().last().unwrap_or(step.found.map_from_sensor)));
        if let Some(rivals) = Rivals::new(&step.found, self.sensor.as_ref()) {
            drawn.rivals = rivals;
        }
        let scan = step.scan.map_err(|e| InputError::of_run("BadValue", e, &name))?;
        let mut notes = warnings_of_rows(&scan);
        notes.warnings.extend(step.warnings);
        let row = Row { format: source.format(&scan).into(), fix: step.found };
        let frame = Frame::read(index, name, step.read_ms, notes, row);
        Ok(Frame { device: Some(self.device.to_string()), ms: Some(step.ms), ..frame })
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.map_cells = totals.map_cells.max(frame.of.fix.map_cells);
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
            ("from prediction, m", number(*distance)),
            ("nvtl", number(registration.as_ref().map(|found| found.fit.nvtl))),
        ]
    }

    fn finish(&self, totals: &mut Totals, workers: Vec<Self::Worker>, _: Counts) -> Result<bool, Failure> {
        self.map.count(totals);
        interrupt::check()?;
        let Some((run, mut scans, drawn)) = workers.into_iter().next() else { return Ok(true) };
        totals.statuses = run.statuses();
        let trajectory = run.trajectory();
        // The poses first: a picture that fails costs nothing else.
        if let Some(out) = &self.args.out {
            totals.poses_sha256 = Some(PosesSoFar::write(trajectory, out, self.args.format_poses)?);
        }
        interrupt::check()?;
        if let Some(path) = &self.args.visualize {
            let poses = trajectory.poses();
            let (map, origin) = self.map.cells(poses, self.params.max_range, &self.args.with.read.limits())?;
            let way = format!("{}, {} with a fix", counted(poses.len(), "scan"), grouped(totals.statuses.fixes()));
            let cells = format!("{} cells", grouped(map.means.len()));
            scans.fixes(drawn.fixes, NdtEllipsoids { means: &map.means, covariances: &map.covariances })?;
            scans.rivals(drawn.rivals.best, drawn.rivals.places);
            scans.draw(path, &map.means, poses, &format!("{}; {cells}", titled(&way, origin)))?;
        }
        Ok(true)
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        let (of, scans) = (&summary.of, counted(summary.counts.done, "scan"));
        let on = format!("{}{}", self.device, percentiles(summary.ms.as_ref()));
        let mut lines = vec![format!("{scans} in {} cells on {on}", grouped(of.map_cells)), of.statuses.to_string()];
        lines.extend(PosesSoFar::line(summary.out.as_deref(), summary.counts, Self::INPUT));
        lines.extend(of.poses_sha256.as_ref().map(|sha256| format!("sha256: {sha256}")));
        lines.extend(written("picture", summary.picture.as_deref()));
        lines
    }

    fn verdict(&self, summary: &Summary<Totals>) -> Result<(), Failure> {
        match summary.counts.done - summary.of.statuses.fixes() {
            0 => Ok(()),
            without => Err(Failure::No(format!("no fix: {without} of {}", counted(summary.counts.done, "scan")))),
        }
    }
}
