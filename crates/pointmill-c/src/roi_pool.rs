//! Pooling of features in boxes, and points in boxes.

use crate::array::{Outcome, View, give, lent, pointmill_array};
use crate::error::{Result, guard, pointmill_status};
use crate::handle::{choice, create, defaults, destroy, flag, given_or, number, some, structs};
use crate::stream::{of, pointmill_stream};
use pointmill::roi_pool::{
    BoxLists, BoxParams, PointsInBoxes, PoolMode, RoiLayout, RoiPoolParams, RoiPooled, RoiPooler, Scene,
};
use pointmill::{Argument, BoxOrigin, Buffer, Stream};
use std::ffi::c_char;

/// How features are reduced.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum pointmill_pool_mode {
    POINTMILL_POOL_MAX = 0,
    POINTMILL_POOL_MEAN = 1,
}

/// The shape of a result.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum pointmill_roi_layout {
    /// All voxels; a call waits for nothing.
    POINTMILL_ROI_DENSE = 0,
    /// All voxels, with lists without padding.
    POINTMILL_ROI_CSR = 1,
    /// The voxels that are not empty.
    POINTMILL_ROI_SPARSE = 2,
}

/// Parameters of pooling.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_roi_pool_params {
    /// sizeof(pointmill_roi_pool_params)
    pub struct_size: usize,
    /// Voxels of a box along length, width and height; default 12.
    pub out_size: [u32; 3],
    /// Most points of a voxel; default 127.
    pub max_points_per_voxel: u32,
    /// A pointmill_pool_mode; default the maximum.
    pub mode: u32,
    /// A pointmill_box_origin; default the bottom.
    pub origin: u32,
    /// Metres by which a box is longer and wider on each side; default 0.
    pub margin: f32,
    /// A pointmill_roi_layout; default dense.
    pub layout: u32,
    /// Whether the kept points of each voxel are an output; default 1.
    pub lists: u32,
}
structs!(pointmill_roi_pool_params);

impl pointmill_roi_pool_params {
    fn new() -> Self {
        let p = RoiPoolParams::default();
        Self {
            struct_size: size_of::<Self>(),
            out_size: p.out_size,
            max_points_per_voxel: p.max_points_per_voxel,
            mode: number(PoolMode::ALL, &p.mode),
            origin: number(BoxOrigin::ALL, &p.origin),
            margin: p.margin,
            layout: number(RoiLayout::ALL, &p.layout),
            lists: flag(p.lists),
        }
    }

    fn params(&self) -> Result<RoiPoolParams> {
        Ok(RoiPoolParams {
            out_size: self.out_size,
            max_points_per_voxel: self.max_points_per_voxel,
            mode: choice(PoolMode::ALL, self.mode, "mode")?,
            origin: choice(BoxOrigin::ALL, self.origin, Argument::Origin)?,
            margin: self.margin,
            layout: choice(RoiLayout::ALL, self.layout, Argument::Layout)?,
            lists: self.lists != 0,
        })
    }
}

/// Pools features, call after call.
#[derive(Debug)]
pub struct pointmill_roi_pooler {
    stream: Stream,
    worker: RoiPooler,
    pooled: RoiPooled,
    outcome: Outcome,
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_roi_pool_params_init(params: *mut pointmill_roi_pool_params) -> pointmill_status {
    defaults(params, pointmill_roi_pool_params::new)
}

/// A pooler whose work goes to the stream. Pass NULL to use the default parameters.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_roi_pooler_create(
    stream: Option<&pointmill_stream>,
    params: *const pointmill_roi_pool_params,
    pooler: Option<&mut *mut pointmill_roi_pooler>,
) -> pointmill_status {
    guard(|| {
        create(pooler, || {
            let stream = of(stream)?.clone();
            let worker = RoiPooler::new(&stream, &given_or(params, pointmill_roi_pool_params::new)?.params()?)?;
            let outcome = Outcome::none("pointmill_roi_pooler_run");
            Ok(pointmill_roi_pooler { pooled: worker.output()?, worker, stream, outcome })
        })
    })
}

/// Pools `features` [N, C] of the points [N, 3 or more] in each of the boxes [B, 7]: x, y, z, dx, dy,
/// dz, heading. Types are f32, f16 or bf16.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_roi_pooler_run(
    pooler: Option<&mut pointmill_roi_pooler>,
    boxes: *const pointmill_array,
    points: *const pointmill_array,
    features: *const pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_roi_pooler { stream, worker, pooled, outcome } = some(pooler, "pooler")?;
        outcome.of(|| {
            let (boxes, points) = (lent(boxes, Argument::Boxes, stream)?, lent(points, Argument::Points, stream)?);
            let features = lent(features, Argument::Features, stream)?;
            Ok(worker.run(Scene::new(boxes.rows()?, points.rows()?), features.rows()?, pooled)?)
        })
    })
}

/// An array of the last call: "pooled" [B, ox * oy * oz * C] in the type of the features; "argmax" the
/// same of i32; "point_indices" [B, ox * oy * oz * (M + 1)] of i32. Other layouts have "coords",
/// "row_splits" of i64 and "indices", and wait for their sizes.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_roi_pooler_array(
    pooler: Option<&pointmill_roi_pooler>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_roi_pooler { stream, pooled, outcome, .. } = some(pooler, "pooler")?;
        outcome.check(name)?;
        let mut views = Vec::new();
        for spec in pooled.specs()? {
            if let Some(buffer) = pooled.array(spec.array) {
                views.push((spec.array.as_str(), View::any(buffer, &spec.shape)?));
            }
        }
        give(&views, name, stream, array)
    })
}

/// Destroys the pooler and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_roi_pooler_destroy(pooler: Option<Box<pointmill_roi_pooler>>) {
    destroy(pooler);
}

/// What is asked of points and boxes.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum pointmill_inside {
    /// The lowest box of each point: "part" [N] of i32, or -1.
    POINTMILL_PART = 0,
    /// The number of points of each box: "count" [B] of i32.
    POINTMILL_COUNT = 1,
    /// All boxes of each point: "row_splits" [N + 1] of i64 and "indices" of i32. It waits.
    POINTMILL_ALL = 2,
    /// All points of each box: "row_splits" [B + 1] of i64 and "indices" of i32. It waits.
    POINTMILL_CROP = 3,
}

/// Answers which points are in which box, call after call.
#[derive(Debug)]
pub struct pointmill_points_in_boxes {
    stream: Stream,
    worker: PointsInBoxes,
    numbers: Buffer<i32>,
    lists: BoxLists,
    /// The name of the numbers of the last call and how many; none after lists.
    last: Option<(&'static str, usize)>,
    outcome: Outcome,
}

/// A worker on the stream, with a pointmill_box_origin and a margin in metres.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_points_in_boxes_create(
    stream: Option<&pointmill_stream>,
    origin: u32,
    margin: f32,
    inside: Option<&mut *mut pointmill_points_in_boxes>,
) -> pointmill_status {
    guard(|| {
        create(inside, || {
            let stream = of(stream)?.clone();
            let origin = choice(BoxOrigin::ALL, origin, Argument::Origin)?;
            let worker = PointsInBoxes::new(&stream, BoxParams { origin, margin })?;
            let (numbers, lists) = (stream.alloc(0)?, worker.lists()?);
            let outcome = Outcome::none("pointmill_points_in_boxes_run");
            Ok(pointmill_points_in_boxes { stream, worker, numbers, lists, last: None, outcome })
        })
    })
}

/// Answers a pointmill_inside about boxes [B, 7] and points [N, 3 or more].
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_points_in_boxes_run(
    inside: Option<&mut pointmill_points_in_boxes>,
    question: u32,
    boxes: *const pointmill_array,
    points: *const pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_points_in_boxes { stream, worker, numbers, lists, last, outcome } = some(inside, "inside")?;
        outcome.of(|| {
            let (boxes, points) = (lent(boxes, Argument::Boxes, stream)?, lent(points, Argument::Points, stream)?);
            let (boxes, points) = (boxes.rows()?, points.rows()?);
            let scene = Scene::new(boxes, points);
            let answered = [Some(("part", points.len())), Some(("count", boxes.len())), None, None];
            *last = choice(&answered, question, "question")?;
            match question {
                0 => worker.part(scene, numbers)?,
                1 => worker.count(scene, numbers)?,
                2 => worker.all(scene, lists)?,
                _ => worker.crop(scene, lists)?,
            }
            Ok(())
        })
    })
}

/// An array of the last call; see pointmill_inside.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_points_in_boxes_array(
    inside: Option<&pointmill_points_in_boxes>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_points_in_boxes { stream, numbers, lists, last, outcome, .. } = some(inside, "inside")?;
        if let Some((made, len)) = last {
            return outcome.give(|| Ok(vec![(*made, View::new(numbers, *len, 1)?)]), name, stream, array);
        }
        outcome.give(|| View::of(lists, &[]), name, stream, array)
    })
}

/// Destroys the worker and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_points_in_boxes_destroy(inside: Option<Box<pointmill_points_in_boxes>>) {
    destroy(inside);
}
