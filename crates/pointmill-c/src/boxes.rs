//! Overlaps of boxes, and suppression.

use crate::array::{Outcome, View, lent, lent_or_none, pointmill_array};
use crate::error::{Result, guard, pointmill_status};
use crate::handle::{choice, create, defaults, destroy, given_or, number, some, splits, structs};
use crate::stream::{of, pointmill_stream};
use pointmill::boxes::{BoxIou, Candidates, IouKind, IouParams, Kept, NmsMetric, NmsParams, Pairs, Suppressor};
use pointmill::{Argument, BoxOrigin, Buffer, Stream};
use std::ffi::c_char;

/// What an overlap is of.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum pointmill_iou_kind {
    POINTMILL_IOU_BEV = 0,
    POINTMILL_IOU_VOLUME = 1,
    POINTMILL_IOU_GIOU = 2,
}

/// What suppression compares.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum pointmill_nms_metric {
    POINTMILL_NMS_BEV = 0,
    POINTMILL_NMS_VOLUME = 1,
    POINTMILL_NMS_CIRCLE = 2,
}

/// Which point of a box its z is.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum pointmill_box_origin {
    POINTMILL_BOTTOM_CENTER = 0,
    POINTMILL_CENTER = 1,
}

/// Parameters of overlaps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_iou_params {
    /// sizeof(pointmill_iou_params)
    pub struct_size: usize,
    /// A pointmill_iou_kind; default from above.
    pub kind: u32,
    /// Whether each box is measured with that of the same row alone; default 0, with all.
    pub aligned: u32,
    /// A pointmill_box_origin; default the bottom.
    pub origin: u32,
}

/// Parameters of suppression.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_nms_params {
    /// sizeof(pointmill_nms_params)
    pub struct_size: usize,
    /// A pointmill_nms_metric; default from above.
    pub metric: u32,
    /// A greater overlap with a kept box suppresses; default 0.5. Of circles a squared distance of at
    /// most this.
    pub threshold: f32,
    /// Boxes with a lower score are no candidates; default minus infinity.
    pub score_threshold: f32,
    /// Most candidates of an item; default 0, all.
    pub pre_max: u32,
    /// Most boxes that an item keeps; default 0, all.
    pub post_max: u32,
    /// A pointmill_box_origin; default the bottom.
    pub origin: u32,
}
structs!(pointmill_iou_params, pointmill_nms_params);

impl pointmill_iou_params {
    fn new() -> Self {
        let IouParams { kind, pairs, origin } = IouParams::default();
        let aligned = u32::from(pairs == Pairs::Aligned);
        let (kind, origin) = (number(IouKind::ALL, &kind), number(BoxOrigin::ALL, &origin));
        Self { struct_size: size_of::<Self>(), kind, aligned, origin }
    }

    fn params(&self) -> Result<IouParams> {
        Ok(IouParams {
            kind: choice(IouKind::ALL, self.kind, "kind")?,
            pairs: if self.aligned == 0 { Pairs::All } else { Pairs::Aligned },
            origin: choice(BoxOrigin::ALL, self.origin, Argument::Origin)?,
        })
    }
}

impl pointmill_nms_params {
    fn new() -> Self {
        let p = NmsParams::default();
        Self {
            struct_size: size_of::<Self>(),
            metric: number(NmsMetric::ALL, &p.metric),
            threshold: p.threshold,
            score_threshold: p.score_threshold.unwrap_or(f32::NEG_INFINITY),
            pre_max: p.pre_max.unwrap_or(0),
            post_max: p.post_max.unwrap_or(0),
            origin: number(BoxOrigin::ALL, &p.origin),
        }
    }

    fn params(&self) -> Result<NmsParams> {
        let most = |most: u32| Some(most).filter(|&most| most > 0);
        Ok(NmsParams {
            metric: choice(NmsMetric::ALL, self.metric, Argument::Metric)?,
            threshold: self.threshold,
            score_threshold: Some(self.score_threshold).filter(|&least| least != f32::NEG_INFINITY),
            pre_max: most(self.pre_max),
            post_max: most(self.post_max),
            origin: choice(BoxOrigin::ALL, self.origin, Argument::Origin)?,
        })
    }
}

/// Measures overlaps, call after call.
#[derive(Debug)]
pub struct pointmill_box_iou {
    stream: Stream,
    worker: BoxIou,
    aligned: bool,
    iou: Buffer<f32>,
    shape: [usize; 2],
    outcome: Outcome,
}

/// Suppresses detections, call after call.
#[derive(Debug)]
pub struct pointmill_suppressor {
    stream: Stream,
    worker: Suppressor,
    kept: Kept,
    outcome: Outcome,
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_iou_params_init(params: *mut pointmill_iou_params) -> pointmill_status {
    defaults(params, pointmill_iou_params::new)
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_nms_params_init(params: *mut pointmill_nms_params) -> pointmill_status {
    defaults(params, pointmill_nms_params::new)
}

/// A worker on the stream. Pass NULL to use the default parameters.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_box_iou_create(
    stream: Option<&pointmill_stream>,
    params: *const pointmill_iou_params,
    iou: Option<&mut *mut pointmill_box_iou>,
) -> pointmill_status {
    guard(|| {
        create(iou, || {
            let stream = of(stream)?.clone();
            let params = given_or(params, pointmill_iou_params::new)?.params()?;
            let (worker, iou) = (BoxIou::new(&stream, &params)?, stream.alloc(0)?);
            let aligned = params.pairs == Pairs::Aligned;
            let outcome = Outcome::none("pointmill_box_iou_run");
            Ok(pointmill_box_iou { stream, worker, aligned, iou, shape: [0; 2], outcome })
        })
    })
}

/// Measures boxes [N, 7] and [M, 7] of f32 or f64: x, y, z, dx, dy, dz, yaw.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_box_iou_run(
    iou: Option<&mut pointmill_box_iou>,
    a: *const pointmill_array,
    b: *const pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_box_iou { stream, worker, aligned, iou, shape, outcome } = some(iou, "iou")?;
        outcome.of(|| {
            let (a, b) = (lent(a, Argument::A, stream)?, lent(b, Argument::B, stream)?);
            let (a, b) = (a.rows()?, b.rows()?);
            worker.iou(a, b, iou)?;
            *shape = [a.len(), if *aligned { 1 } else { b.len() }];
            Ok(())
        })
    })
}

/// The array of the last call: "iou" [N, M], of aligned boxes [N], of f32.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_box_iou_array(
    iou: Option<&pointmill_box_iou>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_box_iou { stream, iou, shape: [rows, columns], outcome, .. } = some(iou, "iou")?;
        outcome.give(|| Ok(vec![("iou", View::new(iou, *rows, *columns)?)]), name, stream, array)
    })
}

/// Waits. Fails if rows of the last call are no boxes, which a GPU finds late.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_box_iou_check(iou: Option<&pointmill_box_iou>) -> pointmill_status {
    guard(|| Ok(some(iou, "iou")?.worker.check_rows()?))
}

/// Destroys the worker and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_box_iou_destroy(iou: Option<Box<pointmill_box_iou>>) {
    destroy(iou);
}

/// A suppressor whose work goes to the stream. Pass NULL to use the default parameters.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_suppressor_create(
    stream: Option<&pointmill_stream>,
    params: *const pointmill_nms_params,
    suppressor: Option<&mut *mut pointmill_suppressor>,
) -> pointmill_status {
    guard(|| {
        create(suppressor, || {
            let stream = of(stream)?.clone();
            let worker = Suppressor::new(&stream, &given_or(params, pointmill_nms_params::new)?.params()?)?;
            let outcome = Outcome::none("pointmill_suppressor_run");
            Ok(pointmill_suppressor { kept: worker.output()?, worker, stream, outcome })
        })
    })
}

/// Chooses the boxes [N, 7] of f32 or f64 that no better one suppresses, by scores [N, 1] of f32.
/// `classes` [N] of i32, which never meet, or null; with `row_splits` the boxes are those of several
/// items. On a GPU it only queues work.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_suppressor_run(
    suppressor: Option<&mut pointmill_suppressor>,
    boxes: *const pointmill_array,
    scores: *const pointmill_array,
    classes: *const pointmill_array,
    row_splits: *const u64,
    num_splits: u64,
) -> pointmill_status {
    guard(|| {
        let pointmill_suppressor { stream, worker, kept, outcome } = some(suppressor, "suppressor")?;
        outcome.of(|| {
            let (boxes, scores) = (lent(boxes, Argument::Boxes, stream)?, lent(scores, Argument::Scores, stream)?);
            let classes = lent_or_none(classes, Argument::Classes, stream)?;
            let splits = splits(row_splits, num_splits)?;
            let mut candidates = Candidates::new(boxes.rows()?, scores.rows()?);
            if let Some(classes) = &classes {
                candidates = candidates.classes(classes.ints(Argument::Classes, &[1])?);
            }
            if let Some(splits) = &splits {
                candidates = candidates.batch(splits);
            }
            Ok(worker.run(candidates, kept)?)
        })
    })
}

/// An array of the last call, of i32: "rows" [items, capacity], the kept rows by score and -1 behind
/// them; "num_kept" [items].
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_suppressor_array(
    suppressor: Option<&pointmill_suppressor>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_suppressor { stream, kept, outcome, .. } = some(suppressor, "suppressor")?;
        outcome.give(|| View::of(kept, &[]), name, stream, array)
    })
}

/// Waits. Fails if boxes and classes of the last call are invalid, which a GPU finds late.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_suppressor_check(suppressor: Option<&pointmill_suppressor>) -> pointmill_status {
    guard(|| Ok(some(suppressor, "suppressor")?.kept.read().map(drop)?))
}

/// Destroys the suppressor and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_suppressor_destroy(suppressor: Option<Box<pointmill_suppressor>>) {
    destroy(suppressor);
}
