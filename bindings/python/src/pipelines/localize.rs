//! Localization as a class.

use crate::arrays::{Backend, Place};
use crate::cloud::Cloud;
use crate::ending::detached;
use crate::errors::{Names, OrRaise, data, file, unnamed, value};
use crate::files::Scan;
use crate::interrupt::{self, Effort};
use crate::keywords::Keywords;
use crate::ndt::{NdtBlockMap, NdtGrid};
use crate::pickle;
use crate::poses;
use crate::ray::InputReader;
use crate::record::{Attributes, Class, Fields};
use crate::shared::Shared;
use pointmill_data::inputs::Inputs;
use pointmill_data::runs::{LocalizeRun, TrajectoryFormat};
use pointmill_slam::localize as library;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

const NAMES: Names = &[];

pub(crate) static FIX: Class = Class::new(
    ("pointmill", "Fix"),
    "What became of a scan, and where the sensor was; arrays of the library of the points.",
    Some("Fix(index={index}, status=\"{status}\", rejection={rejection!r}, {pose})"),
    || {
        Attributes::default()
            .record::<library::Fix>("_Array")
            .add("nvtl", "float | None", "Nearest voxel transformation likelihood of the alignment; ``None`` without one.")
            .add("iterations", "int | None", "The number of steps of the alignment; ``None`` without one.")
            .add("oscillations", "int | None", "The largest number of steps in succession that turned back, each on the one before; ``None`` without an alignment.")
            .add("explained", "float | None", "The share of the scan above the ground, where the map covers the place, that the map explains; ``None`` without an alignment.")
            .add("covered", "float | None", "The share of the scan above the ground where the map covers the place; ``None`` without an alignment.")
            .add("confirmed", "float | None", "The share of the map near the sensor that the scan confirms, of what it confirms or sees through; ``None`` without an alignment.")
            .add("candidates", "_Array", "``[C, 4, 4]`` float64: the places that a search found, the best first.")
            .add("scores", "_Array", "``[C]`` float64: the score of each.")
    },
);

/// The attributes of a scan's result.
fn fix<'py>(backend: &Backend<'py>, fix: &library::Fix) -> PyResult<Bound<'py, PyAny>> {
    let (found, evidence, count) = (fix.registration.as_ref(), fix.evidence.as_ref(), fix.candidates.len());
    let all = fix.candidates.iter().flat_map(|one| one.registration.target_from_source.matrix().concat()).collect();
    Fields::new(backend.object().py(), Some(backend))
        .record(fix)?
        .set("nvtl", found.map(|found| found.fit.nvtl))?
        .set("iterations", found.map(|found| found.iterations))?
        .set("oscillations", found.map(|found| found.fit.oscillations))?
        .set("explained", evidence.map(|evidence| evidence.explained))?
        .set("covered", evidence.map(|evidence| evidence.covered))?
        .set("confirmed", evidence.map(library::Evidence::confirmed_share))?
        .set("candidates", backend.give_values(all, &[count, 4, 4])?)?
        .set("scores", backend.give_values(fix.candidates.iter().map(|one| one.score).collect(), &[count])?)?
        .of(&FIX)
}

/// Localization: the poses of scans in a map, one after the other, on the device of the map.
///
/// Near a known pose a scan is aligned with the map. Without one, all places of a region are
/// searched: a lattice, without random numbers. But for times the results have the same bits on
/// every device and with any number of threads.
///
/// Parameters
/// ----------
/// map : pointmill.ndt.Grid, pointmill.ndt.BlockMap, str or path
///     The map, or the file or folder that has it. Of a map by blocks, on its device, the blocks around the sensor are loaded and the others are left out; it takes a start or a ``region``, and gives the poses of the whole map. A block that
///     cannot be read is a ``ValueError`` of the scan that needs it.
/// region : 4 floats, optional
///     Least x and y, then largest, in which a search looks. Without it, around the last pose, or in the whole map.
/// yaw_range : 2 floats
///     Least and largest yaw in radians that a search looks at.
/// search_radius : float
///     Half the edge in metres of the square around the last pose that is searched without a region.
/// sensor_height : float, optional
///     Height of the sensor above the ground in metres; by default from the scan.
/// covariance : {"laplace", "multi-ndt", "multi-ndt-score"}
///     How the uncertainty is estimated.
/// voxel_size, max_points : float, int
///     A scan is thinned out to one point of each cube of this edge in metres, and to so many points.
/// min_range, max_range : float
///     Points nearer to the sensor or farther from it than these metres are left out.
/// min_nvtl, max_distance, min_explained, min_confirmed, min_margin : float
///     What a fix must reach: its likelihood, metres from its prediction, the shares of scan and map that explain each other, and how clearly a search won.
/// max_rejections : int
///     So many rejected scans in succession end the tracking.
/// regularization_scale : float
///     The part of the score that a metre from the base pose costs.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import pointmill
/// >>> def wall(x0, y0, x1, y1):
/// ...     t, z = (grid.ravel() for grid in np.meshgrid(np.linspace(0, 1, 150), np.arange(0, 4, 0.2)))
/// ...     return np.stack([x0 + t * (x1 - x0), y0 + t * (y1 - y0), z], 1)
/// >>> x, y = (grid.ravel() * 0.2 for grid in np.meshgrid(np.arange(150), np.arange(100)))
/// >>> walls = [(0, 0, 30, 0), (30, 0, 30, 20), (30, 20, 0, 20), (0, 20, 0, 0), (8, 5, 8, 11), (20, 14, 25, 14)]
/// >>> yard = np.concatenate([np.stack([x, y, 0 * x], 1)] + [wall(*ends) for ends in walls])
/// >>> localizer = pointmill.Localizer(pointmill.ndt.Grid(yard, resolution=2.0))
/// >>> scan = yard[::3] - [12.3, 7.9, 1.7]
/// >>> fix = localizer.push(scan)
/// >>> fix.status, np.round(fix.map_from_sensor[:3, 3] - [12.3, 7.9, 1.7]).tolist() == [0, 0, 0]
/// ('found', True)
/// >>> localizer.push(scan).status
/// 'tracked'
#[pyclass(frozen, weakref, module = "pointmill")]
pub(crate) struct Localizer {
    run: Shared<LocalizeRun>,
    /// Where the map is.
    on: String,
}

/// What a map is given as.
enum Map<'py> {
    Grid(PyRef<'py, NdtGrid>),
    Blocks(PyRef<'py, NdtBlockMap>),
}

impl<'py> Map<'py> {
    /// A map, or the one that is in a file or a folder.
    fn take(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(grid) = object.extract() {
            return Ok(Self::Grid(grid));
        }
        if let Ok(blocks) = object.extract() {
            return Ok(Self::Blocks(blocks));
        }
        let Ok(path) = object.extract::<PathBuf>() else {
            let expected = "a Grid, a BlockMap, or the path of a map that one of them has saved";
            let got = object.get_type().name()?;
            return Err(unnamed(object.py(), false, format!("expected {expected}, got {got}")));
        };
        let py = object.py();
        if path.is_dir() {
            Ok(Self::Blocks(py.get_type::<NdtBlockMap>().call1((path,))?.extract()?))
        } else {
            Ok(Self::Grid(py.get_type::<NdtGrid>().call_method1("load", (path,))?.extract()?))
        }
    }
}

#[pymethods]
impl Localizer {
    #[new]
    #[pyo3(signature = (map, **params),
        text_signature = "(map, *, region=None, yaw_range=(-3.141592653589793, 3.141592653589793), \
        search_radius=20.0, sensor_height=None, covariance=\"laplace\", voxel_size=1.0, max_points=5000, \
        min_range=1.0, max_range=100.0, min_nvtl=2.3, max_distance=3.0, min_explained=0.6, min_confirmed=0.7, \
        min_margin=0.1, max_rejections=5, regularization_scale=0.01)")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = Map::take)] map: Map<'_>,
        params: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let params = library::LocalizerParams::default().with("Localizer.__new__", params)?;
        let (map, stream, on) = match map {
            Map::Grid(grid) => {
                let (grid, place) = grid.shared();
                (grid.into(), place.stream().or_raise(NAMES)?, place.to_string())
            }
            Map::Blocks(blocks) => {
                let device = blocks.device();
                let on = if device.is_cpu() { Place::Cpu.to_string() } else { device.to_string() };
                (blocks.tiles(&params).or_raise(NAMES)?, device.stream().or_raise(NAMES)?, on)
            }
        };
        let made = detached(py, || library::Localizer::new(&stream, map, &params));
        let run = LocalizeRun::new(made.or_raise(NAMES)?, false);
        Ok(Self { run: Shared::new(run), on })
    }

    /// Take a pose for where the sensor stands: the next scan is aligned near it.
    ///
    /// Parameters
    /// ----------
    /// map_from_sensor : array, ``[4, 4]``
    ///     The pose.
    fn start(&self, py: Python<'_>, map_from_sensor: &Bound<'_, PyAny>) -> PyResult<()> {
        let pose = poses::matrix(map_from_sensor, "map_from_sensor")?;
        self.run.with(py, |run| run.localizer_mut().start(&pose)).or_raise(NAMES)
    }

    /// Set the pose of the vehicle by another source, such as GNSS: alignments are held near it in
    /// the direction that it faces. ``None`` ends that.
    ///
    /// Parameters
    /// ----------
    /// base : array, ``[4, 4]``, or None
    ///     The pose.
    fn set_base(&self, py: Python<'_>, base: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let base = base.map(|base| poses::matrix(base, "base")).transpose()?;
        self.run.with(py, |run| run.localizer_mut().set_base(base)).or_raise(NAMES)
    }

    /// Take the next scan.
    ///
    /// A scan that has no fix is no error: the status and the rejection give the reason, and the
    /// pose is the prediction.
    ///
    /// Parameters
    /// ----------
    /// points : Scan, array or list, ``[N, 3]``
    ///     x, y, z in metres in the sensor's frame, z up, on the CPU or the device of the map; further columns are not used.
    /// seconds : float, optional
    ///     The time of the scan, by default the stamp of a :class:`Scan`. Scans without a time are taken at even intervals.
    ///
    /// Returns
    /// -------
    /// Fix
    #[pyo3(signature = (points, seconds = None))]
    fn push<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = crate::args::plain)] seconds: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let cloud = Cloud::read(points, "points", None, "origin")?;
        let place = cloud.place();
        if place != Place::Cpu && place.to_string() != self.on {
            let expected = format_args!("an array on the CPU or on {}, as the map", self.on);
            return Err(value("points", expected, format_args!("one on {place}")));
        }
        let stamp = || points.cast::<Scan>().ok()?.get().stamp_ns.map(|stamp| stamp as f64 / 1e9);
        let seconds = seconds.or_else(stamp);
        let run = self.run.clone();
        let found =
            cloud.run(py, Effort::Whole, NAMES, move |points| run.lock().localizer_mut().push(points, seconds))?;
        fix(&cloud.array.backend(), &found)
    }

    /// Takes the scans that a path names, as the command does. Returns their points, and why the
    /// first one that cannot be used cannot.
    fn _push_inputs(&self, py: Python<'_>, path: PathBuf, reader: &InputReader) -> PyResult<(usize, Option<String>)> {
        let (options, run) = (reader.of_whole_clouds()?, self.run.clone());
        let taken = interrupt::run(py, Effort::Whole, (), move |()| {
            let (sources, inputs) = Inputs::find(&[path], options)?;
            let mut run = run.lock();
            let (mut points, mut error) = (0, None);
            for source in &sources {
                match run.push(&inputs, source, &())?.scan {
                    Ok(scan) => points += scan.cloud.len(),
                    Err(e) => error = error.or(Some(e.to_string())),
                }
            }
            Ok((points, error))
        })?;
        taken.map_err(|error| data(error, NAMES))
    }

    /// Takes a scan that cannot be read.
    fn _skip(&self, py: Python<'_>) -> PyResult<()> {
        self.run.with(py, LocalizeRun::skip).map_err(|error| data(error, NAMES))
    }

    /// Writes the poses of all inputs. Returns their number, and how many of them are fixes.
    fn _write_poses(&self, py: Python<'_>, path: PathBuf) -> PyResult<(usize, usize)> {
        let written = self.run.with(py, |run| {
            run.trajectory().write(&path, TrajectoryFormat::Kitti)?;
            Ok((run.trajectory().poses().len(), run.statuses().fixes()))
        });
        written.map_err(file)
    }

    fn __reduce__(&self) -> PyResult<()> {
        pickle::refused("Localizer", "make one of its map, and start() it at the last pose")
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.run.with(py, |run| run.localizer().len())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (scans, lost) = self.run.with(py, |run| (run.localizer().len(), run.localizer().is_lost()));
        format!("Localizer({scans} scans, lost={}, on {})", if lost { "True" } else { "False" }, self.on)
    }
}
