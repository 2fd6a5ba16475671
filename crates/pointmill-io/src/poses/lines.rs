//! The lines of a file of poses that have numbers, and what its header says.

use super::columns::Columns;
use super::names::{Header, header, separator, split};
use super::{PoseFormat, numbers_of_formats};
use crate::error::{Detail, IoError, excerpt};
use crate::fault::Context as _;
use crate::window::Window;

/// Most numbers of a line without a header.
const MOST: usize = 17;

/// The lines of a file that have numbers.
pub(super) struct Lines<'s, 'a> {
    pub(super) window: Window<'s, 'a>,
    /// The numbers of the line, or of lines that were gathered; of a file with a header those of its
    /// columns alone, in the order time, nanoseconds, position, rotation.
    pub(super) numbers: Vec<f64>,
    /// What a comment before the first numbers says.
    comment: Option<Columns>,
    /// What a line of names says, and what separates its names.
    named: Option<(Columns, Option<u8>)>,
    has_begun: bool,
}

impl<'s, 'a> Lines<'s, 'a> {
    pub(super) fn new(window: Window<'s, 'a>) -> Self {
        Self { window, numbers: Vec::with_capacity(MOST), comment: None, named: None, has_begun: false }
    }

    /// Takes the next line with numbers; whether there is one.
    pub(super) fn advance(&mut self) -> Result<bool, IoError> {
        self.numbers.clear();
        self.more()
    }

    /// Adds the numbers of the next line that has some.
    pub(super) fn more(&mut self) -> Result<bool, IoError> {
        let before = self.numbers.len();
        while self.numbers.len() == before {
            let Some(line) = self.window.line()? else { return Ok(false) };
            let line = self.window.at(&line).trim_ascii();
            if let Some(comment) = comment(line) {
                if !self.has_begun {
                    self.comment = pick(self.comment, header(comment, true));
                }
                continue;
            }
            if line.is_empty() {
                continue;
            }
            if let Some((columns, separator)) = self.named {
                let mut numbers = std::mem::take(&mut self.numbers);
                let read = self.read_named(line, &columns, separator, &mut numbers);
                self.numbers = numbers;
                read?;
                continue;
            }
            if !self.has_begun && is_name(line) {
                self.has_begun = true;
                match header(line, false) {
                    Header::Columns(columns) => self.named = Some((columns, separator(line))),
                    Header::Unclear(wanted, found) => {
                        return Err(IoError::BadValue(self.detail(format!("names with {wanted}"), found)));
                    }
                    Header::Other if is_xyzrpy(line) => {}
                    Header::Other => {
                        let wanted = "numbers, or names that tell a time, x, y, z and qx, qy, qz, qw";
                        return Err(IoError::BadValue(self.detail(wanted, excerpt(line))));
                    }
                }
                continue;
            }
            self.has_begun = true;
            let is_end = |b: &u8| b.is_ascii_whitespace() || matches!(b, b',' | b';');
            for word in line.split(is_end).filter(|word| !word.is_empty()) {
                let number = self.number(word)?;
                if self.numbers.len() == MOST {
                    return Err(IoError::ShapeMismatch(self.detail(numbers_of_formats(), "more")));
                }
                self.numbers.push(number);
            }
        }
        Ok(true)
    }

    /// The columns that the header of a file names, if its first line of numbers fits them.
    pub(super) fn columns(&self, format: Option<PoseFormat>) -> Result<Option<Columns>, IoError> {
        if let Some((columns, _)) = self.named {
            return Ok(Some(columns));
        }
        let may_be = !matches!(format, Some(PoseFormat::Kitti | PoseFormat::Matrix | PoseFormat::Xyzrpy));
        let Some(columns) = self.comment.filter(|_| may_be) else { return Ok(None) };
        let numbers = self.numbers.len();
        let is_known = PoseFormat::ALL.iter().any(|format| format.numbers() == numbers);
        let says_all = columns.time.is_some() || columns.numbers == 7;
        if !says_all || (columns.rotation.is_none() && (is_known || columns.numbers != numbers)) {
            return Ok(None);
        }
        if columns.numbers != numbers {
            if numbers == Columns::TUM.numbers && columns.has_order_of_tum() {
                return Ok(None);
            }
            let wanted = format!("{} numbers, as the header names", columns.numbers);
            return Err(IoError::ShapeMismatch(self.detail(wanted, numbers.to_string())));
        }
        Ok(Some(columns))
    }

    /// The numbers of the columns that matter; a comment leaves all numbers of a line in their places.
    pub(super) fn of(&self, columns: &Columns) -> [f64; 9] {
        let place = |place: Option<usize>| place.map_or(0.0, |place| self.numbers[place]);
        if self.named.is_some() {
            return std::array::from_fn(|at| self.numbers[at]);
        }
        let rotation = columns.rotation.map_or([None; 4], |places| places.map(Some));
        let position = columns.position.map(Some);
        let mut all = [columns.time, columns.nanoseconds].into_iter().chain(position).chain(rotation);
        std::array::from_fn(|_| place(all.next().flatten()))
    }

    /// Whether the numbers of a line are those of [`Lines::of`] already.
    pub(super) fn is_named(&self) -> bool {
        self.named.is_some()
    }

    /// Reads the columns that matter of a line under names. What else is there need not be a number.
    fn read_named(
        &self,
        line: &[u8],
        columns: &Columns,
        separator: Option<u8>,
        numbers: &mut Vec<f64>,
    ) -> Result<(), IoError> {
        let by = separator.filter(|separator| line.contains(separator));
        let words = split(line, by).count();
        // The separator at the end of a line may stand for an empty last cell.
        let is_short = words + 1 == columns.numbers && by.is_some_and(|by| line.ends_with(&[by]));
        if words != columns.numbers && !is_short {
            let wanted = format!("{} values, as the header names", columns.numbers);
            return Err(IoError::ShapeMismatch(self.detail(wanted, words.to_string())));
        }
        let rotation = columns.rotation.map_or([None; 4], |places| places.map(Some));
        let position = columns.position.map(Some);
        let all = [columns.time, columns.nanoseconds].into_iter().chain(position).chain(rotation);
        let mut found = [0.0; 9];
        for (number, place) in found.iter_mut().zip(all) {
            let Some(place) = place else { continue };
            let word = split(line, by).nth(place).unwrap_or_default();
            *number = self.number(word.trim_ascii())?;
        }
        numbers.extend(found);
        Ok(())
    }

    fn number(&self, word: &[u8]) -> Result<f64, IoError> {
        let number = str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        number.ok_or_else(|| IoError::BadValue(self.detail("a number", excerpt(word))))
    }

    /// What is wrong with the line.
    pub(super) fn detail(&self, wanted: impl Into<String>, found: impl Into<String>) -> Box<Detail> {
        self.window.detail(&format!("line {}", self.window.line_number()), wanted, found)
    }
}

/// What stands behind the mark of a comment.
fn comment(line: &[u8]) -> Option<&[u8]> {
    ["#", "%", "//"].iter().find_map(|mark| line.strip_prefix(mark.as_bytes()))
}

/// Whether a line begins with a name: it begins with a letter or a quote, and is no number.
fn is_name(line: &[u8]) -> bool {
    let mut words = split(line, separator(line));
    let is_number = |word: &[u8]| str::from_utf8(word).is_ok_and(|word| word.parse::<f64>().is_ok());
    words.next().is_some_and(|word| {
        word.first().is_some_and(|first| first.is_ascii_alphabetic() || b"\"'_".contains(first)) && !is_number(word)
    })
}

/// Whether a line names the columns of [`PoseFormat::Xyzrpy`] in their order.
fn is_xyzrpy(line: &[u8]) -> bool {
    let names = split(line, separator(line)).map(<[u8]>::to_ascii_lowercase);
    names.eq(["x", "y", "z", "roll", "pitch", "yaw"].map(|name| name.as_bytes().to_vec()))
}

/// The first comment that names columns counts, one with a rotation before one without.
fn pick(known: Option<Columns>, heard: Header) -> Option<Columns> {
    match (known, heard) {
        (Some(known), Header::Columns(new)) if known.rotation.is_none() && new.rotation.is_some() => Some(new),
        (None, Header::Columns(new)) => Some(new),
        (known, _) => known,
    }
}
