//! Overlaps of boxes, and suppression.

mod pairs;
mod rows;
mod suppress;

pub(crate) use pairs::{CACHE as PAIRS, iou, overlaps};
pub(crate) use rows::{CACHE as KEPT, iou_of_rows, rows_kept};
pub(crate) use suppress::NMS;

use crate::arrays::{Array, Dtype};
use crate::errors::Names;
use pointmill::Argument;
use pyo3::prelude::*;

/// What the library calls the arguments.
const NAMES: Names = &[(Argument::Classes, "class_ids")];

/// Boxes `[N, 7]` of single or double precision.
fn boxes<'py>(object: &Bound<'py, PyAny>, name: &'static str) -> PyResult<Array<'py>> {
    let array = Array::taken(object, name, &[Dtype::F32, Dtype::F64], None)?;
    array.shaped(&[None, Some(7)], "[N, 7] (x, y, z, dx, dy, dz, yaw)")
}
