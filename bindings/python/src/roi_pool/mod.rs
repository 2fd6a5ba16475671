//! RoI-aware pooling, its gradient, and points in boxes.

mod backward;
mod inside;
mod pool;

pub(crate) use backward::{RoiGradient, roi_aware_pool3d_backward};
pub(crate) use inside::{
    CACHE as INSIDE, points_in_boxes_all, points_in_boxes_count, points_in_boxes_crop, points_in_boxes_part,
};
pub(crate) use pool::{POOLED, roi_aware_pool3d};

use crate::args::{along_axes, named, whole};
use crate::arrays::{Array, Dtype};
use crate::cache::Cache;
use crate::cloud;
use crate::errors::{Names, value};
use pointmill::Argument;
use pointmill::roi_pool::{BoxParams, RoiPoolParams, RoiPooler};
use pyo3::prelude::*;

/// What the library calls the arguments.
const NAMES: Names = &[
    (Argument::Boxes, "rois"),
    (Argument::Points, "pts"),
    (Argument::Features, "pts_feature"),
    (Argument::MaxPointsPerVoxel, "max_pts_per_voxel"),
    (Argument::GradPooled, "grad"),
];

/// Pairs of a box and a point that on the CPU take no longer than a millisecond.
const SHORT: usize = 1 << 18;

pub(crate) static CACHE: Cache<RoiPoolParams, Worker> = Cache::new();

/// An operator and a result that is filled again and again.
pub(crate) struct Worker {
    pooler: RoiPooler,
    pooled: pointmill::roi_pool::RoiPooled,
}

impl Worker {
    fn new(stream: &pointmill::Stream, params: &RoiPoolParams) -> pointmill::Result<Self> {
        let pooler = RoiPooler::new(stream, params)?;
        Ok(Self { pooled: pooler.output()?, pooler })
    }
}

/// The voxels of a box along its axes.
fn sizes(out_size: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
    let sizes = along_axes(out_size, "out_size", "voxels")?;
    if sizes.iter().any(|n| n.fract() != 0.0) {
        return Err(value("out_size", "whole numbers", format_args!("{sizes:?}")));
    }
    let [x, y, z] = sizes.map(|n| n as i64);
    Ok([whole(x, 1, "out_size")?, whole(y, 1, "out_size")?, whole(z, 1, "out_size")?])
}

fn box_params(origin: &str, margin: f32) -> PyResult<BoxParams> {
    Ok(BoxParams { origin: named(origin, "origin")?, margin })
}

const FLOATS: [Dtype; 3] = [Dtype::F32, Dtype::F16, Dtype::Bf16];

/// What boxes and points of float64 are less, if the caller gave `local_origin` or a scan that has
/// one.
fn local_origin(
    points: (&Bound<'_, PyAny>, &'static str),
    origin: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<[f64; 3]>> {
    cloud::subtracted(points, origin, "local_origin")
}

/// Boxes `[B, 7]` and points `[N, 3 or more]`, on one device and of one type: float32 if theirs differ. With an origin those
/// of float64 become float32 relative to it.
fn boxes_and_points<'py>(
    boxes: (&Bound<'py, PyAny>, &'static str),
    points: (&Bound<'py, PyAny>, &'static str),
    origin: Option<[f64; 3]>,
) -> PyResult<(Array<'py>, Array<'py>)> {
    let columns = "(cx, cy, cz, dx, dy, dz, heading)";
    let read = |(object, name): (&Bound<'py, PyAny>, &'static str)| {
        let moved = origin.map(|origin| cloud::local((object, name), origin)).transpose()?;
        Array::taken(moved.as_ref().unwrap_or(object), name, &FLOATS, Some("local_origin"))
    };
    let (mut boxes, mut points) = (read(boxes)?, read(points)?);
    if points.dtype() != boxes.dtype() {
        (boxes, points) = (boxes.copied(&[Dtype::F32], None)?, points.copied(&[Dtype::F32], None)?);
    }
    let boxes = boxes.shaped(&[None, Some(7)], format_args!("[B, 7] {columns}"))?;
    let points = points.shaped(&[None, None], "[N, 3]")?.beside(&boxes)?;
    if points.shape()[1] < 3 {
        return Err(value(points.name(), "3 to 64 columns (x, y, z first)", points.shape()[1]));
    }
    Ok((boxes, points))
}
