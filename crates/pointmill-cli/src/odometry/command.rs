//! Runs `pointmill odometry`. A sweep is an input; sweeps are taken one after the other, and each pose follows from all before it.

use super::args::OdometryArgs;
use super::clock::Clock;
use super::files;
use super::records::{Begin, Row, TimesOf, Totals};
use crate::batch::Refused;
use crate::batch::prelude::*;
use crate::flags::{BatchArgs, Deskew};
use crate::hash::sha256;
use crate::input_poses::PUBLISHED;
use crate::outputs::has_extension;
use crate::text::label;
use crate::track::Track;
use pointmill::pipelines::odometry::{Odometry, OdometryParams, Step, SweepStatus, TimesUse};
use pointmill::{Device, PointCloud, Pose, Rows};
use pointmill_io::{Times, moment_ns};
use pointmill_view::{DriveScene, require_memory};

/// The name of the command.
const COMMAND: &str = "odometry";
/// Why the points of a sweep have no times.
const NO_TIMES: &str =
    "times: expected a column named t, time, timestamp or the like with times of a sweep in s, ms, us or ns, got none";

/// Everything that is decided before the work.
struct Run<'a> {
    args: &'a OdometryArgs,
    params: OdometryParams,
    device: Device,
    inputs: Inputs,
    /// How many sweeps a page is to have, if one is wanted.
    shown: Option<usize>,
}

/// The odometry, and what it found so far.
struct Lane {
    odometry: Odometry,
    track: Track,
    clock: Clock,
    page: Option<DriveScene>,
    /// The column of times of the first sweep that has one.
    times: Option<TimesOf>,
    /// Whether a sweep was read.
    begun: bool,
    /// Why the first sweep that was not tracked was not.
    untracked: Option<String>,
}

/// Runs the command.
pub(crate) fn run(args: &OdometryArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let mut params = args.params();
    params.validate()?;
    let (sources, inputs) = Inputs::find(&args.inputs, args.read.options()?)?;
    // What was taken out is not taken out again.
    params.deskew &= args.deskew == Deskew::On || !sources.iter().any(|source| inputs.is_deskewed(source));
    let paths = sources.iter().filter_map(|s| if let Source::File(path) = s { Some(path.as_path()) } else { None });
    files::check(args, &paths.collect::<Vec<_>>())?;
    let device = device::open(device)?;
    let job = Job {
        name: COMMAND,
        device: Some(&device),
        sources: &sources,
        batch: BatchArgs { fail_fast: args.fail_fast, jobs: 1 },
        verbose: args.verbose,
        ledger: None,
        out: args.out.as_deref(),
        picture: args.visualize.as_deref(),
        writes: args.map.is_some(),
        origin: Some(inputs.origin()),
    };
    job.begin(Begin { params: params.clone() }, printer)?;
    if args.resume {
        say::note("--resume: the run begins with the first sweep, since every pose follows from all sweeps before it");
    }
    let shown = args.visualize.as_deref().filter(|path| has_extension(path, "html")).map(|_| sources.len());
    job.run(&Run { args, params, device: device.clone(), inputs, shown }, printer)
}

impl Lane {
    /// Says once which times were found and whether they are used to deskew, or why there are none.
    fn say(&mut self, found: Option<&Times>, deskew: Deskew) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        match found {
            Some(times) => {
                let used = match (self.odometry.params().deskew, deskew) {
                    (true, _) => "sweeps are deskewed",
                    (false, Deskew::Off) => "sweeps are known, not deskewed",
                    (false, _) => PUBLISHED,
                };
                say::note(format_args!("times of points: column {} in {}; {used}", times.name, times.unit));
            }
            None => say::note(format_args!("{NO_TIMES}; sweeps are taken as they are")),
        }
    }

    /// Keeps a sweep for the page, if there is to be one.
    fn show(&mut self, name: &str, cloud: &PointCloud, intensity: Option<usize>) -> Result<(), Failure> {
        let Some(page) = &mut self.page else { return Ok(()) };
        require_memory(0, cloud.len())?;
        page.push(&label(name), cloud, intensity);
        Ok(())
    }

    /// Adds the pose of a step. Returns its seconds, the metres since the pose before, and whether its stamp was too early.
    fn add(&mut self, step: &Step, stamp_ns: Option<i64>) -> (f64, f64, bool) {
        let moved = self.track.poses().last().map_or(0.0, |last| apart(last, &step.world_from_sensor));
        // The stamp of a sweep that is deskewed to its middle is not when the pose is.
        let deskewed = self.odometry.params().deskew;
        let stamp = stamp_ns.map(|stamp| moment_ns(stamp, step.time.filter(|_| deskewed)));
        let seconds = self.clock.seconds(self.track.last_seconds(), step);
        let moment = self.track.push(step.world_from_sensor, seconds, stamp);
        (moment.seconds, moved, moment.is_late)
    }

    /// Times in seconds as the file counts, or why they are not those of the sweeps before.
    fn usable(&mut self, times: &Times) -> Result<Vec<f64>, String> {
        let first = self.times.get_or_insert_with(|| times.into());
        if *first == times.into() {
            return Ok(times.seconds.iter().map(|after| times.start + after).collect());
        }
        let TimesOf { column, unit } = first;
        let (name, got) = (&times.name, times.unit);
        Err(format!("times: expected {column} in {unit}, as in the first sweep, got {name} in {got}; not used"))
    }
}

impl Run<'_> {
    /// Reads a sweep and takes it. The times go with those of the sweeps before, or are left out with a warning.
    fn sweep(&self, lane: &mut Lane, index: usize, source: &Source) -> Result<Frame<Row>, Trouble> {
        let ((scan, stamp), read_ms) = self.inputs.read_stamped(source)?;
        let (cloud, format, mut notes) = (&scan.cloud, source.format(&scan), warnings(&scan));
        let times = scan.times();
        interrupt::check()?;
        let name = source.name();
        if !matches!(source, Source::Sweep(_)) {
            lane.say(times.as_ref(), self.args.deskew);
        }
        if times.is_none() && self.args.deskew == Deskew::On {
            return Err(Refused::new("MissingField", &name, NO_TIMES).into());
        }
        let times = match times {
            Some(times) => lane.usable(&times).map_err(|odd| notes.warnings.push(odd)).ok(),
            None => {
                if lane.times.is_some() && !cloud.is_empty() {
                    notes.warnings.push(format!("{NO_TIMES}; the sweep is taken as it is"));
                }
                None
            }
        };
        // Points near the origin are aligned; poses are global.
        let pushed = timed(|| lane.odometry.push(cloud.points(), times.as_deref()));
        let (mut step, ms) = pushed.map_err(|e| Trouble::blame("ShapeMismatch", e, &name))?;
        step.world_from_sensor = global(&step.world_from_sensor, self.inputs.origin());
        let (seconds, moved, is_late) = lane.add(&step, stamp);
        if is_late {
            let told = "stamp: it does not come after the time of the sweep before; times go on from sweep to sweep";
            notes.warnings.push(told.into());
        }
        lane.show(&name, cloud, scan.intensity())?;
        if let Some(reason) = self.reason(step.status, cloud) {
            match step.status {
                SweepStatus::TooFewPoints => notes.warnings.push(format!("{reason}; the pose is the prediction")),
                SweepStatus::Lost => notes.warnings.push(format!("lost: {reason}; the pose is the prediction")),
                _ => {}
            }
            lane.untracked.get_or_insert_with(|| format!("{name}: {reason}"));
        }
        match step.times {
            TimesUse::Backwards => {
                notes.warnings.push("times: they run back from the sweep before; used within the sweep alone".into());
            }
            TimesUse::Unusable => {
                notes.warnings.push("times: they span more than 2 s; the sweep is taken as it is".into());
            }
            _ => {}
        }
        let of = Row::new(format.into(), &step, seconds, moved);
        let frame = Frame::read(index, name, read_ms, notes, of);
        Ok(Frame { device: Some(self.device.to_string()), ms: Some(ms), ..frame })
    }

    /// Why a sweep was not tracked, if it was not.
    fn reason(&self, status: SweepStatus, cloud: &PointCloud) -> Option<String> {
        let reason = match status {
            SweepStatus::TooFewPoints => return Some(self.too_few(cloud)),
            SweepStatus::Degenerate => "its surfaces do not determine all directions",
            SweepStatus::NotConverged => "the last step of the alignment was not short",
            SweepStatus::Lost => "too few points have a neighbour in the map",
            _ => return None,
        };
        Some(reason.into())
    }

    /// Why a sweep has too few points, where none can be used.
    fn too_few(&self, cloud: &PointCloud) -> String {
        let [near, far] = [self.params.min_range, self.params.max_range];
        let mut counts = [0; 3];
        for p in cloud.points().iter_xyz() {
            let range = p.map(|x| f64::from(x).powi(2)).iter().sum::<f64>().sqrt();
            let whys = [range > far, range < near, range.is_nan()];
            counts.iter_mut().zip(whys).for_each(|(count, why)| *count += usize::from(why));
        }
        let whys = [
            format!("farther than --max-range {far} m"),
            format!("nearer than --min-range {near} m"),
            "NaN".to_owned(),
        ];
        let found: Vec<_> = counts.into_iter().zip(whys).filter(|(count, _)| *count > 0).collect();
        match &found[..] {
            [(count, why)] if *count == cloud.len() => format!("too few points: all points are {why}"),
            [_, ..] if counts.iter().sum::<usize>() == cloud.len() => {
                let found: Vec<_> = found.iter().map(|(count, why)| format!("{} are {why}", grouped(*count))).collect();
                format!("too few points: {}", found.join(", "))
            }
            _ => "too few points".into(),
        }
    }
}

/// Metres between two poses.
fn apart(a: &Pose, b: &Pose) -> f64 {
    let by = a.inverse().compose(b).translation();
    by.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A pose of points about an origin as one of points about zero.
fn global(pose: &Pose, origin: [f64; 3]) -> Pose {
    let back = origin.map(|o| -o);
    if origin == [0.0; 3] { *pose } else { pose.about(back, back) }
}

impl Command for Run<'_> {
    type Lane = Lane;
    type Row = Row;
    type Totals = Totals;
    const INPUT: &'static str = "sweep";

    fn lane(&self) -> Result<Lane, Failure> {
        let odometry = Odometry::new(&self.device.stream()?, &self.params)?;
        Ok(Lane {
            odometry,
            track: Track::default(),
            clock: Clock::default(),
            page: self.shown.map(DriveScene::new),
            times: None,
            begun: false,
            untracked: None,
        })
    }

    fn one(&self, lane: &mut Lane, index: usize, source: &Source) -> Result<Frame<Row>, Trouble> {
        let before = lane.odometry.len();
        let done = self.sweep(lane, index, source);
        if let Err(Trouble::Input(refused)) = &done
            && lane.odometry.len() == before
        {
            // A sweep that cannot be used was still driven: the pose goes on as expected.
            let nothing = PointCloud::new(Vec::new(), 3).map_err(pointmill::Error::from)?;
            let Ok(mut step) = lane.odometry.push(Rows::from(&nothing), None) else {
                // Memory that was refused amid a sweep left half a map, which ends the drive.
                return Err(Failure::OutOfMemory(refused.iter().map(ToString::to_string).collect()).into());
            };
            step.world_from_sensor = global(&step.world_from_sensor, self.inputs.origin());
            lane.add(&step, source.stamp_ns());
            lane.show(&source.name(), &nothing, None)?;
        }
        done
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.statuses.count(frame.of.status);
        totals.length += frame.of.moved;
        Ok(())
    }

    fn so_far(&self, totals: &Totals) -> String {
        format!(" {:.0} m", totals.length)
    }

    fn cells(&self, Frame { of, .. }: &Frame<Row>) -> Vec<Cell> {
        vec![
            ("points", grouped(of.points)),
            ("status", format!("  {:>14}", of.status)),
            ("moved m", format!("{:.3}", of.moved)),
            ("map", grouped(of.map_points)),
        ]
    }

    fn finish(&self, totals: &mut Totals, lanes: Vec<Lane>, _: Counts) -> Result<bool, Failure> {
        let Some(Lane { odometry, track, page, times, untracked, .. }) = lanes.into_iter().next() else {
            return Ok(true);
        };
        interrupt::check()?;
        // A sum of nothing is negative zero.
        totals.length = track.poses().windows(2).map(|pair| apart(&pair[0], &pair[1])).fold(0.0, |sum, by| sum + by);
        totals.times = times;
        totals.untracked = untracked;
        // The poses first: a map or a picture that fails costs nothing else.
        if let Some(out) = &self.args.out {
            track.write(out, &self.args.format_poses)?;
            totals.poses_sha256 = Some(sha256(out)?);
        }
        interrupt::check()?;
        let origin = self.inputs.origin();
        totals.map_points = files::write_map(self.args, &odometry, &track, totals.length, origin, page)?;
        totals.map = self.args.map.as_deref().map(shown);
        Ok(true)
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        let of = &summary.of;
        let mut lines = vec![
            format!(
                "{}, {:.1} m on {}{}",
                counted(summary.counts.done, "sweep"),
                of.length,
                summary.run.device_name(),
                percentiles(summary.ms.as_ref()),
            ),
            of.statuses.lines(),
        ];
        lines.extend(written("poses", summary.out.as_deref()));
        lines.extend(of.poses_sha256.as_ref().map(|sha256| format!("sha256: {sha256}")));
        lines.extend(written("map", of.map.as_deref()));
        lines.extend(written("picture", summary.picture.as_deref()));
        lines
    }

    /// A drive of sweeps that all say nothing has no trajectory. One sweep, or the same sweep again and again, has.
    fn verdict(&self, summary: &Summary<Totals>) -> Result<(), Failure> {
        let Totals { statuses, untracked, .. } = &summary.of;
        match untracked {
            Some(reason) if statuses.tracked == 0 => {
                Err(Failure::No(format!("no sweep was tracked: {}; {reason}", statuses.lines())))
            }
            _ => Ok(()),
        }
    }
}
