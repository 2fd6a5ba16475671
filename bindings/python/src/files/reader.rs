//! Clouds from files.

use super::{Scan, default_options};
use crate::arrays::Place;
use crate::interrupt::Effort;
use crate::keywords::Keywords;
use pointmill_data::log_stamp_ns;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Files of so many bytes are read in about a millisecond.
const SHORT: usize = 1 << 16;

/// Read the cloud of a file.
///
/// Parameters
/// ----------
/// path : str or path
///     A file of any format that ``pointmill info`` reads: raw float32 rows, npy, npz, PLY, PCD, LAS, LAZ, E57, Arrow, Feather, text, or a bag of one cloud.
/// format : str, optional
///     The format; by default the name of the file decides, then its content.
/// columns : int, optional
///     The number of columns of raw rows: by default 4, in nuScenes files 5.
/// dataset : str, optional
///     The data set of the file, which names its columns, such as ``"kitti"``, ``"waymo"`` or ``"argoverse2"``. ``"kitti-odometry"`` also turns every point up by 0.205 degrees, by which
///     KITTI's calibration is off, in a file of any format.
/// scan : int, optional
///     The scan of an E57 file, from 0; by default all of them.
/// topic : str, optional
///     The topic of a bag; by default its only one. :func:`read_bag` joins several.
/// salvage : bool
///     Read the whole points of a file that was cut.
/// local_origin : {"auto", "none"} or 3 floats
///     What is subtracted from coordinates before they become float32. ``"auto"``: nothing if no coordinate moves by 1 mm or more, else the corner of the square kilometre in which the cloud begins.
///
/// Returns
/// -------
/// Scan
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> import numpy as np
/// >>> import pointmill
/// >>> path = os.path.join(tempfile.mkdtemp(), "a.ply")
/// >>> pointmill.write(path, np.array([[1.0, 2.0, 3.0, 0.5]], np.float32), names=["x", "y", "z", "intensity"])
/// >>> scan = pointmill.read(path)
/// >>> scan
/// Scan(1 points of x, y, z, intensity, ply)
/// >>> scan.points.tolist()
/// [[1.0, 2.0, 3.0, 0.5]]
#[pyfunction]
#[pyo3(signature = (path, **options),
    text_signature = "(path, *, format=None, columns=None, dataset=None, scan=None, topic=None, salvage=False, local_origin='auto')")]
pub(crate) fn read(
    py: Python<'_>,
    #[pyo3(from_py_with = crate::args::plain)] path: PathBuf,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Scan> {
    let options = default_options().with("read", options)?;
    let stamp_ns = log_stamp_ns(&path).and_then(|stamp| i64::try_from(stamp).ok());
    let deskewed = pointmill_data::is_deskewed(&path, options.dataset);
    // What cannot be looked at is refused at once.
    let bytes = std::fs::metadata(&path).map_or(0, |found| found.len());
    let effort = Effort::of(Place::Cpu, usize::try_from(bytes).unwrap_or(usize::MAX), SHORT);
    Ok(Scan { stamp_ns, deskewed, ..Scan::new(py, effort, move || pointmill_io::read(&path, &options))? })
}
