//! Alignments for people.

use super::records::{Row, Totals};
use crate::batch::Cell;
use crate::json::{Frame, Summary};
use crate::text::{LINES, counted, ended, grouped, matrix_lines, percentiles, row, short, written};
use pointmill::icp::{Fit, Iteration};

/// The columns of the iterations.
const WIDTHS: [usize; 7] = [10, 7, 12, 14, 14, 12, 10];

/// A source alone: its iterations, its pose and how well it fits.
pub(super) fn detail(frame: &Frame<Row>, device: &str) -> Vec<String> {
    let found = &frame.of.found;
    let fit = &found.fit;
    let mut lines = trace_lines(&fit.trace);
    lines.extend(matrix_lines(&found.target_from_source));
    lines.push(format!(
        "{} after {}: {} pairs, fitness {:.4}, rmse {} m, {} of 6 degrees of freedom are constrained",
        ended(found.status),
        counted(found.iterations, "iteration"),
        grouped(fit.num_inliers),
        fit.fitness,
        metres(fit.inlier_rmse),
        fit.observability.rank(),
    ));
    for (name, dropped) in [("source", fit.source_dropped), ("target", fit.target_dropped)] {
        if dropped.non_finite + dropped.zeros > 0 {
            let (nonfinite, zeros) = (grouped(dropped.non_finite), grouped(dropped.zeros));
            lines.push(format!("ignored in {name}: {zeros} points at (0, 0, 0), {nonfinite} not finite"));
        }
    }
    lines.push(format!(
        "{} points onto {} on {device}: {} ms ({} ms for search trees and normals)",
        grouped(frame.of.source_points),
        grouped(frame.of.target_points),
        short(frame.ms.unwrap_or(0.0)),
        short(fit.prepare_ms),
    ));
    lines
}

/// The cells of one of many sources.
pub(super) fn cells(Row { found, source_points, .. }: &Row) -> Vec<Cell> {
    let Fit { fitness, inlier_rmse, .. } = found.fit;
    vec![
        ("points", grouped(*source_points)),
        ("status", format!("  {:>14}", found.status)),
        ("iterations", found.iterations.to_string()),
        ("fitness", format!("{fitness:.4}")),
        ("rmse m", metres(inlier_rmse)),
    ]
}

/// The end of the command.
pub(super) fn lines(summary: &Summary<Totals>) -> Vec<String> {
    let Totals { converged, points, target_points, target_ms, ref plot, .. } = summary.of;
    let mut lines = Vec::new();
    if summary.counts.inputs > 1 {
        lines.push(format!(
            "{}, {converged} converged, {} points onto {} on {}{}; the target {} ms",
            counted(summary.counts.done, "source"),
            grouped(points),
            grouped(target_points),
            summary.run.device_name(),
            percentiles(summary.ms.as_ref()),
            short(target_ms),
        ));
    }
    lines.extend(written("aligned", summary.out.as_deref()));
    lines.extend(written("picture", summary.picture.as_deref()));
    lines.extend(written("plot", plot.as_deref()));
    lines
}

/// The iterations, a line each; of many the first and the last.
fn trace_lines(trace: &[Iteration]) -> Vec<String> {
    let titles = ["iteration", "stage", "pairs", "rmse m", "step m", "searched", "ms"];
    let mut lines = vec![row(titles, &WIDTHS)];
    let hidden = if trace.len() <= LINES { 0..0 } else { LINES / 2..trace.len() - LINES / 2 };
    for (i, at) in trace.iter().enumerate() {
        if i == hidden.start && !hidden.is_empty() {
            lines.push(format!("{:>10}", "..."));
        }
        if !hidden.contains(&i) {
            let ms = at.timing.search_ms + at.timing.reduce_ms + at.timing.solve_ms;
            let (stage, pairs, searched) = (at.stage.to_string(), grouped(at.pairs), grouped(at.searched));
            let cells = [i.to_string(), stage, pairs, metres(at.rmse), metres(at.step), searched, short(ms)];
            lines.push(row(cells, &WIDTHS));
        }
    }
    lines
}

/// Metres with four digits, whether clouds are a bunny or a city.
pub(super) fn metres(length: f64) -> String {
    if length == 0.0 || (1e-3..1e4).contains(&length) { format!("{length:.6}") } else { format!("{length:.3e}") }
}

#[cfg(test)]
#[path = "../../tests/unit/icp_report.rs"]
mod tests;
