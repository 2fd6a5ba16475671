//! The answer for people: a table of one line, and what there is to add.

use super::records::{InsideReport, PoolReport, ReportRecord, Summary};
use crate::args::RoiPoolArgs;
use crate::table::{grouped, short};
use clap::ValueEnum;
use pointmill_io::escape;

/// All lines.
pub(crate) fn lines(summary: &Summary, args: &RoiPoolArgs) -> Vec<String> {
    let mut cells = match &summary.report {
        ReportRecord::Pool(report) => pooled(report),
        ReportRecord::Inside(report) => inside(report),
    };
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
