//! Maps, scores and alignments for people.

use super::grid::edge;
use super::records::{BuildRow, GridTotals, MatchRow, MatchTotals, PoseRecord, ScorePose};
use crate::batch::Cell;
use crate::inputs::{ReadInput, Source, warnings_of_rows};
use crate::json::{Frame, Summary};
use crate::text::{counted, grouped, matrix_lines, percentiles, short, shortened, written};
use pointmill::ndt::{NdtFit, NdtReport};

/// The cells of an input of `build`.
pub(super) fn build_cells(row: &BuildRow, tiles: bool) -> Vec<Cell> {
    let report = row.report.unwrap_or_default();
    let mut cells = vec![("points", grouped(row.points - row.zeros))];
    if tiles {
        cells.extend([("cells", grouped(report.cells)), ("voxels", grouped(report.voxels))]);
    }
    cells
}

/// The frame of an input of `build`, so far.
pub(super) fn build_frame(index: usize, source: &Source, read: &ReadInput) -> Frame<BuildRow> {
    let ReadInput { scan, zeros, ms, .. } = read;
    let of = BuildRow {
        format: source.format(scan),
        element: if scan.xyz_f64.is_some() { "f64" } else { "f32" },
        points: scan.cloud.len() + zeros,
        zeros: *zeros,
        ..BuildRow::default()
    };
    Frame::read(index, source.name(), *ms, warnings_of_rows(scan), of)
}

/// The end of `build` and `merge`.
pub(super) fn grid_lines(summary: &Summary<GridTotals>) -> Vec<String> {
    let of = &summary.of;
    let mut lines = vec![format!(
        "{}, {} points, {} voxels of {} m on {}{}{}",
        counted(summary.counts.done, "input"),
        grouped(of.points),
        grouped(of.voxels),
        edge(of.resolution),
        summary.run.device_name(),
        percentiles(summary.ms.as_ref()),
        of.finish_ms.map_or_else(String::new, |ms| format!(", building the map {} ms", short(ms))),
    )];
    lines.extend(of.report.as_ref().map(cells_of));
    lines.extend(of.finish_cpu.as_ref().map(|cpu| {
        let equal = if cpu.equal == Some(true) {
            "equal".to_owned()
        } else {
            format!("DIFFERENT in {}", cpu.differs.join(", "))
        };
        format!("the grid {} ms on the cpu with {}: {equal}", short(cpu.ms), counted(cpu.threads, "thread"))
    }));
    lines.extend(written("grid", summary.out.as_deref()));
    lines.extend(written("moments", of.moments.as_deref()));
    lines.extend(written("picture", summary.picture.as_deref()));
    lines
}

pub(crate) fn cells_of(report: &NdtReport) -> String {
    let NdtReport { non_finite, cells, sparse, degenerate, voxels, clamped, .. } = *report;
    format!(
        "{} of {} used: {} have too few points, {} have no extent; {} flat cells were widened; {} points not finite",
        grouped(voxels),
        counted(cells, "cell"),
        grouped(sparse),
        grouped(degenerate),
        grouped(clamped),
        grouped(non_finite as usize),
    )
}

/// The cells of a pose.
fn pose_cells(pose: &PoseRecord) -> Vec<Cell> {
    let (fit, found) = match pose {
        PoseRecord::Score(ScorePose { fit, .. }) => (fit, None),
        PoseRecord::Align(pose) => (&pose.found.fit, Some(&pose.found)),
    };
    let mut cells = Vec::new();
    if let Some(found) = found {
        let status = if found.status.converged() { "converged" } else { found.status.as_str() };
        cells.extend([("status", format!("  {status:>14}")), ("iterations", found.iterations.to_string())]);
    }
    let NdtFit { transform_probability, nvtl, hits, .. } = fit;
    cells.extend([("transform probability", format!("{transform_probability:.6}")), ("nvtl", format!("{nvtl:.6}"))]);
    cells.push(("hits", grouped(*hits)));
    cells
}

/// The cells of a scan at its best pose, or at the first if no alignment converged.
pub(super) fn match_cells(row: &MatchRow) -> Vec<Cell> {
    row.poses.get(row.best.unwrap_or(0)).map_or_else(Vec::new, pose_cells)
}

/// A scan alone: a line for each pose, and the best pose of an alignment.
pub(super) fn match_detail(row: &MatchRow) -> Vec<String> {
    let mut lines = Vec::new();
    for (i, pose) in row.poses.iter().enumerate() {
        let (title, name) = match pose {
            PoseRecord::Score(score) => ("pose", &score.pose),
            PoseRecord::Align(align) => ("guess", &align.guess),
        };
        let cells = pose_cells(pose);
        let wide = |text: &str, title: &str| format!("{text:>width$}", width = 14.max(title.len() + 2));
        if i == 0 {
            lines.push(cells.iter().map(|(title, _)| wide(title, title)).collect::<String>() + "  " + title);
        }
        lines.push(cells.iter().map(|(title, text)| wide(text, title)).collect::<String>() + "  " + &shortened(name));
    }
    if let Some(PoseRecord::Align(best)) = row.best.and_then(|best| row.poses.get(best)) {
        lines.extend(matrix_lines(&best.found.target_from_source));
    }
    lines
}

/// The end of `score` and `align`.
pub(super) fn match_lines(summary: &Summary<MatchTotals>) -> Vec<String> {
    let of = &summary.of;
    let scans = summary.counts.inputs;
    let done = counted(summary.counts.done, "scan");
    let converged = of.converged.map_or_else(String::new, |n| format!(", {n} converged"));
    let end = match &summary.ms {
        Some(ms) if scans == 1 => format!(": {} ms", short(ms.p50)),
        ms => percentiles(ms.as_ref()),
    };
    let mut lines = vec![format!(
        "{}{} points on {} voxels of {} m, {}{} on {}{end}",
        if scans == 1 { String::new() } else { format!("{done}{converged}, ") },
        grouped(of.points),
        grouped(of.voxels),
        edge(of.resolution),
        counted(of.poses, "pose"),
        if scans == 1 { "" } else { " each" },
        summary.run.device_name(),
    )];
    lines.extend(written("poses", summary.out.as_deref()));
    lines.extend(written("picture", summary.picture.as_deref()));
    lines
}
