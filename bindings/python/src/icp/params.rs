//! The parameters of an alignment, and its guess.

use crate::args::{List, named, whole};
use crate::errors::{kind, value};
use crate::poses;
use pointmill::Pose;
use pointmill::icp::{IcpParams, Metric, Robust, Search, Stage};
use pyo3::prelude::*;
use pyo3::types::PyDict;

fn robust(object: Option<&Bound<'_, PyAny>>) -> PyResult<Robust> {
    let expected = "None or a pair of \"huber\", \"cauchy\", \"geman-mcclure\" or \"tukey\" and a width in metres";
    let Some(object) = object else { return Ok(Robust::None) };
    let (name, width): (String, f64) = object
        .extract()
        .map_err(|_| kind("robust", expected, object.repr().map_or(String::new(), |r| r.to_string())))?;
    let text = format!("{name}:{width}");
    text.parse().map_err(|_| value("robust", expected, format_args!("{name:?}")))
}

fn schedule(object: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Stage>> {
    let Some(object) = object else { return Ok(Vec::new()) };
    let expected = "pairs of an edge of cells and a distance in metres, or None for any";
    let got = || object.repr().map_or(String::new(), |text| text.to_string());
    let List(stages): List<(f64, Option<f64>)> = object.extract().map_err(|_| kind("schedule", expected, got()))?;
    Ok(stages.into_iter().map(|(voxel_size, max_distance)| Stage { voxel_size, max_distance }).collect())
}

/// The parameters of a call.
pub(super) fn params(
    metric: &str,
    max_distance: Option<f64>,
    max_iterations: i64,
    step_tolerance: f64,
    robust: Option<&Bound<'_, PyAny>>,
    neighbours: i64,
    schedule: Option<&Bound<'_, PyAny>>,
    drop_zeros: bool,
    search: &str,
) -> PyResult<IcpParams> {
    Ok(IcpParams {
        metric: named::<Metric>(metric, "metric")?,
        search: named::<Search>(search, "search")?,
        max_distance,
        robust: self::robust(robust)?,
        max_iterations: whole(max_iterations, 0, "max_iterations")? as usize,
        step_tolerance,
        neighbours: whole(neighbours, 0, "neighbours")? as usize,
        drop_zeros,
        schedule: self::schedule(schedule)?,
    })
}

/// A guess, or the identity.
pub(super) fn guess_of(object: Option<&Bound<'_, PyAny>>) -> PyResult<Pose> {
    object.map_or(Ok(Pose::IDENTITY), |guess| poses::matrix(guess, "guess"))
}

/// The keyword arguments that [`params`] makes these parameters of.
pub(super) fn arguments<'py>(py: Python<'py>, params: &IcpParams) -> PyResult<Bound<'py, PyDict>> {
    let robust = params.robust.to_string();
    let robust = robust.split_once(':').zip(params.robust.width()).map(|((name, _), width)| (name, width));
    let schedule: Vec<_> = params.schedule.iter().map(|stage| (stage.voxel_size, stage.max_distance)).collect();
    let arguments = PyDict::new(py);
    arguments.set_item("metric", params.metric.as_str())?;
    arguments.set_item("max_distance", params.max_distance)?;
    arguments.set_item("max_iterations", params.max_iterations)?;
    arguments.set_item("step_tolerance", params.step_tolerance)?;
    arguments.set_item("robust", robust)?;
    arguments.set_item("neighbours", params.neighbours)?;
    arguments.set_item("schedule", schedule)?;
    arguments.set_item("drop_zeros", params.drop_zeros)?;
    arguments.set_item("search", params.search.as_str())?;
    Ok(arguments)
}
