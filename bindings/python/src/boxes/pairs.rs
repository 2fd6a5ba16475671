//! Overlaps of pairs of boxes.

use super::{NAMES, boxes};
use crate::arrays::{Array, Data, Target};
use crate::cache::Cache;
use crate::errors::OrRaise;
use crate::interrupt::Effort;
use crate::keywords::Keywords;
use pointmill::boxes::{BoxIou, BoxLayout, IouParams, Pairs};
use pointmill::{Error, Rows, Stream};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// So many pairs take no longer than a millisecond on the CPU.
const SHORT: usize = 1 << 12;

pub(crate) static CACHE: Cache<(IouParams, BoxLayout), BoxIou> = Cache::new();

/// The arguments of a call, looked at.
pub(super) struct Call<'py> {
    pub(super) a: Array<'py>,
    pub(super) b: Array<'py>,
    pub(super) params: (IouParams, BoxLayout),
}

impl<'py> Call<'py> {
    fn new(a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>, params: IouParams) -> PyResult<Self> {
        let a = boxes(a, "a")?;
        Ok(Self { b: boxes(b, "b")?.beside(&a)?, a, params: (params, BoxLayout::default()) })
    }

    fn len(&self) -> (usize, usize) {
        (self.a.shape()[0], self.b.shape()[0])
    }

    /// The overlaps as an array of the caller's library.
    pub(super) fn iou(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let ((n, m), backend) = (self.len(), self.a.backend());
        let all = [n, m];
        let shape = if self.params.0.pairs == Pairs::Aligned { &all[..1] } else { &all[..] };
        let (lent, room) = backend.room(shape)?;
        let out = self.run(py, (), |worker, stream, [a, b], ()| {
            let mut out = room.map_or_else(|| stream.alloc(0), Ok)?;
            worker.iou(a, b, &mut out).map(|()| out)
        })?;
        Ok(backend.finish(lent, out, shape)?.unbind())
    }

    /// Runs `work` without the interpreter's lock, with what it needs of the interpreter's objects besides the boxes.
    fn run<R: Send + 'static, E, H: Send + Sync + 'static>(
        &self,
        py: Python<'_>,
        held: H,
        work: impl FnOnce(&mut BoxIou, &Stream, [Rows<'_>; 2], &H) -> Result<R, E> + Send + 'static,
    ) -> PyResult<R>
    where
        Result<R, E>: OrRaise<R> + Send + 'static,
        E: From<Error>,
    {
        let (place, (n, m), (params, layout)) = (self.a.place(), self.len(), self.params);
        let columns = [&self.a, &self.b].map(|array| array.shape()[1]);
        CACHE.call(
            py,
            (place, &self.params, NAMES),
            |stream| Ok(BoxIou::new(stream, &params)?.layout(layout)),
            |_, stream| Ok((self.a.data(stream)?, self.b.data(stream)?, held)),
            Effort::of(place, n.saturating_mul(m), SHORT),
            move |worker, stream, (a, b, held): &(Data, Data, H)| {
                work(worker, stream, [a.rows(columns[0])?, b.rows(columns[1])?], held)
            },
        )
    }
}

/// Measure how much pairs of boxes overlap.
///
/// The result has the same bits on every device, in every run and with any number of threads; ``iou(a, b)`` and ``iou(b, a)`` have the same bits, and equal boxes have exactly 1 at every yaw. It has no gradient.
///
/// Parameters
/// ----------
/// a : array or list, ``[N, 7]``
///     x, y, z, dx, dy, dz, yaw in metres and radians. Those of float64 are used in double precision.
/// b : array or list, ``[M, 7]``
///     On the device of `a`.
/// kind : {"bev", "volume", "giou"}
///     Overlap of footprints, seen from above; of volumes; or the generalized overlap of volumes, from -1 to 1.
/// aligned : bool
///     Each box with the box of the same row, instead of each with each.
/// origin : {"bottom", "center"}
///     Which point of a box z is.
///
/// Returns
/// -------
/// array of float32, ``[N, M]``, with `aligned` ``[N]``
///     Of the library and on the device of `a`. A box without extent overlaps nothing, and neither does a row that is no box: with a value that is not finite, an extent below 0, an extent or coordinate beyond 1e7 m or a yaw beyond 65,536 rad. On a GPU the call waits for nothing.
///
/// Raises
/// ------
/// ValueError, TypeError
///     An argument that is none, by name.
/// MemoryError
///     No memory.
/// RuntimeError
///     A device that failed.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from pointmill import boxes
/// >>> cars = np.array([[0, 0, 0, 4, 2, 1.5, 0.3], [9, 0, 0, 4, 2, 1.5, 0]], np.float32)
/// >>> boxes.iou(cars, cars).tolist()
/// [[1.0, 0.0], [0.0, 1.0]]
/// >>> boxes.iou(cars, cars, kind="volume", aligned=True).tolist()
/// [1.0, 1.0]
#[pyfunction]
#[pyo3(
    signature = (a, b, *, aligned = false, **params),
    text_signature = "(a, b, *, kind=\"bev\", aligned=False, origin=\"bottom\")"
)]
pub(crate) fn iou(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] aligned: bool,
    params: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let params = IouParams::default().with("iou", params)?;
    let params = IouParams { pairs: if aligned { Pairs::Aligned } else { Pairs::All }, ..params };
    Call::new(a, b, params)?.iou(py)
}

/// List the pairs of boxes that overlap more than a threshold.
///
/// Parameters
/// ----------
/// a : array or list, ``[N, 7]``
///     As of :func:`iou`.
/// b : array or list, ``[M, 7]``
///     On the device of `a`.
/// threshold : float
///     0 to 1; with ``kind="giou"`` -1 to 1.
/// kind : {"bev", "volume", "giou"}
///     As of :func:`iou`.
/// origin : {"bottom", "center"}
///     Which point of a box z is.
///
/// Returns
/// -------
/// (array of int32, array of int32, array of float32), ``[P]`` each
///     The row in `a`, the row in `b` and the overlap of each pair, by the row of `a`, then by that of `b`. On a GPU the call waits for their number.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from pointmill import boxes
/// >>> cars = np.array([[0, 0, 0, 4, 2, 1.5, 0], [2, 0, 0, 4, 2, 1.5, 0]], np.float32)
/// >>> i, j, iou = boxes.overlaps(cars, cars[1:], 0.2)
/// >>> i.tolist(), j.tolist(), iou.round(3).tolist()
/// ([0, 1], [0, 0], [0.3330000042915344, 1.0])
#[pyfunction]
#[pyo3(
    signature = (a, b, threshold, **params),
    text_signature = "(a, b, threshold, *, kind=\"bev\", origin=\"bottom\")"
)]
pub(crate) fn overlaps(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] threshold: f32,
    params: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Py<PyAny>, Py<PyAny>, Py<PyAny>)> {
    let call = Call::new(a, b, IouParams::default().with("overlaps", params)?)?;
    let backend = call.a.backend();
    let target = Target::new(&backend, false);
    let made = call.run(py, target, move |worker, stream, [a, b], target| {
        target.fill(&mut worker.lists()?, stream, |lists| worker.overlaps(a, b, threshold, lists))
    })?;
    backend.outputs(made.arrays)?.all()
}
