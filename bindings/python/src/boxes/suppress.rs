//! Suppression of boxes that overlap a better one.

use super::NAMES;
use crate::arrays::{Backend, Filled, Made};
use crate::cache::Cache;
use crate::worker::{Call, Function, Own};
use pointmill::Argument;
use pointmill::boxes::{Kept, KeptArray, Suppressor};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;

pub(crate) static NMS: Function<Suppressor> = Function {
    doc: DOC,
    names: NAMES,
    by_place: &["threshold"],
    own: &[Own([
        "padded",
        "False",
        "bool",
        "Whether each item has as many rows in the result, so that a GPU is never waited for.",
    ])],
    short: 1 << 10,
    cache: Cache::new(),
    call: nms,
};

const DOC: &str = r#"Keep the boxes that no better one suppresses.

Boxes are taken by score, the highest first, and of equal scores by row. One is dropped where its overlap with a kept box is greater than the threshold. The result is the same on every device, in every run and with any number of threads. It has no gradient.

{parameters}
Returns
-------
rows : array of int64, ``[K]``
    The rows that are kept, of item after item, each by score. On a GPU the call waits for their number.
row_splits : array of int64, ``[items + 1]``
    With `row_splits` alone: where the rows of each item start.

With `padded`: int32 ``[items, capacity]``, -1 behind the rows of an item, and their numbers, int32 ``[items]``. The capacity is the longest item, at most `pre_max` and `post_max`.

Examples
--------
>>> import numpy as np
>>> from pointmill import boxes
>>> found = np.array([[0, 0, 0, 4, 2, 1.5, 0], [0.2, 0, 0, 4, 2, 1.5, 0], [9, 0, 0, 4, 2, 1.5, 0]], np.float32)
>>> boxes.nms(found, [0.6, 0.9, 0.3], 0.5).tolist()
[1, 2]
>>> boxes.nms(found, [0.6, 0.9, 0.3], class_ids=[0, 1, 1], score_threshold=0.5).tolist()
[1, 0]
>>> rows, num_kept = boxes.nms(found, [0.6, 0.9, 0.3], row_splits=[0, 2, 3], padded=True)
>>> rows.tolist(), num_kept.tolist()
([[1, -1], [2, -1]], [1, 1])"#;

fn nms(call: &mut Call<'_, Suppressor>) -> PyResult<Py<PyAny>> {
    let (py, batch) = (call.py(), call.input(Argument::RowSplits).is_some());
    let padded = call.own("padded").map_or(Ok(false), |padded| crate::args::plain_of(padded, "padded"))?;
    let (backend, made) = call.run(padded)?;
    rows_of(py, &backend, made, (padded, batch))
}

/// The rows that a call kept, padded or not, of a batch or of one item.
pub(super) fn rows_of(
    py: Python<'_>,
    backend: &Backend<'_>,
    made: Made<Kept>,
    (padded, batch): (bool, bool),
) -> PyResult<Py<PyAny>> {
    // A graph records no waiting, so the rows stay padded.
    let Some(counts) = made.report.filter(|_| !padded) else {
        let (rows, num_kept) = backend.outputs(made.arrays)?.all()?;
        return Ok((rows, num_kept).into_pyobject(py)?.into_any().unbind());
    };
    let rows = match made.arrays {
        Filled::Own(mut arrays, specs) if backend.is_on_host() => {
            let padded = arrays.take(KeptArray::Rows).and_then(|rows| rows.into_typed::<i32>()?.into_vec());
            let room = specs.first().map_or(0, |spec| spec.shape[1]);
            let items = padded.as_deref().unwrap_or_default().chunks(room.max(1)).zip(&counts);
            let rows: Vec<i64> =
                items.flat_map(|(rows, &count)| rows[..count as usize].iter().map(|&row| i64::from(row))).collect();
            let len = rows.len();
            backend.give_values(rows, &[len])?
        }
        filled => match counts[..] {
            [count] => {
                let [rows]: [Py<PyAny>; 1] = backend.outputs(filled.one(KeptArray::Rows, [count as usize]))?.all()?;
                backend.wide(rows.bind(py))?
            }
            _ => {
                let [rows, _]: [Py<PyAny>; 2] = backend.outputs(filled)?.all()?;
                let rows = rows.bind(py);
                backend.wide(&rows.get_item(rows.rich_compare(0, CompareOp::Ge)?)?)?
            }
        },
    };
    if !batch {
        return Ok(rows.unbind());
    }
    let mut splits = vec![0i64];
    for count in counts {
        splits.push(splits.last().map_or(0, |end| end + i64::from(count)));
    }
    let shape = [splits.len()];
    let splits = backend.give_values(splits, &shape)?;
    Ok((rows, splits).into_pyobject(py)?.into_any().unbind())
}
