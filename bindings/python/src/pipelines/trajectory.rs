//! Errors of trajectories.

use crate::args::named;
use crate::ending::detached;
use crate::errors::{Names, OrRaise, file, value};
use crate::pickle::{self, Fields, Reduced};
use crate::poses;
use numpy::{PyArray1, PyArrayMethods};
use pointmill::pipelines::trajectory as library;
use pointmill::{Argument, Pose};
use pointmill_io::{PoseOptions, read_poses};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::path::PathBuf;

const NAMES: Names = &[];

/// What errors are like, of which there is at least one.
#[pyclass(frozen, get_all, eq, module = "pointmill")]
#[derive(PartialEq)]
pub(crate) struct ErrorStatistics {
    /// Root of the mean square.
    rmse: f64,
    /// Mean.
    mean: f64,
    /// The middle of the sorted errors; of an even number the mean of the middle two.
    median: f64,
    /// Standard deviation.
    std: f64,
    /// Least.
    min: f64,
    /// Largest.
    max: f64,
}

pickle::fields!(ErrorStatistics { rmse, mean, median, std, min, max });

impl ErrorStatistics {
    fn new(py: Python<'_>, of: &library::Statistics) -> PyResult<Py<Self>> {
        Py::new(py, Self { rmse: of.rmse, mean: of.mean, median: of.median, std: of.std, min: of.min, max: of.max })
    }
}

#[pymethods]
impl ErrorStatistics {
    fn __repr__(&self) -> String {
        let Self { rmse, mean, median, std, min, max } = self;
        format!("ErrorStatistics(rmse={rmse}, mean={mean}, median={median}, std={std}, min={min}, max={max})")
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        Self::of(fields)
    }
}

/// Errors of the motion between poses that are so many frames or metres apart.
#[pyclass(frozen, get_all, module = "pointmill")]
pub(crate) struct RelativeErrors {
    /// Frames between the poses of a pair; ``None`` if they are metres apart.
    frames: Option<usize>,
    /// Metres between the poses of a pair along the truth; ``None`` if they are frames apart.
    metres: Option<f64>,
    /// The number of pairs; without any the errors are zeros.
    pairs: usize,
    /// Distances in metres.
    translation: Py<ErrorStatistics>,
    /// Angles in radians.
    rotation: Py<ErrorStatistics>,
}

pickle::fields!(RelativeErrors { frames, metres, pairs, translation, rotation });

#[pymethods]
impl RelativeErrors {
    fn __repr__(&self) -> String {
        let Self { frames, metres, pairs, .. } = self;
        let over =
            metres.map_or_else(|| format!("frames={}", frames.unwrap_or(0)), |metres| format!("metres={metres}"));
        format!("RelativeErrors({over}, pairs={pairs})")
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        Self::of(fields)
    }
}

/// How far an estimate is from the truth; arrays of numpy.
#[pyclass(frozen, get_all, module = "pointmill")]
pub(crate) struct Evaluation {
    /// ``[4, 4]`` float64: the rigid part of what moved the estimate onto the truth; the identity without alignment.
    truth_from_estimate: Py<PyAny>,
    /// The scale of it, which comes before the rigid part.
    scale: f64,
    /// Metres along the truth, over the poses that were compared.
    length: f64,
    /// Distances of the positions in metres; their ``rmse`` is the absolute trajectory error.
    translation: Py<ErrorStatistics>,
    /// Angles between the rotations in radians.
    rotation: Py<ErrorStatistics>,
    /// Relative errors over 1 frame and over 10 m.
    relative: Vec<Py<RelativeErrors>>,
    /// Mean error of the translation of the segments of the KITTI benchmark by their length: 0.01 is one percent. ``None`` if the way is shorter than every segment.
    drift: Option<f64>,
    /// Mean error of their rotation in radians a metre.
    rotation_drift: Option<f64>,
    /// ``[P]`` int64: which poses of the estimate were compared.
    estimate_indices: Py<PyAny>,
    /// ``[P]`` int64: with which poses of the truth.
    truth_indices: Py<PyAny>,
    /// ``[P]`` float64: metres along the truth.
    along: Py<PyAny>,
    /// ``[P]`` float64: errors of the positions in metres.
    translation_errors: Py<PyAny>,
    /// ``[P]`` float64: errors of the rotations in radians.
    rotation_errors: Py<PyAny>,
    /// What is odd: a rotation that the positions do not determine, as about a straight way.
    warnings: Vec<String>,
}

pickle::fields!(Evaluation {
    truth_from_estimate,
    scale,
    length,
    translation,
    rotation,
    relative,
    drift,
    rotation_drift,
    estimate_indices,
    truth_indices,
    along,
    translation_errors,
    rotation_errors,
    warnings
});

impl Evaluation {
    fn new(py: Python<'_>, found: &library::Evaluation) -> PyResult<Self> {
        let relative = |one: &library::Relative| {
            let (frames, metres) = match one.delta {
                library::Delta::Frames(frames) => (Some(frames), None),
                library::Delta::Metres(metres) => (None, Some(metres)),
            };
            let translation = ErrorStatistics::new(py, &one.errors.translation)?;
            let rotation = ErrorStatistics::new(py, &one.errors.rotation)?;
            Py::new(py, RelativeErrors { frames, metres, pairs: one.pairs, translation, rotation })
        };
        let numbers = |of: fn(&library::Frame) -> f64| {
            PyArray1::from_vec(py, found.frames.iter().map(of).collect()).into_any().unbind()
        };
        let indices = |of: fn(&library::Frame) -> usize| {
            PyArray1::from_vec(py, found.frames.iter().map(|frame| of(frame) as i64).collect()).into_any().unbind()
        };
        let matrix = found.alignment.truth_from_estimate.matrix().as_flattened().to_vec();
        Ok(Self {
            truth_from_estimate: PyArray1::from_vec(py, matrix).reshape([4, 4])?.into_any().unbind(),
            scale: found.alignment.scale,
            length: found.length,
            translation: ErrorStatistics::new(py, &found.absolute.translation)?,
            rotation: ErrorStatistics::new(py, &found.absolute.rotation)?,
            relative: found.relative.iter().map(relative).collect::<PyResult<_>>()?,
            drift: found.drift.translation,
            rotation_drift: found.drift.rotation,
            estimate_indices: indices(|frame| frame.estimate),
            truth_indices: indices(|frame| frame.truth),
            along: numbers(|frame| frame.length),
            translation_errors: numbers(|frame| frame.translation),
            rotation_errors: numbers(|frame| frame.rotation),
            warnings: found.warnings.clone(),
        })
    }
}

#[pymethods]
impl Evaluation {
    fn __repr__(&self) -> String {
        let rmse = self.translation.get().rmse;
        let drift = self.drift.map_or_else(|| "None".to_owned(), |drift| format!("{drift:?}"));
        format!("Evaluation(length={:.3}, translation.rmse={rmse:.6}, drift={drift})", self.length)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        Self::of(fields)
    }
}

/// Compare a trajectory with the truth: absolute and relative errors, and the drift of the KITTI benchmark.
///
/// Where both have times, poses belong together by time, else by their index.
///
/// Parameters
/// ----------
/// estimate, truth : array ``[P, 4, 4]`` or ``[P, 6]``, or path
///     Poses ``world_from_sensor``, or a file of them as :func:`read_poses` reads it.
/// align : {"none", "se3", "sim3"}
///     How the estimate is moved onto the truth first: not at all, by a rotation and a translation, or by these and a scale. A rotation that the positions do not determine, as about a straight way, is that of the orientations; ``warnings`` says so.
/// estimate_times, truth_times : array ``[P]``, optional
///     The time of each pose in seconds, ascending; for poses from arrays.
/// max_time_difference : float
///     Poses that belong together by time differ by at most these seconds.
///
/// Returns
/// -------
/// Evaluation
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import pointmill
/// >>> truth = np.tile(np.eye(4), (101, 1, 1))
/// >>> truth[:, 0, 3] = np.arange(101.0)
/// >>> estimate = truth.copy()
/// >>> estimate[:, 0, 3] *= 1.01
/// >>> found = pointmill.evaluate(estimate, truth)
/// >>> round(found.translation.max, 9), round(found.relative[0].translation.mean, 9)
/// (1.0, 0.01)
#[pyfunction]
#[pyo3(signature = (estimate, truth, *, align = "none", estimate_times = None, truth_times = None, max_time_difference = 0.01))]
pub(crate) fn evaluate(
    py: Python<'_>,
    estimate: &Bound<'_, PyAny>,
    truth: &Bound<'_, PyAny>,
    align: &str,
    estimate_times: Option<&Bound<'_, PyAny>>,
    truth_times: Option<&Bound<'_, PyAny>>,
    max_time_difference: f64,
) -> PyResult<Evaluation> {
    let params = library::EvaluationParams {
        alignment: named::<library::Alignment>(align, "align")?,
        max_time_difference,
        ..library::EvaluationParams::default()
    };
    let estimate = trajectory(estimate, "estimate", estimate_times, "estimate_times")?;
    let truth = trajectory(truth, "truth", truth_times, "truth_times")?;
    let found = detached(py, || library::evaluate(&estimate, &truth, &params)).or_raise(NAMES)?;
    Evaluation::new(py, &found)
}

/// A trajectory from an array of poses or from a file.
fn trajectory(
    object: &Bound<'_, PyAny>,
    name: &'static str,
    times: Option<&Bound<'_, PyAny>>,
    times_name: &'static str,
) -> PyResult<library::Trajectory> {
    let given = times.map(|times| poses::row(times, times_name)).transpose()?;
    let (poses, times): (Vec<Pose>, _) = match object.extract::<PathBuf>() {
        Ok(path) => {
            if given.is_some() {
                return Err(value(times_name, format_args!("none with a file of {name}"), "some"));
            }
            let read = detached(object.py(), || read_poses(&path, &PoseOptions::default())).map_err(file)?;
            (read.poses, read.times)
        }
        Err(_) => (poses::poses(object, name)?.0, given),
    };
    let made = match times {
        Some(times) => library::Trajectory::with_times(poses, times),
        None => library::Trajectory::new(poses),
    };
    made.map_err(|error| match error {
        pointmill::Error::Argument { argument: Argument::Times, expected, got } => value(times_name, expected, got),
        pointmill::Error::Argument { expected, got, .. } => value(name, expected, got),
        error => crate::errors::from_library(error, NAMES),
    })
}
