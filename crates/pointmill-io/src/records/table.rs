//! Rows as they come.

use super::columns::{Coding, Columns, Entry};
use super::fill::{Order, Part, Strided, WidePart};
use super::numbers::{no_number, number, split};
use crate::error::{IoError, POINTS_BEFORE, excerpt};
use crate::fault::fault;
use crate::field::Field;
use crate::limits::Bounds;
use crate::rows::Rows;
use crate::threads::{take_first, zeros};
use crate::warning::Warning;
use crate::wide_column::WideColumn;
use crate::window::{WINDOW, Window};
use pointmill_core::array::Dtype;
use std::cell::Cell;
use std::collections::TryReserveError;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

/// Rows as they come.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Columns,
    data: Vec<f32>,
    /// x, y, z of every row, if their types hold more than an `f32` does.
    exact: Option<Vec<f64>>,
    /// The columns behind z whose types hold more than an `f32` does, in order, and what
    /// [`WidePart::change`] says of each.
    wide: Vec<WideColumn>,
    changes: Vec<AtomicU64>,
    /// Rows of which the memory was counted.
    counted: usize,
    /// Values of text that are words for none.
    missing: u64,
    /// Whole numbers of text that an `f32` does not hold, in columns of these.
    rounded: u64,
}

impl Table {
    pub(crate) fn new(columns: Columns) -> Self {
        let is_wide = |j: &usize| !columns.entries[*j].dtype.fits_f32();
        let exact = (0..3).any(|j| is_wide(&j)).then(Vec::new);
        let wide: Vec<_> = (3..columns.entries.len()).filter(is_wide).map(WideColumn::of).collect();
        let changes = wide.iter().map(|_| AtomicU64::default()).collect();
        Self { columns, data: vec![], exact, wide, changes, counted: 0, missing: 0, rounded: 0 }
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
        self.wide.iter_mut().try_for_each(|wide| {
            if is_long(&self.columns.entries[wide.column]) {
                take(&mut wide.rest, rows, exactly)?;
            }
            take(wide.room(), rows, exactly)
        })
    }

    /// Bytes of so many rows.
    fn bytes(&self, rows: usize) -> usize {
        let exact = if self.exact.is_some() { 24 } else { 0 };
        let long = self.wide.iter().filter(|wide| is_long(&self.columns.entries[wide.column])).count();
        rows.saturating_mul(4 * self.width() + exact + 8 * self.wide.len() + 2 * long)
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
        let shape = (count, self.columns.record);
        let values = |_: usize, entry: &Entry| Strided::of(bytes, entry, order, shape, big_endian);
        let whole = |j: usize, entry: &Entry| match entry.coding {
            Coding::Linear { .. } => Ok(None),
            _ => Ok(values(j, entry).first_whole(entry.dtype)),
        };
        self.extend(window, &[count], whole)?.for_each(|mut part| part.fill(values, |_| &[]));
        Ok(())
    }

    /// Adds rows of zeros, in parts of so many, to be filled on any thread. `whole` returns the
    /// first value of a column, if it is a whole number.
    pub(crate) fn extend<'t>(
        &'t mut self,
        window: &Window<'_, '_>,
        rows: &'t [usize],
        whole: impl Fn(usize, &Entry) -> Result<Option<i128>, IoError>,
    ) -> Result<impl Iterator<Item = Part<'t>>, IoError> {
        let (more, width) = (rows.iter().sum::<usize>(), self.width());
        let all = self.len() + more;
        self.count(window, all)?;
        let refused = self.bytes(all);
        let refused = |_| window.source().out_of_memory(refused);
        let Self { columns: Columns { entries, .. }, data, exact, wide, changes, .. } = self;
        for wide in &mut *wide {
            let column = wide.column;
            wide.begin(whole(column, &entries[column])?);
        }
        let mut data = zeros(data, more * width).map_err(refused)?;
        let mut exact = exact.as_mut().map(|exact| zeros(exact, 3 * more)).transpose().map_err(refused)?;
        let wide = wide.iter_mut().zip(&*changes).map(|(wide, change)| {
            let (column, first) = (wide.column, wide.first);
            let rest = is_long(&entries[column]).then(|| zeros(&mut wide.rest, more)).transpose()?;
            zeros(&mut wide.values, more).map(|values| WidePart { column, first, values, rest, change })
        });
        let mut wide = wide.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let entries = &entries[..];
        Ok(rows.iter().map(move |&rows| Part {
            entries,
            data: take_first(&mut data, rows * width),
            exact: exact.as_mut().map(|exact| take_first(exact, 3 * rows).as_chunks_mut().0),
            wide: wide.iter_mut().map(|wide| wide.next(rows)).collect(),
        }))
    }

    /// Adds a row from the values of a line of text: the line, and where in it each is.
    pub(crate) fn push_text(
        &mut self,
        window: &Window<'_, '_>,
        line: &[u8],
        tokens: &[Range<usize>],
    ) -> Result<(), IoError> {
        self.room_for_one(window)?;
        self.push_numbers(line, tokens).map_err(|j| {
            let entry = &self.columns.entries[j];
            let field = format!("line {}: `{}`", window.line_number(), entry.name);
            let found = excerpt(&line[tokens[entry.token].clone()]);
            fault!(window, BadValue, field, ("a number of type {}", entry.dtype), found)
        })
    }

    /// Adds a row, as [`Table::push_row`] does, and makes room for it. Columns of whole numbers must
    /// fit an `f32`.
    pub(crate) fn add_row(
        &mut self,
        window: &Window<'_, '_>,
        value: impl Fn(usize, &Entry) -> Result<(f32, f64), IoError>,
    ) -> Result<(), IoError> {
        self.room_for_one(window)?;
        self.push_row(value, |_| None)
    }

    /// Counts the memory of one more row, and takes it.
    fn room_for_one(&mut self, window: &Window<'_, '_>) -> Result<(), IoError> {
        let rows = self.len() + 1;
        self.count(window, rows)?;
        if self.data.capacity() - self.data.len() < self.width() {
            self.room(rows, false).map_err(|_| window.source().out_of_memory(self.bytes(rows)))?;
        }
        Ok(())
    }

    /// Adds a row as [`Table::push_text`] does, where there is room. Returns the column of what is
    /// no number.
    pub(crate) fn push_numbers(&mut self, line: &[u8], tokens: &[Range<usize>]) -> Result<(), usize> {
        let token = |entry: &Entry| &line[tokens[entry.token].clone()];
        let whole = |entry: &Entry| str::from_utf8(token(entry)).ok()?.parse().ok();
        let (missing, rounded) = (Cell::new(0), Cell::new(0));
        let is_rounded =
            |entry: &Entry, v: f32| v.abs() >= WHOLES && whole(entry).is_some_and(|whole: i128| whole != v as i128);
        let value = |j: usize, entry: &Entry| {
            number(token(entry), entry.dtype)
                .inspect(|(v, _)| {
                    if entry.dtype == Dtype::F32 && is_rounded(entry, *v) {
                        rounded.set(rounded.get() + 1);
                    }
                })
                .or_else(|| {
                    missing.set(missing.get() + 1);
                    no_number(token(entry))
                })
                .ok_or(j)
        };
        let done = self.push_row(value, |entry| if entry.dtype == Dtype::F64 { None } else { whole(entry) });
        self.missing += missing.get();
        self.rounded += rounded.get();
        done
    }

    /// Adds a row, where there is room: `value` returns a column's number as `f32` and as `f64`,
    /// `whole` the number in full if it is a whole one.
    pub(crate) fn push_row<E>(
        &mut self,
        value: impl Fn(usize, &Entry) -> Result<(f32, f64), E>,
        whole: impl Fn(&Entry) -> Option<i128>,
    ) -> Result<(), E> {
        let mut wide = self.wide.iter_mut().peekable();
        for (j, entry) in self.columns.entries.iter().enumerate() {
            let (v, exact) = value(j, entry)?;
            self.data.push(v);
            if let Some(all) = self.exact.as_mut().filter(|_| j < 3) {
                all.push(exact);
            }
            if let Some(wide) = wide.next_if(|wide| wide.column == j) {
                wide.push_number(whole(entry), v, exact);
            }
        }
        Ok(())
    }

    /// Leaves out some parts of so many rows each; `wrong` has their places, in order.
    #[cfg(feature = "laz")]
    pub(crate) fn leave_out(&mut self, rows: &[usize], wrong: &[usize]) {
        use crate::memory::retain_rows;
        use std::iter;
        if wrong.is_empty() {
            return;
        }
        let parts = rows.iter().enumerate().map(|(i, &rows)| (rows, wrong.binary_search(&i).is_err()));
        let kept: Vec<bool> = parts.flat_map(|(rows, kept)| iter::repeat_n(kept, rows)).collect();
        retain_rows(&mut self.data, &kept);
        self.exact.iter_mut().for_each(|exact| retain_rows(exact, &kept));
        for (wide, change) in self.wide.iter_mut().zip(&mut self.changes) {
            wide.retain(&kept);
            // What the rows that are left out changed does not count.
            (*wide, *change) = (wide.again(), AtomicU64::default());
        }
    }

    /// An empty table of the same columns, with room for so many rows.
    pub(crate) fn like(&self, rows: usize) -> Result<Self, TryReserveError> {
        let mut empty = Self::new(self.columns.clone());
        empty.room(rows, true)?;
        Ok(empty)
    }

    /// Adds the rows of tables of lines of text, which have no columns of whole numbers.
    pub(crate) fn append(&mut self, window: &Window<'_, '_>, tables: &[Self]) -> Result<(), IoError> {
        let more = tables.iter().map(Self::len).sum::<usize>();
        let rows = self.len() + more;
        self.count(window, rows)?;
        self.room(more, false).map_err(|_| window.source().out_of_memory(self.bytes(rows)))?;
        for table in tables {
            self.data.extend_from_slice(&table.data);
            self.missing += table.missing;
            self.rounded += table.rounded;
            if let (Some(all), Some(exact)) = (&mut self.exact, &table.exact) {
                all.extend_from_slice(exact);
            }
            self.wide.iter_mut().zip(&table.wide).for_each(|(all, wide)| all.append(wide));
        }
        Ok(())
    }

    /// The rows, with a warning if bytes follow them.
    pub(crate) fn into_rows(mut self, rest: u64) -> Rows {
        let mut warnings = self.columns.warnings;
        if self.missing > 0 {
            warnings.push(Warning::Missing { count: self.missing });
        }
        if self.rounded > 0 {
            warnings.push(Warning::WholeRounded { count: self.rounded });
        }
        if rest > 0 {
            warnings.push(Warning::TrailingBytes { bytes: rest });
        }
        for (wide, change) in self.wide.iter_mut().zip(self.changes) {
            wide.change = wide.change.max(f64::from_bits(change.into_inner()));
            if wide.rest.iter().all(|rest| *rest == 0) {
                wide.rest = vec![];
            }
        }
        let fields = self.columns.entries.into_iter().map(|e| Field { name: e.name, dtype: e.dtype });
        let rows = Rows::new(fields.collect(), self.data);
        Rows { xyz_f64: self.exact, wide: self.wide, warnings, ..rows }
    }
}

/// Up to here an `f32` holds every whole number.
const WHOLES: f32 = (1 << f32::MANTISSA_DIGITS) as f32;

/// Whether a column has whole numbers that an `f64` does not hold.
fn is_long(entry: &Entry) -> bool {
    matches!(entry.dtype, Dtype::I64 | Dtype::U64)
}

/// The error for a file with fewer bytes than its points need.
fn too_short(window: &Window<'_, '_>, points: u64, record: usize, found: u64) -> IoError {
    let bytes = u128::from(points) * record as u128;
    let wanted = format!("{bytes} bytes (the header declares {points} points of {record} bytes)");
    let whole = found / record as u64;
    fault!(window, Truncated, "data", wanted, "{found} bytes ({whole} points)").salvageable(POINTS_BEFORE)
}

/// Reads the points that a header declares, after their bytes were compared with those that are
/// there and their number with the limits; if `bounds.salvage`, as many as are whole. Returns their
/// number.
pub(crate) fn declared_records(
    window: &mut Window<'_, '_>,
    bounds: &Bounds,
    table: &mut Table,
    points: u64,
) -> Result<u64, IoError> {
    let record = table.columns.record;
    let size = u128::from(points) * record as u128;
    if let Some(left) = window.left().filter(|&left| !bounds.salvage && u128::from(left) < size) {
        return Err(too_short(window, points, record, left));
    }
    bounds.check_points(window.source(), points)?;
    let short = |window: &Window<'_, '_>, found| too_short(window, points, record, found);
    records(window, table, points, record, false, bounds.salvage, short)
}

/// Takes the next line that is not blank, and finds its values. Returns `None` at the end of the
/// source.
pub(crate) fn next_values(
    window: &mut Window<'_, '_>,
    values: &mut Vec<Range<usize>>,
) -> Result<Option<Range<usize>>, IoError> {
    while let Some(line) = window.line()? {
        split(window.at(&line), values);
        if !values.is_empty() {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// Reads `count` records of `each` bytes, or if `salvage` as many as are whole; their number.
/// `short` makes the error for fewer bytes.
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
            table.push(window, &window.at(&taken)[..whole * each], whole, Order::Records, big_endian)?;
            return Ok(done + whole as u64);
        }
        table.push(window, window.at(&taken), step, Order::Records, big_endian)?;
        done += step as u64;
    }
    Ok(done)
}
