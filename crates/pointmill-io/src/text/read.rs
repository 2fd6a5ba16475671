//! From lines of text to rows.

use super::line::{Separator, complete, decimal_comma, is_comment, lone_return};
use super::many;
use crate::error::{IoError, excerpt};
use crate::fault::{bail, fault};
use crate::field::XYZ;
use crate::limits::Bounds;
use crate::names;
use crate::records::{Columns, Entry, LONGEST_NAME, Table, name};
use crate::rows::Rows;
use crate::source::Source;
use crate::times;
use crate::window::Window;
use pointmill_core::array::Dtype;
use std::ops::Range;

/// Bytes that are read at a time: threads start for each of these.
const LARGE: usize = 4 << 20;
/// Bytes that are worth a thread.
const LEAST: usize = 64 << 10;

/// Reads the rows of a text.
pub(crate) fn read_rows(source: &mut Source<'_>, bounds: &Bounds) -> Result<Rows, IoError> {
    read_on(source, bounds, LEAST)
}

/// Reads the rows of a text, with a thread for so many bytes at least.
pub(super) fn read_on(source: &mut Source<'_>, bounds: &Bounds, least: usize) -> Result<Rows, IoError> {
    let mut window = Window::large(source, LARGE);
    window.begin_text()?;
    let mut head = Head::default();
    let mut parts = vec![];
    let Some((first, separator)) = head.read(&mut window, &mut parts)? else { return head.empty(&window, bounds) };
    let mut table = Table::new(head.columns(&window, bounds, parts.len())?);
    let width = parts.len();
    let mut line = Some(first);
    // Threads look for the line ends of today.
    let mut one_by_one = if window.has_old_line_ends() { u64::MAX } else { 0 };
    while let Some(at) = line {
        let text = window.at(&at);
        if lone_return(text) {
            return Err(old_line_ends(&window, window.line_number()));
        }
        parts.clear();
        if !is_comment(text) {
            separator.split(text, &mut parts);
            complete(text, separator, width, &mut parts);
        }
        if !parts.is_empty() {
            check(&window, text, separator, &parts, width)?;
            bounds.check_points(window.source(), table.len() as u64 + 1)?;
            table.push_text(&window, text, &parts)?;
        }
        while window.position() >= one_by_one {
            one_by_one = many::read(&mut window, bounds, &mut table, (separator, width), least)?;
        }
        line = window.line()?;
    }
    if let Some((line, count)) = head.count.filter(|&(_, count)| count != table.len() as u64) {
        bail!(window, SizeMismatch, "data", "{count} points, as line {line} says", ("{} points", table.len()));
    }
    Ok(table.into_rows(0))
}

fn old_line_ends(window: &Window<'_, '_>, line: u64) -> IoError {
    let found = r"some that end in \r alone; convert these with tr '\r' '\n'";
    fault!(window, BadValue, "line {line}", r"lines that end alike, in \n, \r\n or \r", found)
}

/// Checks the number of a line's values, and that commas are no decimal points.
fn check(
    window: &Window<'_, '_>,
    line: &[u8],
    separator: Separator,
    parts: &[Range<usize>],
    width: usize,
) -> Result<(), IoError> {
    let field = || format!("line {}", window.line_number());
    if let Some(part) = decimal_comma(line, separator, parts) {
        let wanted = "numbers with a decimal point, between them blanks, commas or semicolons and only one of these";
        bail!(window, BadValue, (field()), wanted, excerpt(part));
    }
    if parts.len() != width {
        bail!(window, BadValue, (field()), "{width} values, as the first line has", parts.len());
    }
    Ok(())
}

/// What comes before the points.
#[derive(Debug, Default)]
struct Head {
    /// The number of points, and the line that says it.
    count: Option<(u64, u64)>,
    /// Names, and what else they may be by another separator.
    names: Vec<Vec<String>>,
    /// The same of a comment, which count if there are as many as columns.
    comment: Vec<Vec<String>>,
    /// How many names there are, if tabs stand between them.
    tabs: Option<usize>,
}

impl Head {
    /// Reads to the first line of numbers; the line, and what stands between its numbers.
    fn read(
        &mut self,
        window: &mut Window<'_, '_>,
        parts: &mut Vec<Range<usize>>,
    ) -> Result<Option<(Range<usize>, Separator)>, IoError> {
        while let Some(at) = window.line()? {
            let line = window.at(&at);
            if lone_return(line) {
                return Err(old_line_ends(window, window.line_number()));
            }
            if is_comment(line) {
                let start = line.iter().position(|b| !b"#/ \t".contains(b)).unwrap_or(line.len());
                self.comment = names(&line[start..], parts);
                continue;
            }
            if self.names.is_empty()
                && names_of(line, Separator::of_names(line), parts).is_some_and(|names| names.len() > 1)
            {
                self.tabs = (Separator::of_names(line) == Separator::Byte(b'\t')).then_some(parts.len());
                for part in &*parts {
                    name(window, unquoted(&line[part.clone()]))?;
                }
                self.names = names(line, parts);
                continue;
            }
            let separator = self.separator(line, parts);
            separator.split(line, parts);
            if let Some(names) = self.names.iter().find(|names| names.len() == parts.len() + 1) {
                complete(line, separator, names.len(), parts);
            }
            match &parts[..] {
                [] => {}
                [one] if self.count.is_none() && self.names.is_empty() => {
                    let count = str::from_utf8(&line[one.clone()]).ok().and_then(|text| text.parse().ok());
                    let Some(count) = count else {
                        let wanted = "x, y and z, their names, or the number of points";
                        bail!(window, BadValue, (place(window)), wanted, excerpt(&line[one.clone()]));
                    };
                    self.count = Some((window.line_number(), count));
                }
                _ => return Ok(Some((at, separator))),
            }
        }
        Ok(None)
    }

    /// What stands between the numbers of the first line: tabs, if the names have tabs between them
    /// and there are as many numbers, since a cell may then be empty; else what the line says.
    fn separator(&self, line: &[u8], parts: &mut Vec<Range<usize>>) -> Separator {
        let tabs = Separator::Byte(b'\t');
        tabs.split(line, parts);
        complete(line, tabs, self.tabs.unwrap_or_default(), parts);
        if self.tabs == Some(parts.len()) { tabs } else { Separator::of(line) }
    }

    /// The columns: by their names, else x, y, z and `c3`, `c4`, ...
    fn columns(self: &mut Head, window: &Window<'_, '_>, bounds: &Bounds, width: usize) -> Result<Columns, IoError> {
        if width < 3 {
            bail!(window, MissingField, (place(window)), "x, y and z, which are 3 values or more", width);
        }
        let named = |names: &Vec<String>| XYZ.iter().all(|axis| names.iter().any(|n| n.eq_ignore_ascii_case(axis)));
        let (names, comment) = (std::mem::take(&mut self.names), std::mem::take(&mut self.comment));
        if let Some(first) = names.first().filter(|_| names.iter().all(|names| names.len() != width)) {
            bail!(window, BadValue, (place(window)), ("{} values, as there are names", first.len()), width);
        }
        let plain = |name: &String| !name.is_empty() && !name.chars().any(char::is_control) && name.len() <= 64;
        let comment = comment.into_iter().filter(|names| named(names) && names.iter().all(plain));
        let found = names.into_iter().chain(comment).find(|names| names.len() == width);
        let names = found.unwrap_or_else(|| {
            (0..width).map(|i| XYZ.get(i).map_or_else(|| format!("c{i}"), |axis| (*axis).into())).collect()
        });
        let is_axis = |name: &str| XYZ.iter().any(|axis| name.eq_ignore_ascii_case(axis));
        let entries = names.into_iter().enumerate().map(|(token, name)| {
            let wide = is_axis(&name) || times::is_named(&name);
            let dtype = if wide { Dtype::F64 } else { Dtype::F32 };
            Entry::new(name, dtype, token, 0)
        });
        Columns::new(window, bounds, entries.collect(), 0)
    }

    /// The rows of a text without points.
    fn empty(&mut self, window: &Window<'_, '_>, bounds: &Bounds) -> Result<Rows, IoError> {
        if let Some((line, count)) = self.count.filter(|&(_, count)| count > 0) {
            bail!(window, SizeMismatch, "data", "{count} points, as line {line} says", "none");
        }
        if self.names.is_empty() && self.count.is_none() {
            bail!(window, Truncated, "data", "a line of numbers", "none");
        }
        let width = self.names.first().map_or(3, Vec::len);
        Ok(Table::new(self.columns(window, bounds, width)?).into_rows(0))
    }
}

/// What names a line may have: by its separator, or by what separates numbers.
fn names(line: &[u8], parts: &mut Vec<Range<usize>>) -> Vec<Vec<String>> {
    let separators = [Separator::of_names(line), Separator::of(line)];
    separators.into_iter().filter_map(|separator| names_of(line, separator, parts)).collect()
}

/// The words of a line, if they may be names.
fn names_of(line: &[u8], separator: Separator, parts: &mut Vec<Range<usize>>) -> Option<Vec<String>> {
    separator.split(line, parts);
    let word = |part: &Range<usize>| {
        let word = &line[part.clone()];
        let name = unquoted(word);
        let is_name = !names::is_number(word) && name.len() <= LONGEST_NAME;
        is_name.then(|| String::from_utf8_lossy(name).into_owned())
    };
    parts.iter().map(word).collect()
}

fn unquoted(word: &[u8]) -> &[u8] {
    word.strip_prefix(b"\"").and_then(|word| word.strip_suffix(b"\"")).unwrap_or(word)
}

fn place(window: &Window<'_, '_>) -> String {
    format!("line {}", window.line_number())
}
