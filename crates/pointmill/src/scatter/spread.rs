//! The gradient of the values from that of the rows.

use super::number::Number;
use super::{Reduction, RowNumber, Scattered, blocks, check, expect};
use crate::{Argument, Result, memory};

/// What each value of a reduction gets of the gradient of its row: `grad` `[rows, columns]` to
/// `out` `[N, columns]`, zeros for values of no row.
///
/// Of a sum all of it, of a mean its share, of a minimum or maximum all of it where the value is
/// the one in `places`, as [`RowLists::reduce`](super::RowLists::reduce) made it.
///
/// # Errors
/// A number below -1 or of no row of `grad`, arrays of other sizes, out of memory.
pub fn spread<T: Scattered, I: RowNumber>(
    grad: &[T],
    columns: usize,
    index: &[I],
    how: Reduction,
    places: &[i64],
    out: &mut [T],
) -> Result<()> {
    expect(Argument::Out, out.len(), index.len(), columns)?;
    if columns == 0 {
        return Ok(());
    }
    let rows = grad.len() / columns;
    expect(Argument::GradPooled, grad.len(), rows, columns)?;
    check(index, Some(rows))?;
    if how.picks() {
        expect(Argument::Argmax, places.len(), rows, columns)?;
    }
    let mut counts = memory::filled(if how == Reduction::Mean { rows } else { 0 }, 0u32)?;
    if how == Reduction::Mean {
        index.iter().filter_map(|&row| usize::try_from(row.into()).ok()).for_each(|row| counts[row] += 1);
    }
    let work = out.len();
    blocks(out, &mut [], columns, work, |first, out, _| {
        for (i, out) in (first..).zip(out.chunks_mut(columns)) {
            let Ok(row) = usize::try_from(index[i].into()) else {
                out.fill(T::narrow(Number::ZERO));
                continue;
            };
            let at = row * columns..(row + 1) * columns;
            let of_row = &grad[at.clone()];
            match how {
                Reduction::Sum => out.copy_from_slice(of_row),
                Reduction::Mean => {
                    out.iter_mut().zip(of_row).for_each(|(out, g)| *out = T::narrow(g.widen().over(counts[row])));
                }
                Reduction::Min | Reduction::Max => {
                    for ((out, g), &place) in out.iter_mut().zip(of_row).zip(&places[at]) {
                        *out = if place == i as i64 { *g } else { T::narrow(Number::ZERO) };
                    }
                }
            }
        }
    });
    Ok(())
}
