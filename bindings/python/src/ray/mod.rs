//! What the jobs of ``pointmill.ray`` ask for: how inputs are read, which inputs a map has, and how
//! each gets into it. All of it is as the command does.

mod build;
mod plan;
mod reader;

pub(crate) use build::MapBuild;
pub(crate) use plan::{find_poses, in_natural_order, map_origin, plan_map};
pub(crate) use reader::InputReader;

use crate::errors::{Names, value};
use crate::poses;
use pointmill_data::poses::Deskew;
use pointmill_io::Poses;
use pyo3::prelude::*;
use std::path::PathBuf;

const NAMES: Names = &[];

/// The name of poses in errors, and poses with their times.
type Known<'py> = (PathBuf, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// Deskewing as a word.
fn deskew_of(word: &Bound<'_, PyAny>) -> PyResult<Deskew> {
    let known = word.extract::<&str>().ok().and_then(|word| word.parse().ok());
    match known {
        Some(known) => Ok(known),
        None => Err(value("deskew", "\"off\", \"auto\" or \"on\"", word.repr()?)),
    }
}

fn poses_of((_, poses, times): &Known<'_>) -> PyResult<Poses> {
    let times = times.as_ref().map(|times| poses::row(times, "times")).transpose()?;
    Ok(Poses { poses: poses::poses(poses, "poses")?.0, times, ..Poses::default() })
}
