//! The answers for people.

use super::records::{
    AlignFrame, BuildFrame, BuildSummary, MatchBatchSummary, MatchSummary, MergeSummary, ReportRecord,
};
use crate::table::{LINES, grouped, short, shortened};
use pointmill::ndt::{NdtFit, NdtRegistration, NdtReport};
use pointmill_io::escape;

/// How the lines of `build` look.
#[derive(Debug)]
pub(super) struct BuildTable {
    shown: bool,
    name: usize,
    tiles: bool,
}

impl BuildTable {
    pub(super) fn new(names: &[String], tiles: bool) -> Self {
        let name = names.iter().map(|n| shortened(n).chars().count()).max().unwrap_or(0).max("input".len());
        Self { shown: names.len() <= LINES, name, tiles }
    }

    /// The titles; `None` for a table that is not shown.
    pub(super) fn head(&self) -> Option<String> {
        self.line("input", ["points", "cells", "voxels", "ms"])
    }

    /// The line of an input.
    pub(super) fn row(&self, frame: &BuildFrame) -> Option<String> {
        let report = frame.report.map(NdtReport::from).unwrap_or_default();
        let [points, cells, voxels] = [frame.points - frame.zeros, report.cells, report.voxels].map(grouped);
        self.line(&frame.input, [&points, &cells, &voxels, &short(frame.ms)])
    }

    fn line(&self, name: &str, [points, cells, voxels, ms]: [&str; 4]) -> Option<String> {
        if !self.shown {
            return None;
        }
        let mut line = format!("{:<width$}{points:>12}", shortened(name), width = self.name);
        if self.tiles {
            line += &format!("{cells:>12}{voxels:>12}");
        }
        Some(line + &format!("{ms:>10}"))
    }
}

/// The end of `build`.
pub(super) fn build_lines(summary: &BuildSummary) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(ms) = &summary.ms {
        let (done, points, voxels) = (summary.counts.done, grouped(summary.points), grouped(summary.voxels));
        lines.push(format!(
            "{done} input{}, {points} points, {voxels} voxels of {} m on {}: p50 {} ms, p95 {} ms{}",
            if done == 1 { "" } else { "s" },
            edge(summary.resolution),
            summary.run.device_name,
            short(ms.p50),
            short(ms.p95),
            summary.finish_ms.map_or_else(String::new, |ms| format!(", the grid {} ms", short(ms))),
        ));
    }
    lines.extend(summary.report.as_ref().map(counted));
    lines.extend(written(&summary.out, &summary.moments));
    lines.extend(summary.picture.iter().map(|picture| format!("picture: {}", escape(picture))));
    lines
}

/// The edge of a cell for people: it is the reciprocal of an `f32`, and of more digits none was asked for.
pub(super) const fn edge(resolution: f64) -> f32 {
    resolution as f32
}

/// The end of `merge`.
pub(super) fn merge_lines(summary: &MergeSummary) -> Vec<String> {
    let report = NdtReport::from(summary.report);
    let mut lines = vec![format!(
        "{} points, {} voxels of {} m on {}: {} ms",
        grouped(report.points as usize),
        grouped(report.voxels),
        edge(summary.resolution),
        summary.run.device_name,
        short(summary.ms),
    )];
    lines.push(counted(&summary.report));
    lines.extend(written(&summary.out, &summary.moments));
    lines
}

fn counted(report: &ReportRecord) -> String {
    let NdtReport { nonfinite, cells, sparse, degenerate, clamped, .. } = (*report).into();
    format!(
        "{} cells: {} of too few points, {} without extent; {} voxels with a raised eigenvalue; {} points not finite",
        grouped(cells),
        grouped(sparse),
        grouped(degenerate),
        grouped(clamped),
        grouped(nonfinite as usize),
    )
}

fn written(out: &Option<String>, moments: &Option<String>) -> Vec<String> {
    let files = [("grid", out), ("moments", moments)];
    files.iter().filter_map(|(kind, path)| Some(format!("{kind}: {}", escape(path.as_deref()?)))).collect()
}

/// The titles of `score`.
pub(super) fn score_head(of: &str) -> String {
    format!("{:>24}{:>12}{:>12}  {of}", "transform probability", "nvtl", "hits")
}

/// The line of a pose.
pub(super) fn score_row(name: &str, fit: &NdtFit) -> String {
    let NdtFit { transform_probability, nvtl, hits, .. } = fit;
    format!("{transform_probability:>24.6}{nvtl:>12.6}{:>12}  {}", grouped(*hits), shortened(name))
}

/// The titles of `align`.
pub(super) fn align_head(of: &str) -> String {
    format!("{:>16}{:>12}{:>24}{:>12}  {of}", "stop", "iterations", "transform probability", "nvtl")
}

/// The line of a guess, or under the name of a scan of its best.
pub(super) fn align_row(name: &str, frame: &AlignFrame, found: &NdtRegistration) -> String {
    let NdtFit { transform_probability, nvtl, .. } = found.fit;
    let (stop, n) = (frame.stop, frame.iterations);
    format!("{stop:>16}{n:>12}{transform_probability:>24.6}{nvtl:>12.6}  {}", shortened(name))
}

/// The end of `score` and `align` of many scans.
pub(super) fn scans_line(summary: &MatchBatchSummary) -> String {
    let converged = summary.converged.map_or_else(String::new, |n| format!(", {n} converged"));
    let ms = summary.ms.map_or_else(String::new, |ms| format!(": p50 {} ms, p95 {} ms", short(ms.p50), short(ms.p95)));
    format!(
        "{} scan{}{converged}, {} points on {} voxels of {} m, {} pose{} each on {}{ms}",
        summary.counts.done,
        if summary.counts.done == 1 { "" } else { "s" },
        grouped(summary.points),
        grouped(summary.voxels),
        edge(summary.resolution),
        summary.poses,
        if summary.poses == 1 { "" } else { "s" },
        summary.run.device_name,
    )
}

/// The end of `score` and `align`.
pub(super) fn match_line(summary: &MatchSummary) -> String {
    format!(
        "{} points on {} voxels of {} m, {} pose{} on {}: {} ms",
        grouped(summary.points),
        grouped(summary.voxels),
        edge(summary.resolution),
        summary.poses,
        if summary.poses == 1 { "" } else { "s" },
        summary.run.device_name,
        short(summary.ms),
    )
}
