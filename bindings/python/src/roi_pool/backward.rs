//! The gradient of the features.

use super::pool::{element, give_features, lend_features, no_features};
use super::{CACHE, FLOATS, LONG, NAMES, Worker, boxes_and_points, params};
use crate::arrays::{Array, Data, Dtype, Place, nothing};
use crate::errors::{OrRaise, kind, value};
use crate::interrupt;
use pointmill::roi_pool::{FeatureBuffer, PoolMode, RoiBuffers, Scene};
use pointmill::{ElementType, Result, Stream};
use pyo3::prelude::*;

/// What a call needs besides the operator and its result.
struct Job {
    rois: Data,
    pts: Data,
    grad: Data,
    pts_columns: usize,
    channels: usize,
    element: ElementType,
    /// The scene of the pooling, which may be located still.
    scene: u64,
    mode: PoolMode,
}

impl Job {
    fn run(
        &self,
        worker: &mut Worker,
        argmax: Option<&Data>,
        stream: &Stream,
        mut out: FeatureBuffer,
    ) -> Result<FeatureBuffer> {
        let Worker { pooler, pooled } = worker;
        pooled.exchange(RoiBuffers {
            pooled: no_features(stream, self.element)?,
            argmax: argmax.map_or_else(|| nothing(stream), |argmax| argmax.whole_numbers(stream))?,
            point_indices: nothing(stream)?,
            row_splits: nothing(stream)?,
            indices: nothing(stream)?,
            coords: nothing(stream)?,
        })?;
        if pooler.scene() != Some(self.scene) {
            pooler.locate(Scene::new(self.rois.input(7)?, self.pts.input(self.pts_columns)?))?;
        }
        pooler.restore(pooled, self.channels, self.mode)?;
        pooler.backward(pooled, self.grad.input(self.channels)?, &mut out)?;
        Ok(out)
    }
}

/// The gradient of the features, ``[N, C]``, from that of the pooled ones; for ``pointmill.torch``.
#[pyfunction]
#[pyo3(signature = (rois, pts, argmax, grad, *, out_size, max_pts_per_voxel, mode, origin, margin, scene = 0))]
#[expect(clippy::too_many_arguments)]
pub(crate) fn roi_aware_pool3d_backward(
    py: Python<'_>,
    rois: &Bound<'_, PyAny>,
    pts: &Bound<'_, PyAny>,
    argmax: Option<&Bound<'_, PyAny>>,
    grad: &Bound<'_, PyAny>,
    out_size: &Bound<'_, PyAny>,
    max_pts_per_voxel: i64,
    mode: &str,
    origin: &str,
    margin: f32,
    scene: u64,
) -> PyResult<Py<PyAny>> {
    let params = params(out_size, max_pts_per_voxel, mode, origin, margin)?;
    let (rois, pts) = boxes_and_points((rois, "rois"), (pts, "pts"))?;
    let (boxes, points) = (rois.shape()[0], pts.shape()[0]);
    let [x, y, z] = params.out_size.map(|n| n as usize);
    let wanted = [Some(boxes), Some(x), Some(y), Some(z), None];
    let text = format!("[{boxes}, {x}, {y}, {z}, C]");
    let grad = Array::read(grad, "grad")?.without_grad()?.of(&FLOATS)?.shaped(&wanted, &text)?.beside(&rois)?;
    let channels = grad.shape()[4];
    if channels == 0 {
        return Err(value("grad", "at least one channel", 0));
    }
    let wanted = [Some(boxes), Some(x), Some(y), Some(z), Some(channels)];
    let argmax = match (params.mode, argmax) {
        (PoolMode::Mean, _) => None,
        (PoolMode::Max, None) => return Err(kind("argmax", "that of the pooling, for maxima", "None")),
        (PoolMode::Max, Some(argmax)) => {
            let argmax = Array::read(argmax, "argmax")?.of(&[Dtype::I32])?;
            Some(argmax.shaped(&wanted, &text.replace('C', &channels.to_string()))?.beside(&rois)?)
        }
    };
    let (place, home, element) = (rois.place(), grad.home(), element(grad.dtype()));
    let mut kept = CACHE.take(place, &params, |stream| Worker::new(stream, &params)).or_raise(NAMES)?;
    let stream = kept.stream.clone();
    let job = Job {
        rois: rois.data(&stream)?,
        pts: pts.data(&stream)?,
        grad: grad.data(&stream)?,
        pts_columns: pts.shape()[1],
        channels,
        element,
        scene,
        mode: params.mode,
    };
    let argmax = argmax.map(|argmax| argmax.data(&stream)).transpose()?;
    let shape = [points, channels];
    let (lent, out) = if home.lends_memory() {
        let (lent, out) = lend_features(&home, &stream, element, &shape)?;
        (Some(lent), out)
    } else {
        (None, FeatureBuffer::new(&stream, element).or_raise(NAMES)?)
    };
    let long = place == Place::Cpu && boxes.saturating_mul(points) >= LONG;
    let out = interrupt::run(py, long, move || {
        let out = job.run(&mut kept.worker, argmax.as_ref(), &stream, out);
        CACHE.put(place, params, kept);
        out
    })?;
    let out = out.or_raise(NAMES)?;
    match lent {
        Some(lent) => Ok(lent.unbind()),
        None => give_features(&home, out, &shape),
    }
}
