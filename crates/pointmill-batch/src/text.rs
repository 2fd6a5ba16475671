//! Numbers, names and poses as people read them.

use crate::stats::Times;
use pointmill::Pose;
use pointmill::registration::Status;
use pointmill_io::escape;

pub use pointmill_data::grouped;
pub use pointmill_data::inputs::{shown, tidy};

/// Up to this many inputs each get a line.
pub const LINES: usize = 20;
/// Longer names lose their beginning.
const NAME: usize = 48;

/// The title of a picture, with the origin of its clouds in metres unless that is zero.
pub fn titled(title: &str, origin: [f64; 3]) -> String {
    let [x, y, z] = origin;
    if origin == [0.0; 3] { title.into() } else { format!("{title}; origin {x}, {y}, {z}") }
}

/// Milliseconds with about four digits.
pub fn short(ms: f64) -> String {
    let digits = if ms < 10.0 { 3 } else { usize::from(ms < 1000.0) };
    format!("{ms:.digits$}")
}

/// A name that fits, control bytes escaped.
pub fn shortened(name: &str) -> String {
    let name = escape(name);
    let length = name.chars().count();
    if length <= NAME {
        return name;
    }
    let end: String = name.chars().skip(length - (NAME - 3)).collect();
    format!("...{end}")
}

/// What pages call an input: the file's name alone, since pages are given away and folders tell of
/// who made them; control bytes escaped.
pub fn label(name: &str) -> String {
    escape(name.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(name))
}

/// A row of texts, each at the right of a column that is so wide.
pub fn row<T: AsRef<str>>(cells: impl IntoIterator<Item = T>, widths: &[usize]) -> String {
    cells.into_iter().zip(widths).map(|(cell, width)| format!("{:>width$}", cell.as_ref())).collect()
}

/// A number of things: `1 input`, `2 inputs`.
pub fn counted(n: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// The median and the 95th percentile, behind a colon.
pub fn percentiles(ms: Option<&Times>) -> String {
    ms.map_or_else(String::new, |ms| format!(": p50 {} ms, p95 {} ms", short(ms.p50), short(ms.p95)))
}

/// A file that was written, with what is in it.
pub fn written(what: &str, path: Option<&str>) -> Option<String> {
    path.map(|path| format!("{what}: {}", escape(path)))
}

/// A pose as a matrix.
pub fn matrix_lines(pose: &Pose) -> Vec<String> {
    let row = |row: &[f64; 4]| row.iter().map(|x| format!(" {x:>15.9}")).collect::<String>();
    std::iter::once("target_from_source".to_owned()).chain(pose.matrix().iter().map(row)).collect()
}

/// How an alignment ended, for people.
pub fn ended(status: Status) -> &'static str {
    match status {
        Status::Fixed => "converged",
        Status::StepBelow => "converged (last step below the tolerance)",
        other => other.as_str(),
    }
}

#[cfg(test)]
#[path = "../tests/unit/text.rs"]
mod tests;
