//! Many scans against one map, which is read or made once.

use super::args::MatchArgs;
use super::cloud::Cloud;
use super::map::Asked;
use super::records::{AlignRecord, MatchBatchBegin, MatchBatchSummary, ScanFrame};
use super::score::poses;
use super::table::scans_line;
use crate::batch::{Batch, BatchArgs, Trouble};
use crate::failure::Failure;
use crate::inputs::{Inputs, Source, one_file};
use crate::printer::Printer;
use crate::records::Run;
use crate::stats::{Times, milliseconds};
use crate::table::LINES;
use crate::{interrupt, say};
use pointmill::Pose;
use pointmill::ndt::NdtGrid;
use pointmill::{Device, Error};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Whether a folder or a pattern is meant.
pub(super) fn are_many(args: &MatchArgs) -> bool {
    one_file(std::slice::from_ref(&args.scan)).is_none()
}

/// What is done with every scan.
pub(super) struct Scans<'a> {
    pub(super) command: &'static str,
    pub(super) args: &'a MatchArgs,
    pub(super) batch: BatchArgs,
    pub(super) asked: Asked<'a>,
    /// The files of poses.
    pub(super) poses: &'a [PathBuf],
    /// The titles for people.
    pub(super) head: String,
    /// Parameters of the alignment, if it is one.
    pub(super) align: Option<AlignRecord>,
}

/// What was found of a scan.
pub(super) struct Found<T> {
    /// A line for each pose.
    pub(super) poses: Vec<T>,
    /// The place of the best.
    pub(super) best: Option<usize>,
    /// The best for people.
    pub(super) row: String,
}

/// What was done so far.
#[derive(Default)]
struct Totals {
    points: usize,
    converged: usize,
    times: Vec<f64>,
}

impl Scans<'_> {
    /// Finds something out about every scan at the poses of all files, or at the identity where there is none; `find` is told the scan's name.
    pub(super) fn run<T: Serialize + Send>(
        &self,
        device: &Device,
        printer: &mut Printer,
        find: impl Fn(&NdtGrid, &Cloud, &[(String, Pose)], &str) -> Result<Found<T>, Error> + Sync,
    ) -> Result<(), Failure> {
        let mut inputs = Inputs::find(std::slice::from_ref(&self.args.scan), self.args.read.options())?;
        let sources = std::mem::take(&mut inputs.sources);
        let begin = MatchBatchBegin {
            run: Run::new(self.command, device),
            map: self.args.map.clone(),
            scan: self.args.scan.clone(),
            inputs: sources.len(),
            params: self.asked.params(),
            align: self.align,
        };
        printer.record("begin", &begin)?;
        let start = Instant::now();
        let (mut poses, failed) = poses(self.poses, printer)?;
        if self.poses.is_empty() {
            poses.push(("identity".into(), Pose::default()));
        }
        let (grid, warnings) = self.asked.load_map(device, self.poses.len(), failed, sources.len(), printer)?;
        let read_ms = milliseconds(start.elapsed());
        warnings.iter().for_each(say::warning);
        let batch = Batch { sources: &sources, args: self.batch, ledger: None, writes: false };
        let lanes = vec![(); self.batch.lanes(sources.len())];
        let mut head = (sources.len() <= LINES).then_some(&self.head);
        let mut totals = Totals::default();
        let one = |(): &mut (), index: usize, source: &Source| -> Result<(ScanFrame<T>, String), Trouble> {
            let start = Instant::now();
            let mut read = inputs.load_exact(source)?;
            let name = source.name();
            let (format, warnings) = (std::mem::take(&mut read.format), std::mem::take(&mut read.warnings));
            let (scan, zeros) = Cloud::new(read, self.args.drop_zeros)?;
            let read_ms = milliseconds(start.elapsed());
            interrupt::check()?;
            let start = Instant::now();
            let found = find(&grid, &scan, &poses, &name).map_err(|e| Trouble::blame("BadValue", e, &name))?;
            let ms = milliseconds(start.elapsed());
            tracing::info!("{name}: {} points, {format}; read {read_ms} ms, matched {ms} ms", scan.len());
            let Found { poses, best, row } = found;
            let converged = self.align.map(|_| best.is_some());
            let points = scan.len();
            let frame =
                ScanFrame { index, input: name, format, points, zeros, poses, converged, best, ms, read_ms, warnings };
            Ok((frame, row))
        };
        let ran = batch.run(lanes, printer, one, |printer, (frame, row)| {
            totals.points += frame.points;
            totals.converged += usize::from(frame.converged == Some(true));
            totals.times.push(frame.ms);
            frame.warnings.iter().for_each(|warning| say::warning(format_args!("{}: {warning}", frame.input)));
            printer.record("frame", &frame)?;
            let row = (sources.len() <= LINES).then_some(&row);
            head.take().into_iter().chain(row).try_for_each(|line| printer.text(line))
        })?;
        let Some((_, counts)) = ran else { return Ok(()) };
        let summary = MatchBatchSummary {
            run: Run::new(self.command, device),
            voxels: grid.len(),
            resolution: grid.lattice().unit(),
            counts,
            points: totals.points,
            poses: poses.len(),
            converged: self.align.map(|_| totals.converged),
            ms: Times::of(&totals.times),
            read_ms,
            warnings,
        };
        printer.record("summary", &summary)?;
        printer.text(&scans_line(&summary))?;
        counts.verdict()?;
        match summary.converged {
            Some(n) if n < counts.done => {
                Err(Failure::No(format!("not converged: {} of {} scan(s)", counts.done - n, counts.done)))
            }
            _ => Ok(()),
        }
    }
}
