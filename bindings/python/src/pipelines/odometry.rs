//! Odometry as a class.

use crate::arrays::Place;
use crate::cloud::{Cloud, own_stream};
use crate::errors::{Names, OrRaise};
use crate::files::Scan;
use crate::interrupt::Effort;
use crate::keywords::Keywords;
use crate::pickle;
use crate::poses;
use crate::record::{Attributes, Class, Fields};
use crate::shared::Shared;
use numpy::{PyArray1, PyArrayMethods};
use pointmill::Result;
use pointmill_data::runs::pose_stamp_ns;
use pointmill_slam::odometry as library;
use pyo3::prelude::*;
use pyo3::types::PyDict;

const NAMES: Names = &[];
/// So many points are aligned in little more than a millisecond on the CPU.
const SHORT: usize = 512;

pub(crate) static STEP: Class = Class::new(
    ("pointmill", "OdometryStep"),
    "What became of a sweep, and where the sensor was; arrays of the library of the points.",
    Some("OdometryStep(index={index}, status=\"{status}\", points={points}, map_points={map_points}, {pose})"),
    || {
        let stamp = "The moment that the pose belongs to in nanoseconds of the clock of the stamps: the middle of a sweep that was \
                     deskewed, else its stamp. ``None`` without a stamp.";
        Attributes::default().record::<library::Step>("_Array").record::<library::SweepAlignment>("_Array").add(
            "stamp_ns",
            "int | None",
            stamp,
        )
    },
);

/// Odometry: the poses of a sensor from its sweeps alone, one after the other.
///
/// Each sweep is thinned out, aligned with a map of the sweeps before it, and added to the map. The
/// map is on the device of the first sweep, and so are all later sweeps. But for times the results
/// have the same bits on every device and with any number of threads.
///
/// Parameters
/// ----------
/// voxel_size : float, optional
///     Edge of a voxel of the map in metres; by default the largest up to 1 m that leaves the first
///     sweep enough voxels. :attr:`OdometryStep.voxel_size` tells it.
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
///     Most steps of an alignment: a limit for those that do not converge.
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
#[pyclass(frozen, weakref, module = "pointmill")]
pub(crate) struct Odometry(Shared<State>);

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

#[pymethods]
impl Odometry {
    #[new]
    #[pyo3(signature = (**params),
        text_signature = "(*, voxel_size=None, min_range=1.0, max_range=100.0, max_points_per_voxel=20, \
        metric=\"point-to-plane\", robust_width=0.1, deskew=True, max_iterations=500, keep_map=False)")]
    fn new(params: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let params = library::OdometryParams::default().with("Odometry.__new__", params)?;
        params.validate().or_raise(NAMES)?;
        Ok(Self(Shared::new(State { params, made: None })))
    }

    /// Take the next sweep.
    ///
    /// A sweep that cannot be aligned is no error: the status gives the reason, and the pose is the
    /// prediction.
    ///
    /// Parameters
    /// ----------
    /// points : Scan, array or list, ``[N, 3]``
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
    fn push<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
        times: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = crate::args::plain)] stamp_ns: Option<i64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let cloud = Cloud::read(points, "points", None, "origin")?;
        let first = self.0.with(py, |state| state.made.as_ref().map(|(place, _)| *place));
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
        let odometry = self.0.clone();
        let effort = Effort::of(place, cloud.len(), SHORT).whole();
        let (stamp_ns, step) = cloud.run(py, effort, NAMES, move |points| {
            let mut state = odometry.lock();
            let step = state.on(place)?.push(points, times.as_deref())?;
            Ok((pose_stamp_ns(stamp_ns, &step, &state.params), step))
        })?;
        let backend = cloud.array.backend();
        let fields = Fields::new(py, Some(&backend)).record(&step)?.record(&step.alignment())?;
        fields.set("stamp_ns", stamp_ns)?.of(&STEP)
    }

    /// The points of the map in the world, as a numpy array of float64, ``[M, 3]``: those that left
    /// it, if they are kept, then voxel by voxel.
    fn map<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let map = |(_, odometry): &(_, library::Odometry)| odometry.map();
        let points =
            self.0.with(py, |state| state.made.as_ref().map_or_else(|| Ok(Vec::new()), map)).or_raise(NAMES)?;
        let rows = points.len();
        Ok(PyArray1::from_vec(py, points.into_flattened()).reshape([rows, 3])?.into_any())
    }

    fn __reduce__(&self) -> PyResult<()> {
        pickle::refused("Odometry", "pickle its steps and what map() returns, or push the sweeps again")
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.0.with(py, |state| state.made.as_ref().map_or(0, |(_, odometry)| odometry.len()))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let size = self.0.with(py, |state| state.params.voxel_size.or_else(|| state.made.as_ref()?.1.voxel_size()));
        let size = size.map_or_else(|| "None".to_owned(), |size| size.to_string());
        format!("Odometry({} sweeps, voxel_size={size})", self.__len__(py))
    }
}
