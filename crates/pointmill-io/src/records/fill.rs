//! Values of columns as they lie in a file, into rows.

use super::columns::{Coding, Entry};
use crate::threads::take_first;
use crate::values::{FAR, Raw, change};
use crate::wide_column::{is_long, less, rest_of};
use pointmill_core::array::Dtype;
use pointmill_core::half::f32_from_f16_bits;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Calls a macro with the Rust type of a [`Dtype`]; readers refuse the types left out when they see
/// the header.
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
pub(crate) use with_type;

/// How the numbers of several records lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    /// Record after record.
    Records,
    /// Field after field, each with the values of all records.
    Fields,
}

/// Values of a column in bytes: where the first starts, and how many bytes after it the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strided<'b> {
    pub(crate) bytes: &'b [u8],
    pub(crate) at: usize,
    pub(crate) step: usize,
    pub(crate) big_endian: bool,
}

impl<'b> Strided<'b> {
    /// A value of each of `count` records of `record` bytes.
    pub(crate) fn of(
        bytes: &'b [u8],
        entry: &Entry,
        order: Order,
        (count, record): (usize, usize),
        big_endian: bool,
    ) -> Self {
        let (base, step) = match order {
            Order::Records => (entry.field.start, record),
            Order::Fields => (entry.field.start * count, entry.field.len()),
        };
        Self { bytes, at: base + entry.within, step, big_endian }
    }

    /// Its values from row `from` on.
    fn values<T: Raw>(self, from: usize) -> impl Iterator<Item = T> {
        let bytes = self.bytes.get(self.at + from * self.step..).unwrap_or_default();
        bytes.chunks(self.step).map(move |value| {
            let v: T = bytemuck::pod_read_unaligned(&value[..size_of::<T>()]);
            if self.big_endian == cfg!(target_endian = "big") { v } else { v.swapped() }
        })
    }

    /// The first value, if it is of a type of whole numbers.
    pub(crate) fn first_whole(self, dtype: Dtype) -> Option<i128> {
        macro_rules! whole {
            ($type:ty) => {
                self.values::<$type>(0).next().and_then(Raw::whole)
            };
        }
        with_type!(dtype, whole)
    }
}

/// Rows that are filled at a time. Columns are filled one after the other, so that what they fill
/// should stay in the second-level cache.
const BLOCK: usize = 4096;

/// Rows that are there, to be filled on any thread.
#[derive(Debug)]
pub(crate) struct Part<'p> {
    pub(crate) entries: &'p [Entry],
    pub(crate) data: &'p mut [f32],
    /// x, y, z, if their types hold more than an `f32` does.
    pub(crate) exact: Option<&'p mut [[f64; 3]]>,
    /// The columns behind z whose types hold more than an `f32` does.
    pub(crate) wide: Vec<WidePart<'p>>,
}

/// The rows of a column in full, to be filled.
#[derive(Debug)]
pub(crate) struct WidePart<'p> {
    pub(crate) column: usize,
    /// What is subtracted from whole numbers.
    pub(crate) first: Option<i128>,
    pub(crate) values: &'p mut [f64],
    /// What these leave, of a type of whole numbers of 64 bits.
    pub(crate) rest: Option<&'p mut [i16]>,
    /// The bits of the most that a value changed in the cast to `f32`; those of positive numbers
    /// are in their order.
    pub(crate) change: &'p AtomicU64,
}

impl<'p> WidePart<'p> {
    /// Takes the first rows off the part.
    pub(super) fn next(&mut self, rows: usize) -> Self {
        let rest = self.rest.as_mut().map(|rest| take_first(rest, rows));
        Self { values: take_first(&mut self.values, rows), rest, ..*self }
    }
}

impl<'p> Part<'p> {
    /// The number of rows.
    fn len(&self) -> usize {
        self.data.len() / self.entries.len()
    }

    /// Takes the first rows off the part.
    #[cfg(feature = "laz")]
    pub(crate) fn next(&mut self, rows: usize) -> Self {
        Self {
            entries: self.entries,
            data: take_first(&mut self.data, rows * self.entries.len()),
            exact: self.exact.as_mut().map(|exact| take_first(exact, rows)),
            wide: self.wide.iter_mut().map(|wide| wide.next(rows)).collect(),
        }
    }

    /// Fills all rows. Values whose bit in `there` is zero are not there: they become NaN. No bits
    /// mean that all are.
    pub(crate) fn fill<'b>(
        &mut self,
        values: impl Fn(usize, &Entry) -> Strided<'b>,
        there: impl Fn(usize) -> &'b [u8],
    ) {
        let half = |bits: u16| {
            let v = f32_from_f16_bits(bits);
            (v, f64::from(v))
        };
        fn both(v: f64) -> (f32, f64) {
            (v as f32, v)
        }
        for from in (0..self.len()).step_by(BLOCK) {
            let rows = from..self.len().min(from + BLOCK);
            for (j, entry) in self.entries.iter().enumerate() {
                let values = values(j, entry);
                macro_rules! column {
                    ($type:ty) => {
                        self.put(rows.clone(), j, values, |v: $type| (v as f32, v as f64))
                    };
                }
                match (entry.coding, entry.dtype) {
                    (Coding::Plain, Dtype::F16) => self.put(rows.clone(), j, values, half),
                    (Coding::Plain, dtype) => with_type!(dtype, column),
                    (Coding::Scaled { is_short: false, scale, shift }, _) => {
                        self.put(rows.clone(), j, values, |v: i32| both(f64::from(v) * scale + shift));
                    }
                    (Coding::Scaled { scale, shift, .. }, _) => {
                        self.put(rows.clone(), j, values, |v: i16| both(f64::from(v) * scale + shift));
                    }
                    (Coding::Linear { from, scale, shift }, _) => {
                        macro_rules! linear {
                            ($type:ty) => {
                                self.put_linear::<$type>(rows.clone(), j, values, [scale, shift])
                            };
                        }
                        with_type!(from, linear);
                    }
                    (Coding::Bits { lowest, count }, _) => {
                        self.put(rows.clone(), j, values, |v: u8| {
                            both(f64::from(v >> lowest & (u8::MAX >> (8 - count))))
                        });
                    }
                }
                self.blank(rows.clone(), j, there(j));
            }
        }
    }

    fn put<T: Raw>(&mut self, rows: Range<usize>, j: usize, from: Strided<'_>, cast: impl Fn(T) -> (f32, f64)) {
        let width = self.entries.len();
        let data = self.data[rows.start * width..rows.end * width].chunks_exact_mut(width);
        let values = || from.values::<T>(rows.start);
        match self.exact.as_mut().filter(|_| j < 3) {
            None => data.zip(values()).for_each(|(row, v)| row[j] = cast(v).0),
            Some(exact) => {
                let rows = data.zip(&mut exact[rows.clone()]).zip(values());
                rows.for_each(|((row, exact), v)| (row[j], exact[j]) = cast(v));
            }
        }
        if let Some(wide) = self.wide.iter_mut().find(|wide| wide.column == j) {
            let mut change = 0.0;
            wide.values[rows.clone()].iter_mut().zip(values()).for_each(|(to, v)| {
                *to = less(wide.first, v);
                change = T::change(change, v);
            });
            let is_far = is_long::<T>() && wide.values[rows.clone()].iter().any(|v| v.abs() >= FAR);
            if let Some(rest) = wide.rest.as_mut().filter(|_| is_far) {
                rest[rows.clone()].iter_mut().zip(values()).for_each(|(to, v)| *to = rest_of(wide.first, v));
            }
            wide.change.fetch_max(change.to_bits(), Ordering::Relaxed);
        }
    }

    /// Fills a column behind z with numbers that are scaled.
    fn put_linear<T: Raw>(&mut self, rows: Range<usize>, j: usize, from: Strided<'_>, [scale, shift]: [f64; 2]) {
        let width = self.entries.len();
        let values = || from.values::<T>(rows.start).map(|v| v.to_f64() * scale + shift);
        let data = self.data[rows.start * width..rows.end * width].chunks_exact_mut(width);
        data.zip(values()).for_each(|(row, v)| row[j] = v as f32);
        if let Some(wide) = self.wide.iter_mut().find(|wide| wide.column == j) {
            wide.values[rows.clone()].iter_mut().zip(values()).for_each(|(to, v)| *to = v);
            let most = values().take(rows.len()).fold(0.0, |most, v| change(most, v as f32, v));
            wide.change.fetch_max(most.to_bits(), Ordering::Relaxed);
        }
    }

    /// Makes the values of a column NaN whose bit is zero.
    fn blank(&mut self, rows: Range<usize>, j: usize, there: &[u8]) {
        if there.is_empty() {
            return;
        }
        let width = self.entries.len();
        for row in rows.filter(|row| there[row / 8] >> (row % 8) & 1 == 0) {
            self.data[row * width + j] = f32::NAN;
            if let Some(exact) = self.exact.as_mut().filter(|_| j < 3) {
                exact[row][j] = f64::NAN;
            }
            if let Some(wide) = self.wide.iter_mut().find(|wide| wide.column == j) {
                wide.values[row] = f64::NAN;
                if let Some(rest) = &mut wide.rest {
                    rest[row] = 0;
                }
            }
        }
    }
}
