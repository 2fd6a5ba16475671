//! Runs `pointmill ndt score` and `pointmill ndt align`. A scan is an input; the map is read or
//! made once.

use super::args::{AlignArgs, MatchArgs, ScoreArgs};
use super::map::{Map, MapRequest};
use super::picture::{At, write_alignment, write_score};
use super::records::{AlignPose, MatchBegin, MatchRow, MatchTotals, PoseRecord, ScorePose};
use super::report;
use crate::batch::Shared;
use crate::batch::prelude::*;
use crate::drive::plan_poses;
use crate::inputs::{require_format, stdin_twice};
use crate::stderr;
use pointmill::ndt::{NdtAlignParams, NdtFit, NdtGrid, NdtRegistration};
use pointmill::{Device, Error, Pose};
use pointmill_data::runs::{PoseFrames, PoseNote, Trajectory, TrajectoryFormat};
use pointmill_io::Place;
use pointmill_slam::localize::LocalizerParams;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Said where no guess is given.
const NO_GUESS: &str = "no --guess: started at the identity";

/// What is done with every scan.
struct Match<'a> {
    args: &'a MatchArgs,
    /// `ndt align`; `None` for `ndt score`.
    align: Option<Align<'a>>,
    inputs: Inputs,
    device: Device,
    map: Map,
    values: Vec<Pose>,
    /// The grid on the CPU, where it is not on the device.
    others: Shared<NdtGrid>,
    picture: Option<&'a Path>,
    /// Whether a guess was given.
    guessed: bool,
}

/// How scans are aligned, and where their poses are written.
#[derive(Clone, Copy)]
struct Align<'a> {
    params: NdtAlignParams,
    out: Option<&'a Path>,
    format: TrajectoryFormat,
}

/// The result of a scan at all poses.
enum Found {
    Scored(Vec<NdtFit>),
    Aligned(Vec<NdtRegistration>),
}

/// Runs `ndt score`.
pub(super) fn score(args: &ScoreArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    run("ndt score", &args.matched, &args.pose, None, args.visualize.as_deref(), device, printer)
}

/// Runs `ndt align`.
pub(super) fn align(args: &AlignArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let &AlignArgs { max_iterations, step_size, epsilon, format_poses: format, .. } = args;
    let params = NdtAlignParams { step_size, epsilon, max_iterations, ..NdtAlignParams::default() };
    let (picture, align) = (args.visualize.as_deref(), Align { params, out: args.out.as_deref(), format });
    run("ndt align", &args.matched, &args.guess, Some(align), picture, device, printer)
}

fn run(
    name: &'static str,
    args: &MatchArgs,
    poses: &[PathBuf],
    align: Option<Align<'_>>,
    picture: Option<&Path>,
    device: &str,
    printer: &mut Printer,
) -> Result<(), Failure> {
    if is_stdin(&args.scan) {
        if is_stdin(&args.with.map) {
            return Err(stdin_twice().into());
        }
        require_format(&args.with.read.options()?)?;
    }
    let params = align.map(|align| align.params);
    let moved = params.map_or(0.0, |params| params.max_iterations as f64 * params.step_size);
    let asked = MapRequest::new(&args.with, moved)?;
    params.map_or(Ok(()), |params| params.validate())?;
    if !is_one_file(&args.scan) {
        require_one("--visualize", picture, "scan")?;
    }
    let pictures: &[&str] = if align.is_some() { &["png", "gif", "html"] } else { &["png", "html"] };
    picture.map(|path| plan(path, pictures)).transpose()?;
    let (options, frames) = (args.with.read.options()?, args.frames.frames());
    let (sources, inputs) = Inputs::find_frames(std::slice::from_ref(&args.scan), options, &frames)?;
    let out = align.and_then(|align| align.out);
    if let Some(Align { out: Some(out), format, .. }) = align {
        plan_poses(out, format, &sources.iter().filter_map(Source::path).collect::<Vec<_>>())?;
    }
    let device = device::open(device, &sources)?;
    let resume_log = ResumeLog::of(&[], "", args.work.resume.resume)?;
    let job =
        Job { resume_log, out, picture, origin: Some(inputs.origin()), ..Job::on(&device, name, &sources, &args.work) };
    let (map, scan) = (shown(&args.with.map), shown(&args.scan));
    job.begin(MatchBegin { map, scan, params: asked.params(), align: params }, printer)?;
    if align.is_some() && poses.is_empty() {
        stderr::note(NO_GUESS);
    }
    let map = asked.load(poses, &device, &sources, printer)?;
    let values = map.poses.iter().map(|(_, pose)| *pose).collect();
    let others = Shared::default();
    let guessed = !poses.is_empty();
    job.run(&Match { args, align, inputs, device: device.clone(), map, values, others, picture, guessed }, printer)
}

impl Match<'_> {
    /// A warning where even the best alignment of a scan fits badly. An alignment from a guess that
    /// is far off ends as well, at a place near the guess.
    fn doubt(&self, found: &Found, best: Option<usize>) -> Option<String> {
        let (Found::Aligned(all), best) = (found, best?) else { return None };
        let least = LocalizerParams::default().least_nvtl(self.map.grid.lattice().unit());
        let fit = all[best].fit;
        let place = || if self.guessed { "give a guess that is nearer" } else { NO_GUESS };
        (fit.nvtl < least).then(|| {
            format!("low-likelihood: nvtl {:.2} is below {least:.2}; the pose may be wrong; {}", fit.nvtl, place())
        })
    }

    /// The grid on a device.
    fn on(&self, device: &Device) -> Result<Arc<NdtGrid>, Error> {
        if device.to_string() == self.device.to_string() && device.threads() == self.device.threads() {
            return Ok(Arc::clone(&self.map.grid));
        }
        let grid = &self.map.grid;
        self.others.get(device, || NdtGrid::from_cells(grid.read()?, *grid.lattice(), &device.stream()?))
    }

    fn records(&self, found: &Found) -> Vec<PoseRecord> {
        let poses = self.map.poses.iter().cloned().enumerate();
        let score = |((index, (pose, target_from_source)), &fit): ((usize, (String, Pose)), &NdtFit)| {
            PoseRecord::Score(ScorePose { index, pose, target_from_source, fit })
        };
        let align = |((index, (guess, _)), found): ((usize, (String, Pose)), &NdtRegistration)| {
            PoseRecord::Align(Box::new(AlignPose { index, guess, found: found.clone() }))
        };
        match found {
            Found::Scored(fits) => poses.zip(fits).map(score).collect(),
            Found::Aligned(all) => poses.zip(all).map(align).collect(),
        }
    }
}

impl Command for Match<'_> {
    type Worker = OperatorSlot<Arc<NdtGrid>>;
    type Row = MatchRow;
    type Totals = MatchTotals;
    const INPUT: &'static str = "scan";

    fn inputs(&self) -> Option<&Inputs> {
        Some(&self.inputs)
    }

    fn worker(&self) -> Result<Self::Worker, Failure> {
        OperatorSlot::new(&self.device, &self.args.work, false, |device| self.on(device))
    }

    fn one(&self, slot: &mut Self::Worker, index: usize, source: &Source) -> Result<Frame<MatchRow>, InputError> {
        let ReadInput { scan, zeros, stamp_ns, ms: read_ms } =
            self.inputs.read_for_map(source, self.args.with.drop_zeros)?;
        let name = source.name();
        let blame = |e| InputError::blame("BadValue", e, &name);
        let on = |device: &Device| self.on(device);
        let called = slot.call(&name, blame, on, |grid| match &self.align {
            None => grid.score(rows(&scan)?, &self.values).map(Found::Scored),
            Some(Align { params, .. }) => grid.align(rows(&scan)?, &self.values, params).map(Found::Aligned),
        })?;
        let best = match &called.found {
            Found::Scored(fits) => highest(fits.iter().map(|fit| Some(fit.score))),
            Found::Aligned(all) => highest(all.iter().map(|one| one.converged().then_some(one.fit.score))),
        };
        let poses = self.records(&called.found);
        let compare = |cpu: &Called<'_, Arc<NdtGrid>, Found>| {
            let others = self.records(&cpu.found);
            Ok(poses.iter().zip(&others).flat_map(|(a, b)| differences(a, b)).collect())
        };
        let cpu = called.compare(compare).map_err(blame)?;
        if let Some(path) = self.picture {
            let (i, grid) = (best.unwrap_or(0), &self.map.grid);
            let fit = grid.score(rows(&scan)?, &self.values[i..=i])?[0];
            let at = At { pose: self.values[i], fit };
            match &called.found {
                Found::Scored(_) => write_score(path, grid, &scan, at)?,
                Found::Aligned(all) => write_alignment(path, grid, &scan, at, &all[i])?,
            }
        }
        let (format, points) = (source.format(&scan), scan.cloud.len());
        let converged = self.align.as_ref().map(|_| best.is_some());
        let mut notes = warnings_of_rows(&scan);
        notes.warnings.extend(self.doubt(&called.found, best));
        let of = MatchRow { format, points, zeros, poses, converged, best, stamp_ns };
        let frame = called.on(Frame::read(index, name.clone(), read_ms, notes, of));
        Ok(Frame { cpu, ..frame })
    }

    fn add(&self, totals: &mut MatchTotals, frame: &mut Frame<MatchRow>) -> Result<(), Failure> {
        totals.points += frame.of.points;
        if let Some(converged) = frame.of.converged {
            *totals.converged.get_or_insert(0) += usize::from(converged);
        }
        if let Some(PoseRecord::Align(pose)) = frame.of.poses.get(frame.of.best.unwrap_or(0)) {
            let at = pose.found.target_from_source;
            let covariance = pose.found.covariance.filter(|_| pose.found.converged());
            let note = PoseNote::of_fix(pose.found.status.as_str(), &at, covariance, &at);
            totals.found.insert(frame.index, (at, note, frame.of.stamp_ns));
        }
        let stops = frame.of.poses.iter().filter_map(|pose| match pose {
            PoseRecord::Align(pose) => Some(pose.found.status),
            PoseRecord::Score(_) => None,
        });
        totals.stops = stops.collect();
        totals.stops.dedup();
        Ok(())
    }

    fn cells(&self, frame: &Frame<MatchRow>) -> Vec<Cell> {
        report::match_cells(&frame.of)
    }

    fn detail(&self, frame: &Frame<MatchRow>, alone: bool) -> Option<Vec<String>> {
        alone.then(|| report::match_detail(&frame.of))
    }

    fn finish(&self, totals: &mut MatchTotals, _: Vec<Self::Worker>, counts: Counts) -> Result<bool, Failure> {
        if let Some(Align { out: Some(out), format, .. }) = self.align {
            let (mut trajectory, mut late) = (Trajectory::new(PoseFrames::new("map", None)), 0);
            for index in 0..counts.done + counts.failed {
                let unread = (self.values[0], PoseNote { status: "not-read", covariance: None }, None);
                let (pose, note, stamp) = totals.found.get(&index).copied().unwrap_or(unread);
                late += usize::from(trajectory.push_scan(pose, note, stamp).is_late);
            }
            if late > 0 {
                let scans = counted(late, "scan");
                stderr::warning(format_args!("{scans}: the stamp does not come after that of the scan before"));
            }
            undivided(|| trajectory.write(Place::named(out), format))?;
        }
        totals.voxels = self.map.grid.len();
        totals.resolution = self.map.grid.lattice().unit();
        totals.origin = Some(self.map.grid.lattice().origin()).filter(|origin| *origin != [0.0; 3]);
        totals.poses = self.values.len();
        totals.converged = self.align.as_ref().map(|_| totals.converged.unwrap_or(0));
        totals.map_ms = self.map.ms;
        totals.map_warnings.clone_from(&self.map.warnings);
        Ok(true)
    }

    fn lines(&self, summary: &Summary<MatchTotals>) -> Vec<String> {
        report::match_lines(summary)
    }

    fn verdict(&self, summary: &Summary<MatchTotals>) -> Result<(), Failure> {
        let (done, stops) = (summary.counts.done, &summary.of.stops);
        let stops: Vec<_> = stops.iter().map(|status| status.as_str()).collect();
        let input = (Self::INPUT, "--resolution");
        let lost = summary.counts.inputs == 1 && summary.of.converged == Some(0) && stops == ["no-pairs"];
        let empty = match (summary.of.points, summary.of.voxels) {
            (0, _) => Some("the scan has no points"),
            (_, 0) => Some("the map has no cells"),
            _ => None,
        };
        if let Some(cause) = empty.filter(|_| lost) {
            return Err(Failure::No(format!("not converged: no-pairs; {cause}")));
        }
        not_converged(summary.counts, summary.of.converged.unwrap_or(done), &stops.join(", "), input)
    }
}

/// The place of the highest score, the first of equal ones.
fn highest(scores: impl Iterator<Item = Option<f64>>) -> Option<usize> {
    let known = scores.enumerate().filter_map(|(i, score)| Some((i, score?)));
    known.reduce(|best, other| if other.1 > best.1 { other } else { best }).map(|(i, _)| i)
}

#[cfg(test)]
#[path = "../../tests/unit/ndt_matching.rs"]
mod tests;
