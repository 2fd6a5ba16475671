//! Sweeps without the motion of their sensor.

use crate::ending::detached;
use crate::errors::{file, value};
use crate::files::Scan;
use crate::poses;
use numpy::{PyArray1, PyArrayMethods};
use pointmill_io::{Poses, Times};
use pyo3::prelude::*;

/// The points of a sweep in the frame of the poses, each moved by the pose of its own time.
///
/// Between two poses the sensor moves and turns at constant speed, before the first and after the
/// last one as beside them.
///
/// Parameters
/// ----------
/// scan : Scan
///     A sweep whose points have times. Times from 2001 on count from 1970. Other times count from the stamp of a bag's cloud; those of a file have no common clock, and pose ``index`` belongs to the middle of the sweep.
/// poses : array, ``[P, 4, 4]``
///     Poses of the sensor, at least two.
/// times : array, ``[P]``
///     Their times in seconds, ascending.
/// index : int
///     The pose of the sweep. A bag's cloud has the pose whose time is at most a millisecond from its stamp.
///
/// Returns
/// -------
/// array of float64, ``[N, 3]``
///     x, y, z of each point; NaN for a point without a time.
///
/// Raises
/// ------
/// ValueError
///     A scan without times, a sweep without a pose, a sweep that is farther from the times of the poses than it is long.
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> import numpy as np
/// >>> import pointmill
/// >>> path = os.path.join(tempfile.mkdtemp(), "a.ply")
/// >>> rows = np.array([[5, 0, 0, 0.0], [5, 0, 0, 0.05], [5, 0, 0, 0.1]], np.float32)
/// >>> pointmill.write(path, rows, names=["x", "y", "z", "time"])
/// >>> poses = np.tile(np.eye(4), (2, 1, 1))
/// >>> poses[1, 0, 3] = 1.0
/// >>> pointmill.deskew(pointmill.read(path), poses, [7.0, 7.1], 1)[:, 0].round(6).tolist()
/// [5.5, 6.0, 6.5]
#[pyfunction]
#[pyo3(signature = (scan, poses, times, index = 0))]
pub(crate) fn deskew(
    py: Python<'_>,
    #[pyo3(from_py_with = crate::args::object)] scan: PyRef<'_, Scan>,
    poses: &Bound<'_, PyAny>,
    times: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] index: usize,
) -> PyResult<Py<PyAny>> {
    let known =
        Poses { poses: poses::poses(poses, "poses")?.0, times: Some(poses::row(times, "times")?), ..Poses::default() };
    let ascend = known.times.iter().flatten().is_sorted_by(|a, b| a < b);
    if !ascend || known.times.iter().flatten().count() != known.poses.len() {
        let expected = format!("{} times that ascend", known.poses.len());
        return Err(value("times", expected, "others"));
    }
    let (Some(own), Some(start)) = (scan.times(py), scan.start(py)) else {
        return Err(value("scan", "points with times", "a scan without"));
    };
    let own = Times::new(start, poses::row(own.bind(py), "scan")?);
    let (values, shape) = poses::numbers::<f64>(scan.exact(py), "scan", "points of the host")?;
    let xyz = values.chunks_exact(shape[1]).map(|row| [row[0], row[1], row[2]]);
    let stamp = scan.stamp_ns.map(|stamp| stamp as f64 / 1e9);
    let moved =
        detached(py, || pointmill_data::poses::deskew(&known, "poses", xyz, &own, index, stamp)).map_err(file)?;
    Ok(PyArray1::from_vec(py, moved).reshape([shape[0], 3])?.into_any().unbind())
}
