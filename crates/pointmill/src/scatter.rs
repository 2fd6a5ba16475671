//! Rows of values reduced into the rows that an index names, on the CPU; for bindings, whose
//! callers have an index of their own.
//!
//! A value of a result is made by one thread, in the order of the values: the same bits with any
//! number of threads.

mod number;
mod spread;
#[cfg(test)]
mod tests;

pub use number::Scattered;
pub use spread::spread;

use crate::device::{Device, num_threads};
use crate::{Argument, Error, Result, ensure, memory, par};
use number::Number;
use pointmill_core::names;
use rayon::prelude::*;

/// What becomes of the values of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The sum, from zero on.
    Sum,
    /// The sum divided once by the number of values; of whole numbers rounded down.
    Mean,
    /// The smallest value that is not NaN.
    Min,
    /// The largest value that is not NaN.
    Max,
}

names!(Reduction { Sum = "sum", Mean = "mean", Min = "min", Max = "max" });

impl Reduction {
    /// Whether a value of the result is one of the values.
    pub const fn picks(self) -> bool {
        matches!(self, Self::Min | Self::Max)
    }
}

/// A type that row numbers can have: `i32` or `i64`. Numbers below zero are of no row.
pub trait RowNumber: Copy + Ord + Into<i64> + Send + Sync {}
impl RowNumber for i32 {}
impl RowNumber for i64 {}

/// Fewer values than this are not worth waking other threads for.
const BLOCK_VALUES: usize = if cfg!(test) { 8 } else { 1 << 15 };
/// Rows are cut into parts of so many columns where there are few of them.
const PART: usize = 16;
const FEW_ROWS: usize = 64;
/// No value.
const NONE: u32 = u32::MAX;

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
    /// Where the values of each row start in `values`, and the end; one more at the end is of no
    /// use.
    splits: Vec<u32>,
    values: Vec<u32>,
    /// How long `index` was.
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
        Ok(Self { splits, values, len: index.len() })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.splits.len() - 2
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
        let lists = (&self.splits[..=self.rows()], &self.values[..]);
        reduce_lists(lists, values, columns, how, out, places);
        Ok(())
    }
}

/// Reduces lists of rows: where each list starts, and the rows of `values` list after list.
pub(crate) fn reduce_lists<T: Scattered>(
    (splits, lists): (&[u32], &[u32]),
    values: &[T],
    columns: usize,
    how: Reduction,
    out: &mut [T],
    places: &mut [i64],
) {
    let rows = splits.len() - 1;
    let part = if rows < FEW_ROWS && columns.is_multiple_of(PART) { PART } else { columns };
    let of_row = columns.checked_div(part).unwrap_or(0);
    let work = (lists.len() * columns).max(out.len());
    blocks(out, places, part, work, |first, out, places| {
        let mut scratch = Scratch { best: vec![T::Wide::ZERO; part], from: vec![NONE; part] };
        let mut places = places.chunks_mut(part);
        for (i, out) in out.chunks_mut(part).enumerate() {
            let (row, column) = ((first + i) / of_row, (first + i) % of_row * part);
            let list = &lists[splits[row] as usize..splits[row + 1] as usize];
            let of_list = list.iter().map(|&v| (v, &values[v as usize * columns + column..][..part]));
            scratch.reduce(of_list, list.len() as u32, how, out, places.next().unwrap_or_default());
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
        match how {
            Reduction::Sum | Reduction::Mean => {
                for (_, values) in list {
                    self.best.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.plus(value.widen()));
                }
                let mean = how == Reduction::Mean && count > 0;
                for (out, sum) in out.iter_mut().zip(&self.best) {
                    *out = T::narrow(if mean { sum.over(count) } else { sum.canonical() });
                }
                return;
            }
            Reduction::Min => self.pick(list, |value, best| value < best),
            Reduction::Max => self.pick(list, |value, best| value > best),
        }
        let absent = if count > 0 { N::ABSENT } else { N::ZERO };
        for ((out, &best), &from) in out.iter_mut().zip(&self.best).zip(&self.from) {
            *out = T::narrow(if from == NONE { absent } else { best });
        }
        for (place, &from) in places.iter_mut().zip(&self.from) {
            *place = if from == NONE { -1 } else { i64::from(from) };
        }
    }

    #[inline(always)]
    fn pick<'a, T: Scattered<Wide = N>>(
        &mut self,
        list: impl Iterator<Item = (u32, &'a [T])>,
        wins: impl Fn(N, N) -> bool,
    ) {
        self.from.fill(NONE);
        for (v, values) in list {
            for ((best, from), value) in self.best.iter_mut().zip(&mut self.from).zip(values) {
                let value = value.widen();
                let better = !value.is_nan() & ((*from == NONE) | wins(value, *best));
                *best = if better { value } else { *best };
                *from = if better { v } else { *from };
            }
        }
    }
}

/// Calls `work` with blocks of whole parts of `out`, and of `places` unless that is empty, and the
/// number of the first part: in this thread where there is little to do.
fn blocks<T: Scattered>(
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
fn check<I: RowNumber>(index: &[I], rows: Option<usize>) -> Result<i64> {
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

/// Refuses an array that has not so many rows.
fn expect(argument: Argument, len: usize, rows: usize, columns: usize) -> Result<()> {
    ensure(rows.checked_mul(columns) == Some(len), argument, format_args!("{rows} x {columns} values"), len)
}
