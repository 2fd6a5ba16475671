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
}

impl Table {
    /// A table for inputs of these names; with `every_row` also of many.
    pub(super) fn new(names: &[String], verbose: bool, every_row: bool) -> Self {
        let longest = names.iter().map(|n| shortened(n).chars().count()).max().unwrap_or(0).max("input".len());
        let name = if names.len() == 1 { 0 } else { longest };
        Self { shown: verbose || every_row || names.len() <= LINES, verbose, name, titled: false }
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
}
