//! Which points lie in which box.

use super::{SHORT, box_params, boxes_and_points, local_origin as origin_of};
use crate::args::choice;
use crate::arrays::{Array, Backend, Data, Target, Value};
use crate::cache::Cache;
use crate::errors::{Names, OrRaise};
use crate::interrupt::Effort;
use pointmill::roi_pool::{BoxLists, BoxParams, PointsInBoxes, Scene};
use pointmill::{Buffer, Error, Stream};
use pyo3::prelude::*;

const NAMES: Names = &[];

pub(crate) static CACHE: Cache<BoxParams, PointsInBoxes> = Cache::new();

/// The arguments of all functions here, looked at.
struct Call<'py> {
    boxes: Array<'py>,
    points: Array<'py>,
    params: BoxParams,
}

impl<'py> Call<'py> {
    fn new(
        points: &Bound<'py, PyAny>,
        boxes: &Bound<'py, PyAny>,
        origin: &str,
        margin: f32,
        local_origin: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let points = (points, "points");
        let (boxes, points) = boxes_and_points((boxes, "boxes"), points, origin_of(points, local_origin)?)?;
        Ok(Self { boxes, points, params: box_params(origin, margin)? })
    }

    fn len(&self) -> (usize, usize) {
        (self.boxes.shape()[0], self.points.shape()[0])
    }

    fn backend(&self) -> Backend<'py> {
        self.points.backend()
    }

    /// Runs `work` with an operator, the scene, and what it needs of the interpreter's objects besides.
    fn run<R: Send + 'static, E, H: Send + Sync + 'static>(
        &self,
        py: Python<'_>,
        held: H,
        work: impl FnOnce(&mut PointsInBoxes, Scene<'_>, &Stream, &H) -> Result<R, E> + Send + 'static,
    ) -> PyResult<R>
    where
        Result<R, E>: OrRaise<R> + Send + 'static,
        E: From<Error>,
    {
        let (place, columns) = (self.points.place(), self.points.shape()[1]);
        let (b, n) = self.len();
        CACHE.call(
            py,
            (place, &self.params, NAMES),
            |stream| PointsInBoxes::new(stream, self.params),
            |_, stream| Ok((self.boxes.data(stream)?, self.points.data(stream)?, held)),
            Effort::of(place, b.saturating_mul(n), SHORT),
            move |inside, stream, (boxes, points, held): &(Data, Data, H)| {
                work(inside, Scene::new(boxes.rows(7)?, points.rows(columns)?), stream, held)
            },
        )
    }

    /// Runs `work`, which fills an array of this shape.
    fn fill<T: Value>(
        &self,
        py: Python<'_>,
        shape: &[usize],
        work: fn(&mut PointsInBoxes, Scene<'_>, &mut Buffer<T>) -> pointmill::Result<()>,
    ) -> PyResult<Py<PyAny>> {
        let backend = self.backend();
        let (lent, room) = backend.room(shape)?;
        let buffer = self.run(py, (), move |inside, scene, stream, ()| {
            let mut buffer = room.map_or_else(|| stream.alloc(0), Ok)?;
            work(inside, scene, &mut buffer).map(|()| buffer)
        })?;
        Ok(backend.finish(lent, buffer, shape)?.unbind())
    }

    /// Runs `work`, which makes lists.
    fn lists(
        &self,
        py: Python<'_>,
        work: fn(&mut PointsInBoxes, Scene<'_>, &mut BoxLists) -> pointmill::Result<()>,
    ) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let backend = self.backend();
        let target = Target::new(&backend, false);
        let made = self.run(py, target, move |inside, scene, stream, target| {
            target.fill(&mut inside.lists()?, stream, |lists| work(inside, scene, lists))
        })?;
        backend.outputs(made.arrays)?.all()
    }
}

/// The arguments of all functions here, for their docstrings.
macro_rules! parameters {
    () => {
        "

Parameters
----------
points : Scan, array or list, ``[N, 3]``
    x, y, z in metres; up to 64 columns, of which the rest is not used.
boxes : array or list, ``[B, 7]``
    cx, cy, cz, dx, dy, dz, heading in metres and radians.
origin : {\"bottom\", \"center\"}
    Which point of a box cz is.
margin : float
    Metres by which a box is longer and wider on each side.
local_origin : 3 floats or \"auto\", optional
    What is subtracted from points and boxes of float64, integers and lists before they become float32. Those of float32 are taken as relative to it already. ``\"auto\"`` takes it from points of the host as :func:`read` does.
"
    };
}

/// The scene of all examples here.
macro_rules! example {
    () => {
        "
Examples
--------
>>> import numpy as np
>>> import pointmill
>>> boxes = np.array([[0, 0, 0, 4, 2, 1.5, 0], [1, 0, 0, 4, 2, 1.5, 0]], np.float32)
>>> points = np.array([[0.5, 0.5, 0.5], [2.5, 0.1, 1.0], [9.0, 0.0, 0.0]], np.float32)
"
    };
}

/// Defines a function of points and boxes.
macro_rules! question {
    ($name:ident -> $answer:ty: $summary:literal, $returns:literal, $example:literal, $work:expr) => {
        #[doc = concat!($summary, parameters!(), $returns, example!(), $example)]
        #[pyfunction]
        #[pyo3(signature = (points, boxes, *, origin = "bottom", margin = 0.0, local_origin = None))]
        pub(crate) fn $name(
            py: Python<'_>,
            points: &Bound<'_, PyAny>,
            boxes: &Bound<'_, PyAny>,
            #[pyo3(from_py_with = crate::args::plain)] origin: &str,
            #[pyo3(from_py_with = crate::args::plain)] margin: f32,
            local_origin: Option<&Bound<'_, PyAny>>,
        ) -> PyResult<$answer> {
            let work: fn(&Call<'_>, Python<'_>) -> PyResult<$answer> = $work;
            work(&Call::new(points, boxes, origin, margin, local_origin)?, py)
        }
    };
}

question!(points_in_boxes_part -> Py<PyAny>:
    "Find the lowest box that holds each point.",
    "
Returns
-------
array of int32, ``[N]``
    The index of the box, -1 for none.
",
    ">>> pointmill.points_in_boxes_part(points, boxes).tolist()
[0, 1, -1]
",
    |call, py| call.fill(py, &[call.len().1], PointsInBoxes::part));

question!(points_in_boxes_count -> Py<PyAny>:
    "Count the points in each box.",
    "
Returns
-------
array of int32, ``[B]``
",
    ">>> pointmill.points_in_boxes_count(points, boxes).tolist()
[1, 2]
",
    |call, py| call.fill(py, &[call.len().0], PointsInBoxes::count));

question!(points_in_boxes_crop -> (Py<PyAny>, Py<PyAny>):
    "List the points in each box.",
    "
Returns
-------
(array of int64, ``[B + 1]``, array of int32, ``[K]``)
    Where each box's points start in the second array, ascending. On a GPU the call waits for their number.
",
    ">>> splits, indices = pointmill.points_in_boxes_crop(points, boxes)
>>> splits.tolist(), indices.tolist()
([0, 1, 3], [0, 0, 1])
",
    |call, py| call.lists(py, PointsInBoxes::crop));

#[doc = concat!(
    "Find all boxes that hold each point.",
    parameters!(),
    "layout : {\"csr\", \"bits\"}
    Lists side by side, or bits. On a GPU lists wait for their length.

Returns
-------
(array of int64, ``[N + 1]``, array of int32, ``[K]``)
    Where each point's boxes start in the second array, ascending; or with bits an array of int32, ``[N, ceil(B / 32)]``, box b in bit b % 32 of word b // 32.
",
    example!(),
    ">>> splits, indices = pointmill.points_in_boxes_all(points, boxes)
>>> splits.tolist(), indices.tolist()
([0, 2, 3, 3], [0, 1, 1])
>>> pointmill.points_in_boxes_all(points, boxes, layout=\"bits\").tolist()
[[3], [2], [0]]
"
)]
#[pyfunction]
#[pyo3(signature = (points, boxes, *, origin = "bottom", margin = 0.0, layout = "csr", local_origin = None))]
pub(crate) fn points_in_boxes_all<'py>(
    py: Python<'py>,
    points: &Bound<'py, PyAny>,
    boxes: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] origin: &str,
    #[pyo3(from_py_with = crate::args::plain)] margin: f32,
    #[pyo3(from_py_with = crate::args::plain)] layout: &str,
    local_origin: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let call = Call::new(points, boxes, origin, margin, local_origin)?;
    let (b, n) = call.len();
    if choice(layout, "layout", &[("csr", true), ("bits", false)])? {
        return Ok(call.lists(py, PointsInBoxes::all)?.into_pyobject(py)?.into_any());
    }
    Ok(call.fill(py, &[n, b.div_ceil(32)], PointsInBoxes::bits)?.into_bound(py))
}
