//! Records of named numbers, as PLY and PCD have them, into rows of a cloud.

use crate::error::{IoError, excerpt};
use crate::field::Field;
use crate::limits::Bounds;
use crate::rows::Rows;
use crate::times::time_column;
use crate::values::Raw;
use crate::warning::Warning;
use crate::window::{WINDOW, Window};
use pointmill_core::array::Dtype;
use std::collections::BTreeSet;
use std::ops::Range;

/// The longest record. A window must hold one.
pub(crate) const MAX_RECORD: usize = 64 << 10;
const _: () = assert!(MAX_RECORD <= WINDOW);

/// The longest name of a column, in bytes.
pub(crate) const LONGEST_NAME: usize = 256;

/// A number of a record that becomes a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    /// Which value of a line of text it is.
    pub(crate) token: usize,
    /// Where in the record the field starts that it belongs to, and the field's length, in bytes.
    pub(crate) field: Range<usize>,
    /// Where in the field it starts.
    pub(crate) within: usize,
}

/// The columns, x, y, z first and the others in the order of the file.
#[derive(Debug)]
pub(crate) struct Columns {
    entries: Vec<Entry>,
    /// Bytes of a record.
    pub(crate) record: usize,
}

impl Columns {
    /// Orders the entries of a record of `record` bytes and checks their names.
    pub(crate) fn new(
        window: &Window<'_, '_>,
        bounds: &Bounds,
        mut entries: Vec<Entry>,
        record: usize,
    ) -> Result<Self, IoError> {
        bounds.check_columns(window.source(), entries.len())?;
        let mut names = BTreeSet::new();
        if let Some(twice) = entries.iter().find(|e| !names.insert(&*e.name)) {
            let found = format!("`{}` twice", twice.name);
            return Err(IoError::BadHeader(window.detail("names", "names that differ", found)));
        }
        for (place, axis) in ["x", "y", "z"].into_iter().enumerate() {
            let Some(at) = entries.iter().position(|e| e.name == axis) else {
                let found: Vec<_> = entries.iter().take(16).map(|e| &*e.name).collect();
                let more = if entries.len() > found.len() { ", ..." } else { "" };
                let found = if found.is_empty() { "none".into() } else { format!("{}{more}", found.join(", ")) };
                return Err(IoError::MissingField(window.detail(&format!("field `{axis}`"), "x, y and z", found)));
            };
            entries[place..=at].rotate_right(1);
        }
        Ok(Self { entries, record })
    }
}

/// How the numbers of several records lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    /// Record after record.
    Records,
    /// Field after field, each with the values of all records.
    Fields,
}

/// Rows as they come.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Columns,
    data: Vec<f32>,
    /// x, y, z of every row, if their types hold more than an `f32` does.
    exact: Option<Vec<f64>>,
    /// The column of times and its values, if its type holds more than an `f32` does.
    times: Option<(usize, Vec<f64>)>,
    /// Rows of which the memory was counted.
    counted: usize,
}

/// Calls a macro with the Rust type of a [`Dtype`]; readers refuse the types left out when they see the header.
macro_rules! with_type {
    ($dtype:expr, $call:ident) => {
        match $dtype {
            Dtype::I8 => $call!(i8),
            Dtype::I16 => $call!(i16),
            Dtype::I32 => $call!(i32),
            Dtype::I64 => $call!(i64),
            Dtype::U8 => $call!(u8),
            Dtype::U16 => $call!(u16),
            Dtype::U32 => $call!(u32),
            Dtype::U64 => $call!(u64),
            Dtype::F64 => $call!(f64),
            Dtype::F32 | Dtype::F16 | Dtype::Bf16 | Dtype::Bool => $call!(f32),
        }
    };
}

impl Table {
    pub(crate) fn new(columns: Columns) -> Self {
        let wide = columns.entries[..3].iter().any(|e| !e.dtype.fits_f32());
        let time =
            time_column(columns.entries.iter().map(|e| &*e.name)).filter(|j| !columns.entries[*j].dtype.fits_f32());
        let times = time.map(|j| (j, Vec::new()));
        Self { columns, data: vec![], exact: wide.then(Vec::new), times, counted: 0 }
    }

    fn width(&self) -> usize {
        self.columns.entries.len()
    }

    /// Takes memory for rows of which the bytes are known to be there.
    pub(crate) fn reserve(&mut self, window: &Window<'_, '_>, rows: u64) -> Result<(), IoError> {
        let width = self.width();
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        self.count(window, rows)?;
        let taken = self.data.try_reserve_exact(rows.saturating_mul(width));
        let exact = self.exact.as_mut().map_or(Ok(()), |exact| exact.try_reserve_exact(rows.saturating_mul(3)));
        let times = self.times.as_mut().map_or(Ok(()), |(_, times)| times.try_reserve_exact(rows));
        taken.and(exact).and(times).map_err(|_| window.source().out_of_memory(rows.saturating_mul(4 * width)))
    }

    /// Counts the memory of so many rows in all, if it was not yet.
    fn count(&mut self, window: &Window<'_, '_>, rows: usize) -> Result<(), IoError> {
        let each =
            4 * self.width() + if self.exact.is_some() { 24 } else { 0 } + if self.times.is_some() { 8 } else { 0 };
        window.source().take(rows.saturating_sub(self.counted).saturating_mul(each))?;
        self.counted = self.counted.max(rows);
        Ok(())
    }

    /// Adds empty rows; the first of them.
    fn grow(&mut self, window: &Window<'_, '_>, rows: usize) -> Result<usize, IoError> {
        let (first, width) = (self.data.len() / self.width(), self.width());
        self.count(window, first + rows)?;
        let taken = self.data.try_reserve(rows * width);
        let exact = self.exact.as_mut().map_or(Ok(()), |exact| exact.try_reserve(3 * rows));
        let times = self.times.as_mut().map_or(Ok(()), |(_, times)| times.try_reserve(rows));
        taken.and(exact).and(times).map_err(|_| window.source().out_of_memory((first + rows) * 4 * width))?;
        self.data.resize((first + rows) * width, 0.0);
        if let Some(exact) = &mut self.exact {
            exact.resize(3 * (first + rows), 0.0);
        }
        if let Some((_, times)) = &mut self.times {
            times.resize(first + rows, 0.0);
        }
        Ok(first)
    }

    /// Adds `count` rows from their bytes, which are all there.
    pub(crate) fn push(
        &mut self,
        window: &Window<'_, '_>,
        bytes: &[u8],
        count: usize,
        order: Order,
        big_endian: bool,
    ) -> Result<(), IoError> {
        let (first, width) = (self.grow(window, count)?, self.width());
        let rows = &mut self.data[first * width..];
        for (j, entry) in self.columns.entries.iter().enumerate() {
            let (base, step) = match order {
                Order::Records => (entry.field.start, self.columns.record),
                Order::Fields => (entry.field.start * count, entry.field.len()),
            };
            let mut exact = self.exact.as_mut().filter(|_| j < 3).map(|exact| &mut exact[3 * first..]);
            let mut times = self.times.as_mut().filter(|(of, _)| *of == j).map(|(_, times)| &mut times[first..]);
            macro_rules! column {
                ($type:ty) => {
                    for i in 0..count {
                        let at = base + entry.within + i * step;
                        let v: $type = bytemuck::pod_read_unaligned(&bytes[at..at + size_of::<$type>()]);
                        let v = if big_endian == cfg!(target_endian = "big") { v } else { v.swapped() };
                        rows[i * width + j] = v as f32;
                        if let Some(exact) = &mut exact {
                            exact[3 * i + j] = v as f64;
                        }
                        if let Some(times) = &mut times {
                            times[i] = v as f64;
                        }
                    }
                };
            }
            with_type!(entry.dtype, column);
        }
        Ok(())
    }

    /// Adds a row from the values of a line of text: the line, and where in it each is.
    pub(crate) fn push_text(
        &mut self,
        window: &Window<'_, '_>,
        line: &[u8],
        tokens: &[Range<usize>],
    ) -> Result<(), IoError> {
        let (row, width) = (self.grow(window, 1)?, self.width());
        for (j, entry) in self.columns.entries.iter().enumerate() {
            let token = &line[tokens[entry.token].clone()];
            let Some((v, exact)) = number(token, entry.dtype) else {
                let field = format!("line {}: `{}`", window.line_number(), entry.name);
                let wanted = format!("a number of type {}", entry.dtype);
                return Err(IoError::BadValue(window.detail(&field, wanted, excerpt(token))));
            };
            self.data[row * width + j] = v;
            if let Some(all) = self.exact.as_mut().filter(|_| j < 3) {
                all[3 * row + j] = exact;
            }
            if let Some((_, times)) = self.times.as_mut().filter(|(of, _)| *of == j) {
                times[row] = exact;
            }
        }
        Ok(())
    }

    /// The rows, with a warning for each type whose values were rounded.
    pub(crate) fn into_rows(self, rest: u64) -> Rows {
        let mut warnings = vec![];
        if rest > 0 {
            warnings.push(Warning::TrailingBytes { bytes: rest });
        }
        let columns = self.width();
        let fields = self.columns.entries.into_iter().map(|e| Field { name: e.name, dtype: e.dtype });
        let times_f64 = self.times.map(|(_, times)| times);
        Rows {
            data: self.data,
            columns,
            fields: Some(fields.collect()),
            xyz_f64: self.exact,
            times_f64,
            warnings,
            ..Rows::EMPTY
        }
    }
}

/// Reads `count` records of `each` bytes; `short` makes the error for fewer bytes.
pub(crate) fn records(
    window: &mut Window<'_, '_>,
    table: &mut Table,
    count: u64,
    each: usize,
    big_endian: bool,
    short: impl Fn(&Window<'_, '_>, u64) -> IoError,
) -> Result<(), IoError> {
    if window.left().is_some() {
        table.reserve(window, count)?;
    }
    let mut done = 0;
    while done < count {
        let step = (count - done).min((WINDOW / each) as u64) as usize;
        let taken = window.bytes(step * each)?;
        if taken.len() < step * each {
            return Err(short(window, done * each as u64 + taken.len() as u64));
        }
        table.push(window, window.at(&taken), step, Order::Records, big_endian)?;
        done += step as u64;
    }
    Ok(())
}

/// A value of a line of text, as `f32` and as `f64`, each rounded once.
fn number(token: &[u8], dtype: Dtype) -> Option<(f32, f64)> {
    let text = str::from_utf8(token).ok()?;
    macro_rules! parsed {
        ($type:ty) => {
            text.parse::<$type>().ok().map(|v| (v as f32, v as f64))
        };
    }
    with_type!(dtype, parsed)
}

/// Where in a line its values are; `tokens` is used again from line to line.
pub(crate) fn split(line: &[u8], tokens: &mut Vec<Range<usize>>) {
    tokens.clear();
    let mut at = 0;
    while let Some(blanks) = line[at..].iter().position(|b| !b.is_ascii_whitespace()) {
        let start = at + blanks;
        let length = line[start..].iter().position(u8::is_ascii_whitespace);
        at = length.map_or(line.len(), |length| start + length);
        tokens.push(start..at);
    }
}

/// Checks that a name of a header can be shown and written again.
pub(crate) fn name(window: &Window<'_, '_>, bytes: &[u8]) -> Result<String, IoError> {
    match str::from_utf8(bytes) {
        Ok(name) if name.len() <= LONGEST_NAME && !name.chars().any(char::is_control) => Ok(name.into()),
        _ => {
            let wanted = format!("a name of at most {LONGEST_NAME} bytes of UTF-8 without control characters");
            let field = format!("line {}", window.line_number());
            Err(IoError::BadHeader(window.detail(&field, wanted, excerpt(bytes))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_strict_and_rounded_once() {
        assert_eq!(number(b"1.5", Dtype::F32), Some((1.5, 1.5)));
        assert_eq!(number(b"0.1", Dtype::F64), Some((0.1, 0.1)));
        // Halfway between two f32 as f64, but above it as text: rounding twice would go down.
        assert_eq!(number(b"1.00000005960464477540", Dtype::F32).unwrap().0, 1.000_000_1);
        assert_eq!(number(b"-inf", Dtype::F32).unwrap().0, f32::NEG_INFINITY);
        assert!(number(b"-nan", Dtype::F64).unwrap().0.is_nan());
        assert_eq!(number(b"-128", Dtype::I8), Some((-128.0, -128.0)));
        for (token, dtype) in [
            (&b"256"[..], Dtype::U8),
            (b"-1", Dtype::U32),
            (b"1.0", Dtype::I32),
            (b"1,5", Dtype::F32),
            (b"\xff", Dtype::F64),
        ] {
            assert_eq!(number(token, dtype), None);
        }
    }

    #[test]
    fn lines_are_split_at_blanks() {
        let mut tokens = vec![0..9, 3..4];
        for (line, wanted) in [("", ""), (" \t ", ""), ("a", "a"), (" a\tbc  d ", "a,bc,d")] {
            split(line.as_bytes(), &mut tokens);
            let found: Vec<_> = tokens.iter().map(|t| &line[t.clone()]).collect();
            assert_eq!(found.join(","), wanted, "{line:?}");
        }
    }
}
