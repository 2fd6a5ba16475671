//! Features into the voxels of boxes.

use super::backward::RoiGradient;
use super::{CACHE, FLOATS, LONG, NAMES, Worker, boxes_and_points, params};
use crate::args::choice;
use crate::arrays::{Array, Data, Dtype, Home, KeptHome, LentArray, Place, Value, nothing};
use crate::errors::{OrRaise, Trouble, value};
use crate::interrupt;
use crate::pickle::{self, Fields, Reduced};
use pointmill::roi_pool::{FeatureBuffer, PoolMode, Report, RoiBuffers, RoiLayout, RoiPoolParams, Scene};
use pointmill::{Buffer, ElementType, Result, Stream, bf16, f16};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// The result of :func:`pointmill.roi_aware_pool3d`: arrays of the library and on the device of the features.
///
/// With B boxes of ox, oy, oz voxels, C channels, M of ``max_pts_per_voxel`` and R voxels that are not empty; what there is not is ``None``.
#[pyclass(frozen, get_all, module = "pointmill")]
pub(crate) struct RoiPooled {
    /// ``[B, ox, oy, oz, C]``, or ``[R, C]`` if sparse, in the features' type: the pooled features.
    pooled: Py<PyAny>,
    /// As ``pooled``, int32, for maxima: the point that each came from, -1 for none.
    argmax: Option<Py<PyAny>>,
    /// Dense with lists: ``[B, ox, oy, oz, M]`` int32, the count, then the kept points, then zeros.
    point_indices: Option<Py<PyAny>>,
    /// CSR and sparse with lists: ``[B * ox * oy * oz + 1]`` or ``[R + 1]`` int64, where each row's points start.
    row_splits: Option<Py<PyAny>>,
    /// CSR and sparse with lists: ``[K]`` int32, the kept points of all rows.
    indices: Option<Py<PyAny>>,
    /// Sparse: ``[R, 4]`` int32, box, ix, iy, iz.
    coords: Option<Py<PyAny>>,
    /// What makes the gradient, if asked for.
    gradient: Option<Py<RoiGradient>>,
}

pickle::fields!(RoiPooled { pooled, argmax, point_indices, row_splits, indices, coords, gradient });

#[pymethods]
impl RoiPooled {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("RoiPooled(pooled={})", self.pooled.bind(py).getattr("shape")?.str()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        Self::of(fields)
    }
}

/// What a call needs besides the operator and its result.
struct Job {
    rois: Data,
    pts: Data,
    features: Data,
    pts_columns: usize,
    shape: Shape,
    element: ElementType,
    /// Whether a gradient will be asked for.
    for_gradient: bool,
    /// Where arrays are lent, if they are.
    lender: Option<KeptHome>,
}

/// What there is after a call.
struct Done {
    scene: u64,
    /// Counted where lists or rows are as long as that.
    report: Option<Report>,
    arrays: Arrays,
}

/// What a call filled.
enum Arrays {
    /// Memory of the caller's library.
    Lent(RoiPooled),
    /// Memory of pointmill's own.
    Own(Box<RoiBuffers>),
}

impl Job {
    fn run(&self, worker: &mut Worker) -> Result<Done, Trouble> {
        let Worker { pooler, pooled } = worker;
        let (params, stream) = (pooler.params().clone(), pooled.stream().clone());
        let mut lent = None;
        let arrays = || -> Result<RoiBuffers, Trouble> {
            let Some(lender) = &self.lender else { return Ok(RoiBuffers::new(&stream, self.element)?) };
            let (arrays, buffers) =
                Python::attach(|py| self.shape.lend(py, &lender.bind(py), &stream, &params, self.element))?;
            lent = Some(arrays);
            Ok(buffers)
        };
        let scene = Scene::new(self.rois.input(7)?, self.pts.input(self.pts_columns)?);
        pooler.run_into(scene, self.features.input(self.shape.channels)?, pooled, arrays)?;
        if self.for_gradient {
            pooler.prepare_backward(pooled)?;
        }
        let report = (params.layout != RoiLayout::Dense).then(|| pooled.report()).transpose()?;
        let arrays = match lent {
            Some(lent) => Arrays::Lent(lent),
            None => Arrays::Own(Box::new(pooled.exchange(RoiBuffers::new(&stream, self.element)?)?)),
        };
        Ok(Done { scene: pooler.scene().unwrap_or(0), report, arrays })
    }
}

/// Memory of the caller's library for values of the features' type.
pub(super) fn lend_features(
    py: Python<'_>,
    home: &Home<'_>,
    stream: &Stream,
    element: ElementType,
    shape: &[usize],
) -> PyResult<(LentArray, FeatureBuffer)> {
    Ok(match element {
        ElementType::F32 => {
            let (array, buffer) = lend_even(py, home, stream, shape)?;
            (array, FeatureBuffer::F32(buffer))
        }
        ElementType::F16 => {
            let (array, buffer) = lend_even(py, home, stream, shape)?;
            (array, FeatureBuffer::F16(buffer))
        }
        ElementType::Bf16 => {
            let (array, buffer) = lend_even(py, home, stream, shape)?;
            (array, FeatureBuffer::Bf16(buffer))
        }
    })
}

/// The library wants room for an even number of values, because kernels write halves in pairs.
fn lend_even<T: Value>(
    py: Python<'_>,
    home: &Home<'_>,
    stream: &Stream,
    shape: &[usize],
) -> PyResult<(LentArray, Buffer<T>)> {
    let len = shape.iter().product::<usize>();
    if len.is_multiple_of(2) {
        return home.lend(stream, shape);
    }
    let (array, buffer) = home.lend(stream, &[len + 1])?;
    Ok((array.shaped(py, shape)?, buffer))
}

pub(super) fn give_features(home: &Home<'_>, buffer: FeatureBuffer, shape: &[usize]) -> PyResult<Py<PyAny>> {
    Ok(match buffer {
        FeatureBuffer::F32(b) => home.give(b, shape)?,
        FeatureBuffer::F16(b) => home.give(b, shape)?,
        FeatureBuffer::Bf16(b) => home.give(b, shape)?,
    }
    .unbind())
}

/// A buffer of features without any.
pub(super) fn no_features(stream: &Stream, element: ElementType) -> Result<FeatureBuffer> {
    Ok(match element {
        ElementType::F32 => FeatureBuffer::F32(nothing(stream)?),
        ElementType::F16 => FeatureBuffer::F16(nothing::<f16>(stream)?),
        ElementType::Bf16 => FeatureBuffer::Bf16(nothing::<bf16>(stream)?),
    })
}

pub(super) const fn element(dtype: &Dtype) -> ElementType {
    match dtype {
        Dtype::F16 => ElementType::F16,
        Dtype::Bf16 => ElementType::Bf16,
        _ => ElementType::F32,
    }
}

/// Pool the features of the points in each box, binned into the box's voxels.
///
/// The result has the same bits on every device, in every run and with any number of threads. For gradients see ``pointmill.torch``.
///
/// Parameters
/// ----------
/// rois : array of float32, float16 or bfloat16, ``[B, 7]``
///     cx, cy, cz, dx, dy, dz, heading in metres and radians; the heading about +z, 0 along +x, counter-clockwise.
/// pts : array of the type of `rois`, ``[N, 3]``
///     x, y, z in metres; up to 64 columns, of which the rest is not used.
/// pts_feature : array of float32, float16 or bfloat16, ``[N, C]``
///     What is pooled.
/// out_size : int or 3 ints
///     Voxels of a box along its length, width and height.
/// max_pts_per_voxel : int
///     M, one more than the points that a voxel keeps: the first in input order.
/// mode : {"max", "mean"}
///     How features are pooled; "avg" is another name of "mean".
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
#[pyo3(signature = (rois, pts, pts_feature, *, out_size, max_pts_per_voxel = 128, mode = "max", origin = "bottom", margin = 0.0, layout = "dense", lists = true,
    for_gradient = false))]
#[expect(clippy::too_many_arguments)]
pub(crate) fn roi_aware_pool3d(
    py: Python<'_>,
    rois: &Bound<'_, PyAny>,
    pts: &Bound<'_, PyAny>,
    pts_feature: &Bound<'_, PyAny>,
    out_size: &Bound<'_, PyAny>,
    max_pts_per_voxel: i64,
    mode: &str,
    origin: &str,
    margin: f32,
    layout: &str,
    lists: bool,
    for_gradient: bool,
) -> PyResult<RoiPooled> {
    let layouts = [("dense", RoiLayout::Dense), ("csr", RoiLayout::Csr), ("sparse", RoiLayout::Sparse)];
    let params = RoiPoolParams {
        layout: choice(layout, "layout", &layouts)?,
        lists,
        ..params(out_size, max_pts_per_voxel, mode, origin, margin)?
    };
    if for_gradient && params.layout != RoiLayout::Dense {
        return Err(value("layout", "\"dense\", where a gradient is asked for", format_args!("{layout:?}")));
    }
    let (rois, pts) = boxes_and_points((rois, "rois"), (pts, "pts"))?;
    let features = Array::read(pts_feature, "pts_feature")?.without_grad()?.of(&FLOATS)?;
    let features =
        features.shaped(&[Some(pts.shape()[0]), None], format_args!("[{}, C]", pts.shape()[0]))?.beside(&rois)?;
    let (boxes, channels, element) = (rois.shape()[0], features.shape()[1], element(features.dtype()));
    let place = rois.place();
    let mut kept = CACHE.take(place, &params, |stream| Worker::new(stream, &params)).or_raise(NAMES)?;
    let stream = kept.stream.clone();
    let home = features.home();
    let shape = Shape::new(&params, boxes, channels);
    let lends = home.lends_memory() && params.layout == RoiLayout::Dense && channels > 0;
    let job = Job {
        rois: rois.data(&stream)?,
        pts: pts.data(&stream)?,
        features: features.data(&stream)?,
        pts_columns: pts.shape()[1],
        shape,
        element,
        for_gradient,
        lender: lends.then(|| home.unbind()),
    };
    let (kept_params, long) = (params.clone(), place == Place::Cpu && boxes.saturating_mul(pts.shape()[0]) >= LONG);
    let done = interrupt::run(py, long, job, move |job| {
        let done = job.run(&mut kept.worker);
        CACHE.put(place, kept_params, kept);
        done
    })?;
    let done = done.or_raise(NAMES)?;
    let pooled = match done.arrays {
        Arrays::Lent(lent) => lent,
        Arrays::Own(buffers) => shape.give(&home, &params, *buffers, done.report.unwrap_or_default())?,
    };
    let gradient = RoiGradient { params, place, boxes, points: pts.shape()[0], scene: done.scene };
    let gradient = for_gradient.then(|| Py::new(py, gradient)).transpose()?;
    Ok(RoiPooled { gradient, ..pooled })
}

/// The sizes of a result.
#[derive(Clone, Copy)]
struct Shape {
    boxes: usize,
    out: [usize; 3],
    channels: usize,
    max_points: usize,
}

impl Shape {
    fn new(params: &RoiPoolParams, boxes: usize, channels: usize) -> Self {
        let out = params.out_size.map(|n| n as usize);
        Self { boxes, out, channels, max_points: params.max_points_per_voxel as usize }
    }

    fn dense(&self, last: usize) -> [usize; 5] {
        let [x, y, z] = self.out;
        [self.boxes, x, y, z, last]
    }

    fn lend(
        &self,
        py: Python<'_>,
        home: &Home<'_>,
        stream: &Stream,
        params: &RoiPoolParams,
        element: ElementType,
    ) -> PyResult<(RoiPooled, RoiBuffers)> {
        let (pooled, pooled_buffer) = lend_features(py, home, stream, element, &self.dense(self.channels))?;
        let empty = || nothing::<i32>(stream).or_raise(NAMES);
        let (argmax, argmax_buffer) = match params.mode {
            PoolMode::Max => {
                let (tensor, buffer) = home.lend(stream, &self.dense(self.channels))?;
                (Some(tensor), buffer)
            }
            PoolMode::Mean => (None, empty()?),
        };
        let (point_indices, indices_buffer) = if params.lists {
            let (tensor, buffer) = home.lend(stream, &self.dense(self.max_points))?;
            (Some(tensor), buffer)
        } else {
            (None, empty()?)
        };
        let buffers = RoiBuffers {
            pooled: pooled_buffer,
            argmax: argmax_buffer,
            point_indices: indices_buffer,
            row_splits: nothing(stream).or_raise(NAMES)?,
            indices: empty()?,
            coords: empty()?,
        };
        let lent = RoiPooled {
            pooled: pooled.whole(),
            argmax: argmax.map(LentArray::whole),
            point_indices: point_indices.map(LentArray::whole),
            row_splits: None,
            indices: None,
            coords: None,
            gradient: None,
        };
        Ok((lent, buffers))
    }

    fn give(
        &self,
        home: &Home<'_>,
        params: &RoiPoolParams,
        buffers: RoiBuffers,
        report: Report,
    ) -> PyResult<RoiPooled> {
        let (dense, sparse) = (params.layout == RoiLayout::Dense, params.layout == RoiLayout::Sparse);
        let rows = if sparse { report.voxels } else { self.out.iter().product::<usize>() * self.boxes };
        let values: &[usize] = if sparse { &[rows, self.channels] } else { &self.dense(self.channels) };
        let (lists, max) = (params.lists && !dense, params.mode == PoolMode::Max);
        let give = |wanted: bool, buffer: Buffer<i32>, shape: &[usize]| {
            wanted.then(|| home.give(buffer, shape).map(Bound::unbind)).transpose()
        };
        Ok(RoiPooled {
            pooled: give_features(home, buffers.pooled, values)?,
            argmax: give(max, buffers.argmax, values)?,
            point_indices: give(params.lists && dense, buffers.point_indices, &self.dense(self.max_points))?,
            row_splits: lists.then(|| home.give(buffers.row_splits, &[rows + 1]).map(Bound::unbind)).transpose()?,
            indices: give(lists, buffers.indices, &[report.kept])?,
            coords: give(sparse, buffers.coords, &[rows, 4])?,
            gradient: None,
        })
    }
}
