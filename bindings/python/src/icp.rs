//! Iterative closest point.

mod many;

pub(crate) use many::align_many;

use crate::args::{List, named, whole};
use crate::arrays::{Dtype, Home, KeptHome, Place};
use crate::cache::Cache;
use crate::cloud::{Cloud, own_stream};
use crate::errors::{Names, OrRaise, kind, value};
use crate::interrupt::{self, Effort};
use crate::pickle::{self, Reduced};
use crate::poses;
use crate::record::{Attributes, Class, Fields};
use numpy::{PyArray1, PyArrayMethods};
use pointmill::Pose;
use pointmill::icp::{
    Aligner, IcpParams, Iteration, Metric, Neighbour, Registration, Robust, Search, Searcher, Stage, Target,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use std::sync::Arc;

const NAMES: Names = &[];

/// So many points are aligned in little more than a millisecond on the CPU.
const SHORT: usize = 1024;
/// So many neighbours are found in about a millisecond on the CPU.
const SHORT_SEARCH: usize = 4096;

/// Points that a query within a radius is taken to find.
const MANY: usize = 32;

pub(crate) static CACHE: Cache<IcpParams, Aligner> = Cache::new();

pub(crate) static ITERATION: Class = Class {
    name: "IcpIteration",
    module: "pointmill",
    doc: "One iteration: the pairs at a pose, and the step from there.",
    repr: Some("IcpIteration(stage={stage}, pairs={pairs}, rmse={rmse:.6f}, step={step:.6f})"),
    equal: false,
    attributes: || Attributes::default().record::<Iteration>("list[list[float]]"),
    made: PyOnceLock::new(),
};

pub(crate) static REGISTRATION: Class = Class {
    name: "IcpRegistration",
    module: "pointmill",
    doc: "The pose that brings a source onto a target, and how certain it is; arrays of the source's library and on its device.\n\nHessian and covariance are by a translation and a rotation vector about ``pivot``.",
    repr: Some(
        "IcpRegistration(status=\"{status}\", iterations={iterations}, fitness={fitness:.4f}, inlier_rmse={inlier_rmse:.6f})",
    ),
    equal: false,
    attributes: || {
        let dropped =
            ["Source points left out: not finite, and zeros.", "Target points left out: not finite, and zeros."];
        Attributes::default()
            .record::<Registration>("_Own")
            .without(&["non_finite", "zeros"])
            .add("converged", "bool", "Whether the pose is an answer.")
            .add("source_dropped", "tuple[int, int]", dropped[0])
            .add("target_dropped", "tuple[int, int]", dropped[1])
            .add("trace", "list[IcpIteration]", "Every pose on the way.")
    },
    made: PyOnceLock::new(),
};

/// An alignment.
fn registration<'py>(py: Python<'py>, home: &Home<'py>, found: &Registration) -> PyResult<Bound<'py, PyAny>> {
    let fit = &found.fit;
    let trace = fit.trace.iter().map(|one| Fields::new(py, None).record(one)?.of(&ITERATION));
    Fields::new(py, Some(home))
        .record(found)?
        .set("converged", found.converged())?
        .set("source_dropped", (fit.source_dropped.non_finite, fit.source_dropped.zeros))?
        .set("target_dropped", (fit.target_dropped.non_finite, fit.target_dropped.zeros))?
        .set("trace", trace.collect::<PyResult<Vec<_>>>()?)?
        .of(&REGISTRATION)
}

fn robust(object: Option<&Bound<'_, PyAny>>) -> PyResult<Robust> {
    let expected = "None or a pair of \"huber\", \"cauchy\", \"geman-mcclure\" or \"tukey\" and a width in metres";
    let Some(object) = object else { return Ok(Robust::None) };
    let (name, width): (String, f64) = object
        .extract()
        .map_err(|_| kind("robust", expected, object.repr().map_or(String::new(), |r| r.to_string())))?;
    let text = format!("{name}:{width}");
    text.parse().map_err(|_| value("robust", expected, format_args!("{name:?}")))
}

fn schedule(object: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Stage>> {
    let Some(object) = object else { return Ok(Vec::new()) };
    let expected = "pairs of an edge of cells and a distance in metres, or None for any";
    let got = || object.repr().map_or(String::new(), |text| text.to_string());
    let List(stages): List<(f64, Option<f64>)> = object.extract().map_err(|_| kind("schedule", expected, got()))?;
    Ok(stages.into_iter().map(|(voxel_size, max_distance)| Stage { voxel_size, max_distance }).collect())
}

/// The parameters of a call.
#[expect(clippy::too_many_arguments)]
fn params(
    metric: &str,
    max_distance: Option<f64>,
    max_iterations: i64,
    step_tolerance: f64,
    robust: Option<&Bound<'_, PyAny>>,
    neighbours: i64,
    schedule: Option<&Bound<'_, PyAny>>,
    drop_zeros: bool,
    search: &str,
) -> PyResult<IcpParams> {
    Ok(IcpParams {
        metric: named::<Metric>(metric, "metric")?,
        search: named::<Search>(search, "search")?,
        max_distance,
        robust: self::robust(robust)?,
        max_iterations: whole(max_iterations, 0, "max_iterations")? as usize,
        step_tolerance,
        neighbours: whole(neighbours, 0, "neighbours")? as usize,
        drop_zeros,
        schedule: self::schedule(schedule)?,
    })
}

/// A guess, or the identity.
fn guess_of(object: Option<&Bound<'_, PyAny>>) -> PyResult<Pose> {
    object.map_or(Ok(Pose::IDENTITY), |guess| poses::matrix(guess, "guess"))
}

/// Find the pose that brings a source cloud onto a target cloud: iterative closest point.
///
/// Neighbours are exact, and but for times the result has the same bits on every device and with any number of threads. An alignment that fails is a result with a status that gives
/// the reason. For many sources onto one target, ``icp.Target`` makes the tree and the normals of the target once.
///
/// Parameters
/// ----------
/// source : Scan or array of float32 or float64, ``[N, 3]``
///     x, y, z in metres, in the source's frame; further columns are not used.
/// target : Scan or array of float32 or float64, ``[M, 3]``
///     x, y, z in metres, in the target's frame.
/// guess : array, ``[4, 4]``, optional
///     The pose to start from, ``target_from_source``; identity. Entries of the rotation may be up to 1e-3 off the nearest rotation, which is then used.
/// metric : {"point-to-point", "point-to-plane", "gicp"}
///     Error metric to minimize: distances of pairs, of points from planes, or of surface patches.
/// max_distance : float, optional
///     Pairs that are farther apart than these metres do not count.
/// max_iterations : int
///     Most steps of a stage.
/// step_tolerance : float
///     A shorter step ends a stage, as a part of the extent of the source.
/// robust : (str, float), optional
///     Weights of pairs by their residuals: "huber", "cauchy", "geman-mcclure" or "tukey", and a width in metres.
/// neighbours : int
///     Points that a normal is made from, 3 to 32.
/// schedule : pairs of float and float or None, optional
///     Stages from coarse to fine: the edge of the cells whose points become one (0 takes all points), and a distance as `max_distance`.
/// drop_zeros : bool
///     Whether points at exactly (0, 0, 0) are left out.
/// search : {"auto", "brute", "kdtree", "lbvh"}
///     How neighbours are searched for; the result does not depend on it.
/// source_origin, target_origin : 3 floats, optional
///     What is added to each point of a cloud of float32.
/// target_normals : array, ``[M, 3]``, optional
///     Normals of the target's points, of any length and sign, in place of those that "point-to-plane" and "gicp" make from neighbours. Pairs with a point whose
///     normal is zero or not finite do not count; stages with cells make their own. An array of a GPU is copied to the host.
///
/// Returns
/// -------
/// IcpRegistration
///     Arrays of the library and on the device of `source`.
///
/// Raises
/// ------
/// ValueError, TypeError, MemoryError, RuntimeError
///     As :func:`voxelize`.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import pointmill
/// >>> x, y = (grid.ravel() * 0.04 for grid in np.meshgrid(np.arange(50), np.arange(50)))
/// >>> sheet = np.stack([x, y, 0.2 * np.sin(3 * x) * np.cos(2 * y)], 1)
/// >>> found = pointmill.icp(source=sheet + [0.015, -0.01, 0.005], target=sheet, metric="point-to-point")
/// >>> found.status, found.fitness, bool(abs(found.target_from_source[0, 3] + 0.015) < 1e-6)
/// ('fixed', 1.0, True)
#[pyfunction]
#[pyo3(signature = (*, source, target, guess = None, metric = "point-to-plane", max_distance = None, max_iterations = 100, step_tolerance = 1e-6,
    robust = None, neighbours = 20, schedule = None, drop_zeros = false, search = "auto", source_origin = None, target_origin = None,
    target_normals = None))]
#[expect(clippy::too_many_arguments)]
pub(crate) fn icp<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
    guess: Option<&Bound<'py, PyAny>>,
    metric: &str,
    max_distance: Option<f64>,
    max_iterations: i64,
    step_tolerance: f64,
    robust: Option<&Bound<'py, PyAny>>,
    neighbours: i64,
    schedule: Option<&Bound<'py, PyAny>>,
    drop_zeros: bool,
    search: &str,
    source_origin: Option<&Bound<'py, PyAny>>,
    target_origin: Option<&Bound<'py, PyAny>>,
    target_normals: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let params =
        params(metric, max_distance, max_iterations, step_tolerance, robust, neighbours, schedule, drop_zeros, search)?;
    let guess = guess_of(guess)?;
    let source = Cloud::read(source, "source", source_origin, "source_origin")?;
    let place = source.place();
    let target = Cloud::read(target, "target", target_origin, "target_origin")?.on(place, "source", "target")?;
    let normals = target_normals.map(|object| poses::rows(object, "target_normals")).transpose()?;
    let mut kept = CACHE.take(place, &params, |stream| Aligner::new(stream, &params)).or_raise(NAMES)?;
    let held = (source.data(&kept.stream)?, target.data(&kept.stream)?);
    let effort = Effort::of(place, source.len().saturating_add(target.len()), SHORT);
    let found = interrupt::run(py, effort, held, move |(source, target)| {
        let found = source.rows().and_then(|source| match &normals {
            Some(normals) => kept.worker.align_with_normals(source, target.rows()?, normals, &guess),
            None => kept.worker.align(source, target.rows()?, &guess),
        });
        CACHE.put(place, params, kept);
        found
    })?;
    registration(py, &source.array.home(), &found.or_raise(NAMES)?)
}

/// A target that many sources are aligned to: its tree and its normals are made once.
///
/// Parameters
/// ----------
/// points : Scan or array of float32 or float64, ``[M, 3]``
///     x, y, z in metres, in the target's frame; further columns are not used.
/// metric, max_distance, max_iterations, step_tolerance, robust, neighbours, schedule, drop_zeros, search
///     As of :func:`pointmill.icp`.
/// origin : 3 floats, optional
///     What is added to each point of float32.
/// normals : array, ``[M, 3]``, optional
///     As `target_normals` of :func:`pointmill.icp`.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from pointmill import icp
/// >>> x, y = (grid.ravel() * 0.04 for grid in np.meshgrid(np.arange(50), np.arange(50)))
/// >>> sheet = np.stack([x, y, 0.2 * np.sin(3 * x) * np.cos(2 * y)], 1)
/// >>> target = icp.Target(sheet)
/// >>> pose = np.eye(4)
/// >>> for step in range(3):
/// ...     pose = target.align(sheet + [0.01 * step, 0.0, 0.0], pose).target_from_source
/// >>> bool(abs(pose[0, 3] + 0.02) < 1e-4)
/// True
#[pyclass(frozen, name = "Target", module = "pointmill.icp")]
pub(crate) struct IcpTarget {
    target: Arc<Target>,
    place: Place,
    len: usize,
    /// What it was made of, for pickles; points and normals are copies. None of arrays that are not of numpy or torch on the CPU.
    made_of: Option<Py<PyDict>>,
}

/// Rows of three numbers as an array of numpy.
fn array_of<'py>(py: Python<'py>, rows: &[[f32; 3]]) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyArray1::from_slice(py, rows.as_flattened()).reshape([rows.len(), 3])?.into_any())
}

/// A copy of an array of numpy or of torch on the CPU, of which the caller may change the original.
fn copied<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    for copy in ["copy", "clone"] {
        if object.hasattr(copy)? {
            return object.call_method0(copy).map(Some);
        }
    }
    Ok(None)
}

#[pymethods]
impl IcpTarget {
    #[new]
    #[pyo3(signature = (points, *, metric = "point-to-plane", max_distance = None, max_iterations = 100, step_tolerance = 1e-6, robust = None, neighbours = 20,
        schedule = None, drop_zeros = false, search = "auto", origin = None, normals = None))]
    #[expect(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        points: &Bound<'_, PyAny>,
        metric: &str,
        max_distance: Option<f64>,
        max_iterations: i64,
        step_tolerance: f64,
        robust: Option<&Bound<'_, PyAny>>,
        neighbours: i64,
        schedule: Option<&Bound<'_, PyAny>>,
        drop_zeros: bool,
        search: &str,
        origin: Option<&Bound<'_, PyAny>>,
        normals: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let params = params(
            metric,
            max_distance,
            max_iterations,
            step_tolerance,
            robust,
            neighbours,
            schedule,
            drop_zeros,
            search,
        )?;
        let cloud = Cloud::read(points, "points", origin, "origin")?;
        let normals = normals.map(|object| poses::rows(object, "normals")).transpose()?;
        let (place, len) = (cloud.place(), cloud.len());
        let data = cloud.data(&place.stream().or_raise(TARGET)?)?;
        let made_of = match (place, copied(cloud.array.object())?) {
            (Place::Cpu, Some(points)) => {
                let kept = PyDict::new(py);
                kept.set_item("points", points)?;
                kept.set_item("origin", cloud.origin())?;
                kept.set_item("normals", normals.as_ref().map(|rows| array_of(py, rows)).transpose()?)?;
                kept.set_item("metric", params.metric.as_str())?;
                kept.set_item("search", params.search.as_str())?;
                kept.set_item("max_distance", max_distance)?;
                kept.set_item("max_iterations", max_iterations)?;
                kept.set_item("step_tolerance", step_tolerance)?;
                kept.set_item("robust", robust.map(|robust| robust.extract::<(String, f64)>()).transpose()?)?;
                kept.set_item("neighbours", neighbours)?;
                kept.set_item(
                    "schedule",
                    schedule
                        .map(|stages| stages.extract::<List<(f64, Option<f64>)>>().map(|List(stages)| stages))
                        .transpose()?,
                )?;
                kept.set_item("drop_zeros", drop_zeros)?;
                Some(kept.unbind())
            }
            _ => None,
        };
        let target = interrupt::run(py, Effort::of(place, len, SHORT), data, move |data| {
            let stream = own_stream(place)?;
            match &normals {
                Some(normals) => Target::with_normals(&stream, data.rows()?, normals, &params),
                None => Target::new(&stream, data.rows()?, &params),
            }
        })?;
        Ok(Self { target: Arc::new(target.or_raise(TARGET)?), place, len, made_of })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        match &slf.get().made_of {
            Some(made_of) => pickle::way_back(slf, made_of.bind(slf.py()).copy()?),
            None => pickle::refused("Target", "make one of its points, which can be pickled"),
        }
    }

    #[classmethod]
    fn _restore<'py>(class: &Bound<'py, PyType>, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        class.call((), Some(fields))
    }

    /// Nothing changes a target, so a copy is the same one.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __len__(&self) -> usize {
        self.len
    }

    fn __repr__(&self) -> String {
        format!("Target({} points on {}, {})", self.len, self.place, self.target.params().metric)
    }

    /// Find the pose that brings a source onto the target.
    ///
    /// Parameters
    /// ----------
    /// source : Scan or array of float32 or float64, ``[N, 3]``
    ///     x, y, z in metres, in the source's frame, where the target's points were.
    /// guess : array, ``[4, 4]``, optional
    ///     As of :func:`pointmill.icp`.
    /// origin : 3 floats, optional
    ///     What is added to each point of float32.
    ///
    /// Returns
    /// -------
    /// IcpRegistration
    ///     Arrays of the library and on the device of `source`.
    #[pyo3(signature = (source, guess = None, *, origin = None))]
    fn align<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        guess: Option<&Bound<'py, PyAny>>,
        origin: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let guess = guess_of(guess)?;
        let source = Cloud::read(source, "source", origin, "origin")?.on(self.place, "the target", "source")?;
        let data = source.data(&source.place().stream().or_raise(NAMES)?)?;
        let target = self.target.clone();
        let effort = Effort::of(self.place, source.len(), SHORT / 4);
        let found =
            interrupt::run(py, effort, data, move |data| data.rows().and_then(|source| target.align(source, &guess)))?;
        registration(py, &source.array.home(), &found.or_raise(NAMES)?)
    }
}

const TARGET: Names = &[(pointmill::Argument::Target, "points"), (pointmill::Argument::TargetNormals, "normals")];

/// Exact nearest neighbours of queries among points.
///
/// The nearest point is the one of smallest squared distance in float32, and of equally near ones the one of the lowest index; every search and device returns the same. Points and
/// queries that are not finite have no neighbours.
///
/// Points of float64 are searched about a centre of their own, which is subtracted from them and from queries before they become float32; those of float32 with an origin about that.
///
/// Parameters
/// ----------
/// points : Scan or array of float32 or float64, ``[N, 3]``
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
#[pyclass(frozen, name = "Searcher", module = "pointmill.icp")]
pub(crate) struct IcpSearcher {
    searcher: Arc<Searcher>,
    place: Place,
    home: KeptHome,
}

#[pymethods]
impl IcpSearcher {
    #[new]
    #[pyo3(signature = (points, *, search = "auto", origin = None))]
    fn new(
        py: Python<'_>,
        points: &Bound<'_, PyAny>,
        search: &str,
        origin: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let search = named::<Search>(search, "search")?;
        let mut cloud = Cloud::read(points, "points", origin, "origin")?;
        let place = cloud.place();
        if place != Place::Cpu {
            cloud.array = cloud.array.of(&[Dtype::F32])?;
        }
        let data = cloud.data(&place.stream().or_raise(NAMES)?)?;
        let searcher = interrupt::run(py, Effort::of(place, cloud.len(), SHORT_SEARCH), data, move |data| {
            Searcher::new(&own_stream(place)?, data.rows()?, search)
        })?;
        Ok(Self { searcher: Arc::new(searcher.or_raise(NAMES)?), place, home: cloud.array.home().keep()? })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let (py, IcpSearcher { searcher, home, .. }) = (slf.py(), slf.get());
        let Some(points) = searcher.points() else {
            return pickle::refused("Searcher", "make one of its points, which can be pickled");
        };
        let fields = PyDict::new(py);
        fields.set_item("points", home.bind(py).give_values(points.as_flattened().to_vec(), &[points.len(), 3])?)?;
        fields.set_item("search", searcher.search().as_str())?;
        // Points of float64 were put about it, and stay where they are.
        fields.set_item("origin", Some(searcher.centre()).filter(|centre| *centre != [0.0; 3]))?;
        pickle::way_back(slf, fields)
    }

    #[classmethod]
    fn _restore<'py>(class: &Bound<'py, PyType>, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        class.call((), Some(fields))
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
        max_distance: Option<f64>,
    ) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let queries = self.queries(queries)?;
        let shape = [queries.len()];
        let searcher = self.searcher.clone();
        let effort = self.effort(queries.len());
        let found = interrupt::run(py, effort, (), move |()| searcher.nearest(&queries, max_distance))?;
        self.give(py, found.or_raise(NAMES)?.into_iter(), &shape)
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
        k: i64,
        max_distance: Option<f64>,
    ) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let k = whole(k, 0, "k")? as usize;
        let queries = self.queries(queries)?;
        let shape = [queries.len(), k];
        let searcher = self.searcher.clone();
        let effort = self.effort(queries.len().saturating_mul(k.max(1)));
        let found = interrupt::run(py, effort, (), move |()| searcher.neighbours(&queries, k, max_distance))?;
        let found = found.or_raise(NAMES)?;
        let all = found.iter().flat_map(|list| (0..k).map(|i| list.get(i).copied()));
        self.give(py, all, &shape)
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
        radius: f64,
        max_results: Option<i64>,
    ) -> PyResult<(Py<PyAny>, Py<PyAny>, Py<PyAny>)> {
        if self.place != Place::Cpu {
            let expected = "a searcher of points on the CPU for this search; make one of a copy of them there";
            return Err(value("radius_search", expected, format_args!("one on {}", self.place)));
        }
        let most = max_results.map(|n| whole(n, 1, "max_results")).transpose()?.map(|n| n as usize);
        let queries = self.queries(queries)?;
        let searcher = self.searcher.clone();
        // How many there are within the radius is not known.
        let effort = self.effort(queries.len().saturating_mul(MANY));
        let found = interrupt::run(py, effort, (), move |()| {
            let found = searcher.radius_search(&queries, radius, most)?;
            let starts: Vec<i64> = found.row_splits.iter().map(|start| *start as i64).collect();
            let rows: Vec<i64> = found.neighbours.iter().map(|one| one.index.into()).collect();
            let squared: Vec<f32> = found.neighbours.iter().map(|one| one.distance_squared).collect();
            Ok::<_, pointmill::Error>((starts, rows, squared))
        })?;
        let (starts, rows, squared) = found.or_raise(NAMES)?;
        let (home, queries, len) = (self.home.bind(py), starts.len(), rows.len());
        Ok((
            home.give_values(starts, &[queries])?.unbind(),
            home.give_values(rows, &[len])?.unbind(),
            home.give_values(squared, &[len])?.unbind(),
        ))
    }

    /// Estimate the normal of each point from its `k` nearest points; see :func:`pointmill.icp.normals`.
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
    fn normals(&self, py: Python<'_>, k: i64) -> PyResult<Py<PyAny>> {
        let k = whole(k, 0, "k")? as usize;
        let searcher = self.searcher.clone();
        let effort = self.effort(searcher.len().saturating_mul(k.max(1)));
        let found = interrupt::run(py, effort, (), move |()| searcher.normals(k))?.or_raise(NAMES)?;
        Ok(self.home.bind(py).give_values(found.as_flattened().to_vec(), &[found.len(), 3])?.unbind())
    }
}

impl IcpSearcher {
    /// Queries about the centre of the points.
    fn queries(&self, queries: &Bound<'_, PyAny>) -> PyResult<Vec<[f32; 3]>> {
        let coordinates = poses::coordinates(queries, "queries")?;
        self.searcher.relative(&coordinates).or_raise(NAMES)
    }

    /// That of so many queries.
    fn effort(&self, queries: usize) -> Effort {
        let looks = if self.searcher.search() == Search::Brute { self.searcher.len() / 256 } else { 0 };
        Effort::of(self.place, queries.saturating_mul(looks.max(1)), SHORT_SEARCH)
    }

    fn give(
        &self,
        py: Python<'_>,
        found: impl Iterator<Item = Option<Neighbour>>,
        shape: &[usize],
    ) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let (rows, squared): (Vec<i64>, Vec<f32>) =
            found.map(|one| one.map_or((-1, f32::INFINITY), |n| (n.index.into(), n.distance_squared))).unzip();
        let home = self.home.bind(py);
        Ok((home.give_values(rows, shape)?.unbind(), home.give_values(squared, shape)?.unbind()))
    }
}

/// Estimate the normal of each point from its `k` nearest points, itself included.
///
/// Parameters
/// ----------
/// points : Scan or array of float32 or float64, ``[N, 3]``
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
pub(crate) fn normals(py: Python<'_>, points: &Bound<'_, PyAny>, k: i64) -> PyResult<Py<PyAny>> {
    IcpSearcher::new(py, points, "auto", None)?.normals(py, k)
}
