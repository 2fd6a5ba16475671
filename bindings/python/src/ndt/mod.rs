//! Grids of normal distributions.

mod blocks;
mod grid;
mod moments;
mod result;
mod store;

pub(crate) use blocks::{NdtBlockMap, Row, SummedMap};
pub(crate) use grid::NdtGrid;
pub(crate) use moments::NdtMoments;
pub(crate) use result::{FIT, REGISTRATION, REPORT};
pub(crate) use store::MapPlace;

use crate::arrays::Array;
use crate::errors::Names;
use pointmill::Argument;
use pyo3::prelude::*;

const NAMES: Names = &[(Argument::Pose, "poses")];
/// Points of which a sum, or poses times points of which a score, takes no longer than a
/// millisecond on the CPU.
const SHORT: usize = 1 << 12;

/// An array that says which library and device results are to have; numpy's on the CPU where the
/// caller gives none.
fn like_array<'py>(py: Python<'py>, like: Option<&Bound<'py, PyAny>>) -> PyResult<Array<'py>> {
    let empty;
    let like = match like {
        Some(like) => like,
        None => {
            empty = py.import("numpy")?.call_method1("empty", (0,))?;
            &empty
        }
    };
    Array::read(like, "like")?.without_grad()
}
