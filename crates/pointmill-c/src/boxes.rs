//! Overlaps of boxes.

use crate::array::{Outcome, View, lent, pointmill_array};
use crate::error::{Result, guard, pointmill_status};
use crate::handle::{choice, create, defaults, destroy, given_or, number, some, structs};
use crate::stream::{of, pointmill_stream};
use pointmill::boxes::{BoxIou, IouKind, IouParams, Pairs};
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

structs!(pointmill_iou_params);

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

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_iou_params_init(params: *mut pointmill_iou_params) -> pointmill_status {
    defaults(params, pointmill_iou_params::new)
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

/// Destroys the worker and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_box_iou_destroy(iou: Option<Box<pointmill_box_iou>>) {
    destroy(iou);
}
