//! Rows of values reduced into the rows that an index names; for bindings, whose callers have an
//! index of their own.
//!
//! A value of a result is made by one thread, in the order of the values: the same bits with any
//! number of threads, and on a GPU ([`ScatterWorker`]).

mod gpu;
mod lists;
mod number;
mod spread;
#[cfg(test)]
mod tests;

pub use gpu::{RowsOf, Scatter, ScatterWorker};
pub(crate) use gpu::{numbers, reduce_on_gpu};
pub(crate) use lists::Lists;
pub use number::Scattered;
pub use pointmill_core::reduction::Reduction;
pub use spread::{spread, spread_lists};

use crate::device::{Device, num_threads};
use crate::{Argument, Error, Result, ensure, memory, par};
use pointmill_core::reduction::{NONE, Number};
use rayon::prelude::*;

/// A type that row numbers can have: `i32` or `i64`. Numbers below zero are of no row.
pub trait RowNumber: Copy + Ord + Into<i64> + Send + Sync {}
impl RowNumber for i32 {}
impl RowNumber for i64 {}

/// Fewer values than this are not worth waking other threads for.
const BLOCK_VALUES: usize = if cfg!(test) { 8 } else { 1 << 15 };
/// Rows are cut into parts of so many columns where there are few of them.
const PART: usize = 16;
const FEW_ROWS: usize = 64;

/// The values of each row, in their order.
///
/// ```
/// use pointmill::interop::{Reduction, RowLists};
/// let lists = RowLists::new(&[1, 0, -1, 1], None)?;
/// let mut sums = vec![0.0f32; lists.rows() * 2];
/// lists.reduce(&[1.0, 2.0, /**/ 3.0, 4.0, /**/ 5.0, 6.0, /**/ 7.0, 8.0], 2, Reduction::Sum, &mut sums, &mut [])?;
/// assert_eq!(sums, [3.0, 4.0, /**/ 8.0, 10.0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct RowLists {
    /// Where the values of each row start in `values`, and the end.
    splits: Vec<u32>,
    /// The values row after row; none where they lie so.
    values: Option<Vec<u32>>,
    /// How many values there are, with those of no row.
    len: usize,
}

impl RowLists {
    /// Lists the values by the row that `index` names for each: -1 for none. Without `rows` there
    /// is one row more than the largest number.
    ///
    /// # Errors
    /// A number below -1 or not below `rows`, 2^32 values or more, out of memory.
    pub fn new<I: RowNumber>(index: &[I], rows: Option<usize>) -> Result<Self> {
        let most = check(index, rows)?;
        ensure(index.len() < NONE as usize, Argument::Index, "fewer than 2^32 - 1 numbers", index.len())?;
        let rows = rows.unwrap_or((most + 1) as usize);
        // Counts go two places on, so that after their sum each row has the place of its next value
        // one place on, and its start where the sum ended when all are placed.
        let mut splits = memory::filled(rows.saturating_add(2), 0u32)?;
        for &row in index {
            if let Ok(row) = usize::try_from(row.into()) {
                splits[row + 2] += 1;
            }
        }
        let mut end = 0;
        for split in &mut splits {
            end += *split;
            *split = end;
        }
        let mut values = memory::filled(end as usize, 0u32)?;
        for (i, &row) in index.iter().enumerate() {
            if let Ok(row) = usize::try_from(row.into()) {
                let next = &mut splits[row + 1];
                values[*next as usize] = i as u32;
                *next += 1;
            }
        }
        splits.pop();
        Ok(Self { splits, values: Some(values), len: index.len() })
    }

    /// Lists `len` values that lie row after row, where each row starts at one of `splits` and the
    /// last ends at the last of them. Values before the first and after the last are of no row.
    ///
    /// ```
    /// use pointmill::interop::{Reduction, RowLists};
    /// let lists = RowLists::of_splits(&[0, 2, 2, 3], 3)?;
    /// let mut means = vec![0.0f32; 3];
    /// lists.reduce(&[1.0, 3.0, 5.0], 1, Reduction::Mean, &mut means, &mut [])?;
    /// assert_eq!(means, [2.0, 0.0, 5.0]);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    ///
    /// # Errors
    /// Numbers that do not ascend from 0 to `len`, none at all, 2^32 values or more, out of memory.
    pub fn of_splits<I: RowNumber>(splits: &[I], len: usize) -> Result<Self> {
        let splits = checked(splits, len)?;
        Ok(Self { splits, values: None, len })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.splits.len() - 1
    }

    /// How many values a row has.
    pub fn count(&self, row: usize) -> u32 {
        self.splits[row + 1] - self.splits[row]
    }

    /// The values of a row that was named.
    pub(crate) fn list(&self, row: usize) -> &[u32] {
        let own = self.splits[row] as usize..self.splits[row + 1] as usize;
        self.values.as_deref().map_or(&[], |values| &values[own])
    }

    /// Reduces `values` `[N, columns]` to `out` `[rows, columns]`; a row without values becomes
    /// zeros.
    ///
    /// Values of half precision are reduced in `f32`. A minimum or maximum ignores NaN, keeps the
    /// first of equal values, and is NaN where there is nothing else; `places` gets the number of
    /// the value that each came from, -1 for none, unless it is empty.
    ///
    /// # Errors
    /// Arrays of other sizes.
    pub fn reduce<T: Scattered>(
        &self,
        values: &[T],
        columns: usize,
        how: Reduction,
        out: &mut [T],
        places: &mut [i64],
    ) -> Result<()> {
        expect(Argument::Values, values.len(), self.len, columns)?;
        expect(Argument::Out, out.len(), self.rows(), columns)?;
        if !places.is_empty() {
            expect(Argument::Argmax, places.len(), self.rows(), columns)?;
        }
        reduce_lists((&self.splits, self.values.as_deref()), values, columns, how, out, places);
        Ok(())
    }
}

/// Reduces lists of rows: where each list starts, and the rows of `values` list after list, none
/// where they lie so.
pub(crate) fn reduce_lists<T: Scattered>(
    (splits, lists): (&[u32], Option<&[u32]>),
    values: &[T],
    columns: usize,
    how: Reduction,
    out: &mut [T],
    places: &mut [i64],
) {
    let rows = splits.len() - 1;
    let part = if rows < FEW_ROWS && columns.is_multiple_of(PART) { PART } else { columns };
    let of_row = columns.checked_div(part).unwrap_or(0);
    let work = ((splits[rows] - splits[0]) as usize * columns).max(out.len());
    blocks(out, places, part, work, |first, out, places| {
        let mut scratch = Scratch { best: vec![T::Wide::ZERO; part], from: vec![NONE; part] };
        let mut places = places.chunks_mut(part);
        for (i, out) in out.chunks_mut(part).enumerate() {
            let (row, column) = ((first + i) / of_row, (first + i) % of_row * part);
            let (start, end) = (splits[row], splits[row + 1]);
            let value = |v: u32| (v, &values[v as usize * columns + column..][..part]);
            let places = places.next().unwrap_or_default();
            match lists {
                Some(lists) => {
                    let list = lists[start as usize..end as usize].iter().map(|&v| value(v));
                    scratch.reduce(list, end - start, how, out, places);
                }
                None => scratch.reduce((start..end).map(value), end - start, how, out, places),
            }
        }
    });
}

/// What a row is reduced in.
struct Scratch<N> {
    best: Vec<N>,
    from: Vec<u32>,
}

impl<N: Number> Scratch<N> {
    fn reduce<'a, T: Scattered<Wide = N>>(
        &mut self,
        list: impl Iterator<Item = (u32, &'a [T])>,
        count: u32,
        how: Reduction,
        out: &mut [T],
        places: &mut [i64],
    ) {
        self.best.fill(N::ZERO);
        self.from.fill(NONE);
        match how {
            Reduction::Sum | Reduction::Mean => {
                for (_, values) in list {
                    self.best.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.plus(value.widen()));
                }
            }
            // Apart, so that each is a loop of its own.
            Reduction::Min => self.pick(list, Reduction::Min),
            Reduction::Max => self.pick(list, Reduction::Max),
        }
        for ((out, &best), &from) in out.iter_mut().zip(&self.best).zip(&self.from) {
            *out = T::narrow(how.of(best, from, count));
        }
        for (place, &from) in places.iter_mut().zip(&self.from) {
            *place = if from == NONE { -1 } else { i64::from(from) };
        }
    }

    #[inline(always)]
    fn pick<'a, T: Scattered<Wide = N>>(&mut self, list: impl Iterator<Item = (u32, &'a [T])>, how: Reduction) {
        for (v, values) in list {
            for ((best, from), value) in self.best.iter_mut().zip(&mut self.from).zip(values) {
                let value = value.widen();
                let takes = how.takes(value, *best, *from);
                *best = if takes { value } else { *best };
                *from = if takes { v } else { *from };
            }
        }
    }
}

/// Calls `work` with blocks of whole parts of `out`, and of `places` unless that is empty, and the
/// number of the first part: in this thread where there is little to do.
pub(crate) fn blocks<T: Send>(
    out: &mut [T],
    places: &mut [i64],
    part: usize,
    values: usize,
    work: impl Fn(usize, &mut [T], &mut [i64]) + Sync,
) {
    if part == 0 || out.is_empty() {
        return;
    }
    let parts = out.len() / part;
    let threads = if par::is_alone() { 1 } else { num_threads() };
    let number = (values / BLOCK_VALUES).clamp(1, threads * 16).min(parts);
    if number == 1 || threads == 1 {
        return work(0, out, places);
    }
    let each = parts.div_ceil(number);
    let mut places = places.chunks_mut(each * part);
    let all: Vec<_> = out.chunks_mut(each * part).map(|out| (out, places.next().unwrap_or_default())).collect();
    Device::cpu().install(|| {
        all.into_par_iter().enumerate().for_each(|(block, (out, places))| work(block * each, out, places));
    });
}

/// The largest row number, -1 at least.
pub(crate) fn check<I: RowNumber>(index: &[I], rows: Option<usize>) -> Result<i64> {
    let least = index.iter().min().map_or(-1, |&row| row.into());
    let most = index.iter().max().map_or(-1, |&row| row.into());
    let outside = rows.is_some_and(|rows| most >= rows as i64);
    if least >= -1 && !outside && most < i64::MAX {
        return Ok(most.max(-1));
    }
    let expected =
        rows.map_or_else(|| "numbers of -1 or more".into(), |n| format!("numbers of -1 to {}", n as i64 - 1));
    Err(Error::argument(Argument::Index, expected, if least < -1 { least } else { most }))
}

/// Where rows start, in 32 bits.
fn checked<I: RowNumber>(splits: &[I], len: usize) -> Result<Vec<u32>> {
    ensure(len < NONE as usize, Argument::Values, "fewer than 2^32 - 1 rows", len)?;
    ensure(!splits.is_empty(), Argument::RowSplits, "one number at least", 0)?;
    let mut last = 0;
    for (row, &split) in splits.iter().enumerate() {
        let split = split.into();
        let expected = || format!("ascending numbers from 0 to {len}");
        if split < last || split > len as i64 {
            return Err(Error::argument(Argument::RowSplits, expected(), format_args!("{split} at {row}")));
        }
        last = split;
    }
    memory::collect(splits.iter().map(|&split| split.into() as u32))
}

/// Refuses an array that has not so many rows.
fn expect(argument: Argument, len: usize, rows: usize, columns: usize) -> Result<()> {
    ensure(rows.checked_mul(columns) == Some(len), argument, format_args!("{rows} x {columns} values"), len)
}
