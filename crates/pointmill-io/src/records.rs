//! Records of named numbers, as PLY and PCD have them, into rows of a cloud.

use crate::error::{IoError, excerpt};
use crate::field::Field;
use crate::lanes::{Lane, Part, WidePart, with_type};
use crate::limits::Bounds;
use crate::rows::Rows;
use crate::seen::Seen;
use crate::threads::{LARGE, both, take_first, zeros};
use crate::warning::Warning;
use crate::wide::WideColumn;
use crate::window::{WINDOW, Window};
use pointmill_core::array::Dtype;
use std::collections::{BTreeSet, TryReserveError};
use std::iter;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

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
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    entries: Vec<Entry>,
    /// Bytes of a record.
    pub(crate) record: usize,
}

impl Columns {
    /// Orders the entries of a record of `record` bytes and checks their names. `X`, `Y` and `Z` are x, y and z where no other name differs
    /// from them by case alone.
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
            let Some(at) = find(&entries, axis) else {
                let found: Vec<_> = entries.iter().take(16).map(|e| &*e.name).collect();
                let more = if entries.len() > found.len() { ", ..." } else { "" };
                let found = if found.is_empty() { "none".into() } else { format!("{}{more}", found.join(", ")) };
                return Err(IoError::MissingField(window.detail(&format!("field `{axis}`"), "x, y and z", found)));
            };
            entries[place..=at].rotate_right(1);
            entries[place].name = axis.into();
        }
        Ok(Self { entries, record })
    }
}

/// Where the entry of an axis is: the one of its name, else the only one whose name differs by case alone.
fn find(entries: &[Entry], axis: &str) -> Option<usize> {
    let exact = entries.iter().position(|e| e.name == axis);
    exact.or_else(|| {
        let mut alike = entries.iter().enumerate().filter(|(_, e)| e.name.eq_ignore_ascii_case(axis));
        let (at, _) = alike.next()?;
        alike.next().is_none().then_some(at)
    })
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
    /// The columns behind z whose types hold more than an `f32` does, in order, and what [`WidePart::change`] says of each.
    wide: Vec<WideColumn>,
    changes: Vec<AtomicU64>,
    /// What is odd about them.
    seen: Seen,
    /// Rows of which the memory was counted.
    counted: usize,
}

impl Table {
    pub(crate) fn new(columns: Columns) -> Self {
        let is_wide = |j: &usize| !columns.entries[*j].dtype.fits_f32();
        let exact = (0..3).any(|j| is_wide(&j)).then(Vec::new);
        let wide: Vec<_> = (3..columns.entries.len()).filter(is_wide).map(WideColumn::of).collect();
        let changes = wide.iter().map(|_| AtomicU64::default()).collect();
        Self { columns, data: vec![], exact, wide, changes, seen: Seen::default(), counted: 0 }
    }

    fn width(&self) -> usize {
        self.columns.entries.len()
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.data.len() / self.width()
    }

    /// For each column its [`Entry::token`].
    pub(crate) fn tokens(&self) -> Vec<usize> {
        self.columns.entries.iter().map(|entry| entry.token).collect()
    }

    /// Takes memory for rows of which the bytes are known to be there.
    pub(crate) fn reserve(&mut self, window: &Window<'_, '_>, rows: u64) -> Result<(), IoError> {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        self.count(window, rows)?;
        self.room(rows, true).map_err(|_| window.source().out_of_memory(self.bytes(rows)))
    }

    /// Makes room for more rows, `exactly` for so many.
    fn room(&mut self, rows: usize, exactly: bool) -> Result<(), TryReserveError> {
        fn take<T>(values: &mut Vec<T>, count: usize, exactly: bool) -> Result<(), TryReserveError> {
            if exactly { values.try_reserve_exact(count) } else { values.try_reserve(count) }
        }
        take(&mut self.data, rows.saturating_mul(self.columns.entries.len()), exactly)?;
        self.exact.as_mut().map_or(Ok(()), |exact| take(exact, rows.saturating_mul(3), exactly))?;
        self.wide.iter_mut().try_for_each(|wide| take(wide.room(), rows, exactly))
    }

    /// Bytes of so many rows.
    fn bytes(&self, rows: usize) -> usize {
        let exact = if self.exact.is_some() { 24 } else { 0 };
        rows.saturating_mul(4 * self.width() + exact + 8 * self.wide.len())
    }

    /// Counts the memory of so many rows in all, if it was not yet.
    fn count(&mut self, window: &Window<'_, '_>, rows: usize) -> Result<(), IoError> {
        window.source().take(self.bytes(rows.saturating_sub(self.counted)))?;
        self.counted = self.counted.max(rows);
        Ok(())
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
        let record = self.columns.record;
        let lane = |_: usize, entry: &Entry| {
            let (base, step) = match order {
                Order::Records => (entry.field.start, record),
                Order::Fields => (entry.field.start * count, entry.field.len()),
            };
            Lane { bytes, at: base + entry.within, step, big_endian }
        };
        let whole = |j: usize, entry: &Entry| Ok(lane(j, entry).first_whole(entry.dtype));
        let seen = self.extend(window, &[count], whole)?.fold(Seen::default(), |seen, mut part| {
            part.fill(lane, |_| &[]);
            seen.and(part.seen)
        });
        self.look(seen);
        Ok(())
    }

    /// Adds what was seen of rows that were added.
    pub(crate) fn look(&mut self, seen: Seen) {
        self.seen = self.seen.and(seen);
    }

    /// Adds rows of zeros, in parts of so many, to be filled on any thread. `whole` returns the first value of a column, if it is a whole
    /// number.
    pub(crate) fn extend<'t>(
        &'t mut self,
        window: &Window<'_, '_>,
        rows: &'t [usize],
        whole: impl Fn(usize, &Entry) -> Result<Option<i128>, IoError>,
    ) -> Result<impl Iterator<Item = Part<'t>>, IoError> {
        let (more, width) = (rows.iter().sum::<usize>(), self.width());
        let all = self.len() + more;
        self.count(window, all)?;
        let (refused, long) = (self.bytes(all), self.bytes(more) >= LARGE);
        let refused = |_| window.source().out_of_memory(refused);
        let Self { columns: Columns { entries, .. }, data, exact, wide, changes, .. } = self;
        for wide in &mut *wide {
            let column = wide.column;
            wide.begin(whole(column, &entries[column])?);
        }
        let wide: Vec<_> = wide.iter_mut().zip(&*changes).collect();
        let doubles = move || -> Result<_, TryReserveError> {
            let exact = exact.as_mut().map(|exact| zeros(exact, 3 * more)).transpose()?;
            let wide = wide.into_iter().map(|(wide, change)| {
                let (column, first) = (wide.column, wide.first);
                zeros(wide.room(), more).map(|values| WidePart { column, first, values, change })
            });
            Ok((exact, wide.collect::<Result<Vec<_>, _>>()?))
        };
        let (data, doubles) = both(long, || zeros(data, more * width), doubles);
        let (mut data, (mut exact, mut wide)) = (data.map_err(refused)?, doubles.map_err(refused)?);
        let entries = &entries[..];
        Ok(rows.iter().map(move |&rows| Part {
            entries,
            data: take_first(&mut data, rows * width),
            exact: exact.as_mut().map(|exact| take_first(exact, 3 * rows).as_chunks_mut().0),
            wide: wide
                .iter_mut()
                .map(|wide| WidePart { values: take_first(&mut wide.values, rows), ..*wide })
                .collect(),
            seen: Seen::default(),
        }))
    }

    /// Adds a row from the values of a line of text: the line, and where in it each is.
    pub(crate) fn push_text(
        &mut self,
        window: &Window<'_, '_>,
        line: &[u8],
        tokens: &[Range<usize>],
    ) -> Result<(), IoError> {
        let rows = self.len() + 1;
        self.count(window, rows)?;
        if self.data.capacity() - self.data.len() < self.width() {
            self.room(rows, false).map_err(|_| window.source().out_of_memory(self.bytes(rows)))?;
        }
        self.push_numbers(line, tokens).map_err(|j| {
            let entry = &self.columns.entries[j];
            let field = format!("line {}: `{}`", window.line_number(), entry.name);
            let found = excerpt(&line[tokens[entry.token].clone()]);
            IoError::BadValue(window.detail(&field, format!("a number of type {}", entry.dtype), found))
        })
    }

    /// The same where there is room; the column of what is no number.
    fn push_numbers(&mut self, line: &[u8], tokens: &[Range<usize>]) -> Result<(), usize> {
        let mut wide = self.wide.iter_mut().peekable();
        for (j, entry) in self.columns.entries.iter().enumerate() {
            let token = &line[tokens[entry.token].clone()];
            let (v, exact) = number(token, entry.dtype).ok_or(j)?;
            self.data.push(v);
            if let Some(all) = self.exact.as_mut().filter(|_| j < 3) {
                all.push(exact);
            }
            if let Some(wide) = wide.next_if(|wide| wide.column == j) {
                let is_whole = entry.dtype != Dtype::F64;
                let whole = is_whole.then(|| str::from_utf8(token).ok()?.parse().ok()).flatten();
                wide.push_number(whole, v, exact);
            }
        }
        let row = &self.data[self.data.len() - self.width()..];
        self.seen.rows(iter::once(row));
        if let Some(exact) = self.exact.as_ref().and_then(|exact| exact.last_chunk()) {
            self.seen.cast(row, *exact);
        }
        Ok(())
    }

    /// A table of the same columns for rows of lines of text, which are added to this one by [`Table::append`]; `None` where columns have large whole numbers.
    pub(crate) fn fork(&self) -> Option<Self> {
        let fork = Self::new(self.columns.clone());
        fork.wide.iter().all(|wide| self.columns.entries[wide.column].dtype == Dtype::F64).then_some(fork)
    }

    /// Makes a table that was made by [`Table::fork`] empty, with room for so many rows; `None` without memory.
    pub(crate) fn restart(&mut self, rows: usize) -> Option<()> {
        self.data.clear();
        self.exact.iter_mut().for_each(Vec::clear);
        self.wide.iter_mut().for_each(|wide| wide.room().clear());
        self.seen = Seen::default();
        self.room(rows, true).ok()
    }

    /// Adds a row to a table that was made by [`Table::fork`], as [`Table::push_text`] does; `None` of what is no number.
    pub(crate) fn push_line(&mut self, line: &[u8], tokens: &[Range<usize>]) -> Option<()> {
        self.push_numbers(line, tokens).ok()
    }

    /// Adds the rows of tables that were made by [`Table::fork`].
    pub(crate) fn append<'t>(
        &mut self,
        window: &Window<'_, '_>,
        tables: impl Iterator<Item = &'t Self> + Clone,
    ) -> Result<(), IoError> {
        let more = tables.clone().map(Self::len).sum::<usize>();
        let rows = self.len() + more;
        self.count(window, rows)?;
        self.room(more, false).map_err(|_| window.source().out_of_memory(self.bytes(rows)))?;
        for table in tables {
            self.data.extend_from_slice(&table.data);
            if let (Some(all), Some(exact)) = (&mut self.exact, &table.exact) {
                all.extend_from_slice(exact);
            }
            self.wide.iter_mut().zip(&table.wide).for_each(|(all, wide)| all.append(wide));
            self.look(table.seen);
        }
        Ok(())
    }

    /// The rows, with a warning if bytes follow them.
    pub(crate) fn into_rows(mut self, rest: u64) -> Rows {
        let mut warnings = vec![];
        if rest > 0 {
            warnings.push(Warning::TrailingBytes { bytes: rest });
        }
        let columns = self.width();
        for (wide, change) in self.wide.iter_mut().zip(self.changes) {
            wide.change = wide.change.max(f64::from_bits(change.into_inner()));
        }
        let fields = self.columns.entries.into_iter().map(|e| Field { name: e.name, dtype: e.dtype });
        Rows {
            data: self.data,
            columns,
            fields: Some(fields.collect()),
            xyz_f64: self.exact,
            wide: self.wide,
            seen: Some(self.seen),
            warnings,
            ..Rows::EMPTY
        }
    }
}

/// Reads `count` records of `each` bytes, or if `salvage` as many as are whole; their number. `short` makes the error for fewer bytes.
pub(crate) fn records(
    window: &mut Window<'_, '_>,
    table: &mut Table,
    count: u64,
    each: usize,
    big_endian: bool,
    salvage: bool,
    short: impl Fn(&Window<'_, '_>, u64) -> IoError,
) -> Result<u64, IoError> {
    if let Some(left) = window.left() {
        table.reserve(window, count.min(left / each as u64))?;
    }
    let mut done = 0;
    while done < count {
        let step = (count - done).min((WINDOW / each) as u64) as usize;
        let taken = window.bytes(step * each)?;
        if taken.len() < step * each {
            if !salvage {
                return Err(short(window, done * each as u64 + taken.len() as u64));
            }
            let whole = taken.len() / each;
            table.push(window, window.at(&taken), whole, Order::Records, big_endian)?;
            return Ok(done + whole as u64);
        }
        table.push(window, window.at(&taken), step, Order::Records, big_endian)?;
        done += step as u64;
    }
    Ok(done)
}

/// A value of a line of text, as `f32` and as `f64`, each rounded once.
fn number(token: &[u8], dtype: Dtype) -> Option<(f32, f64)> {
    if let Some(v) = short(token, dtype) {
        return Some(v);
    }
    let text = str::from_utf8(token).ok()?;
    macro_rules! parsed {
        ($type:ty) => {
            text.parse::<$type>().ok().map(|v| (v as f32, v as f64))
        };
    }
    with_type!(dtype, parsed)
}

/// Powers of ten: each an `f64` holds, the first [`SINGLE_TENS`] an `f32` too.
const TENS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
const SINGLE_TENS: usize = 11;

/// As [`number`], of few digits without an exponent, and of type `f32` or `f64`. Such a number is a quotient of two numbers that the type
/// holds, so that one division rounds it right. `None` of others, and of what is no number.
fn short(token: &[u8], dtype: Dtype) -> Option<(f32, f64)> {
    let (is_negative, text) = match token {
        [b'-', text @ ..] => (true, text),
        [b'+', text @ ..] | text => (false, text),
    };
    let (mut digits, mut count, mut decimals) = (0u64, 0, None);
    if text.len() > TENS.len() {
        return None;
    }
    for &byte in text {
        match (byte, &mut decimals) {
            (b'0'..=b'9', decimals) => {
                (digits, count) = (10 * digits + u64::from(byte - b'0'), count + 1);
                decimals.iter_mut().for_each(|n| *n += 1);
            }
            (b'.', decimals @ None) => *decimals = Some(0),
            _ => return None,
        }
    }
    let decimals: usize = decimals.unwrap_or_default();
    if !(1..TENS.len()).contains(&count) {
        return None;
    }
    match dtype {
        Dtype::F64 => {
            let v = digits as f64 / TENS[decimals];
            let v = if is_negative { -v } else { v };
            Some((v as f32, v))
        }
        Dtype::F32 if digits <= 1 << f32::MANTISSA_DIGITS && decimals < SINGLE_TENS => {
            let v = digits as f32 / TENS[decimals] as f32;
            let v = if is_negative { -v } else { v };
            Some((v, v.into()))
        }
        _ => None,
    }
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
    fn short_numbers_are_those_of_the_parser() {
        let mut state = 1u64;
        let mut next = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        let mut found = 0;
        for _ in 0..200_000 {
            let mut text = String::from(["", "-", "+"][next(3) as usize]);
            let (digits, point) = (next(18), next(18));
            for i in 0..digits {
                if i == point {
                    text.push('.');
                }
                text.push(char::from(b'0' + next(10) as u8));
            }
            let bits = |(single, double): (f32, f64)| (single.to_bits(), double.to_bits());
            if let Some(v) = short(text.as_bytes(), Dtype::F64) {
                let wanted: f64 = text.parse().unwrap();
                assert_eq!(bits(v), bits((wanted as f32, wanted)), "{text}");
                found += 1;
            }
            if let Some(v) = short(text.as_bytes(), Dtype::F32) {
                let wanted: f32 = text.parse().unwrap();
                assert_eq!(bits(v), bits((wanted, wanted.into())), "{text}");
                found += 1;
            }
        }
        assert!(found > 100_000, "{found}");
        assert_eq!(short(b"16777217", Dtype::F32), None);
        assert_eq!(short(b".5", Dtype::F64), Some((0.5, 0.5)));
        assert_eq!(short(b"5.", Dtype::F32), Some((5.0, 5.0)));
        for none in ["", "-", ".", "+.", "1.2.3", "--1", "1e5", "nan", "1,5", "1234567890123456"] {
            assert_eq!(short(none.as_bytes(), Dtype::F64), None, "{none}");
        }
        assert_eq!(short(b"1", Dtype::U8), None);
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
