//! Columns in full, where an `f32` does not hold their values.

use crate::memory::{collect, retain_rows};
use crate::values::{FAR, Raw, change, whole_range};
use pointmill_core::Points;
use pointmill_core::array::Dtype;
use std::collections::TryReserveError;

/// Whole numbers that an `f64` does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whole {
    /// With a sign.
    I64(Vec<i64>),
    /// Without one.
    U64(Vec<u64>),
}

/// The parts of a [`WideColumn`].
pub(crate) type Parts<V, R> = (usize, Option<i128>, V, R, f64);

/// A column of a cloud with more than its `f32` have.
///
/// The values are `f64`. Of whole numbers they are what is left after the first, and what an `f64`
/// does not hold of that stands beside it, so that all of 64 bits are exact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WideColumn {
    pub(crate) column: usize,
    /// Of whole numbers the first, which is subtracted from all: nanoseconds since 1970 are more
    /// than an `f64` holds.
    pub(crate) first: Option<i128>,
    /// What is left.
    pub(crate) values: Vec<f64>,
    /// What an `f64` does not hold of what is left; none, where that is nothing. Whole numbers of 64
    /// bits are less than 2^65 apart, so that it is at most 2^11.
    pub(crate) rest: Vec<i16>,
    /// The most that a value changes in the cast to `f32`.
    pub(crate) change: f64,
}

impl WideColumn {
    /// The values of a column of a cloud, by its number, before they were cast to `f32`.
    ///
    /// ```
    /// use pointmill_core::Points;
    /// use pointmill_io::{NamedPoints, ReadOptions, WideColumn, read, write_ply};
    /// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-wide.ply", std::process::id()));
    /// let stamp = 1_700_000_000.123;
    /// let points = [1.0, 2.0, 3.0, stamp as f32];
    /// let mut cloud = NamedPoints::new(Points::new(&points, 4)?, &["x", "y", "z", "timestamp"]);
    /// cloud.wide = vec![WideColumn::new(3, vec![stamp]).into()];
    /// write_ply(&path, &cloud)?;
    /// assert_eq!(read(&path, &ReadOptions::default())?.wide().next().unwrap().to_vec(), [stamp]);
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(column: usize, values: Vec<f64>) -> Self {
        let change = values.iter().fold(0.0, |most, &v| change(most, v as f32, v));
        Self { column, values, change, ..Self::default() }
    }

    /// Its number; of whole numbers the first; the values less the first; what they leave, or
    /// nothing; the most that one changes in the cast: for other processes.
    pub fn parts(&self) -> Parts<&[f64], &[i16]> {
        (self.column, self.first, &self.values, &self.rest, self.change)
    }

    /// The column of [`WideColumn::parts`].
    ///
    /// `None` where values and what they leave are of other lengths.
    pub fn from_parts((column, first, values, rest, change): Parts<Vec<f64>, Vec<i16>>) -> Option<Self> {
        let is_whole = rest.is_empty() || rest.len() == values.len();
        is_whole.then_some(Self { column, first, values, rest, change })
    }

    /// No values yet.
    pub(crate) fn of(column: usize) -> Self {
        Self { column, ..Self::default() }
    }

    /// Whole numbers, or others, into memory that has room for them.
    pub(crate) fn from_values<T: Raw>(
        column: usize,
        mut room: Vec<f64>,
        values: impl Iterator<Item = T> + Clone,
    ) -> Self {
        let first = values.clone().next().and_then(Raw::whole);
        let most = values.clone().fold(0.0, Raw::change);
        let is_far = is_long::<T>() && values.clone().any(|v| left(first, v.whole(), v.to_f64()).1 != 0);
        let rest = if is_far { values.clone().map(|v| rest_of(first, v)).collect() } else { vec![] };
        room.extend(values.map(|v| less(first, v)));
        Self { column, first, values: room, rest, change: most }
    }

    /// The column without its values, which are kept elsewhere.
    pub(crate) fn clone_empty(&self) -> Self {
        Self { values: vec![], rest: vec![], ..*self }
    }

    /// The number of the column.
    pub fn column(&self) -> usize {
        self.column
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values as `f64`.
    pub fn to_vec(&self) -> Vec<f64> {
        (0..self.len()).map(|i| self.double(i)).collect()
    }

    /// The values as whole numbers of 64 bits, if they are such of a type and an `f64` does not hold
    /// all.
    pub fn to_whole(&self, dtype: Dtype) -> Option<Whole> {
        if self.change_as_f64() == 0.0 || !self.fits(dtype) {
            return None;
        }
        let values = (0..self.len()).map(|i| self.whole(i));
        match dtype {
            Dtype::I64 => Some(Whole::I64(values.map(|v| v as i64).collect())),
            Dtype::U64 => Some(Whole::U64(values.map(|v| v as u64).collect())),
            _ => None,
        }
    }

    /// Whether the column of points is what these values become in the cast to `f32`.
    pub fn is_of(&self, points: Points<'_>) -> bool {
        let cast = |i: usize| match self.first {
            Some(_) if self.values[i].is_finite() => self.whole(i) as f32,
            _ => self.values[i] as f32,
        };
        let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        let mut rows = points.data().chunks_exact(points.columns()).enumerate();
        self.column < points.columns()
            && self.len() == points.len()
            && rows.all(|(i, row)| same(row[self.column], cast(i)))
    }

    /// A value, rounded once.
    pub(crate) fn double(&self, i: usize) -> f64 {
        let left = self.values[i];
        if self.first.is_some() && left.is_finite() { self.whole(i) as f64 } else { left }
    }

    /// Whether a value is a whole number of a column of such.
    pub(crate) fn is_whole(&self, i: usize) -> bool {
        self.first.is_some() && self.values[i].is_finite()
    }

    /// A value of whole numbers.
    pub(crate) fn whole(&self, i: usize) -> i128 {
        let rest = self.rest.get(i).copied().unwrap_or_default();
        self.first.unwrap_or_default() + self.values[i] as i128 + i128::from(rest)
    }

    /// Whether all values are whole numbers of a type.
    pub(crate) fn fits(&self, dtype: Dtype) -> bool {
        let Some((min, max)) = whole_range(dtype) else { return false };
        (0..self.len()).all(|i| self.values[i].fract() == 0.0 && (min..=max).contains(&self.whole(i)))
    }

    /// The most that a value changes as `f64`.
    pub(crate) fn change_as_f64(&self) -> f64 {
        if self.first.is_none() {
            return 0.0;
        }
        let finite = (0..self.len()).filter(|&i| self.values[i].is_finite());
        let changes = finite.map(|i| (self.whole(i) - self.whole(i) as f64 as i128).unsigned_abs() as f64);
        changes.fold(0.0, f64::max)
    }

    /// The memory of its values, to make room in.
    pub(crate) fn room(&mut self) -> &mut Vec<f64> {
        &mut self.values
    }

    /// Takes memory for more values.
    pub(crate) fn reserve(&mut self, more: usize) -> Result<(), TryReserveError> {
        if !self.rest.is_empty() {
            self.rest.try_reserve(more)?;
        }
        self.values.try_reserve(more)
    }

    /// Makes a column of whole numbers one of `f64`.
    pub(crate) fn make_double(&mut self) {
        self.change = self.change.max(self.change_as_f64());
        for i in 0..self.len() {
            self.values[i] = self.double(i);
        }
        (self.first, self.rest) = (None, vec![]);
    }

    /// The values of some rows, in their order.
    pub(crate) fn select(&self, rows: &[u32]) -> Result<Self, TryReserveError> {
        let values = collect(rows.iter().map(|&row| self.values[row as usize]))?;
        let far = if self.rest.is_empty() { &[][..] } else { rows };
        let rest = collect(far.iter().map(|&row| self.rest[row as usize]))?;
        Ok(Self { column: self.column, first: self.first, values, rest, change: self.change })
    }

    /// The same column, in memory of its own.
    pub(crate) fn copy(&self) -> Result<Self, TryReserveError> {
        let values = collect(self.values.iter().copied())?;
        let rest = collect(self.rest.iter().copied())?;
        Ok(Self { column: self.column, first: self.first, values, rest, change: self.change })
    }

    /// Leaves out the rows that are not kept.
    pub(crate) fn retain(&mut self, kept: &[bool]) {
        retain_rows(&mut self.values, kept);
        if !self.rest.is_empty() {
            retain_rows(&mut self.rest, kept);
        }
    }

    /// Adds a value that may be a whole number.
    pub(crate) fn push_number(&mut self, whole: Option<i128>, single: f32, value: f64) {
        let first = whole.map(|whole| *self.first.get_or_insert(whole));
        let (near, rest) = left(first, whole, value);
        if rest != 0 || !self.rest.is_empty() {
            self.rest.resize(self.values.len(), 0);
            self.rest.push(rest);
        }
        self.values.push(near);
        self.change = change(self.change, single, value);
        // Both may be rounded to the same.
        if whole.is_some() && value.abs() >= FAR {
            self.change = self.change.max(1.0);
        }
    }

    /// The column of the same values, of which some were left out: what these changed does not count.
    #[cfg(feature = "laz")]
    pub(crate) fn again(&mut self) -> Self {
        let mut same = std::mem::take(self);
        let change = |i: usize| {
            let single = if same.is_whole(i) { same.whole(i) as f32 } else { same.values[i] as f32 };
            change(0.0, single, same.double(i))
        };
        same.change = (0..same.len()).map(change).fold(0.0, f64::max).max(same.change_as_f64());
        same
    }

    /// Adds values that are no whole numbers.
    pub(crate) fn append(&mut self, others: &Self) {
        self.values.extend_from_slice(&others.values);
        self.change = self.change.max(others.change);
    }

    /// What to subtract from whole numbers, of which `whole` is the next to come.
    pub(crate) fn begin(&mut self, whole: Option<i128>) -> Option<i128> {
        self.first = self.first.or(whole);
        self.first
    }
}

/// A value less the first whole one, as an `f64` is nearest to it.
pub(crate) fn less(first: Option<i128>, value: impl Raw) -> f64 {
    whole_left(first, value.whole()).map_or_else(|| value.to_f64(), near)
}

/// What [`less`] leaves.
pub(crate) fn rest_of(first: Option<i128>, value: impl Raw) -> i16 {
    left(first, value.whole(), value.to_f64()).1
}

/// Whether a type has whole numbers that an `f64` does not hold.
pub(crate) const fn is_long<T: Raw>() -> bool {
    T::IS_WHOLE && size_of::<T>() == 8
}

fn whole_left(first: Option<i128>, whole: Option<i128>) -> Option<i128> {
    whole.zip(first).map(|(whole, first)| whole - first)
}

fn near(left: i128) -> f64 {
    i64::try_from(left).map_or_else(|_| far(left), |left| left as f64)
}

fn left(first: Option<i128>, whole: Option<i128>, value: f64) -> (f64, i16) {
    whole_left(first, whole).map_or((value, 0), |left| {
        let near = near(left);
        (near, (left - near as i128) as i16)
    })
}

/// A cast of some hundred steps, apart so that the usual numbers are not cast by it.
#[cold]
#[inline(never)]
fn far(left: i128) -> f64 {
    left as f64
}
