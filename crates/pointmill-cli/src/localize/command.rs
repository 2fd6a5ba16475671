//! Runs `pointmill localize`. A scan is an input; scans are taken one after the other.

use super::args::LocalizeArgs;
use super::picture::Scans;
use super::records::{Begin, Row, Totals};
use crate::batch::prelude::*;
use crate::flags::BatchArgs;
use crate::hash::sha256;
use crate::ndt::map::{Asked, Map};
use crate::pose;
use crate::track::Track;
use pointmill::pipelines::localize::{Fix, Localizer, LocalizerParams};
use pointmill::{Device, Error, PointCloud, Pose, Rows};
use pointmill_data::BlockMap;
use std::sync::Arc;

/// Seconds from scan to scan where nothing tells.
const PERIOD: f64 = 0.1;

/// Everything that is decided before the work.
struct Run<'a> {
    args: &'a LocalizeArgs,
    params: LocalizerParams,
    start: Option<Pose>,
    device: Device,
    inputs: Inputs,
    map: Of,
    /// The number of scans that were asked for.
    scans: usize,
}

/// The map: all of it, or its blocks as they are needed.
enum Of {
    Whole(Map),
    Blocks(BlockMap),
}

/// The localizer, and the poses so far.
struct Lane {
    localizer: Localizer,
    track: Track,
    scans: Scans,
}

/// Runs the command.
pub(crate) fn run(args: &LocalizeArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let mut params = args.params();
    params.validate()?;
    let asked = Asked::new(&args.with, f64::INFINITY)?;
    let (sources, inputs) = Inputs::find(&args.inputs, args.with.read.options()?)?;
    // A region is global, or relative to the origin that the user gave.
    let (origin, shift) = (inputs.origin(), inputs.shift());
    params.region.iter_mut().flat_map(|region| region.iter_mut().enumerate()).for_each(|(k, place)| {
        *place += origin[k % 2] - shift[k % 2];
    });
    if let Some(out) = &args.out {
        let beside = args.start.as_deref().into_iter().chain([args.with.map.as_path()]);
        let paths: Vec<_> = sources.iter().filter_map(Source::path).chain(beside).collect();
        plan_file("--out", out, &["txt"], &paths)?;
    }
    args.visualize.as_deref().map(|path| plan(path, &["png", "html"])).transpose()?;
    let start = args.start.as_deref().map(pose::read_one).transpose();
    let start = start.map_err(|e| Failure::Usage(format!("--start: {e}")))?;
    let device = device::open(device)?;
    let job = Job {
        out: args.out.as_deref(),
        picture: args.visualize.as_deref(),
        verbose: args.verbose,
        device: Some(&device),
        origin: Some(inputs.origin()),
        ..Job::new("localize", &sources, BatchArgs { fail_fast: args.fail_fast, jobs: 1 })
    };
    job.begin(Begin { map: shown(&args.with.map), start, params: params.clone() }, printer)?;
    // A search in the whole map needs all blocks.
    let blocks = if args.start.is_some() || args.region.is_some() { asked.blocks()? } else { None };
    let map = match blocks {
        Some(blocks) => Of::Blocks(blocks),
        None => Of::Whole(asked.load(&[], &device, &sources, printer)?),
    };
    let scans = sources.len();
    job.run(&Run { args, params, start, device: device.clone(), inputs, map, scans }, printer)
}

impl Run<'_> {
    /// A scan that cannot be used was still taken: the pose goes on as expected.
    fn skip(&self, lane: &mut Lane, source: &Source, stamp: Option<i64>) -> Result<(), Failure> {
        let nothing = PointCloud::new(Vec::new(), 3).map_err(Error::from)?;
        let fix = lane.localizer.push(Rows::from(&nothing), None)?;
        lane.add(&fix, stamp);
        lane.scans.push(&source.name(), &nothing, None)
    }

    /// The means of the cells that are drawn, in global coordinates, and the origin of the map. They are the means of all cells, or of a map by blocks those that poses reach.
    fn means(&self, poses: &[Pose]) -> Result<(Vec<[f64; 3]>, [f64; 3]), Failure> {
        let (cells, lattice) = match &self.map {
            Of::Whole(Map { grid, .. }) => (grid.read()?, *grid.lattice()),
            Of::Blocks(map) => {
                let centres: Vec<_> = poses.iter().map(|pose| [0, 1].map(|axis| pose.translation()[axis])).collect();
                let near = map.near(&centres, self.params.max_range)?;
                map.read(&near, &self.args.with.read.limits())?
            }
        };
        let origin = lattice.origin();
        Ok((cells.mean.iter().map(|mean| [0, 1, 2].map(|axis| mean[axis] + origin[axis])).collect(), origin))
    }
}

impl Lane {
    /// Adds the pose of a fix; whether its stamp was too early.
    fn add(&mut self, fix: &Fix, stamp: Option<i64>) -> bool {
        let seconds = self.track.last_seconds().map_or(0.0, |last| last + PERIOD);
        self.track.push(fix.map_from_sensor, seconds, stamp).is_late
    }
}

impl Command for Run<'_> {
    type Lane = Lane;
    type Row = Row;
    type Totals = Totals;
    const INPUT: &'static str = "scan";

    fn lane(&self) -> Result<Lane, Failure> {
        let map = match &self.map {
            Of::Whole(map) => Arc::clone(&map.grid).into(),
            Of::Blocks(map) => map.localizer_map(&self.params, &self.args.with.read.limits())?,
        };
        let mut localizer = Localizer::new(&self.device.stream()?, map, &self.params)?;
        self.start.as_ref().map(|start| localizer.start(start)).transpose()?;
        let scans = Scans::new(self.args.visualize.as_deref(), self.scans);
        Ok(Lane { localizer, track: Track::default(), scans })
    }

    fn one(&self, lane: &mut Lane, index: usize, source: &Source) -> Result<Frame<Row>, Trouble> {
        let name = source.name();
        let ((scan, stamp), read_ms) = match self.inputs.read_stamped(source) {
            Ok(read) => read,
            Err(e) => {
                self.skip(lane, source, source.stamp_ns())?;
                return Err(e.into());
            }
        };
        let scan = if self.args.with.drop_zeros { scan.without_zeros().0 } else { scan };
        interrupt::check()?;
        let pushed = timed(|| lane.localizer.push(rows(&scan)?, None));
        let (fix, ms) = match pushed {
            Err(e) => {
                self.skip(lane, source, stamp)?;
                return Err(Trouble::blame("BadValue", e, &name));
            }
            Ok(pushed) => pushed,
        };
        let mut notes = warnings_of_rows(&scan);
        if lane.add(&fix, stamp) {
            let told = "stamp: it does not come after the time of the scan before; times go on from scan to scan";
            notes.warnings.push(told.into());
        }
        lane.scans.push(&name, &scan.cloud, scan.intensity())?;
        notes.warnings.extend(fix.rejection.map(|why| format!("no fix: {why}; the pose is the prediction")));
        let row = Row { format: source.format(&scan).into(), fix };
        let frame = Frame::read(index, name, read_ms, notes, row);
        Ok(Frame { device: Some(self.device.to_string()), ms: Some(ms), ..frame })
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        let fix = &frame.of.fix;
        totals.statuses.count(fix.status);
        totals.map_cells = totals.map_cells.max(fix.map_cells);
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
        if let Of::Whole(map) = &self.map {
            totals.map_cells = map.grid.len();
            totals.map_ms = map.ms;
            totals.map_warnings.clone_from(&map.warnings);
        }
        interrupt::check()?;
        let Some(Lane { track, scans, .. }) = lanes.into_iter().next() else { return Ok(true) };
        // The poses first: a picture that fails costs nothing else.
        if let Some(out) = &self.args.out {
            track.write(out, &self.args.format_poses)?;
            totals.poses_sha256 = Some(sha256(out)?);
        }
        interrupt::check()?;
        if let Some(path) = &self.args.visualize {
            let (means, origin) = self.means(track.poses())?;
            scans.draw(path, (&means, origin), track.poses(), totals.statuses.fixes())?;
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
        lines.extend(written("picture", summary.picture.as_deref()));
        lines
    }

    fn verdict(&self, summary: &Summary<Totals>) -> Result<(), Failure> {
        match summary.counts.done - summary.of.statuses.fixes() {
            0 => Ok(()),
            without => Err(Failure::No(format!("no fix: {without} of {} scan(s)", summary.counts.done))),
        }
    }
}
