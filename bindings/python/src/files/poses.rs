//! Poses in files.

use crate::args::named;
use crate::ending::detached;
use crate::errors::{file, value, warn};
use crate::poses;
use numpy::{PyArray1, PyArrayMethods};
use pointmill_io::{Place, PoseFormat, PoseOptions, Poses};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Read the poses of a file.
///
/// Parameters
/// ----------
/// path : str or path
///     Text of KITTI (12 numbers per line), TUM (time, translation, quaternion), EuRoC (a header, nanoseconds, w first), 4x4 matrices or x, y, z, roll, pitch, yaw; or the Feather table of an Argoverse 2 log.
/// format : {"kitti", "tum", "matrix", "xyzrpy", "euroc", "argoverse2"}, optional
///     The format; by default the first line decides, or EuRoC's header.
///
/// Returns
/// -------
/// poses : array of float64, ``[P, 4, 4]``
///     Rigid transforms.
/// times : array of float64, ``[P]``, or None
///     Seconds, if the file has times.
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> import numpy as np
/// >>> import pointmill
/// >>> path = os.path.join(tempfile.mkdtemp(), "poses.txt")
/// >>> pointmill.write_poses(path, np.eye(4)[None], times=[0.5], format="tum")
/// >>> poses, times = pointmill.read_poses(path)
/// >>> poses.shape, times.tolist()
/// ((1, 4, 4), [0.5])
#[pyfunction]
#[pyo3(signature = (path, *, format = None))]
pub(crate) fn read_poses(
    py: Python<'_>,
    #[pyo3(from_py_with = crate::args::plain)] path: PathBuf,
    #[pyo3(from_py_with = crate::args::plain)] format: Option<&str>,
) -> PyResult<(Py<PyAny>, Option<Py<PyAny>>)> {
    let format = format.map(|word| named::<PoseFormat>(word, "format")).transpose()?;
    let options = PoseOptions { format, ..PoseOptions::default() };
    let Poses { poses, times, warnings, .. } =
        detached(py, || pointmill_io::read_poses(&path, &options)).map_err(file)?;
    warn(py, warnings.iter().map(|told| format!("{}: {told}", path.display())))?;
    let shape = [poses.len(), 4, 4];
    let numbers: Vec<f64> = poses.iter().flat_map(pointmill::Pose::matrix).flatten().collect();
    let poses = PyArray1::from_vec(py, numbers).reshape(shape)?.into_any().unbind();
    Ok((poses, times.map(|times| PyArray1::from_vec(py, times).into_any().unbind())))
}

/// Write poses to a file, whole or not at all. Numbers are the shortest that read back as the same
/// float64.
///
/// Parameters
/// ----------
/// path : str or path
///     The file.
/// poses : array, ``[P, 4, 4]`` or ``[P, 6]``
///     Rigid transforms, or x, y, z, roll, pitch, yaw.
/// times : array, ``[P]``, optional
///     Seconds; ``"tum"`` needs them, or ``stamps_ns``.
/// format : {"kitti", "tum", "matrix", "xyzrpy"}
///     The format.
/// stamps_ns : list of int, ``[P]``, optional
///     The times in whole nanoseconds, for ``"tum"``. All of their digits are written; float64 seconds since 1970 are 240 ns apart.
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> import numpy as np
/// >>> import pointmill
/// >>> path = os.path.join(tempfile.mkdtemp(), "poses.txt")
/// >>> pointmill.write_poses(path, np.eye(4)[None])
/// >>> open(path).read()
/// '1 0 0 0 0 1 0 0 0 0 1 0\n'
#[pyfunction]
#[pyo3(signature = (path, poses, *, times = None, format = "kitti", stamps_ns = None))]
pub(crate) fn write_poses(
    py: Python<'_>,
    #[pyo3(from_py_with = crate::args::plain)] path: PathBuf,
    poses: &Bound<'_, PyAny>,
    times: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] format: &str,
    #[pyo3(from_py_with = crate::args::plain)] stamps_ns: Option<Vec<i64>>,
) -> PyResult<()> {
    let format: PoseFormat = named(format, "format")?;
    let (poses, _) = poses::poses(poses, "poses")?;
    if let Some(stamps) = stamps_ns {
        if times.is_some() || format != PoseFormat::Tum {
            let got = if times.is_some() { "both".into() } else { format!("format={:?}", format.as_str()) };
            return Err(value("stamps_ns", "format=\"tum\" and no times", got));
        }
        return detached(py, || pointmill_io::write_stamped_poses(Place::named(&path), &poses, &stamps)).map_err(file);
    }
    let times = times.map(|times| poses::row(times, "times")).transpose()?;
    let written = Poses { poses, times, ..Poses::default() };
    detached(py, || pointmill_io::write_poses(Place::named(&path), &written, format)).map_err(file)
}
