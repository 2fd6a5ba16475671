//! The gradient of the values from that of the rows.

use super::{Reduction, RowLists, RowNumber, Scattered, blocks, check, expect};
use crate::{Argument, Result};
use pointmill_core::reduction::Number;

/// What each value of a reduction gets of the gradient of its row: `grad` `[rows, columns]` to
/// `out` `[N, columns]`, zeros for values of no row.
///
/// Of a sum all of it; of a mean its share, where `aux` `[rows]` is how many values each row has; of a
/// minimum or maximum all of it where the value is the one in `aux` `[rows, columns]`, as
/// [`RowLists::reduce`] made its places.
///
/// # Errors
/// A number below -1 or of no row of `grad`, arrays of other sizes.
pub fn spread<T: Scattered, I: RowNumber>(
    grad: &[T],
    columns: usize,
    index: &[I],
    how: Reduction,
    aux: &[i64],
    out: &mut [T],
) -> Result<()> {
    expect(Argument::Out, out.len(), index.len(), columns)?;
    if columns == 0 {
        return Ok(());
    }
    let rows = expect_grad(grad, columns, how, aux)?;
    check(index, Some(rows))?;
    let work = out.len();
    blocks(out, &mut [], columns, work, |first, out, _| {
        for (i, out) in (first..).zip(out.chunks_mut(columns)) {
            match usize::try_from(index[i].into()) {
                Ok(row) => share((grad, columns, row), how, aux, i, out),
                Err(_) => out.fill(T::narrow(Number::ZERO)),
            }
        }
    });
    Ok(())
}

/// [`spread`] for values that lie row after row; see [`RowLists::of_splits`].
///
/// # Errors
/// Splits that do not ascend from 0 to the number of values, arrays of other sizes, out of memory.
pub fn spread_lists<T: Scattered, I: RowNumber>(
    grad: &[T],
    columns: usize,
    splits: &[I],
    how: Reduction,
    aux: &[i64],
    out: &mut [T],
) -> Result<()> {
    if columns == 0 {
        return expect(Argument::Out, out.len(), 0, columns);
    }
    let lists = RowLists::of_splits(splits, out.len() / columns)?;
    expect(Argument::Out, out.len(), lists.len, columns)?;
    let rows = expect_grad(grad, columns, how, aux)?;
    expect(Argument::GradPooled, grad.len(), lists.rows(), columns)?;
    let work = out.len();
    blocks(out, &mut [], columns, work, |first, out, _| {
        // How many rows start at or before the first value; of those that start there the last has it.
        let mut next = lists.splits.partition_point(|&split| split as usize <= first);
        for (i, out) in (first..).zip(out.chunks_mut(columns)) {
            while next <= rows && lists.splits[next] as usize <= i {
                next += 1;
            }
            if next == 0 || next > rows {
                out.fill(T::narrow(Number::ZERO));
            } else {
                share((grad, columns, next - 1), how, aux, i, out);
            }
        }
    });
    Ok(())
}

/// Refuses a gradient or what belongs to it of another size; returns the number of rows.
fn expect_grad<T: Scattered>(grad: &[T], columns: usize, how: Reduction, aux: &[i64]) -> Result<usize> {
    let rows = grad.len() / columns;
    expect(Argument::GradPooled, grad.len(), rows, columns)?;
    match how {
        Reduction::Sum => {}
        Reduction::Mean => expect(Argument::Argmax, aux.len(), rows, 1)?,
        Reduction::Min | Reduction::Max => expect(Argument::Argmax, aux.len(), rows, columns)?,
    }
    Ok(rows)
}

/// What value `i` gets of the gradient of its row.
fn share<T: Scattered>(
    (grad, columns, row): (&[T], usize, usize),
    how: Reduction,
    aux: &[i64],
    i: usize,
    out: &mut [T],
) {
    let at = row * columns..(row + 1) * columns;
    let of_row = &grad[at.clone()];
    match how {
        Reduction::Sum => out.copy_from_slice(of_row),
        Reduction::Mean => {
            // A row of the value has one at least.
            let count = aux[row].max(1) as u32;
            out.iter_mut().zip(of_row).for_each(|(out, g)| *out = T::narrow(g.widen().over(count)));
        }
        Reduction::Min | Reduction::Max => {
            for ((out, g), &place) in out.iter_mut().zip(of_row).zip(&aux[at]) {
                *out = if place == i as i64 { *g } else { T::narrow(Number::ZERO) };
            }
        }
    }
}
