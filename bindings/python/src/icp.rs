//! Iterative closest point.

use crate::args::{choice, numbers, whole};
use crate::arrays::{Array, Data, Dtype, Home, Place};
use crate::cache::Cache;
use crate::errors::{Names, OrRaise, kind, value};
use crate::pickle::{self, Fields, Reduced};
use crate::{interrupt, poses};
use pointmill::icp::{Aligner, IcpParams, Metric, Registration, Robust, Search, Stage, Status};
use pointmill::{Result, Rows};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

const NAMES: Names = &[];

pub(crate) static CACHE: Cache<(), Aligner> = Cache::new();

/// One look at a pose: the pairs there, and the step from there.
#[pyclass(frozen, get_all, module = "pointmill")]
pub(crate) struct IcpIteration {
    /// The stage of the schedule.
    stage: usize,
    /// Rows of the pose that pairs were searched at, 4x4.
    target_from_source: [[f64; 4]; 4],
    /// The number of pairs.
    pairs: usize,
    /// Source points whose pair is not that of the pose before.
    changed: usize,
    /// Root mean square distance of the pairs in metres.
    rmse: f64,
    /// Root mean square motion of the source points to the next pose in metres.
    step: f64,
    /// Milliseconds of finding neighbours.
    search_ms: f64,
    /// Milliseconds of adding up what pairs say.
    reduce_ms: f64,
    /// Milliseconds of finding the next pose.
    solve_ms: f64,
}

pickle::fields!(IcpIteration { stage, target_from_source, pairs, changed, rmse, step, search_ms, reduce_ms, solve_ms });

#[pymethods]
impl IcpIteration {
    fn __repr__(&self) -> String {
        format!(
            "IcpIteration(stage={}, pairs={}, rmse={:.6}, step={:.6})",
            self.stage, self.pairs, self.rmse, self.step
        )
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        Self::of(fields)
    }
}

/// The pose that brings a source onto a target, and the doubt about it; arrays of the source's library and on its device.
#[pyclass(frozen, get_all, module = "pointmill")]
pub(crate) struct IcpRegistration {
    /// ``[4, 4]`` float64: the pose, always finite and rigid.
    target_from_source: Py<PyAny>,
    /// Why it ended: "fixed", "step_below", "cycle", "max_iterations", "no_pairs" or "degenerate".
    status: String,
    /// Whether the pose is an answer.
    converged: bool,
    /// Steps that were made, in all stages.
    iterations: usize,
    /// Pairs by source points.
    fitness: f64,
    /// Root mean square distance of the pairs in metres.
    inlier_rmse: f64,
    /// Pairs at the pose.
    num_inliers: usize,
    /// ``[6, 6]`` float64: second derivatives by a translation and a rotation vector about ``pivot``.
    hessian: Py<PyAny>,
    /// ``[6, 6]`` float64: how uncertain the pose is; ``None`` where a direction is not determined.
    covariance: Option<Py<PyAny>>,
    /// ``[6]`` float64: how stiff the fit is in each of ``directions``, ascending.
    eigenvalues: Py<PyAny>,
    /// ``[6, 6]`` float64: directions of motion, a row each; translation, then turns.
    directions: Py<PyAny>,
    /// Whether the pairs determine each of ``directions``.
    observable: [bool; 6],
    /// ``[3]`` float64: the mean of the source points at the pose.
    pivot: Py<PyAny>,
    /// Source points left out: not finite, and zeros.
    source_dropped: (usize, usize),
    /// Target points left out: not finite, and zeros.
    target_dropped: (usize, usize),
    /// Every pose on the way.
    trace: Vec<Py<IcpIteration>>,
    /// Milliseconds before the first search.
    prepare_ms: f64,
}

pickle::fields!(IcpRegistration {
    target_from_source,
    status,
    converged,
    iterations,
    fitness,
    inlier_rmse,
    num_inliers,
    hessian,
    covariance,
    eigenvalues,
    directions,
    observable,
    pivot,
    source_dropped,
    target_dropped,
    trace,
    prepare_ms
});

#[pymethods]
impl IcpRegistration {
    fn __repr__(&self) -> String {
        format!(
            "IcpRegistration(status={:?}, iterations={}, fitness={:.4}, inlier_rmse={:.6})",
            self.status, self.iterations, self.fitness, self.inlier_rmse
        )
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        Self::of(fields)
    }
}

impl IcpRegistration {
    fn new(py: Python<'_>, home: &Home<'_>, found: &Registration) -> PyResult<Self> {
        let give = |values: &[f64], shape: &[usize]| home.give_values(values.to_vec(), shape).map(Bound::unbind);
        let iteration = |one: &pointmill::icp::Iteration| {
            let rows = one.target_from_source.as_chunks::<4>().0;
            let iteration = IcpIteration {
                stage: one.stage,
                target_from_source: [rows[0], rows[1], rows[2], rows[3]],
                pairs: one.pairs,
                changed: one.changed,
                rmse: one.rmse,
                step: one.step,
                search_ms: one.timing.search_ms,
                reduce_ms: one.timing.reduce_ms,
                solve_ms: one.timing.solve_ms,
            };
            Py::new(py, iteration)
        };
        Ok(Self {
            target_from_source: give(&found.target_from_source, &[4, 4])?,
            status: match found.status {
                Status::Fixed => "fixed",
                Status::StepBelow => "step_below",
                Status::Cycle => "cycle",
                Status::MaxIterations => "max_iterations",
                Status::NoPairs => "no_pairs",
                Status::Degenerate => "degenerate",
            }
            .to_owned(),
            converged: found.converged(),
            iterations: found.iterations,
            fitness: found.fitness,
            inlier_rmse: found.inlier_rmse,
            num_inliers: found.num_inliers,
            hessian: give(found.hessian.as_flattened(), &[6, 6])?,
            covariance: found.covariance.as_ref().map(|m| give(m.as_flattened(), &[6, 6])).transpose()?,
            eigenvalues: give(&found.observability.eigenvalues, &[6])?,
            directions: give(found.observability.directions.as_flattened(), &[6, 6])?,
            observable: found.observability.observable,
            pivot: give(&found.pivot, &[3])?,
            source_dropped: (found.source_dropped.nonfinite, found.source_dropped.zeros),
            target_dropped: (found.target_dropped.nonfinite, found.target_dropped.zeros),
            trace: found.trace.iter().map(iteration).collect::<PyResult<_>>()?,
            prepare_ms: found.prepare_ms,
        })
    }
}

/// A cloud `[N, 3 or more]` of either precision.
fn cloud<'py>(object: &Bound<'py, PyAny>, name: &'static str) -> PyResult<Array<'py>> {
    let array = Array::read(object, name)?.without_grad()?.of(&[Dtype::F32, Dtype::F64])?;
    let array = array.shaped(&[None, None], "[N, 3]")?;
    if array.shape()[1] < 3 {
        return Err(value(name, "3 or more columns (x, y, z first)", array.shape()[1]));
    }
    Ok(array)
}

/// The values of a cloud about its origin, if it has one.
fn coordinates<'a>(data: &'a Data, columns: usize, origin: Option<[f64; 3]>) -> Result<Rows<'a>> {
    let cloud = data.rows(columns)?;
    origin.map_or(Ok(cloud), |origin| cloud.about(origin))
}

fn robust(object: Option<&Bound<'_, PyAny>>) -> PyResult<Robust> {
    let expected = "None or a pair of \"huber\", \"cauchy\", \"geman_mcclure\" or \"tukey\" and a width in metres";
    let Some(object) = object else { return Ok(Robust::None) };
    let (name, width): (String, f64) = object
        .extract()
        .map_err(|_| kind("robust", expected, object.repr().map_or(String::new(), |r| r.to_string())))?;
    let kernels = [
        ("huber", Robust::Huber(width)),
        ("cauchy", Robust::Cauchy(width)),
        ("geman_mcclure", Robust::GemanMcClure(width)),
        ("tukey", Robust::Tukey(width)),
    ];
    choice(&name, "robust", &kernels)
}

fn schedule(object: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Stage>> {
    let Some(object) = object else { return Ok(Vec::new()) };
    let expected = "pairs of an edge of cells and a distance in metres, or None for any";
    let got = || object.repr().map_or(String::new(), |text| text.to_string());
    let stages: Vec<(f64, Option<f64>)> = object.extract().map_err(|_| kind("schedule", expected, got()))?;
    Ok(stages.into_iter().map(|(voxel_size, max_distance)| Stage { voxel_size, max_distance }).collect())
}

/// Find the pose that brings a source cloud onto a target cloud: iterative closest point.
///
/// Neighbours are exact, and but for times the result has the same bits on every device and with any number of threads. An alignment that fails is a result that says so.
///
/// Parameters
/// ----------
/// source : array of float32 or float64, ``[N, 3]``
///     x, y, z in metres, in the source's frame; further columns are not used.
/// target : array of float32 or float64, ``[M, 3]``
///     x, y, z in metres, in the target's frame.
/// metric : {"point_to_point", "point_to_plane", "gicp"}
///     What is made small: distances of pairs, of points from planes, or of surface patches.
/// target_from_source : array, ``[4, 4]``, optional
///     Where to start; identity. Entries of the rotation may be up to 1e-3 off the nearest rotation, which then counts.
/// max_distance : float, optional
///     Pairs that are farther apart than these metres do not count.
/// max_iterations : int
///     Most steps of a stage.
/// step_tolerance : float
///     A shorter step ends a stage, as a part of the extent of the source.
/// robust : (str, float), optional
///     How pairs are weighed by their residuals: "huber", "cauchy", "geman_mcclure" or "tukey", and a width in metres.
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
///     Normals of the target's points, of any length and sign, in place of those that "point_to_plane" and "gicp" make from neighbours. Pairs with a point whose
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
/// >>> found = pointmill.icp(source=sheet + [0.015, -0.01, 0.005], target=sheet, metric="point_to_point")
/// >>> found.status, found.fitness, bool(abs(found.target_from_source[0, 3] + 0.015) < 1e-6)
/// ('fixed', 1.0, True)
#[pyfunction]
#[pyo3(signature = (*, source, target, metric = "point_to_plane", target_from_source = None, max_distance = None, max_iterations = 100, step_tolerance = 1e-6,
    robust = None, neighbours = 20, schedule = None, drop_zeros = false, search = "auto", source_origin = None, target_origin = None,
    target_normals = None))]
#[expect(clippy::too_many_arguments)]
pub(crate) fn icp(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
    metric: &str,
    target_from_source: Option<&Bound<'_, PyAny>>,
    max_distance: Option<f64>,
    max_iterations: i64,
    step_tolerance: f64,
    robust: Option<&Bound<'_, PyAny>>,
    neighbours: i64,
    schedule: Option<&Bound<'_, PyAny>>,
    drop_zeros: bool,
    search: &str,
    source_origin: Option<&Bound<'_, PyAny>>,
    target_origin: Option<&Bound<'_, PyAny>>,
    target_normals: Option<&Bound<'_, PyAny>>,
) -> PyResult<IcpRegistration> {
    let metrics =
        [("point_to_point", Metric::PointToPoint), ("point_to_plane", Metric::PointToPlane), ("gicp", Metric::Gicp)];
    let searches =
        [("auto", Search::Auto), ("brute", Search::Brute), ("kdtree", Search::KdTree), ("lbvh", Search::Lbvh)];
    let mut params = IcpParams {
        metric: choice(metric, "metric", &metrics)?,
        search: choice(search, "search", &searches)?,
        max_distance,
        robust: self::robust(robust)?,
        max_iterations: whole(max_iterations, 0, "max_iterations")? as usize,
        step_tolerance,
        neighbours: whole(neighbours, 0, "neighbours")? as usize,
        drop_zeros,
        schedule: self::schedule(schedule)?,
        ..IcpParams::default()
    };
    if let Some(guess) = target_from_source {
        params.target_from_source = poses::matrix(guess, "target_from_source")?;
    }
    let origin = |object: Option<&Bound<'_, PyAny>>, name| {
        object.map(|object| numbers::<3>(object, name, "x, y, z in metres")).transpose()
    };
    let (source_origin, target_origin) =
        (origin(source_origin, "source_origin")?, origin(target_origin, "target_origin")?);
    let source = cloud(source, "source")?;
    let target = cloud(target, "target")?.beside(&source)?;
    let normals = target_normals.map(|object| poses::rows(object, "target_normals")).transpose()?;
    let place = source.place();
    let mut kept = CACHE.take(place, &(), Aligner::new).or_raise(NAMES)?;
    let (source_data, target_data) = (source.data(&kept.stream)?, target.data(&kept.stream)?);
    let (source_columns, target_columns) = (source.shape()[1], target.shape()[1]);
    let held = (source_data, target_data);
    let found = interrupt::run(py, place == Place::Cpu, held, move |(source_data, target_data)| {
        let found = coordinates(source_data, source_columns, source_origin).and_then(|source| {
            let target = coordinates(target_data, target_columns, target_origin)?;
            match &normals {
                Some(normals) => kept.worker.align_with_normals(source, target, normals, &params),
                None => kept.worker.align(source, target, &params),
            }
        });
        CACHE.put(place, (), kept);
        found
    })?;
    IcpRegistration::new(py, &source.home(), &found.or_raise(NAMES)?)
}
