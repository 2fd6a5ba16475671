//! Files of inputs, and what names in a log say.

use crate::args::List;
use crate::ending::detached;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// The files that inputs mean, as the command finds them.
///
/// A folder means the point clouds directly in it, a pattern (``*``, ``?``, ``[..]``, ``**``) the
/// files that it matches, both in natural order: ``2.bin`` before ``10.bin``. Anything else means
/// itself.
///
/// Parameters
/// ----------
/// inputs : list of str or path
///     Files, folders and patterns.
///
/// Returns
/// -------
/// list of (str, str or None)
///     The path of each file, and why it cannot be an input, such as a pipe, a link that leads out of its folder, or a folder without a cloud; ``None`` for a file that can.
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> import pointmill
/// >>> folder = tempfile.mkdtemp()
/// >>> for name in ("10.bin", "2.bin", "notes.txt"):
/// ...     open(os.path.join(folder, name), "w").close()
/// >>> [os.path.basename(path) for path, error in pointmill.find_inputs([folder])]
/// ['2.bin', '10.bin']
#[pyfunction]
pub(crate) fn find_inputs(py: Python<'_>, inputs: List<PathBuf>) -> Vec<(OsString, Option<String>)> {
    let List(inputs) = inputs;
    let refused = |error: pointmill_io::IoError| (error.path().as_os_str().to_owned(), Some(error.to_string()));
    let one = |input: &PathBuf| match pointmill_data::find_inputs(&[input]) {
        Ok(found) => {
            found.into_iter().map(|file| file.map_or_else(refused, |path| (path.into_os_string(), None))).collect()
        }
        Err(error) => vec![refused(error)],
    };
    detached(py, || inputs.iter().flat_map(one).collect())
}

/// The poses of the Argoverse 2 log that a sweep, or the folder of its sweeps, belongs to.
///
/// Parameters
/// ----------
/// sweeps : str or path
///     A folder ``LOG/sensors/lidar``, or a file in it.
///
/// Returns
/// -------
/// str or None
///     ``LOG/city_SE3_egovehicle.feather``, if it is there.
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> import pointmill
/// >>> log = tempfile.mkdtemp()
/// >>> os.makedirs(os.path.join(log, "sensors", "lidar"))
/// >>> open(os.path.join(log, "city_SE3_egovehicle.feather"), "wb").close()
/// >>> os.path.basename(pointmill.find_log_poses(os.path.join(log, "sensors", "lidar")))
/// 'city_SE3_egovehicle.feather'
#[pyfunction]
pub(crate) fn find_log_poses(sweeps: PathBuf) -> Option<OsString> {
    pointmill_data::find_log_poses(sweeps).map(PathBuf::into_os_string)
}

/// The time of a sweep of Argoverse 2 in seconds, by its name.
///
/// Parameters
/// ----------
/// sweep : str or path
///     The file, which need not be there.
///
/// Returns
/// -------
/// float or None
///     Seconds as the log counts them, if the name is nanoseconds and the folder ``sensors/lidar``.
///
/// Examples
/// --------
/// >>> import pointmill
/// >>> pointmill.log_stamp("log/sensors/lidar/315966265259836000.feather")
/// 315966265.259836
/// >>> pointmill.log_stamp("sweep.bin")
#[pyfunction]
pub(crate) fn log_stamp(sweep: PathBuf) -> Option<f64> {
    pointmill_data::log_stamp(sweep)
}
