//! The table for people: a line for each input, under titles.

use crate::json::Frame;
use crate::text::{LINES, shortened};

/// A title and a text.
pub type Cell = (&'static str, String);

/// The narrowest column.
const WIDTH: usize = 12;

/// Milliseconds of a column, which share their decimals.
fn milliseconds(ms: f64) -> String {
    format!("{ms:.3}")
}

/// How the lines look.
#[derive(Debug)]
pub(super) struct Table {
    shown: bool,
    verbose: bool,
    /// The width of names; 0 for one input, which needs no name.
    name: usize,
    titled: bool,
    /// Rows that are held until all are there, so that columns are as wide as their longest text.
    held: Option<Vec<(String, Vec<Cell>)>>,
}

impl Table {
    /// A table for inputs of these names; with `every_row` also of many, and all at the end.
    pub(super) fn new(names: &[String], verbose: bool, every_row: bool) -> Self {
        let longest = names.iter().map(|n| shortened(n).chars().count()).max().unwrap_or(0).max("input".len());
        let name = if names.len() == 1 { 0 } else { longest };
        Self {
            shown: verbose || every_row || names.len() <= LINES,
            verbose,
            name,
            titled: false,
            held: every_row.then(Vec::new),
        }
    }

    /// What leads to a line for each input, where there are too many.
    pub(super) fn hint(&self) -> Option<&'static str> {
        (!self.shown).then_some("--verbose prints a line for each input")
    }

    /// The line of an input, below the titles if it is the first; no line if there are too many
    /// inputs.
    pub(super) fn rows<R>(&mut self, frame: &Frame<R>, mut cells: Vec<Cell>) -> Vec<String> {
        if !self.shown {
            return Vec::new();
        }
        cells.extend(frame.ms.map(|ms| ("ms", milliseconds(ms))));
        if self.verbose {
            let write = frame.write_ms.map_or_else(|| "-".into(), milliseconds);
            cells.extend([("read ms", milliseconds(frame.read_ms)), ("write ms", write)]);
        }
        if let Some(held) = &mut self.held {
            held.push((shortened(&frame.input), cells));
            return Vec::new();
        }
        let mut equal = "";
        if let Some(cpu) = &frame.cpu {
            cells.push(("cpu ms", milliseconds(cpu.ms)));
            equal = cpu.equal.map_or("", |equal| if equal { "  equal" } else { "  DIFFERENT" });
        }
        let wide = |title: &str, text: &str| format!("{text:>width$}", width = WIDTH.max(title.len() + 2));
        let name =
            |text: &str| if self.name == 0 { String::new() } else { format!("{text:<width$}", width = self.name) };
        let line = |name: String, cell: &dyn Fn(&Cell) -> String| {
            let line = name + &cells.iter().map(cell).collect::<String>();
            line.trim_end().to_owned()
        };
        let row = line(name(&shortened(&frame.input)), &|(title, text)| wide(title, text)) + equal;
        if std::mem::replace(&mut self.titled, true) {
            return vec![row];
        }
        vec![line(name("input"), &|(title, _)| wide(title, title)), row]
    }

    /// The rows that were held, under their titles, without columns that are empty. The last one
    /// begins at the left.
    pub(super) fn end(&mut self) -> Vec<String> {
        let held = self.held.take().unwrap_or_default();
        let Some((_, first)) = held.first() else { return Vec::new() };
        let length = |text: &str| text.chars().count();
        let widest = |j: usize| held.iter().map(|(_, cells)| length(&cells[j].1)).max().unwrap_or(0);
        let columns: Vec<_> = (0..first.len()).map(|j| (j, widest(j))).filter(|(_, width)| *width > 0).collect();
        let last = first.len() - 1;
        let line = |name: &str, text: &dyn Fn(usize) -> String| {
            let cell = |&(j, width): &(usize, usize)| match width.max(length(first[j].0)) {
                width if j == last => format!("  {:<width$}", text(j)),
                width => format!("  {:>width$}", text(j)),
            };
            let line = format!("{name:<width$}", width = self.name) + &columns.iter().map(cell).collect::<String>();
            line.trim_end().to_owned()
        };
        let titles = line(if self.name == 0 { "" } else { "input" }, &|j| first[j].0.to_owned());
        let rows =
            held.iter().map(|(name, cells)| line(if self.name == 0 { "" } else { name }, &|j| cells[j].1.clone()));
        std::iter::once(titles).chain(rows).collect()
    }
}
