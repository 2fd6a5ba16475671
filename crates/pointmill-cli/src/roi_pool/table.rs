//! The answer for people: a table of one line or of a line for each scene, and what there is to add.

use super::records::{BatchSummary, Frame, InsideReport, PoolReport, ReportRecord, Summary};
use crate::args::RoiPoolArgs;
use crate::table::{LINES, grouped, short, shortened};
use clap::ValueEnum;
use pointmill_io::escape;

/// All lines.
pub(crate) fn lines(summary: &Summary, args: &RoiPoolArgs) -> Vec<String> {
    let mut cells = counted(&summary.report);
    cells.push(("ms", short(summary.ms)));
    let mut equal = "";
    if let Some(cpu) = &summary.cpu {
        cells.push(("cpu ms", short(cpu.ms)));
        equal = if cpu.equal { "  equal" } else { "  DIFFERENT" };
    }
    let width = |title: &str, cell: &str| title.len().max(cell.len()) + 3;
    let head: String = cells.iter().map(|(t, c)| format!("{t:>w$}", w = width(t, c))).collect();
    let row: String = cells.iter().map(|(t, c)| format!("{c:>w$}", w = width(t, c))).collect();
    let mut lines = vec![head, row + equal, task(summary, args)];
    if let Some(cpu) = &summary.cpu {
        let threads = if cpu.threads == 1 { "1 thread".into() } else { format!("{} threads", cpu.threads) };
        lines.push(format!(
            "{} ms on {}, {} ms on the cpu with {threads}: {:.2} times as fast, {}",
            short(summary.ms),
            summary.run.device_name,
            short(cpu.ms),
            cpu.ratio,
            if cpu.equal { "all arrays equal" } else { "ARRAYS DIFFER" },
        ));
    }
    if let (Some(out), Some(arrays)) = (&summary.out, &summary.arrays) {
        let arrays: Vec<_> = arrays.iter().map(|a| format!("{} {} {:?}", a.name, a.r#type, a.shape)).collect();
        lines.push(format!("{}: {}", escape(out), arrays.join(", ")));
    }
    if let Some(picture) = &summary.picture {
        lines.push(format!("picture: {}", escape(picture)));
    }
    lines
}

/// A line for each scene, under titles; where there are too many scenes none.
#[derive(Debug)]
pub(super) struct SceneTable {
    shown: bool,
    name: usize,
    titled: bool,
}

impl SceneTable {
    /// A table for scenes of these names.
    pub(super) fn new(names: &[String]) -> Self {
        let name = names.iter().map(|n| shortened(n).chars().count()).max().unwrap_or(0).max("input".len());
        Self { shown: names.len() <= LINES, name, titled: false }
    }

    /// The line of a scene, and before the first the titles.
    pub(super) fn rows(&mut self, frame: &Frame) -> Vec<String> {
        if !self.shown {
            return Vec::new();
        }
        let mut cells = counted(&frame.report);
        cells.push(("ms", short(frame.ms)));
        let mut equal = "";
        if let Some(cpu) = &frame.cpu {
            cells.push(("cpu ms", short(cpu.ms)));
            equal = if cpu.equal { "  equal" } else { "  DIFFERENT" };
        }
        let (titles, cells): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
        let width = self.name;
        let wide = |text: &str| format!("{text:>14}");
        let row =
            format!("{:<width$}", shortened(&frame.input)) + &cells.iter().map(|c| wide(c)).collect::<String>() + equal;
        if std::mem::replace(&mut self.titled, true) {
            return vec![row];
        }
        vec![format!("{:<width$}", "input") + &titles.into_iter().map(wide).collect::<String>(), row]
    }
}

/// The summary of several scenes.
pub(super) fn batch_lines(summary: &BatchSummary) -> Vec<String> {
    let Some(ms) = &summary.ms else { return Vec::new() };
    let (done, boxes, points) = (summary.counts.done, grouped(summary.boxes), grouped(summary.points));
    let mut lines = vec![format!(
        "{done} scene{}, {boxes} boxes, {points} points on {}: p50 {} ms, p95 {} ms",
        if done == 1 { "" } else { "s" },
        summary.run.device_name,
        short(ms.p50),
        short(ms.p95),
    )];
    lines.extend(summary.cpu.as_ref().map(|cpu| cpu.line(ms, &summary.run.device_name)));
    lines
}

/// What was counted, under its titles.
fn counted(report: &ReportRecord) -> Vec<(&'static str, String)> {
    match report {
        ReportRecord::Pool(report) => pooled(report),
        ReportRecord::Inside(report) => inside(report),
    }
}

fn pooled(report: &PoolReport) -> Vec<(&'static str, String)> {
    let &PoolReport { boxes, empty_boxes, points, voxels, inside, kept, dropped } = report;
    let names = ["boxes", "empty boxes", "points", "voxels", "inside", "kept", "dropped"];
    names.into_iter().zip([boxes, empty_boxes, points, voxels, inside, kept, dropped].map(grouped)).collect()
}

fn inside(report: &InsideReport) -> Vec<(&'static str, String)> {
    let &InsideReport { boxes, points, points_inside, pairs } = report;
    let mut cells = vec![("boxes", grouped(boxes)), ("points", grouped(points))];
    cells.extend(points_inside.map(|n| ("points inside", grouped(n))));
    cells.extend(pairs.map(|n| ("pairs", grouped(n))));
    cells
}

/// What was done, in a line.
fn task(summary: &Summary, args: &RoiPoolArgs) -> String {
    let device = &summary.run.device_name;
    if let Some(inside) = args.inside {
        return format!("{} of points in boxes on {device}", name(inside));
    }
    let [x, y, z] = args.out_size;
    let (channels, element) = (summary.channels.unwrap_or(0), summary.element.unwrap_or("f32"));
    format!(
        "{} of {channels} {element} channel{} in {x} x {y} x {z} voxels a box, {}, on {device}",
        name(args.mode),
        if channels == 1 { "" } else { "s" },
        name(args.output),
    )
}

/// A value of a flag, as it is typed.
fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().into())
}
