//! The grid as a class.

mod align;
mod pickled;
mod shared;

use self::align::guesses_of;
use super::result::fits;
use super::{NAMES, REPORT, SHORT, like_array};
use crate::args::List;
use crate::arrays::{OwnedBackend, Place};
use crate::cloud::{Cloud, own_stream};
use crate::ending::detached;
use crate::errors::{OrRaise, file, value};
use crate::interrupt::Effort;
use crate::keywords::Keywords;
use crate::pickle::{self, Reduced};
use crate::record::Fields;
use pointmill::ndt::{NdtAlignParams, NdtBuilder, NdtCells, NdtGrid as Grid, NdtParams, Neighbourhood, full_matrix};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Cells of normal distributions: a map to match scans against.
///
/// Rows are in the order of their cells by (z, y, x). Arrays that come from the grid are of the
/// library and on the device of the points it was made of; answers about a scan are of the library
/// and on the device of the scan. All of it has the same bits on every device, for any number of
/// threads and in any order of points.
///
/// Parameters
/// ----------
/// points : Scan, array or list, ``[N, 3]``
///     x, y, z in metres; further columns are not used. Points that are not finite are left out and counted.
/// resolution : float
///     Edge of a cell in metres. The lattice is anchored at zero of the points' frame.
/// covariance : {"autoware", "unbiased", "population"}
///     Which matrix is called the covariance of a cell.
/// min_points : int
///     Cells of fewer points are left out.
/// eigen_ratio : float
///     Eigenvalues below this part of the largest one are raised to it.
/// origin : 3 floats, optional
///     What is added to each point of float32; for maps far from zero. Cells are counted from it where points are of
///     float64, or where those about zero end before it.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from pointmill import ndt
/// >>> points = np.array([[0.25 + 0.5 * (i % 3), 0.25 + 0.5 * (i // 3), 0.5] for i in range(9)])
/// >>> grid = ndt.Grid(points, resolution=2.0)
/// >>> len(grid), grid.mean.tolist(), grid.normal.tolist()
/// (1, [[0.75, 0.75, 0.5]], [[0.0, 0.0, 1.0]])
#[pyclass(frozen, weakref, name = "Grid", module = "pointmill.ndt")]
pub(crate) struct NdtGrid {
    grid: Arc<Grid>,
    resolution: f64,
    place: Place,
    /// The library of the points, for which results are made.
    backend: OwnedBackend,
    cells: OnceLock<NdtCells>,
}

#[pymethods]
impl NdtGrid {
    #[new]
    #[pyo3(signature = (points, *, resolution, origin = None, **params),
        text_signature = "(points, *, resolution, covariance=\"autoware\", min_points=6, eigen_ratio=0.01, origin=None)")]
    fn new(
        py: Python<'_>,
        points: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = crate::args::plain)] resolution: f64,
        origin: Option<&Bound<'_, PyAny>>,
        params: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let params = NdtParams::default().with("Grid.__new__", params)?;
        let cloud = Cloud::read(points, "points", origin, "origin")?;
        let place = cloud.place();
        let local = cloud.lattice_origin(resolution);
        let grid = cloud.run(py, Effort::of(place, cloud.len(), SHORT), NAMES, move |points| {
            let mut builder = NdtBuilder::new(&own_stream(place)?, resolution, &params)?.about(local)?;
            builder.add(points)?;
            builder.finish()
        })?;
        Ok(Self { resolution, ..Self::of(grid, &cloud.array)? })
    }

    /// Read the grid that a file holds.
    ///
    /// Parameters
    /// ----------
    /// path : str or path
    ///     A map (.npz) of :meth:`save` or of ``pointmill ndt build``.
    /// like : array, optional
    ///     An array of the library and on the device that the grid is to have; of numpy otherwise.
    ///
    /// Returns
    /// -------
    /// Grid
    #[staticmethod]
    #[pyo3(signature = (path, *, like = None))]
    fn load(
        py: Python<'_>,
        #[pyo3(from_py_with = crate::args::plain)] path: PathBuf,
        like: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let like = like_array(py, like)?;
        let (cells, lattice) = detached(py, || pointmill_data::read_ndt_map(&path)).map_err(file)?;
        let place = like.place();
        let grid = detached(py, move || Grid::from_cells(cells, lattice, &own_stream(place)?));
        Self::of(grid.or_raise(NAMES)?, &like)
    }

    /// Write the grid to a file, whole or not at all. Equal grids give equal bytes.
    ///
    /// Parameters
    /// ----------
    /// path : str or path
    ///     The file, by convention named .npz.
    fn save(&self, py: Python<'_>, #[pyo3(from_py_with = crate::args::plain)] path: PathBuf) -> PyResult<()> {
        let (cells, lattice) = (self.cells()?, *self.grid.lattice());
        detached(py, || pointmill_data::write_ndt_map(pointmill_io::Place::named(&path), cells, &lattice)).map_err(file)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::way_back(slf, slf.get().to_fields(slf.py())?)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        Self::of_fields(fields)
    }

    fn __len__(&self) -> usize {
        self.grid.len()
    }

    fn __repr__(&self) -> String {
        format!("Grid({} cells of {} m on {})", self.grid.len(), self.resolution, self.place)
    }

    /// ``(x, y, z)``: what cells and means are about, in metres.
    #[getter]
    fn origin(&self) -> (f64, f64, f64) {
        self.grid.lattice().origin().into()
    }

    /// Edge of a cell in metres.
    #[getter]
    fn resolution(&self) -> f64 {
        self.resolution
    }

    /// What became of points and cells.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Fields::new(py, None).record(self.grid.report())?.of(&REPORT)
    }

    /// ``[V, 3]`` int32: cells, along x, y, z.
    #[getter]
    fn coords(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.rows(py, &[3], |cells| cells.coords.as_flattened().to_vec())
    }

    /// ``[V]`` int64: points of each cell.
    #[getter]
    fn counts(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.rows(py, &[], |cells| cells.counts.iter().map(|&n| i64::from(n)).collect())
    }

    /// ``[V, 3]`` float64: means in metres.
    #[getter]
    fn mean(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.rows(py, &[3], |cells| cells.mean.as_flattened().to_vec())
    }

    /// ``[V, 3, 3]`` float64: covariances in square metres, with raised eigenvalues.
    #[getter]
    fn covariance(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.rows(py, &[3, 3], |cells| cells.covariance.iter().copied().flat_map(full_matrix).collect())
    }

    /// ``[V, 3, 3]`` float64: their inverses.
    #[getter]
    fn inverse_covariance(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.rows(py, &[3, 3], |cells| cells.inverse.iter().copied().flat_map(full_matrix).collect())
    }

    /// ``[V, 3]`` float64: eigenvalues of the covariances, ascending.
    #[getter]
    fn eigenvalues(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.rows(py, &[3], |cells| cells.eigenvalues.as_flattened().to_vec())
    }

    /// ``[V, 3]`` float64: the direction in which the points of each cell vary least.
    #[getter]
    fn normal(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.rows(py, &[3], |cells| cells.normal.as_flattened().to_vec())
    }

    /// Find the pose at which a scan fits best, near a guess.
    ///
    /// Parameters
    /// ----------
    /// scan : Scan, array or list, ``[N, 3]``
    ///     x, y, z in metres, in the sensor's frame, where the grid's points were.
    /// guess : array, optional
    ///     Where to start: the identity if none is given, which is right only for a scan near the origin of the grid. From a guess that is far off the alignment converges at a wrong pose, which a
    ///     low ``nvtl`` tells (below 2.3 for cells of 2 m); :class:`pointmill.Localizer` searches without a guess. Poses of shape ``[6]`` or ``[P, 6]`` (x, y, z in metres, roll, pitch, yaw in radians; the rotation is Rx Ry Rz), or rigid transforms ``[4, 4]`` or ``[P, 4, 4]``, whose
    ///     rotations may have entries up to 1e-3 off the nearest rotation, which then counts.
    /// step_size : float
    ///     Longest step.
    /// epsilon : float
    ///     A shorter step ends it.
    /// max_iterations : int
    ///     Most steps.
    /// origin : 3 floats, optional
    ///     What is added to each point of float32.
    ///
    /// Returns
    /// -------
    /// NdtRegistration
    ///     Or a list of them, for several guesses. An alignment that fails is a result that says so.
    #[pyo3(signature = (scan, guess = None, *, origin = None, **params),
        text_signature = "($self, scan, guess=None, *, step_size=0.1, epsilon=0.01, max_iterations=30, origin=None)")]
    fn align<'py>(
        &self,
        py: Python<'py>,
        scan: &Bound<'py, PyAny>,
        guess: Option<&Bound<'py, PyAny>>,
        origin: Option<&Bound<'py, PyAny>>,
        params: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let params = NdtAlignParams::default().with("Grid.align", params)?;
        self.align_one(py, scan, guess, params, origin)
    }

    /// Find the poses at which many scans fit best, in one call.
    ///
    /// On a GPU each step of all alignments is one launch; on the CPU threads share the alignments.
    /// Each result has the bits that :meth:`align` returns for its scan.
    ///
    /// Parameters
    /// ----------
    /// scans : sequence of scans or arrays of float32 or float64, ``[N, 3]``
    ///     Each as `scan` of :meth:`align`.
    /// guesses : sequence of arrays, optional
    ///     As many as scans, each as `guess` of :meth:`align`; identity.
    /// step_size, epsilon, max_iterations, origin
    ///     As of :meth:`align`, for all scans.
    ///
    /// Returns
    /// -------
    /// list
    ///     For each scan what :meth:`align` returns. A scan or guess that :meth:`align` refuses has its exception in the list, and the other scans have their results.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np
    /// >>> from pointmill import ndt
    /// >>> a, b = (x.ravel() * 0.1 + 0.05 for x in np.meshgrid(np.arange(60), np.arange(60)))
    /// >>> room = np.concatenate([np.stack(p, 1) for p in ((a, b, 0 * a), (0 * a, a, b), (a, 0 * a, b))])
    /// >>> grid = ndt.Grid(room, resolution=1.0)
    /// >>> found = grid.align_many([room[::7] - [x, 0, 0] for x in (0.1, 0.2)])
    /// >>> [round(float(one.xyzrpy[0]), 1) for one in found]
    /// [0.1, 0.2]
    #[pyo3(signature = (scans, guesses = None, *, origin = None, **params),
        text_signature = "($self, scans, guesses=None, *, step_size=0.1, epsilon=0.01, max_iterations=30, origin=None)")]
    fn align_many<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = crate::args::plain)] scans: List<Bound<'py, PyAny>>,
        #[pyo3(from_py_with = crate::args::plain)] guesses: Option<List<Bound<'py, PyAny>>>,
        origin: Option<&Bound<'py, PyAny>>,
        params: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let params = NdtAlignParams::default().with("Grid.align_many", params)?;
        let guesses = guesses.as_ref().map(|List(guesses)| guesses.as_slice());
        self.align_all(py, &scans.0, guesses, params, origin)
    }

    /// Compute how well a scan fits at each of some poses.
    ///
    /// Parameters
    /// ----------
    /// scan : Scan, array or list, ``[N, 3]``
    ///     As of :meth:`align`.
    /// poses : array
    ///     As `guess` of :meth:`align`.
    /// origin : 3 floats, optional
    ///     What is added to each point of float32.
    ///
    /// Returns
    /// -------
    /// NdtFit
    ///     Arrays ``[P]``.
    #[pyo3(signature = (scan, poses, *, origin = None))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        scan: &Bound<'py, PyAny>,
        poses: &Bound<'py, PyAny>,
        origin: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (poses, _) = crate::poses::poses(poses, "poses")?;
        let scan = self.scan(scan, "scan", origin)?;
        let times = poses.len();
        let found = self.run(py, &scan, move |grid, cloud| grid.score(cloud, &poses), times)?;
        fits(&scan.array.backend(), &found)
    }

    /// Compute how well each point of a scan fits at a pose.
    ///
    /// Parameters
    /// ----------
    /// scan : Scan, array or list, ``[N, 3]``
    ///     As of :meth:`align`.
    /// pose : array, ``[6]`` or ``[4, 4]``, optional
    ///     Identity, or a pose.
    /// origin : 3 floats, optional
    ///     What is added to each point of float32.
    ///
    /// Returns
    /// -------
    /// array of float64, ``[N, 2]``
    ///     The sum of each point's terms, and the largest.
    #[pyo3(signature = (scan, pose = None, *, origin = None))]
    fn point_scores(
        &self,
        py: Python<'_>,
        scan: &Bound<'_, PyAny>,
        pose: Option<&Bound<'_, PyAny>>,
        origin: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let (poses, _) = guesses_of(pose, "pose")?;
        let [pose] = poses[..] else { return Err(value("pose", "one pose", poses.len())) };
        let scan = self.scan(scan, "scan", origin)?;
        let scores = self.run(py, &scan, move |grid, cloud| grid.point_scores(cloud, &pose), 1)?;
        Ok(scan.array.backend().give_values(scores.as_flattened().to_vec(), &[scores.len(), 2])?.unbind())
    }

    /// Find all rows whose mean lies strictly within a radius of each point.
    ///
    /// Parameters
    /// ----------
    /// points : Scan, array or list, ``[N, 3]``
    ///     x, y, z in metres.
    /// radius : float
    ///     Metres.
    /// origin : 3 floats, optional
    ///     What is added to each point of float32.
    ///
    /// Returns
    /// -------
    /// row_splits : array of int32, ``[N + 1]``
    ///     Where each point's rows start.
    /// rows : array of int32, ``[K]``
    ///     The nearest row first.
    /// distance_squared : array of float64, ``[K]``
    ///     In square metres.
    #[pyo3(signature = (points, radius, *, origin = None))]
    fn radius_search(
        &self,
        py: Python<'_>,
        points: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = crate::args::plain)] radius: f64,
        origin: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Py<PyAny>, Py<PyAny>, Py<PyAny>)> {
        let points = self.scan(points, "points", origin)?;
        let found = self.run(py, &points, move |grid, cloud| grid.radius_search(cloud, radius), 1)?;
        let (backend, len) = (points.array.backend(), found.len());
        Ok((
            backend.give(found.row_splits, &[points.len() + 1])?.unbind(),
            backend.give(found.rows, &[len])?.unbind(),
            backend.give(found.distance_squared, &[len])?.unbind(),
        ))
    }

    /// Find the rows around the cell of each point.
    ///
    /// Parameters
    /// ----------
    /// points : Scan, array or list, ``[N, 3]``
    ///     x, y, z in metres.
    /// cells : {1, 7, 27}
    ///     The cell itself; and the six beside its faces; and all that touch it.
    /// origin : 3 floats, optional
    ///     What is added to each point of float32.
    ///
    /// Returns
    /// -------
    /// row_splits : array of int32, ``[N + 1]``
    ///     Where each point's rows start.
    /// rows : array of int32, ``[K]``
    ///     Ascending.
    #[pyo3(signature = (points, cells = 7, *, origin = None))]
    fn neighbours(
        &self,
        py: Python<'_>,
        points: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = crate::args::plain)] cells: i64,
        origin: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let near = match cells {
            1 => Neighbourhood::One,
            7 => Neighbourhood::Seven,
            27 => Neighbourhood::TwentySeven,
            other => return Err(value("cells", "1 or 7 or 27", other)),
        };
        let points = self.scan(points, "points", origin)?;
        let found = self.run(py, &points, move |grid, cloud| grid.neighbours(cloud, near), 1)?;
        let (backend, len) = (points.array.backend(), found.len());
        Ok((backend.give(found.row_splits, &[points.len() + 1])?.unbind(), backend.give(found.rows, &[len])?.unbind()))
    }
}
