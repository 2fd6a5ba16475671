//! Features into the voxels of boxes.

use super::backward::RoiGradient;
use super::{CACHE, FLOATS, NAMES, SHORT, Worker, boxes_and_points, local_origin as origin_of, sizes};
use crate::arrays::{Array, Data, Filled, Lender, OwnedBackend, listed};
use crate::errors::{CallError, value};
use crate::interrupt::Effort;
use crate::keywords::Keywords;
use crate::record::{Attributes, Class, Fields};
use pointmill::Stream;
use pointmill::interop::{exchange_pooled, located_scene, prepare_backward, roi_pool_into};
use pointmill::roi_pool::{RoiArray, RoiLayout, RoiPoolParams, Scene};
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(crate) static POOLED: Class = Class::new(
    ("pointmill", "RoiPooled"),
    "The result of :func:`pointmill.roi_aware_pool3d`: arrays of the library and on the device of the features.\n\nWith B boxes of ox, oy, oz voxels, C channels, M of ``max_pts_per_voxel`` and R voxels that are not empty; what there is not is ``None``.",
    Some("RoiPooled(pooled={pooled.shape})"),
    || {
        Attributes::default().arrays(&[RoiArray::Pooled]).add(
            "gradient",
            "RoiGradient | Any",
            "What makes the gradient, if asked for.",
        )
    },
);

/// What a call needs besides the operator and its result.
struct Job {
    rois: Data,
    pts: Data,
    features: Data,
    pts_columns: usize,
    channels: usize,
    /// Whether a gradient will be asked for.
    for_gradient: bool,
    /// Where arrays are lent, if they are.
    lender: Option<OwnedBackend>,
}

/// What there is after a call.
struct Done {
    scene: u64,
    arrays: Filled<RoiArray>,
}

impl Job {
    fn run(&self, worker: &mut Worker, stream: &Stream) -> Result<Done, CallError> {
        let Worker { pooler, pooled } = worker;
        let mut lender = Lender::new(self.lender.as_ref(), stream);
        let scene = Scene::new(self.rois.rows(7)?, self.pts.rows(self.pts_columns)?);
        roi_pool_into(pooler, scene, self.features.rows(self.channels)?, pooled, |bounds| lender.lend(bounds))?;
        if self.for_gradient {
            prepare_backward(pooler, pooled)?;
        }
        let arrays = lender.filled(pooled.specs()?, |none| exchange_pooled(pooled, none))?;
        Ok(Done { scene: located_scene(pooler).unwrap_or(0), arrays })
    }
}

/// Pool the features of the points in each box, binned into the box's voxels.
///
/// The result has the same bits on every device, in every run and with any number of threads. For
/// gradients see ``pointmill.torch``.
///
/// Parameters
/// ----------
/// rois : array or list, ``[B, 7]``
///     cx, cy, cz, dx, dy, dz, heading in metres and radians; the heading about +z, 0 along +x, counter-clockwise.
/// pts : Scan, array or list, ``[N, 3]``
///     x, y, z in metres; up to 64 columns, of which the rest is not used.
/// pts_feature : array of float32, float16 or bfloat16, or list, ``[N, C]``
///     What is pooled.
/// out_size : int or 3 ints
///     Voxels of a box along its length, width and height.
/// max_pts_per_voxel : int
///     M, most points of a voxel: the first in input order stay; 0 keeps none.
/// mode : {"max", "mean"}
///     How features are pooled.
/// origin : {"bottom", "center"}
///     Which point of a box cz is: the centre of its bottom face, or its own.
/// margin : float
///     Metres by which a box is longer and wider on each side.
/// layout : {"dense", "csr", "sparse"}
///     All voxels with padded lists, all voxels with lists side by side, or only voxels that are not empty. On a GPU the last two wait for the length of the lists.
/// lists : bool
///     Whether to list the kept points.
/// for_gradient : bool
///     Whether to make ``gradient``, and what it needs as soon as the pooling is queued; the layout must be dense.
/// local_origin : 3 floats or "auto", optional
///     What is subtracted from boxes and points of float64, integers and lists before they become float32. Those of float32 are taken as relative to it already. ``"auto"`` takes it from points of the host as :func:`read` does.
///
/// Returns
/// -------
/// RoiPooled
///     Arrays of the library and on the device of `pts_feature`.
///
/// Raises
/// ------
/// ValueError, TypeError, MemoryError, RuntimeError
///     As :func:`voxelize`.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import pointmill
/// >>> rois = np.array([[0, 0, 0, 4, 2, 2, 0]], np.float32)
/// >>> pts = np.array([[1.5, 0.5, 0.5], [1.6, 0.4, 0.4], [3.0, 0.0, 0.0]], np.float32)
/// >>> features = np.array([[1.0], [5.0], [7.0]], np.float32)
/// >>> pooled = pointmill.roi_aware_pool3d(rois, pts, features, out_size=2, layout="sparse")
/// >>> pooled.coords.tolist(), pooled.pooled.tolist(), pooled.argmax.tolist()
/// ([[0, 1, 1, 0]], [[5.0]], [[1]])
#[pyfunction]
#[pyo3(signature = (rois, pts, pts_feature, *, out_size, for_gradient = false, local_origin = None, **params),
    text_signature = "(rois, pts, pts_feature, *, out_size, max_pts_per_voxel=127, mode=\"max\", origin=\"bottom\", \
    margin=0.0, layout=\"dense\", lists=True, for_gradient=False, local_origin=None)")]
pub(crate) fn roi_aware_pool3d<'py>(
    py: Python<'py>,
    rois: &Bound<'py, PyAny>,
    pts: &Bound<'py, PyAny>,
    pts_feature: &Bound<'py, PyAny>,
    out_size: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] for_gradient: bool,
    local_origin: Option<&Bound<'py, PyAny>>,
    params: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let params =
        RoiPoolParams { out_size: sizes(out_size)?, ..RoiPoolParams::default().with("roi_aware_pool3d", params)? };
    if for_gradient && params.layout != RoiLayout::Dense {
        return Err(value(
            "layout",
            "\"dense\", where a gradient is asked for",
            format_args!("{:?}", params.layout.as_str()),
        ));
    }
    let local_origin = origin_of((pts, "pts"), local_origin)?;
    let (rois, pts) = boxes_and_points((rois, "rois"), (pts, "pts"), local_origin)?;
    let features = Array::read(&listed(pts_feature, "pts_feature", "float32")?, "pts_feature")?;
    let features = features.without_grad()?.of(&FLOATS)?.copied(&FLOATS, None)?;
    let features =
        features.shaped(&[Some(pts.shape()[0]), None], format_args!("[{}, C]", pts.shape()[0]))?.beside(&rois)?;
    let (boxes, points, channels) = (rois.shape()[0], pts.shape()[0], features.shape()[1]);
    let (place, backend) = (rois.place(), features.backend());
    let lends = backend.lends_memory() && params.layout == RoiLayout::Dense && channels > 0;
    let done = CACHE.call(
        py,
        (place, &params, NAMES),
        |stream| Worker::new(stream, &params),
        |_, stream| {
            Ok(Job {
                rois: rois.data(stream)?,
                pts: pts.data(stream)?,
                features: features.data(stream)?,
                pts_columns: pts.shape()[1],
                channels,
                for_gradient,
                lender: lends.then(|| backend.unbind()),
            })
        },
        Effort::of(place, boxes.saturating_mul(points), SHORT),
        |worker, stream, job| job.run(worker, stream),
    )?;
    let outputs = backend.outputs(done.arrays)?;
    let gradient = RoiGradient { params, local_origin, place, boxes, points, scene: done.scene };
    let gradient = for_gradient.then(|| Py::new(py, gradient)).transpose()?;
    Fields::new(py, None).arrays(outputs)?.set("gradient", gradient)?.of(&POOLED)
}
