//! Registrations for people.

use super::records::{Row, Totals};
use crate::batch::Cell;
use crate::json::{Frame, Summary};
use crate::text::{counted, grouped, matrix_lines, percentiles, short, written};
use pointmill::registration::global::{Overlap, Registered, Verdict};

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// The end of the title of a picture.
pub(super) fn verdict_and_overlap(found: &Registered) -> String {
    let [source, target] = [&found.source_overlap, &found.target_overlap].map(|overlap| percent(overlap.extent()));
    format!("{}, overlap {source} of the source, {target} of the target", found.verdict)
}

/// A source alone: its pose, and how sure it is.
pub(super) fn detail(frame: &Frame<Row>, level: bool, device: &str) -> Vec<String> {
    let row = &frame.of;
    let found = &row.found;
    let is_found = found.verdict == Verdict::Found;
    // A pose that is no answer is not shown as one; --json has it.
    let mut lines = if is_found { matrix_lines(&found.target_from_source) } else { Vec::new() };
    let what = if level { "points" } else { "matches" };
    lines.push(format!(
        "{}: {} of {} {what} agree, {} candidates, margin {:.2}",
        found.verdict,
        grouped(found.inliers),
        grouped(found.matches),
        grouped(found.candidates),
        found.margin,
    ));
    let of = |name: &str, overlap: &Overlap| {
        let (extent, share) = (percent(overlap.extent()), percent(overlap.share()));
        format!("overlap: {extent} of the {name} has a neighbour in the other cloud, {share} of the shared volume")
    };
    lines.push(of("source", &found.source_overlap));
    lines.push(of("target", &found.target_overlap));
    if let Some(observability) = &found.observability {
        lines.push(format!("{} of 6 degrees of freedom are constrained", observability.rank()));
    }
    lines.push(format!(
        "{} points onto {} on {device}: {} ms",
        grouped(row.source_points),
        grouped(row.target_points),
        short(frame.ms.unwrap_or(0.0)),
    ));
    lines
}

/// The cells of one of many sources.
pub(super) fn cells(Row { found, source_points, .. }: &Row) -> Vec<Cell> {
    vec![
        ("points", grouped(*source_points)),
        ("verdict", format!("  {:>15}", found.verdict)),
        ("inliers", grouped(found.inliers)),
        ("overlap", percent(found.source_overlap.extent().min(found.target_overlap.extent()))),
        ("margin", format!("{:.2}", found.margin)),
    ]
}

/// The end of the command.
pub(super) fn lines(summary: &Summary<Totals>) -> Vec<String> {
    let Totals { found, points, target_points, target_ms, .. } = summary.of;
    let mut lines = Vec::new();
    if summary.counts.inputs > 1 {
        lines.push(format!(
            "{}, {found} found, {} points onto {} on {}{}; the target {} ms",
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
    lines
}

/// What to do about a source without an answer.
pub(super) const fn way_out(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::TooFewMatches => {
            "; too few distinctive points at this --voxel-size: set it to about a hundredth of the width of the clouds"
        }
        Verdict::NotLevel => "; z is not up in both clouds: level them, or leave out --level",
        Verdict::LowOverlap => {
            "; the clouds have too little in common: take clouds that are closer together, or `icp --guess`"
        }
        Verdict::Ambiguous => {
            "; other poses fit as well, or the clouds slide along each other: take clouds with more structure, or `icp --guess`"
        }
        _ => "",
    }
}
