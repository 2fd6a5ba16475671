//! The answer for people.

use super::records::{BatchSummary, Frame, Summary};
use crate::table::{LINES, grouped, short, shortened};
use pointmill::icp::{Iteration, Registration};
use pointmill_io::escape;

/// The poses on the way, a line each; of many the first and the last.
pub(super) fn trace_lines(trace: &[Iteration]) -> Vec<String> {
    let titles = ["iteration", "stage", "pairs", "rmse m", "step m", "searched", "ms"].map(str::to_owned);
    let mut lines = vec![line(&titles)];
    let hidden = if trace.len() <= LINES { 0..0 } else { LINES / 2..trace.len() - LINES / 2 };
    for (i, look) in trace.iter().enumerate() {
        if i == hidden.start && !hidden.is_empty() {
            lines.push(format!("{:>10}", "..."));
        }
        if !hidden.contains(&i) {
            let timing = look.timing;
            lines.push(line(&[
                i.to_string(),
                look.stage.to_string(),
                grouped(look.pairs),
                metres(look.rmse),
                metres(look.step),
                grouped(look.searched),
                short(timing.search_ms + timing.reduce_ms + timing.solve_ms),
            ]));
        }
    }
    lines
}

fn line(cells: &[String; 7]) -> String {
    let widths = [10, 7, 12, 14, 14, 12, 10];
    cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect()
}

/// Metres with four digits, whether clouds are a bunny or a city.
fn metres(length: f64) -> String {
    if length == 0.0 || (1e-3..1e4).contains(&length) { format!("{length:.6}") } else { format!("{length:.3e}") }
}

/// Where it ended.
pub(super) fn summary_lines(summary: &Summary, found: &Registration) -> Vec<String> {
    let at = &summary.found;
    let mut lines = vec![format!(
        "{} after {} iteration{}: {} pairs, fitness {:.4}, rmse {} m, {} of 6 directions determined",
        at.status,
        at.iterations,
        if at.iterations == 1 { "" } else { "s" },
        grouped(at.num_inliers),
        at.fitness,
        metres(at.inlier_rmse),
        found.fit.observability.rank(),
    )];
    for (name, dropped) in [("source", found.fit.source_dropped), ("target", found.fit.target_dropped)] {
        if dropped.non_finite + dropped.zeros > 0 {
            let (nonfinite, zeros) = (grouped(dropped.non_finite), grouped(dropped.zeros));
            lines.push(format!("left out of the {name}: {nonfinite} points not finite, {zeros} at (0, 0, 0)"));
        }
    }
    lines.push(format!(
        "{} points onto {} on {}: {} ms, of these {} for trees and normals",
        grouped(summary.source_points),
        grouped(summary.target_points),
        summary.run.device_name,
        short(summary.ms),
        short(found.fit.prepare_ms),
    ));
    let files = [("aligned", &summary.out), ("picture", &summary.picture), ("plot", &summary.plot)];
    lines.extend(files.iter().filter_map(|(kind, path)| Some(format!("{kind}: {}", escape(path.as_deref()?)))));
    lines
}

/// A line for each of many sources.
#[derive(Debug)]
pub(super) struct SourceTable {
    shown: bool,
    name: usize,
}

impl SourceTable {
    /// A table for sources of these names.
    pub(super) fn new(names: &[String]) -> Self {
        let name = names.iter().map(|n| shortened(n).chars().count()).max().unwrap_or(0).max("source".len());
        Self { shown: names.len() <= LINES, name }
    }

    /// The titles; `None` for a table that is not shown.
    pub(super) fn head(&self) -> Option<String> {
        self.line("source", ["points", "status", "iterations", "fitness", "rmse m", "ms"])
    }

    /// The line of a source.
    pub(super) fn row(&self, frame: &Frame) -> Option<String> {
        let at = &frame.found;
        let cells = [
            &grouped(frame.source_points),
            at.status,
            &at.iterations.to_string(),
            &format!("{:.4}", at.fitness),
            &metres(at.inlier_rmse),
            &short(frame.ms),
        ];
        self.line(&frame.input, cells)
    }

    fn line(&self, name: &str, cells: [&str; 6]) -> Option<String> {
        let widths = [12, 16, 12, 10, 14, 10];
        let cells: String = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        self.shown.then(|| format!("{:<width$}{cells}", shortened(name), width = self.name))
    }
}

/// The end of many sources.
pub(super) fn batch_line(summary: &BatchSummary) -> String {
    let times =
        summary.ms.map_or_else(String::new, |ms| format!(": p50 {} ms, p95 {} ms", short(ms.p50), short(ms.p95)));
    format!(
        "{} source{}, {} converged, {} points onto {} on {}{times}; the target {} ms",
        summary.counts.done,
        if summary.counts.done == 1 { "" } else { "s" },
        summary.converged,
        grouped(summary.points),
        grouped(summary.target_points),
        summary.run.device_name,
        short(summary.target_ms),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ways_are_shortened() {
        let mut look = Iteration::default();
        (look.pairs, look.rmse, look.step) = (40_000, 2e-5, 0.25);
        assert_eq!(trace_lines(&[look; LINES]).len(), 1 + LINES);
        let lines = trace_lines(&[look; LINES + 5]);
        assert_eq!((lines.len(), lines[11].trim()), (2 + LINES, "..."));
        assert!(lines[10].starts_with("         9") && lines[12].starts_with("        15"), "{lines:#?}");
        assert!(lines[1].contains(" 40,000 ") && lines[1].contains(" 2.000e-5 ") && lines[1].contains(" 0.250000 "));
    }
}
