//! Suppression of boxes that overlap a better one.

use super::{NAMES, boxes};
use crate::args::list;
use crate::arrays::{Array, Data, Dtype, Filled, Place, Target, listed};
use crate::cache::Cache;
use crate::errors::value;
use crate::interrupt::Effort;
use crate::keywords::Keywords;
use pointmill::boxes::{Candidates, Kept, KeptArray, NmsParams, Suppressor};
use pointmill::{Buffer, Ints, Result, Stream};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice};

/// So many boxes take no longer than a millisecond on the CPU.
const SHORT: usize = 1 << 10;
/// Items of a batch at most.
const MAX_ITEMS: usize = 1 << 20;

pub(crate) static CACHE: Cache<NmsParams, Worker> = Cache::new();

/// An operator and a result that is filled again and again.
pub(crate) struct Worker {
    suppressor: Suppressor,
    kept: Kept,
}

impl Worker {
    fn new(stream: &Stream, params: &NmsParams) -> Result<Self> {
        let suppressor = Suppressor::new(stream, params)?;
        Ok(Self { kept: suppressor.output()?, suppressor })
    }
}

/// Class ids as an operator takes them.
enum Ids {
    Given(Data),
    Converted(Vec<i32>),
}

/// What a call holds.
struct Job {
    boxes: Data,
    scores: Data,
    ids: Option<(Ids, usize)>,
    row_splits: Option<Vec<usize>>,
}

impl Job {
    fn run(&self, suppressor: &mut Suppressor, kept: &mut Kept, stream: &Stream) -> Result<()> {
        let ids: Option<(Buffer<i32>, usize)> = match &self.ids {
            Some((Ids::Given(data), len)) => Some((data.whole_numbers(stream)?, *len)),
            Some((Ids::Converted(ids), len)) => Some((stream.upload(ids)?, *len)),
            None => None,
        };
        let mut candidates = Candidates::new(self.boxes.rows(7)?, self.scores.rows(1)?);
        if let Some((buffer, len)) = &ids {
            candidates = candidates.classes(Ints::on_device(buffer, *len)?);
        }
        if let Some(splits) = &self.row_splits {
            candidates = candidates.batch(splits);
        }
        suppressor.run(candidates, kept)
    }
}

/// Class ids of 32 or 64 bits beside the boxes.
fn class_ids<'py>(object: &Bound<'py, PyAny>, boxes: &Array<'py>) -> PyResult<Array<'py>> {
    let array = Array::read(&listed(object, "class_ids", "int64")?, "class_ids")?.of(&[Dtype::I32, Dtype::I64])?;
    let array = array.shaped(&[None], "[N]")?.beside(boxes)?;
    if *array.dtype() == Dtype::I64 && array.place() != Place::Cpu {
        // On a GPU the caller's library converts: nothing waits.
        return Array::read(&array.object().call_method0("int")?, "class_ids")?.of(&[Dtype::I32]);
    }
    Ok(array)
}

/// Ids of the host in 32 bits.
fn narrow(ids: &[i64]) -> PyResult<Vec<i32>> {
    let convert = |(row, &id): (usize, &i64)| {
        i32::try_from(id)
            .map_err(|_| value("class_ids", "numbers from 0 to 2147483647", format_args!("{id} in row {row}")))
    };
    ids.iter().enumerate().map(convert).collect()
}

/// Keep the boxes that no better one suppresses.
///
/// Boxes are taken by score, the highest first, and of equal scores by row. One is dropped where its overlap with a kept box is greater than the threshold. The result is the same on every device, in every run and with any number of threads. It has no gradient.
///
/// Parameters
/// ----------
/// boxes : array or list, ``[N, 7]``
///     x, y, z, dx, dy, dz, yaw in metres and radians; at most 262,144 in an item of a batch, or `pre_max`.
/// scores : array or list, ``[N]``
///     Those of float64 are rounded to float32. Boxes whose values or scores are not finite are never kept.
/// threshold : float
///     0 to 1; with ``metric="circle"`` a squared distance in square metres.
/// metric : {"bev", "volume", "circle"}
///     Overlap of footprints, seen from above; overlap of volumes; or the squared distance of centres, seen from above, which suppresses where it is at most the threshold.
/// class_ids : array of int32 or int64, or list, ``[N]``, optional
///     Whole numbers of 0 or more; boxes of different classes never meet.
/// row_splits : ints, ``[items + 1]``, optional
///     For a batch, where the boxes of each item start; those of different items never meet.
/// score_threshold : float, optional
///     Boxes with a lower score are dropped first.
/// pre_max : int, optional
///     Most boxes of an item that are looked at, the best ones.
/// post_max : int, optional
///     Most boxes that an item keeps.
/// origin : {"bottom", "center"}
///     Which point of a box z is.
/// padded : bool
///     Whether each item has as many rows in the result, so that a GPU is never waited for.
///
/// Returns
/// -------
/// rows : array of int64, ``[K]``
///     The rows that are kept, of item after item, each by score. On a GPU the call waits for their number.
/// row_splits : array of int64, ``[items + 1]``
///     With `row_splits` alone: where the rows of each item start.
///
/// With `padded`: int32 ``[items, capacity]``, -1 behind the rows of an item, and their numbers, int32 ``[items]``. The capacity is the longest item, at most `pre_max` and `post_max`. On a GPU rows that would be an error are not kept.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from pointmill import boxes
/// >>> found = np.array([[0, 0, 0, 4, 2, 1.5, 0], [0.2, 0, 0, 4, 2, 1.5, 0], [9, 0, 0, 4, 2, 1.5, 0]], np.float32)
/// >>> boxes.nms(found, [0.6, 0.9, 0.3], 0.5).tolist()
/// [1, 2]
/// >>> boxes.nms(found, [0.6, 0.9, 0.3], class_ids=[0, 1, 1], score_threshold=0.5).tolist()
/// [1, 0]
/// >>> rows, num_kept = boxes.nms(found, [0.6, 0.9, 0.3], row_splits=[0, 2, 3], padded=True)
/// >>> rows.tolist(), num_kept.tolist()
/// ([[1, -1], [2, -1]], [1, 1])
#[pyfunction]
#[pyo3(
    signature = (boxes, scores, threshold = None, *, class_ids = None, row_splits = None, padded = false, **params),
    text_signature = "(boxes, scores, threshold=0.5, *, metric=\"bev\", class_ids=None, row_splits=None, score_threshold=None, pre_max=None, post_max=None, origin=\"bottom\", padded=False)"
)]
pub(crate) fn nms(
    py: Python<'_>,
    boxes: &Bound<'_, PyAny>,
    scores: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] threshold: Option<f32>,
    class_ids: Option<&Bound<'_, PyAny>>,
    row_splits: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] padded: bool,
    params: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let mut params = NmsParams::default().with("nms", params)?;
    params.threshold = threshold.unwrap_or(params.threshold);
    let boxes = self::boxes(boxes, "boxes")?;
    let (place, backend, n) = (boxes.place(), boxes.backend(), boxes.shape()[0]);
    let scores = Array::taken(scores, "scores", &[Dtype::F32], None)?.shaped(&[None], "[N]")?.beside(&boxes)?;
    let ids = class_ids.map(|ids| self::class_ids(ids, &boxes)).transpose()?;
    let row_splits = row_splits.map(|splits| list(splits, "row_splits", "whole numbers", MAX_ITEMS + 1)).transpose()?;
    let (batch, items) = (row_splits.is_some(), row_splits.as_ref().map_or(1, |splits| splits.len().saturating_sub(1)));
    let take = |stream: &Stream| {
        let take_ids = |ids: &Array<'_>| {
            let (data, len) = (ids.data(stream)?, ids.shape()[0]);
            let wide = *ids.dtype() == Dtype::I64;
            PyResult::Ok((if wide { Ids::Converted(narrow(data.on_host())?) } else { Ids::Given(data) }, len))
        };
        let ids = ids.as_ref().map(take_ids).transpose()?;
        PyResult::Ok(Job {
            boxes: boxes.data(stream)?,
            scores: scores.data(stream)?,
            ids,
            row_splits: row_splits.clone(),
        })
    };
    let target = Target::new(&backend, padded);
    let made = CACHE.call(
        py,
        (place, &params, NAMES),
        |stream| Worker::new(stream, &params),
        |_, stream| Ok((take(stream)?, target)),
        Effort::of(place, n, SHORT),
        |Worker { suppressor, kept }, stream, (job, target)| {
            target.fill(kept, stream, |kept| job.run(suppressor, kept, stream))
        },
    )?;
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
        filled => {
            let [rows, _]: [Py<PyAny>; 2] = backend.outputs(filled)?.all()?;
            let rows = rows.bind(py);
            let kept = match counts[..] {
                [count] => rows.get_item((0, PySlice::new(py, 0, count as isize, 1)))?,
                _ => rows.get_item(rows.rich_compare(0, CompareOp::Ge)?)?,
            };
            backend.wide(&kept)?
        }
    };
    if !batch {
        return Ok(rows.unbind());
    }
    let mut splits = vec![0i64];
    for count in counts {
        splits.push(splits.last().map_or(0, |end| end + i64::from(count)));
    }
    let splits = backend.give_values(splits, &[items + 1])?;
    Ok((rows, splits).into_pyobject(py)?.into_any().unbind())
}
