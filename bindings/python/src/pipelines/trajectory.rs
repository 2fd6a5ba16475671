//! Errors of trajectories.

use crate::arrays::Backend;
use crate::ending::detached;
use crate::errors::{Names, OrRaise, file, value};
use crate::keywords::Keywords;
use crate::poses;
use crate::record::{Attributes, Class, Fields};
use numpy::PyArray1;
use pointmill::{Argument, Pose};
use pointmill_io::{PoseOptions, PoseWarning, read_poses};
use pointmill_slam::trajectory as library;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

const NAMES: Names = &[];

pub(crate) static ERROR_STATISTICS: Class =
    Class::new(("pointmill", "ErrorStatistics"), "Summary statistics of a non-empty set of errors.", None, || {
        Attributes::default().record::<library::Statistics>("")
    });

pub(crate) static RELATIVE_ERRORS: Class = Class::new(
    ("pointmill", "RelativeErrors"),
    "Errors of the motion between poses that are so many frames or metres apart.",
    Some("RelativeErrors(frames={frames}, metres={metres}, pairs={pairs})"),
    || {
        Attributes::default()
            .add("frames", "int | None", "Frames between the poses of a pair; ``None`` if they are metres apart.")
            .add(
                "metres",
                "float | None",
                "Metres between the poses of a pair along the truth; ``None`` if they are frames apart.",
            )
            .add("pairs", "int", "The number of pairs; without any the errors are zeros.")
            .add("translation", "ErrorStatistics", "Distances in metres.")
            .add("rotation", "ErrorStatistics", "Angles in radians.")
    },
);

pub(crate) static EVALUATION: Class = Class::new(
    ("pointmill", "Evaluation"),
    "How far an estimate is from the truth; arrays of numpy.",
    Some("Evaluation(length={length:.3f}, translation.rmse={translation.rmse:.6f}, drift={drift})"),
    || {
        Attributes::default()
            .record::<library::Similarity>("_Numpy")
            .add("length", "float", "Metres along the truth, over the poses that were compared.")
            .add("translation", "ErrorStatistics", "Distances of the positions in metres; their ``rmse`` is the absolute trajectory error.")
            .add("rotation", "ErrorStatistics | None", "Angles between the rotations in radians; ``None`` where a file has positions alone.")
            .add("relative", "list[RelativeErrors]", "Relative errors over 1 frame and over 10 m; none where a file has positions alone, and no drift.")
            .add("drift", "float | None", "Mean error of the translation of the segments of the KITTI benchmark by their length: 0.01 is one percent. ``None`` if the way is shorter than every segment.")
            .add("rotation_drift", "float | None", "Mean error of their rotation in radians a metre.")
            .add("estimate_indices", "_Numpy", "``[P]`` int64: which poses of the estimate were compared.")
            .add("truth_indices", "_Numpy", "``[P]`` int64: with which poses of the truth.")
            .add("along", "_Numpy", "``[P]`` float64: metres along the truth.")
            .add("translation_errors", "_Numpy", "``[P]`` float64: errors of the positions in metres.")
            .add("rotation_errors", "_Numpy", "``[P]`` float64: errors of the rotations in radians; NaN where a file has positions alone.")
            .add("estimate_poses", "int", "Poses of the estimate, with a partner or without.")
            .add("truth_poses", "int", "Poses of the truth, with a partner or without.")
            .add("warnings", "list[str]", "What is odd: equal times, poses without a partner, a rotation that the positions do not determine, as about a straight way.")
    },
);

/// The statistics of translations and rotations.
fn errors<'a, 'py>(fields: Fields<'a, 'py>, errors: &library::PoseErrors) -> PyResult<Fields<'a, 'py>> {
    let py = fields.py();
    let statistics = |of: &library::Statistics| Fields::new(py, None).record(of)?.of(&ERROR_STATISTICS);
    let rotation = errors.rotation.as_ref().map(statistics).transpose()?;
    fields.set("translation", statistics(&errors.translation)?)?.set("rotation", rotation)
}

fn relative<'py>(py: Python<'py>, one: &library::Relative) -> PyResult<Bound<'py, PyAny>> {
    let (frames, metres) = match one.delta {
        library::Delta::Frames(frames) => (Some(frames), None),
        library::Delta::Metres(metres) => (None, Some(metres)),
    };
    let fields = Fields::new(py, None).set("frames", frames)?.set("metres", metres)?.set("pairs", one.pairs)?;
    errors(fields, &one.errors)?.of(&RELATIVE_ERRORS)
}

fn evaluation<'py>(py: Python<'py>, found: &library::Evaluation, warnings: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
    let numbers = |of: fn(&library::Frame) -> f64| PyArray1::from_iter(py, found.frames.iter().map(of));
    let indices =
        |of: fn(&library::Frame) -> usize| PyArray1::from_iter(py, found.frames.iter().map(|frame| of(frame) as i64));
    let relative: PyResult<Vec<_>> = found.relative.iter().map(|one| relative(py, one)).collect();
    let numpy = Backend::numpy(py);
    errors(Fields::new(py, Some(&numpy)), &found.absolute)?
        .record(&found.alignment)?
        .set("length", found.length)?
        .set("relative", relative?)?
        .set("drift", found.drift.translation)?
        .set("rotation_drift", found.drift.rotation)?
        .set("estimate_indices", indices(|frame| frame.estimate))?
        .set("truth_indices", indices(|frame| frame.truth))?
        .set("along", numbers(|frame| frame.length))?
        .set("translation_errors", numbers(|frame| frame.translation))?
        .set("rotation_errors", numbers(|frame| frame.rotation.unwrap_or(f64::NAN)))?
        .set("estimate_poses", found.estimate_poses)?
        .set("truth_poses", found.truth_poses)?
        .set("warnings", warnings)?
        .of(&EVALUATION)
}

/// Compare a trajectory with the truth: absolute and relative errors, and the drift of the KITTI
/// benchmark.
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
///     The time of each pose in seconds; for poses from arrays. Of equal times the first counts.
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
#[pyo3(signature = (estimate, truth, *, estimate_times = None, truth_times = None, **params),
    text_signature = "(estimate, truth, *, align=\"none\", estimate_times=None, truth_times=None, max_time_difference=0.01)")]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    estimate: &Bound<'py, PyAny>,
    truth: &Bound<'py, PyAny>,
    estimate_times: Option<&Bound<'py, PyAny>>,
    truth_times: Option<&Bound<'py, PyAny>>,
    params: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let params = library::EvaluationParams::default().with("evaluate", params)?;
    let mut warnings = vec![];
    let estimate = trajectory(estimate, "estimate", estimate_times, "estimate_times", &mut warnings)?;
    let truth = trajectory(truth, "truth", truth_times, "truth_times", &mut warnings)?;
    let found = detached(py, || library::evaluate(&estimate, &truth, &params)).or_raise(NAMES)?;
    warnings.extend(found.warnings.iter().cloned());
    evaluation(py, &found, warnings)
}

/// A trajectory from an array of poses or from a file.
fn trajectory(
    object: &Bound<'_, PyAny>,
    name: &'static str,
    times: Option<&Bound<'_, PyAny>>,
    times_name: &'static str,
    warnings: &mut Vec<String>,
) -> PyResult<library::Trajectory> {
    let options = PoseOptions { positions: true, ..PoseOptions::default() };
    let given = times.map(|times| poses::row(times, times_name)).transpose()?;
    let (poses, times, positions_only): (Vec<Pose>, _, _) = match object.extract::<PathBuf>() {
        Ok(path) => {
            if given.is_some() {
                return Err(value(times_name, format_args!("none with a file of {name}"), "some"));
            }
            let read = detached(object.py(), || read_poses(&path, &options)).map_err(file)?;
            // Of positions the evaluation says what it does not know.
            let told = read.warnings.iter().filter(|warning| **warning != PoseWarning::PositionsOnly);
            warnings.extend(told.map(|warning| format!("{name}: {warning}")));
            (read.poses, read.times, read.positions_only)
        }
        Err(_) => (poses::poses(object, name)?.0, given, false),
    };
    let made = match times {
        Some(times) => library::Trajectory::with_times(poses, times),
        None => library::Trajectory::new(poses),
    };
    let made = made.map(|made| if positions_only { made.of_positions() } else { made });
    made.map_err(|error| match error {
        pointmill::Error::Argument { argument: Argument::Times, expected, got } => value(times_name, expected, got),
        pointmill::Error::Argument { expected, got, .. } => value(name, expected, got),
        error => crate::errors::from_library(error, NAMES),
    })
}
