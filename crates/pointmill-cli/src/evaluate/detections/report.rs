//! Average precisions for people.

use super::records::Totals;
use crate::text::counted;
use pointmill_detection::{AveragePrecision, Change, DetectionReport, Fate, Protocol};
use pointmill_io::escape;

/// The most changes that are shown.
const MOST: usize = 20;

/// All scores, as tables.
pub(super) fn lines(found: &DetectionReport, of: &Totals) -> Vec<String> {
    let counts = [counted(of.frames, "frame"), format!("{} predicted", of.predictions), format!("{} true", of.truth)];
    let mut lines = vec![counts.join(", ")];
    match found.protocol {
        Protocol::KittiR40 | Protocol::KittiR11 => lines.extend(levels(found)),
        Protocol::NuScenes | Protocol::Argoverse2 => lines.extend(thresholds(found)),
    }
    let totals = [("NDS", of.nds), ("CDS", of.cds)];
    let known = totals.into_iter().filter_map(|(name, value)| Some(format!("{name} {:.4}", value?)));
    lines.push(mean_ap(found).into_iter().chain(known).collect::<Vec<_>>().join(", "));
    if let (Some(changes), Some(better), Some(worse)) = (&of.changes, of.better, of.worse) {
        let other = changes.len() - better - worse;
        lines.push(format!("since the other run: {better} better, {worse} worse, {other} count in one run alone"));
        lines.extend(changes.iter().take(MOST).map(change));
        if changes.len() > MOST {
            lines.push(format!("... and {} more; --json lists all", changes.len() - MOST));
        }
    }
    lines
}

/// The mean of the average precisions, of KITTI in percent as its table.
pub(super) fn mean_ap(found: &DetectionReport) -> Option<String> {
    let mean = found.mean_ap?;
    Some(match found.protocol {
        Protocol::KittiR40 | Protocol::KittiR11 => format!("mean AP {:.2} % (3d, moderate)", 100.0 * mean),
        Protocol::NuScenes | Protocol::Argoverse2 => format!("mean AP {mean:.4}"),
    })
}

/// KITTI's table, in percent.
fn levels(found: &DetectionReport) -> Vec<String> {
    let titles = ["easy", "moderate", "hard", "hit", "false", "missed"].map(str::to_owned);
    let mut lines = vec![row("", &titles)];
    for of in found.precisions.chunks_exact(3) {
        let percent = |of: &AveragePrecision| of.ap.map_or_else(|| "-".into(), |ap| format!("{:.2}", 100.0 * ap));
        let mut cells: Vec<String> = of.iter().map(percent).collect();
        let counts = of[1].counts;
        cells.extend([counts.true_positives, counts.false_positives, counts.missed].map(|n| n.to_string()));
        lines.push(row(&format!("{} {} {:.2}", of[0].class, of[0].metric, of[0].threshold), &cells));
    }
    lines.push("average precisions in percent; hit, false and missed at the moderate level".into());
    lines
}

/// The table of thresholds and errors, of the classes that have boxes.
fn thresholds(found: &DetectionReport) -> Vec<String> {
    let of_nuscenes = found.protocol == Protocol::NuScenes;
    let mut titles = vec!["0.5 m", "1 m", "2 m", "4 m", "AP", "ATE", "ASE", "AOE"];
    titles.extend(if of_nuscenes { &["AVE", "AAE"][..] } else { &["CDS"] });
    let titles: Vec<String> = titles.into_iter().map(str::to_owned).collect();
    let mut lines = vec![row("", &titles)];
    let cell = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.4}"));
    let is_there = |of: &AveragePrecision| !(of.predictions.is_empty() && of.truth.is_empty());
    for (class, precisions) in found.classes.iter().zip(found.precisions.chunks_exact(4)) {
        if !is_there(&precisions[0]) {
            continue;
        }
        let errors = class.errors;
        let mut values: Vec<Option<f64>> = precisions.iter().map(|of| of.ap).collect();
        values.extend([Some(class.ap), errors.translation, errors.scale, errors.orientation]);
        values.extend(if of_nuscenes { vec![errors.velocity, errors.attribute] } else { vec![class.cds] });
        lines.push(row(class.class, &values.into_iter().map(cell).collect::<Vec<_>>()));
    }
    lines
}

/// A box that changed.
fn change(of: &Change) -> String {
    let fate = |fate: Option<Fate>, absent| fate.map_or(absent, Fate::as_str);
    let [before, after] = [fate(of.before, "none"), fate(of.after, "none")];
    format!("  {}: {} {} box {}: {before} -> {after}", of.verdict, escape(&of.frame), of.class, of.row)
}

fn row(name: &str, cells: &[String]) -> String {
    format!("{name:<32}") + &cells.iter().map(|cell| format!("{cell:>9}")).collect::<String>()
}
