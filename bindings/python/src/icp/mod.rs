//! Iterative closest point.

mod align;
mod many;
mod params;
mod result;
mod searcher;
mod target;

pub(crate) use align::icp;
pub(crate) use many::align_many;
pub(crate) use result::{ITERATION, REGISTRATION};
pub(crate) use searcher::{IcpSearcher, normals};
pub(crate) use target::IcpTarget;

use crate::cache::Cache;
use crate::errors::Names;
use pointmill::icp::{Aligner, IcpParams};

const NAMES: Names = &[];

/// So many points are aligned in little more than a millisecond on the CPU.
const SHORT: usize = 1024;

pub(crate) static CACHE: Cache<IcpParams, Aligner> = Cache::new();
