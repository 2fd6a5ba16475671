//! Errors for people.

use super::records::Totals;
use crate::text::counted;
use pointmill_slam::trajectory::{PoseErrors, Statistics};

/// All errors, as tables.
pub(super) fn lines(of: &Totals) -> Vec<String> {
    let titles = ["rmse", "mean", "median", "std", "min", "max"].map(str::to_owned);
    let mut lines = vec![format!("{}, {:.3} m", matched(of), of.length), row("", &titles)];
    lines.extend(errors("absolute", &of.absolute));
    for relative in &of.relative {
        let frames = || format!("over {}", counted(relative.frames.unwrap_or_default(), "frame"));
        let over = relative.metres.map_or_else(frames, |metres| format!("over {metres} m"));
        if relative.pairs > 0 {
            lines.extend(errors(&over, &relative.errors));
        }
    }
    if let (Some(translation), Some(rotation)) = (of.drift.translation, of.drift.rotation) {
        let titles = ["segments", "percent", "deg/100 m"].map(str::to_owned);
        lines.push(row("drift", &titles));
        let share = |n: usize, translation: f64, rotation: f64| {
            [n.to_string(), format!("{:.4}", 100.0 * translation), format!("{:.4}", 100.0 * rotation.to_degrees())]
        };
        for by in &of.drift.by_length {
            lines.push(row(&format!("{} m", by.length), &share(by.segments, by.translation, by.rotation)));
        }
        lines.push(row("all", &share(of.drift.segments, translation, rotation)));
    }
    lines
}

/// How many poses were compared, of how many.
fn matched(of: &Totals) -> String {
    let [estimate, truth] = [of.estimate_poses, of.truth_poses];
    match of.poses {
        all if all == estimate && all == truth => counted(all, "pose"),
        some => format!("{some} pairs of {estimate} estimated and {truth} true poses"),
    }
}

/// The lines of an error; a rotation may not be known.
fn errors(name: &str, errors: &PoseErrors) -> Vec<String> {
    let cells = |s: &Statistics, factor: f64| {
        [s.rmse, s.mean, s.median, s.std, s.min, s.max].map(|x| format!("{:.6}", factor * x))
    };
    let degrees = errors.rotation.map(|rotation| cells(&rotation, 1f64.to_degrees()));
    let metres = row(&format!("{name}, m"), &cells(&errors.translation, 1.0));
    std::iter::once(metres).chain(degrees.map(|cells| row(&format!("{name}, deg"), &cells))).collect()
}

fn row(name: &str, cells: &[String]) -> String {
    format!("{name:<20}") + &cells.iter().map(|cell| format!("{cell:>12}")).collect::<String>()
}
