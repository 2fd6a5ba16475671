//! Iterative closest point.

mod align;
mod many;
mod result;
mod searcher;
mod target;

pub(crate) use align::icp;
pub(crate) use many::align_many;
pub(crate) use result::{ITERATION, REGISTRATION};
pub(crate) use searcher::{IcpSearcher, normals};
pub(crate) use target::{IcpTarget, copied};

use crate::cache::Cache;
use crate::errors::Names;
use crate::poses;
use pointmill::Pose;
use pointmill::icp::{Aligner, IcpParams};
use pyo3::prelude::*;

const NAMES: Names = &[];

/// So many points are aligned in little more than a millisecond on the CPU.
const SHORT: usize = 1024;

pub(crate) static CACHE: Cache<IcpParams, Aligner> = Cache::new();

/// A guess, or the identity.
fn guess_of(object: Option<&Bound<'_, PyAny>>) -> PyResult<Pose> {
    object.map_or(Ok(Pose::IDENTITY), |guess| poses::matrix(guess, "guess"))
}
