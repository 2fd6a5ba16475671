//! Runs `pointmill ndt score` and `pointmill ndt align`. A scan is an input; the map is read or made once.

use super::args::{AlignArgs, MatchArgs, ScoreArgs};
use super::cloud::Cloud;
use super::map::{Asked, Map};
use super::picture::{Before, write_alignment};
use super::records::{AlignPose, MatchBegin, MatchRow, MatchTotals, PoseRecord, ScorePose};
use super::report;
use crate::batch::{Called, Cell, Command, Job, Ledger, Shared, Station, Trouble};
use crate::failure::Failure;
use crate::inputs::{Inputs, Source, one_file};
use crate::json::{Counts, Frame, Summary, differences};
use crate::picture::{plan, require_one};
use crate::printer::Printer;
use crate::stats::milliseconds;
use crate::{device, interrupt};
use pointmill::ndt::{NdtAlignParams, NdtFit, NdtGrid, NdtRegistration};
use pointmill::registration::Status;
use pointmill::{Device, Error, Pose};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What is done with every scan.
struct Match<'a> {
    args: &'a MatchArgs,
    /// The parameters of `ndt align`; `None` for `ndt score`.
    align: Option<NdtAlignParams>,
    inputs: Inputs,
    device: Device,
    map: Map,
    values: Vec<Pose>,
    /// The grid on the CPU, where it is not on the device.
    others: Shared<NdtGrid>,
    picture: Option<&'a Path>,
}

/// The result of a scan at all poses.
enum Found {
    Scored(Vec<NdtFit>),
    Aligned(Vec<NdtRegistration>),
}

/// Runs `ndt score`.
pub(super) fn score(args: &ScoreArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    run("ndt score", &args.matched, &args.pose, None, None, device, printer)
}

/// Runs `ndt align`.
pub(super) fn align(args: &AlignArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let &AlignArgs { max_iterations, step_size, epsilon, .. } = args;
    let params = NdtAlignParams { step_size, epsilon, max_iterations };
    let picture = args.visualize.as_deref();
    run("ndt align", &args.matched, &args.guess, Some(params), picture, device, printer)
}

fn run(
    name: &'static str,
    args: &MatchArgs,
    poses: &[PathBuf],
    align: Option<NdtAlignParams>,
    picture: Option<&Path>,
    device: &str,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let asked = Asked::new(args)?;
    if let Some(params) = &align {
        params.validate()?;
    }
    if one_file(std::slice::from_ref(&args.scan)).is_none() {
        require_one("--visualize", picture, "scan")?;
    }
    picture.map(|path| plan(path, &["png", "gif"])).transpose()?;
    let mut inputs = Inputs::find(std::slice::from_ref(&args.scan), args.read.options())?;
    let sources = std::mem::take(&mut inputs.sources);
    let device = device::open(device)?;
    let job = Job {
        name,
        device: Some(&device),
        sources: &sources,
        batch: args.work.batch,
        verbose: args.work.verbose,
        ledger: Ledger::of(&[], "", args.work.resume.resume)?,
        out: None,
        picture,
        writes: false,
    };
    let (map, scan) = (args.map.clone(), args.scan.clone());
    job.begin(MatchBegin { map, scan, params: asked.params(), align }, printer)?;
    let map = asked.load(poses, &device, sources.len(), printer)?;
    let values = map.poses.iter().map(|(_, pose)| *pose).collect();
    let others = Shared::default();
    job.run(&Match { args, align, inputs, device: device.clone(), map, values, others, picture }, printer)
}

impl Match<'_> {
    /// The grid on a device.
    fn on(&self, device: &Device) -> Result<Arc<NdtGrid>, Error> {
        if device.to_string() == self.device.to_string() && device.threads() == self.device.threads() {
            return Ok(Arc::clone(&self.map.grid));
        }
        let grid = &self.map.grid;
        self.others.get(device, || NdtGrid::from_cells(grid.read()?, grid.lattice().unit(), &device.stream()?))
    }

    fn records(&self, found: &Found) -> Vec<PoseRecord> {
        let poses = self.map.poses.iter().enumerate();
        match found {
            Found::Scored(fits) => {
                let all = poses.zip(fits).map(|((index, (pose, at)), &fit)| ScorePose {
                    index,
                    pose: pose.clone(),
                    target_from_source: *at,
                    fit,
                });
                all.map(PoseRecord::Score).collect()
            }
            Found::Aligned(all) => {
                let all = poses.zip(all).map(|((index, (guess, _)), found)| AlignPose {
                    index,
                    guess: guess.clone(),
                    found: found.clone(),
                });
                all.map(|pose| PoseRecord::Align(Box::new(pose))).collect()
            }
        }
    }
}

impl Command for Match<'_> {
    type Lane = Station<Arc<NdtGrid>>;
    type Row = MatchRow;
    type Totals = MatchTotals;
    const INPUT: &'static str = "scan";

    fn lane(&self) -> Result<Self::Lane, Failure> {
        Station::new(&self.device, &self.args.work, false, |device| self.on(device))
    }

    fn one(&self, station: &mut Self::Lane, index: usize, source: &Source) -> Result<Frame<MatchRow>, Trouble> {
        let start = Instant::now();
        let mut read = self.inputs.load_exact(source)?;
        let name = source.name();
        let (format, warnings) = (std::mem::take(&mut read.format), std::mem::take(&mut read.warnings));
        let (scan, zeros) = Cloud::new(read, self.args.drop_zeros)?;
        let read_ms = milliseconds(start.elapsed());
        interrupt::check()?;
        let blame = |e| Trouble::blame("BadValue", e, &name);
        let called = station.call(
            &name,
            |device| self.on(device),
            |grid| match &self.align {
                None => grid.score(scan.view()?, &self.values).map(Found::Scored),
                Some(params) => grid.align(scan.view()?, &self.values, params).map(Found::Aligned),
            },
        );
        let called = called.map_err(blame)?;
        interrupt::check()?;
        let best = match &called.found {
            Found::Scored(fits) => highest(fits.iter().map(|fit| Some(fit.score))),
            Found::Aligned(all) => highest(all.iter().map(|one| one.converged().then_some(one.fit.score))),
        };
        let compare = |cpu: &Called<'_, Arc<NdtGrid>, Found>| {
            let all = [&called.found, &cpu.found].map(|found| self.records(found));
            let differ = all[0].iter().zip(&all[1]).flat_map(|(a, b)| differences(a, b));
            Ok(differ.collect())
        };
        let cpu = called.compare(compare).map_err(blame)?;
        if let (Some(path), Found::Aligned(all)) = (self.picture, &called.found) {
            let i = best.unwrap_or(0);
            let fit = self.map.grid.score(scan.view()?, &self.values[i..=i])?[0];
            write_alignment(path, &self.map.grid, &scan, Before { pose: self.values[i], fit }, &all[i])?;
        }
        let (points, ms, device) = (scan.len(), called.ms, called.device.to_string());
        tracing::info!("{name}: {points} points, {format}; read {read_ms} ms, matched {ms} ms on {device}");
        let converged = self.align.as_ref().map(|_| best.is_some());
        Ok(Frame {
            index,
            input: name,
            device: Some(device),
            ms: Some(ms),
            read_ms,
            write_ms: None,
            out: None,
            warnings,
            cpu,
            of: MatchRow { format, points, zeros, poses: self.records(&called.found), converged, best },
        })
    }

    fn add(&self, totals: &mut MatchTotals, frame: &mut Frame<MatchRow>) -> Result<(), Failure> {
        totals.points += frame.of.points;
        if let Some(converged) = frame.of.converged {
            *totals.converged.get_or_insert(0) += usize::from(converged);
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

    fn finish(&self, totals: &mut MatchTotals, _: Vec<Self::Lane>, _: Counts) -> Result<bool, Failure> {
        totals.voxels = self.map.grid.len();
        totals.resolution = self.map.grid.lattice().unit();
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
        let (inputs, done) = (summary.counts.inputs, summary.counts.done);
        match done - summary.of.converged.unwrap_or(done) {
            0 => Ok(()),
            _ if inputs == 1 => Err(Failure::No(format!("not converged: {}", stops(&summary.of.stops)))),
            lost => Err(Failure::No(format!("not converged: {lost} of {done} scan(s)"))),
        }
    }
}

fn stops(all: &[Status]) -> String {
    all.iter().map(|status| status.as_str()).collect::<Vec<_>>().join(", ")
}

/// The place of the highest score, the first of equal ones.
fn highest(scores: impl Iterator<Item = Option<f64>>) -> Option<usize> {
    let known = scores.enumerate().filter_map(|(i, score)| Some((i, score?)));
    known.reduce(|best, other| if other.1 > best.1 { other } else { best }).map(|(i, _)| i)
}

#[cfg(test)]
#[path = "../../tests/unit/ndt_matching.rs"]
mod tests;
