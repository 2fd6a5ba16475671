//! How files are read.

use crate::keywords::Keyword;
use pointmill_io::{LocalOrigin, ReadOptions};
use pyo3::prelude::*;

/// How a file is read without arguments.
pub(crate) fn default_options() -> ReadOptions {
    ReadOptions { origin: LocalOrigin::Auto, ..ReadOptions::default() }
}

/// What is subtracted from coordinates.
pub(crate) fn origin_of(local_origin: Option<&Bound<'_, PyAny>>) -> PyResult<LocalOrigin> {
    local_origin.map_or(Ok(LocalOrigin::Auto), |origin| Keyword::take(origin, "local_origin"))
}
