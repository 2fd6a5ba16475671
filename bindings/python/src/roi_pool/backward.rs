//! The gradient of the features.

use super::{CACHE, FLOATS, NAMES, SHORT, Worker, boxes_and_points, sizes};
use crate::arrays::{Array, BorrowedTensor, Data, Dtype, OwnedBackend, Place};
use crate::ending::attached;
use crate::errors::{CallError, kind, value};
use crate::interrupt::Effort;
use crate::keywords::Keywords;
use crate::pickle::{self, Reduced, field};
use pointmill::interop::{Arrays, exchange_pooled, located_scene, restore};
use pointmill::roi_pool::{PoolMode, RoiArray, RoiPoolParams, Scene};
use pointmill::{AnyBuffer, Stream};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// What the gradient of a pooling needs to know of it; for ``pointmill.torch``.
///
/// Called with the boxes and points of the pooling, its ``argmax`` for maxima, and the gradient of
/// what it pooled, it returns that of the features, ``[N, C]``. One that was pickled or copied
/// returns the same, and looks for the points of the boxes again.
#[pyclass(frozen, weakref, module = "pointmill")]
pub(crate) struct RoiGradient {
    pub(super) params: RoiPoolParams,
    /// What boxes and points of float64 are less.
    pub(super) local_origin: Option<[f64; 3]>,
    pub(super) place: Place,
    pub(super) boxes: usize,
    pub(super) points: usize,
    /// The scene of the pooling, which may be located still; zero for none.
    pub(super) scene: u64,
}

#[pymethods]
impl RoiGradient {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let Self { params, local_origin, boxes, points, .. } = slf.get();
        let fields = params.arguments(slf.py())?;
        fields.set_item("out_size", params.out_size)?;
        fields.set_item("local_origin", local_origin)?;
        fields.set_item("boxes", boxes)?;
        fields.set_item("points", points)?;
        pickle::way_back(slf, fields)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut params = RoiPoolParams { out_size: field(fields, "out_size")?, ..RoiPoolParams::default() };
        for (name, value) in fields {
            params.set(name.extract()?, &value)?;
        }
        // Of no scene, which is another process's or another result's.
        Ok(Self {
            params,
            local_origin: field(fields, "local_origin")?,
            place: Place::Cpu,
            boxes: field(fields, "boxes")?,
            points: field(fields, "points")?,
            scene: 0,
        })
    }

    fn __call__(
        &self,
        py: Python<'_>,
        rois: &Bound<'_, PyAny>,
        pts: &Bound<'_, PyAny>,
        argmax: Option<&Bound<'_, PyAny>>,
        grad: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let [x, y, z] = self.params.out_size.map(|n| n as usize);
        let text = format_args!("[{}, {x}, {y}, {z}, C]", self.boxes);
        let mut shape = [Some(self.boxes), Some(x), Some(y), Some(z), None];
        let grad = Array::read(grad, "grad")?.without_grad()?.of(&FLOATS)?.shaped(&shape, text)?;
        let channels = grad.shape()[4];
        if channels == 0 {
            return Err(value("grad", "at least one channel", 0));
        }
        shape[4] = Some(channels);
        let argmax = match (self.params.mode, argmax) {
            (PoolMode::Mean, _) => None,
            (PoolMode::Max, None) => return Err(kind("argmax", "that of the pooling, for maxima", "None")),
            (PoolMode::Max, Some(argmax)) => {
                let text = format_args!("[{}, {x}, {y}, {z}, {channels}]", self.boxes);
                Some(Array::read(argmax, "argmax")?.of(&[Dtype::I32])?.shaped(&shape, text)?.beside(&grad)?)
            }
        };
        let (place, backend) = (grad.place(), grad.backend());
        let done = CACHE.call(
            py,
            (place, &self.params, NAMES),
            |stream| Worker::new(stream, &self.params),
            |worker, stream| {
                let located = place == self.place && located_scene(&worker.pooler) == Some(self.scene);
                let scene = if located {
                    None
                } else {
                    let (rois, pts) = boxes_and_points((rois, "rois"), (pts, "pts"), self.local_origin)?;
                    let text = format_args!("[{}, 7]", self.boxes);
                    let rois = rois.shaped(&[Some(self.boxes), Some(7)], text)?.beside(&grad)?;
                    let pts = pts.shaped(&[Some(self.points), None], format_args!("[{}, 3]", self.points))?;
                    Some((rois.data(stream)?, pts.data(stream)?, pts.shape()[1]))
                };
                Ok(Job {
                    scene,
                    argmax: argmax.map(|argmax| argmax.data(stream)).transpose()?,
                    grad: grad.data(stream)?,
                    shape: [self.points, channels],
                    dtype: grad.dtype().of_library(),
                    mode: self.params.mode,
                    lender: backend.lends_memory().then(|| backend.unbind()),
                })
            },
            Effort::of(place, self.boxes.saturating_mul(self.points), SHORT),
            |worker, stream, job| job.run(worker, stream),
        )?;
        let shape = [self.points, channels];
        match done {
            (_, Some(lent)) => lent.cut(py, &shape),
            (out, None) => Ok(backend.give_any(out, &shape)?.unbind()),
        }
    }
}

/// What a call needs besides the operator and its result.
struct Job {
    /// Boxes and points, and the columns of these, unless they are located still.
    scene: Option<(Data, Data, usize)>,
    argmax: Option<Data>,
    grad: Data,
    /// Points and channels.
    shape: [usize; 2],
    dtype: pointmill::Dtype,
    mode: PoolMode,
    /// Where the result is lent, if it is.
    lender: Option<OwnedBackend>,
}

impl Job {
    /// The gradient, and the array that it is in where that was lent.
    fn run(&self, worker: &mut Worker, stream: &Stream) -> Result<(AnyBuffer, Option<BorrowedTensor>), CallError> {
        let Worker { pooler, pooled } = worker;
        if let Some((rois, pts, columns)) = &self.scene {
            pooler.locate(Scene::new(rois.rows(7)?, pts.rows(*columns)?))?;
        }
        let mut arrays = Arrays::new(stream);
        if let Some(argmax) = &self.argmax {
            arrays.set(RoiArray::Argmax, argmax.whole_numbers(stream)?);
        }
        exchange_pooled(pooled, arrays)?;
        let [points, channels] = self.shape;
        let (mut out, lent) = match &self.lender {
            None => (AnyBuffer::new(stream, self.dtype)?, None),
            Some(lender) => attached(|py| {
                let values = points * channels;
                let lent = lender.bind(py).lend_any(stream, self.dtype, &self.shape, values.next_multiple_of(2))?;
                Ok::<_, PyErr>((lent.1, Some(lent.0)))
            })?,
        };
        restore(pooler, pooled, self.dtype, channels, self.mode)?;
        pooler.backward(pooled, self.grad.rows(channels)?, &mut out)?;
        Ok((out, lent))
    }
}

/// The gradient of the features, ``[N, C]``, from that of the pooled ones; for ``pointmill.torch``.
#[pyfunction]
#[pyo3(signature = (rois, pts, argmax, grad, *, out_size, max_pts_per_voxel, mode, origin, margin))]
pub(crate) fn roi_aware_pool3d_backward(
    py: Python<'_>,
    rois: &Bound<'_, PyAny>,
    pts: &Bound<'_, PyAny>,
    argmax: Option<&Bound<'_, PyAny>>,
    grad: &Bound<'_, PyAny>,
    out_size: &Bound<'_, PyAny>,
    max_pts_per_voxel: &Bound<'_, PyAny>,
    mode: &Bound<'_, PyAny>,
    origin: &Bound<'_, PyAny>,
    margin: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let mut params = RoiPoolParams { out_size: sizes(out_size)?, lists: false, ..RoiPoolParams::default() };
    for (name, value) in
        [("max_pts_per_voxel", max_pts_per_voxel), ("mode", mode), ("origin", origin), ("margin", margin)]
    {
        params.set(name, value)?;
    }
    let (boxes, points) = boxes_and_points((rois, "rois"), (pts, "pts"), None)?;
    let (place, boxes, points) = (boxes.place(), boxes.shape()[0], points.shape()[0]);
    RoiGradient { params, local_origin: None, place, boxes, points, scene: 0 }.__call__(py, rois, pts, argmax, grad)
}
