//! Overlaps and suppression of rows of any layout, for `pointmill.compat`: no array is made of them
//! first.

use super::suppress::rows_of;
use super::{NAMES, pairs};
use crate::args::{named, whole};
use crate::arrays::{Array, Data, Dtype, Numbers, Taken, Target};
use crate::cache::Cache;
use crate::errors::value;
use crate::interrupt::Effort;
use pointmill::boxes::{BoxLayout, Candidates, IouParams, Kept, NmsParams, Pairs, Suppressor};
use pointmill::{BoxOrigin, Ints};
use pyo3::prelude::*;

pub(crate) static CACHE: Cache<(NmsParams, BoxLayout), (Kept, Suppressor)> = Cache::new();

/// Rows of a layout. Nobody asks for a gradient of them.
fn rows<'py>(object: &Bound<'py, PyAny>, name: &'static str, layout: BoxLayout) -> PyResult<Array<'py>> {
    let array = Array::read(object, name)?.copied(&[Dtype::F32, Dtype::F64], None)?;
    match *array.shape() {
        [_, columns] if layout.fits(columns) => Ok(array),
        _ => {
            let expected = format_args!("an array of rows of {}", layout.expected());
            Err(value(name, expected, format_args!("shape {:?}", array.shape())))
        }
    }
}

/// What `iou` makes of rows of a layout, with z at the centre.
#[pyfunction]
#[pyo3(name = "_iou_of_rows")]
pub(crate) fn iou_of_rows(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    layout: &str,
    kind: &str,
    aligned: bool,
) -> PyResult<Py<PyAny>> {
    let layout = named(layout, "layout")?;
    let pairs = if aligned { Pairs::Aligned } else { Pairs::All };
    let params = IouParams { kind: named(kind, "kind")?, pairs, origin: BoxOrigin::Center };
    let [of_a, of_b] = match layout {
        BoxLayout::Box => ["boxes_a", "boxes_b"],
        _ => ["bboxes1", "bboxes2"],
    };
    let a = rows(a, of_a, layout)?;
    pairs::Call { b: rows(b, of_b, layout)?.beside(&a)?, a, params: (params, layout) }.iou(py)
}

/// What `nms` keeps of rows of a layout, with z at the centre.
#[pyfunction]
#[pyo3(name = "_rows_kept", signature = (boxes, scores, threshold, metric, layout, class_ids, pre_max, post_max))]
#[allow(clippy::too_many_arguments, reason = "they are given by place, which takes the least time")]
pub(crate) fn rows_kept(
    py: Python<'_>,
    boxes: &Bound<'_, PyAny>,
    scores: &Bound<'_, PyAny>,
    threshold: f32,
    metric: &str,
    layout: &str,
    class_ids: Option<&Bound<'_, PyAny>>,
    pre_max: Option<i64>,
    post_max: Option<i64>,
) -> PyResult<Py<PyAny>> {
    let layout = named(layout, "layout")?;
    let params = NmsParams {
        metric: named(metric, "metric")?,
        threshold,
        pre_max: pre_max.map(|most| whole(most, 1, "pre_max")).transpose()?,
        post_max: post_max.map(|most| whole(most, 1, "post_max")).transpose()?,
        origin: BoxOrigin::Center,
        ..NmsParams::default()
    };
    let boxes = rows(boxes, "boxes", layout)?;
    let scores = Array::read(scores, "scores")?.copied(&[Dtype::F32], None)?.shaped(&[None], "[N]")?.beside(&boxes)?;
    let ids = class_ids.map(|ids| Numbers::new(ids, "class_ids", &[None], "[N]")?.beside(&boxes)).transpose()?;
    let (place, backend, columns) = (boxes.place(), boxes.backend(), boxes.shape()[1]);
    let target = Target::new(&backend, false);
    let take = |stream: &pointmill::Stream| {
        let ids = ids.as_ref().map(|ids| Ok::<_, PyErr>((ids.take(stream)?, ids.len()))).transpose()?;
        Ok((boxes.data(stream)?, scores.data(stream)?, ids, target))
    };
    let made = CACHE.call(
        py,
        (place, &(params, layout), NAMES),
        |stream| {
            let suppressor = Suppressor::new(stream, &params)?.layout(layout);
            Ok((suppressor.output()?, suppressor))
        },
        |_, stream| take(stream),
        Effort::of(place, boxes.shape()[0], super::NMS.short),
        move |(out, suppressor),
              stream,
              (boxes, scores, ids, target): &(Data, Data, Option<(Taken, usize)>, Target)| {
            let buffer = match ids {
                Some((ids, len)) => Some((ids.buffer(stream)?, *len)),
                None => None,
            };
            let mut candidates = Candidates::new(boxes.rows(columns)?, scores.rows(1)?);
            if let Some((buffer, len)) = &buffer {
                candidates = candidates.classes(Ints::on_device(buffer, *len)?);
            }
            target.fill(out, stream, |out| suppressor.run(candidates, out))
        },
    )?;
    rows_of(py, &backend, made, (false, false))
}
