//! Many lines on all threads.

use super::line::{Separator, complete, decimal_comma, is_comment};
use crate::error::IoError;
use crate::limits::Bounds;
use crate::records::Table;
use crate::threads::{max_threads, on_threads};
use crate::window::Window;

/// Adds the rows of the lines that are whole in the window, of `width` values each. A thread is
/// worth `least` bytes.
///
/// Returns the position up to which lines are to be read one by one: those of a window that has
/// few, or one that is not right, whose error is then the same as without threads.
pub(super) fn read(
    window: &mut Window<'_, '_>,
    bounds: &Bounds,
    table: &mut Table,
    (separator, width): (Separator, usize),
    least: usize,
) -> Result<u64, IoError> {
    let lines = window.whole_lines()?;
    let end = window.position() + lines.len() as u64;
    // At least the next line, where none is whole.
    let one_by_one = Ok(end.max(window.position() + 1));
    let parts = parts(window.at(&lines), least);
    if parts.len() < 2 {
        return one_by_one;
    }
    let done = on_threads(parts, |part| read_part(table, part, separator, width));
    let Some(done) = done.into_iter().collect::<Option<Vec<_>>>() else { return one_by_one };
    let (tables, counts): (Vec<_>, Vec<u64>) = done.into_iter().unzip();
    let points = table.len() + tables.iter().map(Table::len).sum::<usize>();
    let fits = bounds.check_points(window.source(), points as u64).and_then(|()| table.append(window, &tables));
    if fits.is_err() {
        return one_by_one;
    }
    window.take_lines(&lines, counts.into_iter().sum());
    Ok(end)
}

/// Whole lines in parts of about the same length, one for each thread.
fn parts(mut lines: &[u8], least: usize) -> Vec<&[u8]> {
    let threads = max_threads().min(lines.len() / least);
    let each = lines.len().div_ceil(threads.max(1));
    let mut parts = vec![];
    while !lines.is_empty() {
        let rest = lines.get(each..).and_then(|rest| memchr::memchr(b'\n', rest));
        let (part, rest) = lines.split_at(rest.map_or(lines.len(), |at| each + at + 1));
        parts.push(part);
        lines = rest;
    }
    parts
}

/// The rows of whole lines in a table like another, and the number of lines; `None` where one is
/// not right.
fn read_part(like: &Table, lines: &[u8], separator: Separator, width: usize) -> Option<(Table, u64)> {
    if memchr::memchr_iter(b'\r', lines).any(|at| lines.get(at + 1) != Some(&b'\n')) {
        return None;
    }
    let count = memchr::memchr_iter(b'\n', lines).count();
    let mut table = like.like(count).ok()?;
    let (mut parts, mut start) = (vec![], 0);
    for end in memchr::memchr_iter(b'\n', lines) {
        let line = &lines[start..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        start = end + 1;
        parts.clear();
        if !is_comment(line) {
            separator.split(line, &mut parts);
            if parts.len() != width {
                complete(line, separator, width, &mut parts);
            }
        }
        if !parts.is_empty() {
            if parts.len() != width || decimal_comma(line, separator, &parts).is_some() {
                return None;
            }
            table.push_numbers(line, &parts).ok()?;
        }
    }
    Some((table, count as u64))
}

#[cfg(test)]
mod tests {
    use super::super::read::read_on;
    use crate::limits::{Bounds, Limits};
    use crate::source::Source;
    use proptest::prelude::*;

    /// What is read, or the error.
    fn read(text: &[u8], bounds: &Bounds, least: usize) -> String {
        let (mut reader, length) = (text, text.len() as u64);
        let rows = read_on(&mut Source::new("t".as_ref(), &mut reader, Some(length)), bounds, least);
        rows.map_or_else(|e| e.to_string(), |rows| format!("{rows:?}"))
    }

    fn line() -> impl Strategy<Value = String> {
        let numbers = prop::collection::vec(-9_000_000i32..9_000_000, 4);
        let row =
            numbers.prop_map(|n| n.iter().map(|n| format!("{}", f64::from(*n) / 64.0)).collect::<Vec<_>>().join(" "));
        prop_oneof![
            40 => row,
            2 => prop::sample::select(vec!["", "  ", "# a comment", "// another", "nan inf -inf 1e300", "1 2 3 4\r"]).prop_map(String::from),
        ]
    }

    proptest! {
        #[test]
        fn threads_read_what_one_reads(
            lines in prop::collection::vec(line(), 1..200), names in any::<bool>(), end in any::<bool>(), least in 1usize..400,
            wrong in prop::option::weighted(0.4, (any::<prop::sample::Index>(), prop::sample::select(vec!["1 2 3", "1 2 x 4", "1,5 2 3 4", "1 2 3 4 5"]))),
            most in prop::option::weighted(0.2, 0u64..200),
        ) {
            let mut lines = lines;
            if let Some((at, line)) = wrong {
                let at = at.index(lines.len());
                lines[at] = line.into();
            }
            let head = if names { "x y z time\n" } else { "" };
            let text = format!("{head}{}{}", lines.join("\n"), if end { "\n" } else { "" });
            let limits = Limits { max_points: most, ..Limits::default() };
            let bounds = Bounds { limits, ..Bounds::default() };
            prop_assert_eq!(read(text.as_bytes(), &bounds, least), read(text.as_bytes(), &bounds, usize::MAX));
        }
    }

    #[test]
    fn windows_follow_each_other() {
        // More than a window holds, so that lines lie across the ends of windows.
        let text: String = (0..400_000).map(|i| format!("{i}.25 {} -{i}e-3\n", i % 977)).collect();
        let bounds = Bounds::default();
        let (threads, one) = (read(text.as_bytes(), &bounds, 1 << 10), read(text.as_bytes(), &bounds, usize::MAX));
        assert!(text.len() > 5 << 20 && threads == one);
        let wrong = format!("{text}1 2\n{text}");
        let told = "t: line 400001: expected 3 values, as the first line has, got 2";
        assert!(
            read(wrong.as_bytes(), &bounds, 1 << 10).starts_with(told),
            "{}",
            read(wrong.as_bytes(), &bounds, 1 << 10)
        );
    }
}
