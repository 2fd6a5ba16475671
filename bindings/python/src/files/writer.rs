//! Clouds to files.

use super::{Scan, cloud, default_names};
use crate::args::{List, named};
use crate::ending::detached;
use crate::errors::{OrRaise, file, value, warn};
use pointmill::Points;
use pointmill_io::{Format, NamedPoints, WriteOptions};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Write a cloud to a file, whole or not at all. The same cloud gives the same bytes.
///
/// Parameters
/// ----------
/// path : str or path
///     The file. Its ending decides the format: .ply, .pcd, .npz, .npy, .bin, .feather, .arrow, .csv or .xyz.
/// points : Scan or array of float32, ``[N, C]``
///     What :func:`read` returned, or an array of the host, x, y, z first. Of a scan, columns such as times of float64 are written with every bit where the format holds them, and a LAS file keeps coordinate reference system, scale and offset. Of .ply, .csv and .xyz the system stands beside, as .prj. What the format does not keep is a :class:`UserWarning`.
/// names : list of str, optional
///     A name for each column; by default x, y, z, column3 and so on.
/// xyz : array of float64, ``[N, 3]``, optional
///     x, y, z with more bits, which .ply, .pcd, .npz, .feather, .arrow, .csv and .xyz keep.
/// format : str, optional
///     The format, if the ending does not name it.
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> import numpy as np
/// >>> import pointmill
/// >>> folder = tempfile.mkdtemp()
/// >>> pointmill.write(os.path.join(folder, "a.pcd"), np.zeros((2, 3), np.float32))
/// >>> pointmill.write(os.path.join(folder, "b.npy"), pointmill.read(os.path.join(folder, "a.pcd")))
/// >>> np.load(os.path.join(folder, "b.npy")).shape
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (path, points, *, names = None, xyz = None, format = None))]
pub(crate) fn write(
    py: Python<'_>,
    #[pyo3(from_py_with = crate::args::plain)] path: PathBuf,
    points: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] names: Option<List<String>>,
    xyz: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] format: Option<&str>,
) -> PyResult<()> {
    let options = WriteOptions { format: format.map(|word| named(word, "format")).transpose()? };
    let place = || pointmill_io::Place::named(&path);
    let names = names.map(|List(names)| names);
    if let (Ok(scan), None) = (points.cast::<Scan>(), xyz) {
        let write = |named: NamedPoints<'_>| {
            let to = options.format.or_else(|| Format::for_writing(&path));
            let lost = to.map(|to| named.lost_in(to)).unwrap_or_default();
            pointmill_io::write(place(), named, &options).map(|()| lost)
        };
        let lost = scan.get().with_named(py, names.as_deref(), write)?.map_err(file)?;
        // What changes on the way is said, as the command says it.
        return warn(py, lost.iter().map(|warning| format!("write: {}: {warning:#}", path.display())));
    }
    let (array, read_names, origin) = match points.cast::<Scan>() {
        Ok(scan) => {
            let scan = scan.get();
            (scan.points(py).clone(), Some(scan.names.clone()), scan.origin.into())
        }
        Err(_) => (points.clone(), None, [0.0; 3]),
    };
    let (data, shape) = cloud::<f32>(&array, "points")?;
    let exact = xyz.map(|xyz| cloud::<f64>(xyz, "xyz")).transpose()?;
    if let Some((_, got)) = exact.as_ref().filter(|(_, got)| *got != [shape[0], 3]) {
        return Err(value("xyz", format_args!("shape {:?}", [shape[0], 3]), format_args!("shape {got:?}")));
    }
    let names = names.or(read_names).unwrap_or_else(|| default_names(shape[1]));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let points = Points::new(&data, shape[1]).map_err(pointmill::Error::from).or_raise(&[])?;
    let mut named = NamedPoints::new(points, &names);
    named.xyz_f64 = exact.as_ref().map(|(xyz, _)| xyz.as_slice());
    named.origin = origin;
    detached(py, || pointmill_io::write(place(), named, &options)).map_err(file)
}
