//! Detections and their scores.

mod curves;
mod input;
mod result;

pub(crate) use curves::curves_of_kitti;
pub(crate) use result::{AVERAGE_PRECISION, CHANGE, CLASS_ERRORS, DETECTION_REPORT};

use crate::args::named;
use crate::errors::{file, warn};
use crate::interrupt::{Effort, run};
use input::Given;
use pointmill::internals::par;
use pointmill_detection::{DetectionParams, compare_watched, evaluate_watched};
use pyo3::prelude::*;

/// Score 3D detections against the truth, as KITTI, nuScenes or Argoverse 2 does.
///
/// Each side is a file or folder of the benchmark, or a dict of columns with a row for each box, in
/// any order:
///
/// - ``frames``: ``[N]`` names or numbers; frames of both sides are joined by them;
/// - ``classes``: ``[N]`` names as the benchmark has them, such as ``"Car"``; those of KITTI ignore case;
/// - ``boxes``: ``[N, 7]`` centre x y z and extents dx dy dz in metres, and yaw in radians;
/// - ``scores``: ``[N]`` of predictions, higher is surer; the truth needs none;
/// - ``num_points``: ``[N]`` LiDAR points in the box; av2 needs it of the truth;
/// - KITTI: ``image_boxes`` ``[N, 4]`` left, top, right, bottom in pixels; perhaps ``truncation`` and
///   ``occlusion``, ``[N]``;
/// - nuScenes, perhaps: ``velocities`` ``[N, 2]`` in m/s, ``attributes`` ``[N]`` names or empty,
///   ``from_ego`` ``[N, 2]`` the place of the box relative to the vehicle.
///
/// A column of another name is not read, and a warning says so. In dicts a frame that one side alone has is one without boxes on the other. Predictions
/// of equal score count in the order of frames and rows. Results do not depend on the number of threads.
///
/// Parameters
/// ----------
/// predictions : path or dict
///     What a detector found.
/// truth : path or dict
///     What is true.
/// protocol : {"kitti", "kitti-r11", "nuscenes", "av2"}
///     Whose rules are followed: KITTI with 40 or 11 recalls, nuScenes, Argoverse 2.
/// compare : path or dict, optional
///     Predictions of another run: ``changes`` lists the boxes that became better or worse since then.
///
/// Returns
/// -------
/// DetectionReport
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import pointmill
/// >>> truth = {
/// ...     "frames": ["a", "a"],
/// ...     "classes": ["BUS", "BUS"],
/// ...     "boxes": np.array([[0, 0, 0, 10, 3, 3, 0], [30, 5, 0, 9, 3, 3, 1]], np.float64),
/// ...     "num_points": [20, 30],
/// ... }
/// >>> found = {key: values[:1] for key, values in truth.items() if key != "num_points"} | {"scores": [0.9]}
/// >>> report = pointmill.evaluate_detections(found, truth, protocol="av2")
/// >>> bus = next(one for one in report.precisions if one.class_name == "BUS" and one.threshold == 2)
/// >>> round(bus.ap, 2), bus.missed_truth.tolist()
/// (0.5, [1])
#[pyfunction]
#[pyo3(signature = (predictions, truth, *, protocol, compare = None))]
pub(crate) fn evaluate_detections<'py>(
    py: Python<'py>,
    predictions: &Bound<'py, PyAny>,
    truth: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] protocol: &str,
    compare: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let params = DetectionParams { protocol: named(protocol, "protocol")?, ..Default::default() };
    let mut truth = Given::new(truth, "truth", params.protocol, None)?;
    let mut found = Given::new(predictions, "predictions", params.protocol, Some(&truth))?;
    let mut other = compare.map(|other| Given::new(other, "compare", params.protocol, Some(&truth))).transpose()?;
    let (report, changes, sides) = run(py, Effort::Long, (), move |()| {
        truth.add_frames(&found);
        other.iter().for_each(|other| truth.add_frames(other));
        found.add_frames(&truth);
        other.iter_mut().for_each(|other| other.add_frames(&truth));
        let report = evaluate_watched(&found.boxes, &truth.boxes, &params, &par::check)?;
        let changes = other.as_ref().map(|other| {
            let before = evaluate_watched(&other.boxes, &truth.boxes, &params, &par::check)?;
            let boxes = [&other.boxes, &found.boxes];
            compare_watched([&before, &report], boxes, &truth.boxes, &par::check)
        });
        Ok((report, changes.transpose()?, [found, truth]))
    })?
    .map_err(file)?;
    warn(py, report.warnings.iter())?;
    result::report(py, &report, changes.as_deref(), sides.each_ref())
}
