//! The table for people.

use crate::records::{Frame, Summary, SummaryCpu};
use crate::stats::Times;
use pointmill_io::escape;

/// Up to this many inputs each gets a line.
pub(crate) const LINES: usize = 20;
/// Names longer than this lose their front.
const NAME: usize = 48;

/// How the lines of a table look.
#[derive(Debug)]
pub(crate) struct Table {
    shown: bool,
    name: usize,
    cpu: bool,
    verbose: bool,
}

impl Table {
    /// A table for inputs of these names.
    pub(crate) fn new(names: &[String], cpu: bool, verbose: bool) -> Self {
        let name = names.iter().map(|n| shortened(n).chars().count()).max().unwrap_or(0).max("input".len());
        Self { shown: verbose || names.len() <= LINES, name, cpu, verbose }
    }

    /// The titles; `None` for a table that is not shown.
    pub(crate) fn head(&self) -> Option<String> {
        self.line("input", ["points", "in range", "voxels", "ms"], "cpu ms", ["read ms", "write ms"], "")
    }

    /// The line of an input.
    pub(crate) fn row(&self, frame: &Frame) -> Option<String> {
        let numbers = [frame.points, frame.in_range, frame.voxels].map(grouped);
        let [points, in_range, voxels] = numbers.each_ref().map(String::as_str);
        let cpu = frame.cpu.as_ref();
        let equal = cpu.map_or("", |cpu| if cpu.equal { "equal" } else { "DIFFERENT" });
        let write = frame.write_ms.map_or_else(|| "-".into(), short);
        self.line(
            &frame.input,
            [points, in_range, voxels, &short(frame.ms)],
            &cpu.map_or_else(String::new, |cpu| short(cpu.ms)),
            [&short(frame.read_ms), &write],
            equal,
        )
    }

    fn line(&self, name: &str, cells: [&str; 4], cpu: &str, more: [&str; 2], equal: &str) -> Option<String> {
        if !self.shown {
            return None;
        }
        let name = shortened(name);
        let mut line = format!("{name:<width$}", width = self.name);
        for (cell, width) in cells.into_iter().zip([12, 12, 10, 10]) {
            line += &format!("{cell:>width$}");
        }
        if self.verbose {
            more.iter().for_each(|cell| line += &format!("{cell:>10}"));
        }
        if self.cpu {
            line += &format!("{cpu:>10}  {equal}");
        }
        Some(line.trim_end().into())
    }
}

/// The summary for people.
pub(crate) fn summary_lines(summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(ms) = &summary.ms {
        let (done, points, voxels) = (summary.counts.done, grouped(summary.points), grouped(summary.voxels));
        lines.push(format!(
            "{done} input{}, {points} points, {voxels} voxels on {}: p50 {} ms, p95 {} ms",
            if done == 1 { "" } else { "s" },
            summary.run.device_name,
            short(ms.p50),
            short(ms.p95),
        ));
        if let Some(cpu) = &summary.cpu {
            lines.push(cpu.line(ms, &summary.run.device_name));
        }
    }
    if let Some(picture) = &summary.picture {
        lines.push(format!("picture: {}", escape(picture)));
    }
    lines
}

impl SummaryCpu {
    /// The CPU beside a device, for people.
    pub(crate) fn line(&self, ms: &Times, device_name: &str) -> String {
        let threads = if self.threads == 1 { "1 thread".into() } else { format!("{} threads", self.threads) };
        format!(
            "mean {} ms on {device_name}, {} ms on the cpu with {threads}: {:.2} times as fast, {}",
            short(ms.mean),
            short(self.ms.mean),
            self.ratio,
            if self.equal { "all arrays equal" } else { "ARRAYS DIFFER" },
        )
    }
}

/// A number with commas.
pub(crate) fn grouped(n: usize) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", grouped(n / 1000), n % 1000) }
}

/// Milliseconds with about four digits.
pub(crate) fn short(ms: f64) -> String {
    let digits = if ms < 10.0 { 3 } else { usize::from(ms < 1000.0) };
    format!("{ms:.digits$}")
}

/// A name that fits, control bytes escaped.
pub(crate) fn shortened(name: &str) -> String {
    let name = escape(name);
    let length = name.chars().count();
    if length <= NAME {
        return name;
    }
    let end: String = name.chars().skip(length - (NAME - 3)).collect();
    format!("...{end}")
}

/// A pose as a matrix.
pub(crate) fn matrix_lines(matrix: &[f64; 16]) -> Vec<String> {
    let row = |row: &[f64; 4]| row.iter().map(|x| format!("{x:>16.9}")).collect::<String>();
    std::iter::once("target_from_source".to_owned()).chain(matrix.as_chunks().0.iter().map(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_fit() {
        assert_eq!([999, 1000, 1_234_567].map(grouped), ["999", "1,000", "1,234,567"]);
        assert_eq!([0.0123, 12.34, 1234.5].map(short), ["0.012", "12.3", "1234"]);
        assert_eq!(shortened("a\x1b"), r"a\u{1b}");
        let long = "x".repeat(100) + "end";
        assert!(shortened(&long).ends_with("end") && shortened(&long).len() == NAME);
        let names = vec![String::new(); LINES + 1];
        assert!(Table::new(&names, false, false).head().is_none());
        assert!(Table::new(&names, false, true).head().is_some());
    }
}
