//! Reductions by row, and their gradients, by kernels.

use super::lists::Lists;
use super::{Reduction, RowNumber, Scattered};
use crate::device::{Buffer, Stream, workspace};
use crate::{Argument, Result, ensure};
use bytemuck::Pod;
use pointmill_kernels::prim::{BLOCK, Length, sort};
use pointmill_kernels::scatter as kernels;
use pointmill_kernels::scatter::{LONG, PART, ReduceArgs, RowNumbers, SpreadArgs};
use std::ptr::{null, null_mut};

/// Which values each row has.
#[derive(Clone, Copy, Debug)]
pub enum RowsOf<'a, I> {
    /// `[N]`: the row of each value, -1 for none.
    Index(&'a Buffer<I>),
    /// `[rows + 1]`: where the values of each row start, which lie row after row.
    Splits(&'a Buffer<I>),
}

workspace! {
    /// Reduces values by row on a GPU, and keeps its memory for the next time: what
    /// [`RowLists`](super::RowLists) does on the CPU, with the same bits.
    pub struct ScatterWorker(stream) {
        stream: Stream,
        lists: Lists,
        index: Buffer<i32>,
        long: Buffer<u32>,
    }
}

/// A reduction on a GPU: what it is of.
#[derive(Clone, Copy, Debug)]
pub struct Scatter {
    /// Values, N.
    pub len: usize,
    /// Values of a row.
    pub columns: usize,
    /// Rows of the result.
    pub rows: usize,
    /// What becomes of them.
    pub how: Reduction,
}

impl Scatter {
    /// Refuses more than kernels can count.
    fn check(&self) -> Result<()> {
        let Self { len, columns, rows, .. } = *self;
        let most = sort::MAX_LEN as usize;
        ensure(len <= most, Argument::Values, format_args!("at most {most} rows"), len)?;
        ensure(rows < i32::MAX as usize, Argument::Out, "fewer than 2^31 - 1 rows", rows)?;
        let values = len.max(rows).saturating_mul(columns);
        ensure(values.div_ceil(BLOCK as usize) < 1 << 31, Argument::Values, "fewer than 2^39 values", values)
    }
}

impl ScatterWorker {
    /// Reduces `values` `[N, columns]` to `out` `[rows, columns]`, and fills `aux` with the place of
    /// each minimum or maximum, or the number of values of each row of means. `ok` is one word, which
    /// becomes 0 where a row number is none, else 1. Nothing waits.
    ///
    /// # Errors
    /// Arrays of other sizes, too many values; out of memory.
    pub fn reduce<T: Scattered, I: RowNumber + Pod>(
        &mut self,
        values: &Buffer<T>,
        of: RowsOf<'_, I>,
        scatter: Scatter,
        out: &mut Buffer<T>,
        aux: Option<&mut Buffer<i64>>,
        ok: &mut Buffer<i32>,
    ) -> Result<()> {
        let Scatter { len, columns, rows, how } = scatter;
        scatter.check()?;
        expect(Argument::Values, values, len.saturating_mul(columns))?;
        expect(Argument::Out, out, rows.saturating_mul(columns))?;
        if let Some(aux) = &aux {
            expect(Argument::Argmax, *aux, aux_len(scatter))?;
        }
        let lists = self.list(of, scatter, ok)?;
        if rows * columns == 0 {
            // Of no columns nobody asks how many values a row has.
            return aux.map_or(Ok(()), |aux| aux.fill_words(0, 2 * aux_len(scatter)));
        }
        let args = ReduceArgs {
            values: values.pointer().cast_const().cast(),
            columns: columns as u32,
            rows: Length::known(rows as u32),
            splits: self.lists.splits.pointer(),
            lists,
            how,
            whole: 0,
            out: out.pointer().cast(),
            aux: aux.map_or(null_mut(), |aux| aux.pointer()),
            num_long: null_mut(),
            long: null_mut(),
            long_room: 0,
        };
        // SAFETY: the arrays have these sizes; the lists are of values that are there.
        unsafe { reduce_on_gpu::<T>(&self.stream, &mut self.long, len as u32, args) }
    }

    /// Gives each value its share of `grad` `[rows, columns]`: `out` `[N, columns]`. `aux` is what
    /// [`ScatterWorker::reduce`] filled.
    ///
    /// # Errors
    /// As there.
    pub fn spread<T: Scattered, I: RowNumber + Pod>(
        &mut self,
        grad: &Buffer<T>,
        of: RowsOf<'_, I>,
        scatter: Scatter,
        aux: Option<&Buffer<i64>>,
        out: &mut Buffer<T>,
        ok: &mut Buffer<i32>,
    ) -> Result<()> {
        let Scatter { len, columns, rows, how } = scatter;
        scatter.check()?;
        expect(Argument::GradPooled, grad, rows.saturating_mul(columns))?;
        expect(Argument::Out, out, len.saturating_mul(columns))?;
        if how != Reduction::Sum {
            expect(Argument::Argmax, aux.unwrap_or(&Buffer::none(&self.stream)), aux_len(scatter))?;
        }
        ok.fill_words(1, 1)?;
        let ok = ok.pointer().cast();
        let index = match of {
            RowsOf::Index(index) => {
                expect(Argument::Index, index, len)?;
                numbers(index)
            }
            RowsOf::Splits(splits) => {
                self.check_splits(splits, scatter, ok)?;
                self.index.reserve(len)?;
                let index = self.index.pointer();
                let (rows, n) = (rows as u32, len as u32);
                let args = kernels::RowOfEachArgs { splits: self.lists.splits.pointer(), rows, n, index };
                // SAFETY: room was made for the row of each value.
                unsafe { self.stream.launch::<kernels::RowOfEach>(n.div_ceil(BLOCK), args) }?;
                numbers(&self.index)
            }
        };
        if len * columns == 0 {
            return Ok(());
        }
        let whole = is_whole::<T>(columns, [grad.pointer(), out.pointer()]);
        let args = SpreadArgs {
            grad: grad.pointer().cast_const().cast(),
            columns: columns as u32,
            rows: rows as u32,
            index,
            n: len as u32,
            how,
            whole: u32::from(whole),
            aux: aux.map_or(null(), |aux| aux.pointer()),
            out: out.pointer().cast(),
            ok,
        };
        // SAFETY: the arrays have these sizes.
        unsafe { self.stream.launch::<T::Spread>(blocks::<T>(whole, len, columns), args) }
    }

    /// Queues finding which values each row has: where they start, and the values row after row, none
    /// where they lie so.
    fn list<I: RowNumber + Pod>(
        &mut self,
        of: RowsOf<'_, I>,
        Scatter { len, rows, .. }: Scatter,
        ok: &mut Buffer<i32>,
    ) -> Result<*const u32> {
        ok.fill_words(1, 1)?;
        let ok = ok.pointer().cast();
        let index = match of {
            RowsOf::Index(index) => index,
            RowsOf::Splits(splits) => {
                let scatter = Scatter { len, rows, columns: 0, how: Reduction::Sum };
                self.check_splits(splits, scatter, ok)?;
                return Ok(null());
            }
        };
        expect(Argument::Index, index, len)?;
        // SAFETY: there are so many numbers.
        unsafe { self.lists.list(numbers(index), 1, len, rows, ok) }?;
        Ok(self.lists.values.pointer())
    }

    /// Queues checking where rows start.
    fn check_splits<I: RowNumber + Pod>(
        &mut self,
        splits: &Buffer<I>,
        Scatter { len, rows, .. }: Scatter,
        ok: *mut u32,
    ) -> Result<()> {
        expect(Argument::RowSplits, splits, rows + 1)?;
        self.lists.splits.reserve(rows + 1)?;
        let (n, rows) = (len as u32, rows as u32);
        let args = kernels::SplitsArgs { given: numbers(splits), rows, n, splits: self.lists.splits.pointer(), ok };
        // SAFETY: there are so many numbers, and room for as many.
        unsafe { self.stream.launch::<kernels::Splits>(rows / BLOCK + 1, args) }
    }
}

/// Queues the reduction of lists of `n` values: `long` becomes memory for rows that are long.
///
/// # Safety
/// The arrays of `args` are there; of what it says how values are read, and of long rows, nothing is
/// asked.
pub(crate) unsafe fn reduce_on_gpu<T: Scattered>(
    stream: &Stream,
    long: &mut Buffer<u32>,
    n: u32,
    args: ReduceArgs<T::Stored>,
) -> Result<()> {
    let columns = args.columns as usize;
    let whole = is_whole::<T>(columns, [args.values.cast(), args.out.cast_const().cast()]);
    let mut args = ReduceArgs { whole: u32::from(whole), ..args };
    if n > LONG {
        args.long_room = n / LONG;
        long.reserve(1 + args.long_room as usize)?;
        long.fill_words(0, 1)?;
        args.num_long = long.pointer();
        // SAFETY: there is room behind the first word.
        args.long = unsafe { args.num_long.add(1) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        stream.launch::<T::Reduce>(blocks::<T>(whole, args.rows.bound as usize, columns), args)?;
        if n > LONG {
            let parts = u64::from(args.long_room) * u64::from(args.columns.div_ceil(PART));
            let most = u64::from(stream.enough_blocks(4));
            stream.launch::<T::ReduceLong>(parts.min(most) as u32, args)?;
        }
    }
    Ok(())
}

/// Whether rows of so many values can be read several values at a time.
fn is_whole<T: Scattered>(columns: usize, arrays: [*const T; 2]) -> bool {
    let bytes = T::AT_ONCE * size_of::<T>();
    columns.is_multiple_of(T::AT_ONCE) && arrays.iter().all(|array| array.addr().is_multiple_of(bytes))
}

/// Blocks with a thread for each group of columns.
fn blocks<T: Scattered>(whole: bool, rows: usize, columns: usize) -> u32 {
    let groups = if whole { columns / T::AT_ONCE } else { columns };
    (rows * groups).div_ceil(BLOCK as usize) as u32
}

pub(crate) fn numbers<I: RowNumber + Pod>(buffer: &Buffer<I>) -> RowNumbers {
    RowNumbers { data: buffer.pointer().cast_const().cast(), wide: u32::from(size_of::<I>() == 8) }
}

/// Numbers that a reduction leaves beside its result.
const fn aux_len(Scatter { columns, rows, how, .. }: Scatter) -> usize {
    match how {
        Reduction::Sum => 0,
        Reduction::Mean => rows,
        Reduction::Min | Reduction::Max => rows.saturating_mul(columns),
    }
}

/// Refuses an array that has not so many values.
fn expect<T: Pod>(argument: Argument, array: &Buffer<T>, len: usize) -> Result<()> {
    ensure(array.len() == len, argument, format_args!("{len} values"), array.len())
}
