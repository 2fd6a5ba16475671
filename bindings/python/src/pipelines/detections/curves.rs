//! KITTI's curves for `pointmill.compat`.

use super::input::Given;
use crate::args::named;
use crate::errors::file;
use crate::interrupt::{Effort, run};
use numpy::{PyArray1, PyArrayMethods};
use pointmill::internals::par;
use pointmill_detection::{DetectionParams, Metric, Protocol, kitti_curves};
use pyo3::prelude::*;

/// Recall, precision and orientation of each class, metric and least overlap, at the levels of KITTI:
/// `[cases, 3, 3, 41]`.
#[pyfunction]
#[pyo3(name = "_kitti_curves")]
pub(crate) fn curves_of_kitti<'py>(
    py: Python<'py>,
    predictions: &Bound<'py, PyAny>,
    truth: &Bound<'py, PyAny>,
    cases: Vec<(String, String, f64)>,
) -> PyResult<Bound<'py, PyAny>> {
    let of: Vec<(String, Metric, f64)> = cases
        .into_iter()
        .map(|(class, metric, threshold)| Ok((class, named(&metric, "metric")?, threshold)))
        .collect::<PyResult<_>>()?;
    let truth = Given::new(truth, "truth", Protocol::KittiR40, None)?;
    let found = Given::new(predictions, "predictions", Protocol::KittiR40, Some(&truth))?;
    let count = of.len();
    let curves = run(py, Effort::Long, (), move |()| {
        let of: Vec<_> = of.iter().map(|(class, metric, threshold)| (&**class, *metric, *threshold)).collect();
        kitti_curves(&found.boxes, &truth.boxes, &of, DetectionParams::default().max_memory, &par::check)
    })?
    .map_err(file)?;
    let of_levels = curves.iter().flatten().flat_map(|curve| [curve.recall, curve.precision, curve.orientation]);
    let values: Vec<f64> = of_levels.flatten().collect();
    let recalls = values.len().checked_div(9 * count).unwrap_or(0);
    Ok(PyArray1::from_vec(py, values).reshape([count, 3, 3, recalls])?.into_any())
}
