//! Odometry as a class.

use crate::args::{choice, whole};
use crate::arrays::{Home, Place};
use crate::cloud::{Cloud, own_stream};
use crate::ending::detached;
use crate::errors::{Names, OrRaise};
use crate::files::Scan;
use crate::interrupt::{self, Effort};
use crate::pickle::{self, Fields, Reduced};
use crate::poses;
use numpy::{PyArray1, PyArrayMethods};
use pointmill::Result;
use pointmill::pipelines::odometry as library;
use pointmill_data::runs::pose_stamp_ns;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const NAMES: Names = &[];
/// So many points are aligned in little more than a millisecond on the CPU.
const SHORT: usize = 512;

/// What became of a sweep, and where the sensor was; arrays of the library of the points.
#[pyclass(frozen, get_all, module = "pointmill")]
pub(crate) struct OdometryStep {
    /// The number of the sweep, from 0.
    index: usize,
    /// What became of it: "started", "tracked", "degenerate", "not-converged", "repeated", "too-few-points" or "lost".
    status: String,
    /// ``[4, 4]`` float64: the pose of the sensor in the frame of the first pose, always finite and rigid.
    world_from_sensor: Py<PyAny>,
    /// ``[4, 4]`` float64: the pose that was expected from the motion before.
    predicted: Py<PyAny>,
    /// The middle of the times of the points in seconds of their clock; ``None`` without times that can be used.
    time: Option<f64>,
    /// The moment that the pose belongs to in nanoseconds of the clock of the stamps: the middle of a sweep that was deskewed, else its stamp. ``None`` without a stamp.
    stamp_ns: Option<i64>,
    /// Seconds since the sweep before that the prediction is for.
    interval: f64,
    /// What the times were used for: "none", "relative", "absolute", "backwards" or "unusable".
    times: String,
    /// Points of the sweep.
    points: usize,
    /// Points that are finite and in range.
    usable: usize,
    /// Points that were aligned.
    aligned: usize,
    /// Aligned points that have a neighbour in the map; ``None`` where there was no alignment.
    pairs: Option<usize>,
    /// Root mean square distance of the pairs in metres; ``None`` where there was no alignment.
    rmse: Option<f64>,
    /// The number of steps; ``None`` where there was no alignment.
    iterations: Option<usize>,
    /// How many directions the surfaces determine; ``None`` where there was no alignment.
    rank: Option<usize>,
    /// ``[6, 6]`` float64: how uncertain the pose is, by a translation and a rotation vector about ``pivot``; ``None`` where a direction is not determined.
    covariance: Option<Py<PyAny>>,
    /// ``[3]`` float64: the mean of the aligned points in the world; ``None`` where there was no alignment.
    pivot: Option<Py<PyAny>>,
    /// Metres that the prediction was expected to be off.
    expected_error: f64,
    /// Points of the map after the sweep.
    map_points: usize,
    /// Voxels of the map after the sweep.
    map_voxels: usize,
    /// Milliseconds of choosing points.
    sample_ms: f64,
    /// Milliseconds of the alignment.
    align_ms: f64,
    /// Milliseconds of changing the map.
    map_ms: f64,
}

pickle::fields!(OdometryStep {
    index,
    status,
    world_from_sensor,
    predicted,
    time,
    stamp_ns,
    interval,
    times,
    points,
    usable,
    aligned,
    pairs,
    rmse,
    iterations,
    rank,
    covariance,
    pivot,
    expected_error,
    map_points,
    map_voxels,
    sample_ms,
    align_ms,
    map_ms
});

impl OdometryStep {
    fn new(home: &Home<'_>, step: &library::Step, stamp_ns: Option<i64>) -> PyResult<Self> {
        let give = |values: &[f64], shape: &[usize]| home.give_values(values.to_vec(), shape).map(Bound::unbind);
        let found = step.registration.as_ref();
        let covariance = found.and_then(|found| found.covariance);
        Ok(Self {
            index: step.index,
            status: step.status.to_string(),
            world_from_sensor: give(step.world_from_sensor.matrix().as_flattened(), &[4, 4])?,
            predicted: give(step.predicted.matrix().as_flattened(), &[4, 4])?,
            time: step.time,
            stamp_ns,
            interval: step.interval,
            times: step.times.to_string(),
            points: step.points,
            usable: step.usable,
            aligned: step.aligned,
            pairs: found.map(|found| found.fit.pairs),
            rmse: found.map(|found| found.fit.rmse),
            iterations: found.map(|found| found.iterations),
            rank: found.map(|found| found.fit.observability.rank()),
            covariance: covariance.map(|rows| give(rows.as_flattened(), &[6, 6])).transpose()?,
            pivot: found.map(|found| give(&found.fit.pivot, &[3])).transpose()?,
            expected_error: step.expected_error,
            map_points: step.map_points,
            map_voxels: step.map_voxels,
            sample_ms: step.timing.sample_ms,
            align_ms: step.timing.align_ms,
            map_ms: step.timing.map_ms,
        })
    }
}

#[pymethods]
impl OdometryStep {
    fn __repr__(&self) -> String {
        let Self { index, status, points, map_points, .. } = self;
        format!("OdometryStep(index={index}, status={status:?}, points={points}, map_points={map_points})")
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        Self::of(fields)
    }
}

/// Odometry: the poses of a sensor from its sweeps alone, one after the other.
///
/// Each sweep is thinned out, aligned with a map of the sweeps before it, and added to the map. The map is on the device of the first sweep, and so are all later sweeps. But for times the
/// results have the same bits on every device and with any number of threads.
///
/// Parameters
/// ----------
/// voxel_size : float
///     Edge of a voxel of the map in metres.
/// min_range, max_range : float
///     Points nearer to the sensor or farther from it than these metres are left out.
/// max_points_per_voxel : int
///     The number of points that a voxel of the map keeps, 1 to 64.
/// metric : {"point-to-plane", "point-to-point"}
///     Error metric to minimize.
/// robust_width : float
///     Width in metres of the weight of residuals in the last steps.
/// deskew : bool
///     Whether motion within a sweep is taken out where points have times.
/// max_iterations : int
///     Most steps of an alignment.
/// keep_map : bool
///     Whether :meth:`map` returns the points that left the map too.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import pointmill
/// >>> a, b = (grid.ravel() * 0.1 - 3.0 for grid in np.meshgrid(np.arange(60), np.arange(60)))
/// >>> side, level = np.full(3600, 3.0), np.full(3600, -1.0)
/// >>> walls = [(a, b, level), (a, side, b + 2), (a, -side, b + 2), (side, a, b + 2), (-side, a, b + 2)]
/// >>> room = np.concatenate([np.stack(wall, 1) for wall in walls])
/// >>> odometry = pointmill.Odometry(voxel_size=0.5, min_range=0.1)
/// >>> for step in range(4):
/// ...     found = odometry.push(room - [0.1 * step, 0.0, 0.0])
/// >>> found.status, bool(abs(found.world_from_sensor[0, 3] - 0.3) < 0.01), len(odometry)
/// ('tracked', True, 4)
#[pyclass(frozen, module = "pointmill")]
pub(crate) struct Odometry(Arc<Mutex<State>>);

/// Parameters, and from the first sweep on its place and the odometry there.
struct State {
    params: library::OdometryParams,
    made: Option<(Place, library::Odometry)>,
}

impl State {
    /// The odometry, made on the device of a sweep if this is the first.
    fn on(&mut self, place: Place) -> Result<&mut library::Odometry> {
        let made = match self.made.take() {
            Some(made) => made,
            None => (place, library::Odometry::new(&own_stream(place)?, &self.params)?),
        };
        Ok(&mut self.made.insert(made).1)
    }
}

/// The odometry. A call that failed is named in its error.
fn lock(odometry: &Mutex<State>) -> MutexGuard<'_, State> {
    odometry.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl Odometry {
    #[new]
    #[pyo3(signature = (*, voxel_size = 1.0, min_range = 1.0, max_range = 100.0, max_points_per_voxel = 20, metric = "point-to-plane", robust_width = 0.1, deskew = true,
        max_iterations = 50, keep_map = false))]
    #[expect(clippy::too_many_arguments)]
    fn new(
        voxel_size: f64,
        min_range: f64,
        max_range: f64,
        max_points_per_voxel: i64,
        metric: &str,
        robust_width: f64,
        deskew: bool,
        max_iterations: i64,
        keep_map: bool,
    ) -> PyResult<Self> {
        let metrics: Vec<_> = library::OdometryParams::METRICS.iter().map(|known| (known.as_str(), *known)).collect();
        let params = library::OdometryParams {
            voxel_size,
            min_range,
            max_range,
            max_points_per_voxel: whole(max_points_per_voxel, 0, "max_points_per_voxel")? as usize,
            metric: choice(metric, "metric", &metrics)?,
            robust_width,
            deskew,
            max_iterations: whole(max_iterations, 0, "max_iterations")? as usize,
            keep_map,
        };
        params.validate().or_raise(NAMES)?;
        Ok(Self(Arc::new(Mutex::new(State { params, made: None }))))
    }

    /// Take the next sweep.
    ///
    /// A sweep that cannot be aligned is no error: the status gives the reason, and the pose is the prediction.
    ///
    /// Parameters
    /// ----------
    /// points : Scan or array of float32 or float64, ``[N, 3]``
    ///     x, y, z in metres in the sensor's frame, on the device of the first sweep; further columns are not used.
    /// times : array, ``[N]``, optional
    ///     The time of each point in seconds: of one clock for all sweeps, or from the start of each. The pose then belongs to the middle of the times. Of a sweep that was published deskewed, see :attr:`Scan.deskewed`, pass none. By default those of a :class:`Scan`, unless it is deskewed.
    /// stamp_ns : int, optional
    ///     The stamp of the sweep in nanoseconds, by default that of a :class:`Scan`. Times below 1e9 s count from it.
    ///
    /// Returns
    /// -------
    /// OdometryStep
    #[pyo3(signature = (points, times = None, *, stamp_ns = None))]
    fn push(
        &self,
        py: Python<'_>,
        points: &Bound<'_, PyAny>,
        times: Option<&Bound<'_, PyAny>>,
        stamp_ns: Option<i64>,
    ) -> PyResult<OdometryStep> {
        let cloud = Cloud::read(points, "points", None, "origin")?;
        let odometry = self.0.clone();
        let first = detached(py, || lock(&odometry).made.as_ref().map(|(place, _)| *place));
        let cloud = match first {
            Some(place) => cloud.on(place, "the first sweep", "points")?,
            None => cloud,
        };
        let scan = points.cast::<Scan>().ok().map(Bound::get);
        let times = match (times, scan) {
            (Some(times), _) => Some(poses::row(times, "times")?),
            (None, Some(scan)) => scan.times_to_deskew(py)?,
            (None, None) => None,
        };
        let stamp_ns = stamp_ns.or_else(|| scan?.stamp_ns);
        let place = cloud.place();
        let data = cloud.data(&place.stream().or_raise(NAMES)?)?;
        let done = interrupt::run(py, Effort::of(place, cloud.len(), SHORT).whole(), data, move |data| {
            let mut state = lock(&odometry);
            let step = state.on(place)?.push(data.rows()?, times.as_deref())?;
            Ok::<_, pointmill::Error>((pose_stamp_ns(stamp_ns, &step, &state.params), step))
        })?;
        let (stamp_ns, step) = done.or_raise(NAMES)?;
        OdometryStep::new(&cloud.array.home(), &step, stamp_ns)
    }

    /// The points of the map in the world, as a numpy array of float64, ``[M, 3]``: those that left it, if they are kept, then voxel by voxel.
    fn map<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let odometry = self.0.clone();
        let map = || lock(&odometry).made.as_ref().map_or_else(|| Ok(Vec::new()), |(_, odometry)| odometry.map());
        let points = detached(py, map).or_raise(NAMES)?;
        let rows = points.len();
        Ok(PyArray1::from_vec(py, points.into_flattened()).reshape([rows, 3])?.into_any())
    }

    fn __reduce__(&self) -> PyResult<()> {
        pickle::refused("Odometry", "pickle its steps and what map() returns, or push the sweeps again")
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        let odometry = self.0.clone();
        detached(py, || lock(&odometry).made.as_ref().map_or(0, |(_, odometry)| odometry.len()))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let odometry = self.0.clone();
        let size = detached(py, || lock(&odometry).params.voxel_size);
        format!("Odometry({} sweeps, voxel_size={size})", self.__len__(py))
    }
}
