//! Exact neighbours as a class, and normals.

use super::NAMES;
use crate::args::{named, whole};
use crate::arrays::{Dtype, OwnedBackend, Place};
use crate::cloud::{self, Cloud, own_stream};
use crate::errors::{OrRaise, value};
use crate::interrupt::{self, Effort};
use crate::pickle::{self, MadeAgain};
use pointmill::Result;
use pointmill::icp::{Neighbour, Search, Searcher};
use pointmill::internals::memory;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// So many neighbours are found in about a millisecond on the CPU.
const SHORT: usize = 4096;

/// Points that a query within a radius is taken to find.
const MANY: usize = 32;

/// Exact nearest neighbours of queries among points.
///
/// The nearest point is the one of smallest squared distance in float32, and of equally near ones
/// the one of the lowest index; every search and device returns the same. Points and queries that
/// are not finite have no neighbours.
///
/// Points of float64 are searched about a centre of their own, which is subtracted from them and
/// from queries before they become float32; those of float32 with an origin about that.
///
/// Parameters
/// ----------
/// points : Scan, array or list, ``[N, 3]``
///     x, y, z; further columns are not used. On a GPU they are of float32.
/// search : {"auto", "brute", "kdtree", "lbvh"}
///     How neighbours are searched for; the result does not depend on it.
/// origin : 3 floats, optional
///     What is added to each point of float32; queries are in the same frame.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from pointmill import icp
/// >>> searcher = icp.Searcher(np.array([[0, 0, 0], [1, 0, 0], [1, 0, 0]], np.float32))
/// >>> rows, squared = searcher.nearest([[0.75, 0, 0], [0, 9, 0]], max_distance=2.0)
/// >>> rows.tolist(), squared.tolist()
/// ([1, -1], [0.0625, inf])
/// >>> row_splits, rows, squared = searcher.radius_search([[0.75, 0, 0], [0, 9, 0]], 0.5)
/// >>> row_splits.tolist(), rows.tolist(), squared.tolist()
/// ([0, 2, 2], [1, 2], [0.0625, 0.0625])
#[pyclass(frozen, weakref, name = "Searcher", module = "pointmill.icp")]
pub(crate) struct IcpSearcher {
    searcher: Arc<Searcher>,
    place: Place,
    backend: OwnedBackend,
}

#[pymethods]
impl IcpSearcher {
    #[new]
    #[pyo3(signature = (points, *, search = "auto", origin = None))]
    fn new(
        py: Python<'_>,
        points: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = crate::args::plain)] search: &str,
        origin: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let search = named::<Search>(search, "search")?;
        let mut cloud = Cloud::read(points, "points", origin, "origin")?;
        let place = cloud.place();
        if place != Place::Cpu {
            cloud.array = cloud.array.of(&[Dtype::F32])?;
        }
        let searcher = cloud.run(py, Effort::of(place, cloud.len(), SHORT), NAMES, move |points| {
            Searcher::new(&own_stream(place)?, points, search)
        })?;
        Ok(Self { searcher: Arc::new(searcher), place, backend: cloud.array.backend().keep()? })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<MadeAgain<'py>> {
        let (py, IcpSearcher { searcher, backend, .. }) = (slf.py(), slf.get());
        let Some(points) = searcher.points() else {
            return pickle::refused("Searcher", "make one of its points, which can be pickled");
        };
        let fields = PyDict::new(py);
        fields.set_item("points", backend.bind(py).give_values(points.as_flattened().to_vec(), &[points.len(), 3])?)?;
        fields.set_item("search", searcher.search().as_str())?;
        // Points of float64 were put about it, and stay where they are.
        fields.set_item("origin", Some(searcher.centre()).filter(|centre| *centre != [0.0; 3]))?;
        pickle::made_again(slf, &fields)
    }

    /// Nothing changes a searcher, so a copy is the same one.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __len__(&self) -> usize {
        self.searcher.len()
    }

    fn __repr__(&self) -> String {
        format!("Searcher({} points on {}, {})", self.searcher.len(), self.place, self.searcher.search())
    }

    /// The search that is used; never "auto".
    #[getter]
    fn search(&self) -> &'static str {
        self.searcher.search().as_str()
    }

    /// Find the nearest point of each query.
    ///
    /// Parameters
    /// ----------
    /// queries : Scan or array, ``[Q, 3]``
    ///     x, y, z in the frame of the points; further columns are not used. An array of a GPU is copied to the host.
    /// max_distance : float, optional
    ///     Points farther away are not found; a point at the distance is.
    ///
    /// Returns
    /// -------
    /// rows : array of int64, ``[Q]``
    ///     The row of the nearest point, or -1. Arrays are of the library and on the device of the points.
    /// distance_squared : array of float32, ``[Q]``
    ///     Its squared distance, or inf.
    #[pyo3(signature = (queries, max_distance = None))]
    fn nearest(
        &self,
        py: Python<'_>,
        queries: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = crate::args::plain)] max_distance: Option<f64>,
    ) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let queries = self.queries(queries)?;
        let shape = [queries.len()];
        let found = self.run(py, queries.len(), move |searcher| {
            let found = searcher.nearest(&queries, max_distance)?;
            columns(found.len(), found.into_iter())
        })?;
        self.give(py, found, &shape)
    }

    /// Find the `k` nearest points of each query, the nearest first.
    ///
    /// Parameters
    /// ----------
    /// queries : Scan or array, ``[Q, 3]``
    ///     x, y, z in the frame of the points; further columns are not used. An array of a GPU is copied to the host.
    /// k : int
    ///     1 to 65536, on a GPU to 32.
    /// max_distance : float, optional
    ///     Points farther away are not found; a point at the distance is. For all points within a radius see :meth:`radius_search`.
    ///
    /// Returns
    /// -------
    /// rows : array of int64, ``[Q, k]``
    ///     Rows of points, and -1 where there are fewer. Arrays are of the library and on the device of the points.
    /// distance_squared : array of float32, ``[Q, k]``
    ///     Their squared distances, and inf.
    #[pyo3(signature = (queries, k, max_distance = None))]
    fn neighbours(
        &self,
        py: Python<'_>,
        queries: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = crate::args::plain)] k: i64,
        #[pyo3(from_py_with = crate::args::plain)] max_distance: Option<f64>,
    ) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let k = whole(k, 0, "k")? as usize;
        let queries = self.queries(queries)?;
        let shape = [queries.len(), k];
        let size = queries.len().saturating_mul(k.max(1));
        let found = self.run(py, size, move |searcher| {
            let found = searcher.neighbours(&queries, k, max_distance)?;
            columns(size, found.iter().flat_map(|list| (0..k).map(|i| list.get(i).copied())))
        })?;
        self.give(py, found, &shape)
    }

    /// Find all points within a radius of each query. It works on the CPU alone.
    ///
    /// Parameters
    /// ----------
    /// queries : Scan or array, ``[Q, 3]``
    ///     x, y, z in the frame of the points; further columns are not used.
    /// radius : float
    ///     Metres; a point at this distance is found.
    /// max_results : int, optional
    ///     So many of the nearest points at most.
    ///
    /// Returns
    /// -------
    /// row_splits : array of int64, ``[Q + 1]``
    ///     Where each query's points start.
    /// rows : array of int64, ``[K]``
    ///     Rows of points, the nearest first, of equally near ones the lowest first.
    /// distance_squared : array of float32, ``[K]``
    ///     Their squared distances.
    #[pyo3(signature = (queries, radius, max_results = None))]
    fn radius_search(
        &self,
        py: Python<'_>,
        queries: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = crate::args::plain)] radius: f64,
        #[pyo3(from_py_with = crate::args::plain)] max_results: Option<i64>,
    ) -> PyResult<(Py<PyAny>, Py<PyAny>, Py<PyAny>)> {
        if self.place != Place::Cpu {
            let expected = "a searcher of points on the CPU for this search; make one of a copy of them there";
            return Err(value("radius_search", expected, format_args!("one on {}", self.place)));
        }
        let most = max_results.map(|n| whole(n, 1, "max_results")).transpose()?.map(|n| n as usize);
        let queries = self.queries(queries)?;
        // How many there are within the radius is not known.
        let size = queries.len().saturating_mul(MANY);
        let (starts, rows, squared) = self.run(py, size, move |searcher| {
            let found = searcher.radius_search(&queries, radius, most)?;
            let starts = memory::collect(found.row_splits.iter().map(|start| *start as i64))?;
            let (rows, squared) = columns(found.neighbours.len(), found.neighbours.iter().copied().map(Some))?;
            Ok((starts, rows, squared))
        })?;
        let (backend, queries, len) = (self.backend.bind(py), starts.len(), rows.len());
        Ok((
            backend.give_values(starts, &[queries])?.unbind(),
            backend.give_values(rows, &[len])?.unbind(),
            backend.give_values(squared, &[len])?.unbind(),
        ))
    }

    /// Estimate the normal of each point from its `k` nearest points; see
    /// :func:`pointmill.icp.normals`.
    ///
    /// Parameters
    /// ----------
    /// k : int
    ///     1 to 32, the point itself included.
    ///
    /// Returns
    /// -------
    /// array of float32, ``[N, 3]``
    ///     Of the library and on the device of the points.
    #[pyo3(signature = (k = 20))]
    fn normals(&self, py: Python<'_>, #[pyo3(from_py_with = crate::args::plain)] k: i64) -> PyResult<Py<PyAny>> {
        let k = whole(k, 0, "k")? as usize;
        let size = self.searcher.len().saturating_mul(k.max(1));
        let found = self.run(py, size, move |searcher| {
            let found = searcher.normals(k)?;
            memory::collect(found.as_flattened().iter().copied())
        })?;
        let points = found.len() / 3;
        Ok(self.backend.bind(py).give_values(found, &[points, 3])?.unbind())
    }
}

impl IcpSearcher {
    /// Queries about the centre of the points.
    fn queries(&self, queries: &Bound<'_, PyAny>) -> PyResult<Vec<[f32; 3]>> {
        let coordinates = cloud::coordinates(queries, "queries")?;
        self.searcher.relative(&coordinates).or_raise(NAMES)
    }

    /// Runs a search of so many neighbours.
    fn run<R: Send + 'static>(
        &self,
        py: Python<'_>,
        neighbours: usize,
        work: impl FnOnce(&Searcher) -> Result<R> + Send + 'static,
    ) -> PyResult<R> {
        let compared = if self.searcher.search() == Search::Brute { self.searcher.len() / 256 } else { 0 };
        let effort = Effort::of(self.place, neighbours.saturating_mul(compared.max(1)), SHORT);
        let searcher = self.searcher.clone();
        interrupt::run(py, effort, (), move |()| work(&searcher))?.or_raise(NAMES)
    }

    fn give(
        &self,
        py: Python<'_>,
        (rows, squared): (Vec<i64>, Vec<f32>),
        shape: &[usize],
    ) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let backend = self.backend.bind(py);
        Ok((backend.give_values(rows, shape)?.unbind(), backend.give_values(squared, shape)?.unbind()))
    }
}

/// Rows and squared distances of so many neighbours; -1 and infinity where there is none.
fn columns(len: usize, found: impl Iterator<Item = Option<Neighbour>>) -> Result<(Vec<i64>, Vec<f32>)> {
    let (mut rows, mut squared) = (Vec::new(), Vec::new());
    memory::room(&mut rows, len)?;
    memory::room(&mut squared, len)?;
    for one in found {
        rows.push(one.map_or(-1, |one| one.index.into()));
        squared.push(one.map_or(f32::INFINITY, |one| one.distance_squared));
    }
    Ok((rows, squared))
}

/// Estimate the normal of each point from its `k` nearest points, itself included.
///
/// Parameters
/// ----------
/// points : Scan, array or list, ``[N, 3]``
///     x, y, z; further columns are not used. On a GPU they are of float32.
/// k : int
///     1 to 32.
///
/// Returns
/// -------
/// array of float32, ``[N, 3]``
///     The direction in which the neighbours spread least, of length one and of either sign; zeros for a point whose neighbours span no plane.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from pointmill import icp
/// >>> floor = np.array([[i % 10, i // 10, 2.0] for i in range(100)], np.float32)
/// >>> abs(icp.normals(floor, 9))[0].tolist()
/// [0.0, 0.0, 1.0]
#[pyfunction]
#[pyo3(signature = (points, k = 20))]
pub(crate) fn normals(
    py: Python<'_>,
    points: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] k: i64,
) -> PyResult<Py<PyAny>> {
    IcpSearcher::new(py, points, "auto", None)?.normals(py, k)
}
