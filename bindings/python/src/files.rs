//! Clouds and poses in files.

use crate::args::{List, named, numbers, whole};
use crate::arrays::Place;
use crate::ending::detached;
use crate::errors::{OrRaise, file, in_python, value};
use crate::interrupt::{self, Effort};
use crate::pickle::{self, Fields, Reduced, field};
use crate::poses;
use numpy::{Element, PyArray1, PyArrayMethods};
use pointmill::{Points, auto_origin};
use pointmill_data::log_stamp_ns;
use pointmill_io::{
    Dtype, LaterTimes, LocalOrigin, NamedPoints, PoseFormat, PoseOptions, Poses, ReadOptions, Times, WideColumn,
    WriteOptions,
};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PySlice, PyType};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Files of so many bytes are read in about a millisecond.
const SHORT: usize = 1 << 16;

/// The earliest time, and the times after it.
type Seconds = Option<(f64, Py<PyAny>)>;

/// A cloud, as :func:`read` returns it; arrays of numpy.
///
/// Operators take a scan where they take points, with every bit of its coordinates and about its ``origin``. ``numpy.asarray(scan)`` is ``points``, ``len(scan)`` their number, and
/// ``scan["intensity"]`` the column of this name: float64 where float32 does not hold every value, otherwise a view of ``points``.
///
/// Parameters
/// ----------
/// points : array, ``[N, C]``
///     x, y, z first. Values of float64 that float32 does not hold stay: x, y, z in ``xyz``, other columns for ``scan[name]`` and :func:`write`.
/// names : list of str, optional
///     A name for each column; by default x, y, z, column3 and so on.
/// times : array, ``[N]``, optional
///     The time of each point in seconds after `start`.
/// start : float
///     The earliest time in seconds.
/// stamp_ns : int, optional
///     The stamp of the cloud in nanoseconds.
/// deskewed : bool
///     Whether there is no motion of the sensor within the cloud.
/// local_origin : {"auto", "none"} or 3 floats
///     As of :func:`read`.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import pointmill
/// >>> scan = pointmill.Scan(np.array([[1, 2, 3, 0.5], [4, 5, 6, 0.25]], np.float32), ["x", "y", "z", "intensity"])
/// >>> scan
/// Scan(2 points of x, y, z, intensity, array)
/// >>> scan["intensity"].tolist(), "ring" in scan, np.asarray(scan).shape
/// ([0.5, 0.25], False, (2, 4))
/// >>> pointmill.voxelize(scan, voxel_size=[4, 4, 4], point_cloud_range=[0, 0, 0, 8, 8, 8]).num_points.tolist()
/// [1, 1]
#[pyclass(frozen, module = "pointmill")]
pub(crate) struct Scan {
    /// ``[N, C]`` float32: the points in the order of the file, x, y, z first. No point is left out.
    #[pyo3(get)]
    points: Py<PyAny>,
    /// The names of the columns.
    #[pyo3(get)]
    names: Vec<String>,
    /// The format that the file was read in.
    #[pyo3(get)]
    format: String,
    /// ``[N, 3]`` float64: x, y, z as the file has them, if float32 loses bits of them; ``None`` otherwise.
    #[pyo3(get)]
    xyz: Option<Py<PyAny>>,
    /// The columns of which float32 does not hold every value, and their types, for :func:`write`.
    wide: Vec<(Arc<WideColumn>, Dtype)>,
    /// Times that were not asked for so far.
    later: Mutex<Option<Arc<LaterTimes>>>,
    /// The earliest time and the times after it, once they were asked for.
    known: PyOnceLock<Seconds>,
    /// ``(x, y, z)``: what ``points`` are relative to, in metres; ``xyz`` is not.
    #[pyo3(get)]
    origin: (f64, f64, f64),
    /// What was odd about the file.
    #[pyo3(get)]
    warnings: Vec<String>,
    /// The stamp of a bag's cloud in nanoseconds since 1970, or of a sweep of Argoverse 2 in those of its log, by its name; ``None`` of another file.
    #[pyo3(get)]
    pub(crate) stamp_ns: Option<i64>,
    /// Whether the sweep was published without the motion of the sensor within it, so that ``times`` must not be used to take it out again: its ``dataset`` says so, or it is in an Argoverse 2 log with poses.
    #[pyo3(get)]
    deskewed: bool,
    /// When the cloud of a bag was recorded, in nanoseconds since 1970; ``None`` of a file.
    #[pyo3(get)]
    recorded_ns: Option<u64>,
    /// The frame of a bag's cloud; ``None`` of a file.
    #[pyo3(get)]
    frame: Option<String>,
}

// Every field that has values; times are pickled as they are asked for.
pickle::fields!(
    Scan { points, names, format, xyz, origin, warnings, stamp_ns, deskewed, recorded_ns, frame }
    { later: no_later, known: known_of, wide: wide_of } of ["start", "times", "_wide"]
);

/// A wide column and its type, as a pickle has them.
type WideParts = (usize, Option<i128>, Vec<f64>, f64, String);

fn wide_of(fields: &Bound<'_, PyDict>) -> PyResult<Vec<(Arc<WideColumn>, Dtype)>> {
    let columns: Vec<WideParts> = field(fields, "_wide")?;
    let column = |(column, first, values, change, dtype): WideParts| {
        let known = dtype.parse().map_err(|_| value("_wide", "a type such as \"f64\"", &dtype))?;
        Ok((Arc::new(WideColumn::from_parts((column, first, values, change))), known))
    };
    columns.into_iter().map(column).collect()
}

/// A pickle has all times.
fn no_later(_: &Bound<'_, PyDict>) -> PyResult<Mutex<Option<Arc<LaterTimes>>>> {
    Ok(Mutex::default())
}

fn known_of(fields: &Bound<'_, PyDict>) -> PyResult<PyOnceLock<Seconds>> {
    let start: Option<f64> = field(fields, "start")?;
    let known = PyOnceLock::new();
    // Nobody else knows it yet.
    let _ = known.set(fields.py(), start.zip(field(fields, "times")?));
    Ok(known)
}

#[pymethods]
impl Scan {
    #[new]
    #[pyo3(signature = (points, names = None, *, times = None, start = 0.0, stamp_ns = None, deskewed = false, local_origin = None),
        text_signature = "(points, names=None, *, times=None, start=0.0, stamp_ns=None, deskewed=False, local_origin='auto')")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn made(
        py: Python<'_>,
        points: &Bound<'_, PyAny>,
        names: Option<List<String>>,
        times: Option<&Bound<'_, PyAny>>,
        start: f64,
        stamp_ns: Option<i64>,
        deskewed: bool,
        local_origin: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (values, [len, width]) = cloud::<f64>(points, "points")?;
        let names = names.map_or_else(|| default_names(width), |List(names)| names);
        if names.len() != width {
            return Err(value("names", format_args!("{width}, one for each column"), names.len()));
        }
        let times = times.map(|times| poses::row(times, "times")).transpose()?;
        if let Some(got) = times.as_ref().map(Vec::len).filter(|got| *got != len) {
            return Err(value("times", format_args!("{len}, one for each point"), got));
        }
        let xyz: Vec<[f64; 3]> = values.chunks_exact(width).map(|row| [row[0], row[1], row[2]]).collect();
        let origin = match origin_of(local_origin)? {
            LocalOrigin::Auto => auto_origin(&xyz),
            LocalOrigin::At(origin) => origin,
            _ => [0.0; 3],
        };
        let less = |i: usize, v: f64| (v - origin.get(i % width).copied().unwrap_or(0.0)) as f32;
        let single: Vec<f32> = values.iter().enumerate().map(|(i, v)| less(i, *v)).collect();
        let moves = |v: f64, single: f32| v.is_finite() && f64::from(single) != v;
        let moves_in =
            |i: usize| values.iter().zip(&single).skip(i).step_by(width).any(|(v, single)| moves(*v, *single));
        let column = |i: usize| WideColumn::new(i, values.iter().skip(i).step_by(width).copied().collect());
        let wide = (3..width).filter(|i| moves_in(*i)).map(|i| (Arc::new(column(i)), Dtype::F64)).collect();
        let exact = (0..3).any(moves_in).then(|| rows(py, xyz.into_flattened(), 3)).transpose()?;
        let known = PyOnceLock::new();
        // Nobody else knows it yet.
        let _ = known.set(py, times.map(|seconds| (start, PyArray1::from_vec(py, seconds).into_any().unbind())));
        Ok(Self {
            points: rows(py, single, width)?,
            names,
            format: "array".into(),
            xyz: exact,
            wide,
            later: Mutex::default(),
            known,
            origin: origin.into(),
            warnings: Vec::new(),
            stamp_ns,
            deskewed,
            recorded_ns: None,
            frame: None,
        })
    }

    /// ``points``, for numpy.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let points = self.points(py);
        let wanted = dtype.map(|dtype| py.import("numpy")?.call_method1("dtype", (dtype,))).transpose()?;
        match wanted {
            Some(wanted) if !wanted.eq(points.getattr("dtype")?)? => {
                if copy == Some(false) {
                    let text = format!("Scan: points are float32, and {wanted} needs a copy; pass copy=None");
                    return Err(PyValueError::new_err(text));
                }
                points.call_method1("astype", (wanted,))
            }
            _ if copy == Some(true) => points.call_method0("copy"),
            _ => Ok(points.clone()),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(column) = self.names.iter().position(|known| known == name) else {
            return Err(PyKeyError::new_err(format!("{name:?}: expected one of {}", self.names.join(", "))));
        };
        let points = self.points(py);
        let column_of = |array: &Bound<'py, PyAny>| array.get_item((PySlice::full(py), column));
        if column < 3 {
            return match (&self.xyz, [self.origin.0, self.origin.1, self.origin.2][column]) {
                (Some(xyz), _) => column_of(xyz.bind(py)),
                (None, 0.0) => column_of(points),
                (None, origin) => column_of(points)?.call_method1("astype", ("float64",))?.add(origin),
            };
        }
        if let Some((wide, _)) = self.wide.iter().find(|(wide, _)| wide.column() == column) {
            let (values, shape) = cloud::<f32>(points, "points")?;
            let held = Points::new(&values, shape[1]).map_err(pointmill::Error::from).or_raise(&[])?;
            // Values that somebody has changed since they were read are those of the points.
            if detached(py, || wide.is_of(held)) {
                return Ok(PyArray1::from_vec(py, wide.to_vec()).into_any());
            }
        }
        column_of(points)
    }

    fn __contains__(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.points.bind(py).len()
    }

    /// ``[N]`` float64: the time of each point in seconds after ``start``, NaN if it has none; ``None`` if no column has times.
    #[getter]
    pub(crate) fn times(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.known(py).map(|(_, seconds)| seconds.clone_ref(py))
    }

    /// The earliest time of a point in seconds, as the file counts; ``None`` without times.
    #[getter]
    pub(crate) fn start(&self, py: Python<'_>) -> Option<f64> {
        self.known(py).map(|(start, _)| *start)
    }

    #[getter]
    fn _wide(&self) -> Vec<WideParts> {
        let parts = |(wide, dtype): &(Arc<WideColumn>, Dtype)| {
            let (column, first, values, change) = wide.parts();
            (column, first, values.to_vec(), change, dtype.to_string())
        };
        self.wide.iter().map(parts).collect()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        Self::of(fields)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Scan({} points of {}, {})", self.__len__(py)?, self.names.join(", "), self.format))
    }
}

/// Names of columns that have none.
fn default_names(columns: usize) -> Vec<String> {
    let name = |i: usize| ["x", "y", "z"].get(i).map_or_else(|| format!("column{i}"), |&axis| axis.into());
    (0..columns).map(name).collect()
}

/// Values as an array of numpy with rows.
fn rows<T: Element>(py: Python<'_>, values: Vec<T>, columns: usize) -> PyResult<Py<PyAny>> {
    let shape = [values.len() / columns, columns];
    Ok(PyArray1::from_vec(py, values).reshape(shape)?.into_any().unbind())
}

/// The earliest time, and the times after it as an array of numpy.
fn seconds(py: Python<'_>, times: Times) -> (f64, Py<PyAny>) {
    (times.start, PyArray1::from_vec(py, times.seconds).into_any().unbind())
}

/// Read the cloud of a file.
///
/// Parameters
/// ----------
/// path : str or path
///     A file of any format that ``pointmill info`` reads: raw float32 rows, npy, npz, PLY, PCD, LAS, LAZ, E57, Arrow, Feather, text, or an MCAP bag of one cloud.
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
///     The topic of a bag; by default its only one.
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
#[pyo3(signature = (path, *, format = None, columns = None, dataset = None, scan = None, topic = None, salvage = false, local_origin = None),
    text_signature = "(path, *, format=None, columns=None, dataset=None, scan=None, topic=None, salvage=False, local_origin='auto')")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn read(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    columns: Option<i64>,
    dataset: Option<&str>,
    scan: Option<i64>,
    topic: Option<String>,
    salvage: bool,
    local_origin: Option<&Bound<'_, PyAny>>,
) -> PyResult<Scan> {
    let options = read_options(format, columns, dataset, scan, topic, salvage, local_origin)?;
    let stamp_ns = log_stamp_ns(&path).and_then(|stamp| i64::try_from(stamp).ok());
    let deskewed = pointmill_data::is_deskewed(&path, options.dataset);
    // What cannot be looked at is refused at once.
    let bytes = std::fs::metadata(&path).map_or(0, |found| found.len());
    let effort = Effort::of(Place::Cpu, usize::try_from(bytes).unwrap_or(usize::MAX), SHORT);
    Ok(Scan { stamp_ns, deskewed, ..Scan::new(py, effort, move || pointmill_io::read(&path, &options))? })
}

/// How a file is read, from the arguments of `read`.
pub(crate) fn read_options(
    format: Option<&str>,
    columns: Option<i64>,
    dataset: Option<&str>,
    scan: Option<i64>,
    topic: Option<String>,
    salvage: bool,
    local_origin: Option<&Bound<'_, PyAny>>,
) -> PyResult<ReadOptions> {
    let mut options = ReadOptions { topic, salvage, ..ReadOptions::default() };
    options.format = format.map(|word| named(word, "format")).transpose()?;
    options.columns = columns.map(|n| whole(n, 3, "columns")).transpose()?.map(|n| n as usize);
    options.dataset = dataset.map(|word| named(word, "dataset")).transpose()?;
    options.scan = scan.map(|n| whole(n, 0, "scan")).transpose()?.map(|n| n as usize);
    options.origin = origin_of(local_origin)?;
    Ok(options)
}

/// What is subtracted from coordinates.
pub(crate) fn origin_of(local_origin: Option<&Bound<'_, PyAny>>) -> PyResult<LocalOrigin> {
    let Some(origin) = local_origin else { return Ok(LocalOrigin::Auto) };
    match origin.extract::<&str>() {
        Ok(word @ ("auto" | "none")) => Ok(word.parse().unwrap_or_default()),
        _ => Ok(LocalOrigin::At(numbers(origin, "local_origin", "x, y, z in metres, or \"auto\" or \"none\"")?)),
    }
}

impl Scan {
    /// The scan that `read` returns, without the interpreter's lock.
    pub(crate) fn new(
        py: Python<'_>,
        effort: Effort,
        read: impl FnOnce() -> Result<pointmill_io::Scan, pointmill_io::IoError> + Send + 'static,
    ) -> PyResult<Self> {
        let read = move || {
            let scan = read()?;
            // What depends on the points is worked out before somebody changes them.
            let later = scan.later_times();
            let times = if later.is_none() { scan.times() } else { None };
            Ok((scan, later, times))
        };
        let (scan, later, times) = interrupt::run(py, effort, (), move |()| read())?.map_err(file)?;
        let known = PyOnceLock::new();
        if later.is_none() {
            // Nobody else knows it yet.
            let _ = known.set(py, times.map(|times| seconds(py, times)));
        }
        let width = scan.cloud.columns();
        Ok(Self {
            origin: scan.cloud.origin().into(),
            names: scan.fields.iter().map(|field| field.name.clone()).collect(),
            format: scan.format.to_string(),
            warnings: scan.warnings.iter().map(|warning| in_python(&warning.to_string())).collect(),
            wide: scan.wide().map(|wide| (wide.clone(), scan.fields[wide.column()].dtype)).collect(),
            xyz: scan.xyz_f64.map(|xyz| rows(py, xyz, 3)).transpose()?,
            later: Mutex::new(later.map(Arc::new)),
            known,
            points: rows(py, scan.cloud.into_data(), width)?,
            stamp_ns: None,
            deskewed: false,
            recorded_ns: None,
            frame: None,
        })
    }

    /// The earliest time and the times after it.
    fn known(&self, py: Python<'_>) -> Option<&(f64, Py<PyAny>)> {
        let later = || self.later.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known.get_or_init(py, || {
            // Several threads may come here; what the first of them returns counts.
            let later = later().clone();
            detached(py, || later?.times()).map(|times| seconds(py, times))
        });
        later().take();
        known.as_ref()
    }

    /// With what a bag says of it.
    pub(crate) fn of_bag(self, stamp_ns: i64, recorded_ns: u64, frame: String) -> Self {
        Self { stamp_ns: Some(stamp_ns), recorded_ns: Some(recorded_ns), frame: Some(frame), ..self }
    }

    /// All columns, about the origin.
    pub(crate) fn points<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.points.bind(py)
    }

    /// x, y, z first, with every bit of the file: those of float64 as they are, those of float32 about the origin.
    pub(crate) fn exact<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.xyz.as_ref().unwrap_or(&self.points).bind(py)
    }

    /// The origin, unless it is zero.
    pub(crate) fn own_origin(&self) -> Option<[f64; 3]> {
        Some(self.origin.into()).filter(|origin| *origin != [0.0; 3])
    }

    /// What was subtracted from [`Scan::exact`].
    pub(crate) fn subtracted(&self) -> Option<[f64; 3]> {
        if self.xyz.is_none() { self.own_origin() } else { None }
    }

    /// All columns about another origin.
    pub(crate) fn about<'py>(&self, py: Python<'py>, origin: [f64; 3]) -> PyResult<Bound<'py, PyAny>> {
        let points = self.points(py);
        if <[f64; 3]>::from(self.origin) == origin {
            return Ok(points.clone());
        }
        let (values, shape) = poses::numbers::<f64>(self.exact(py), "points", "points of the host")?;
        let less = self.subtracted().unwrap_or_default();
        let moved =
            values.chunks_exact(shape[1]).flat_map(|row| [0, 1, 2].map(|i| (row[i] + less[i] - origin[i]) as f32));
        let moved = rows(py, moved.collect(), 3)?;
        let points = points.call_method0("copy")?;
        points.set_item((PySlice::full(py), PySlice::new(py, 0, 3, 1)), moved)?;
        Ok(points)
    }

    /// The times of the points as the file counts them, unless the sweep is deskewed.
    pub(crate) fn times_to_deskew(&self, py: Python<'_>) -> PyResult<Option<Vec<f64>>> {
        let Some((start, seconds)) = self.known(py).filter(|_| !self.deskewed) else { return Ok(None) };
        let seconds = poses::row(seconds.bind(py), "times")?;
        Ok(Some(seconds.into_iter().map(|after| start + after).collect()))
    }
}

/// The files that inputs mean, as the command finds them.
///
/// A folder means the point clouds directly in it, a pattern (``*``, ``?``, ``[..]``, ``**``) the files that it matches, both in natural order: ``2.bin`` before ``10.bin``. Anything else means itself.
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

/// The rows of a cloud in an array of the host, and its shape.
fn cloud<T: Element>(object: &Bound<'_, PyAny>, name: &str) -> PyResult<(Vec<T>, [usize; 2])> {
    let expected = "an array of shape [N, C], x, y, z first";
    let (values, shape) = poses::numbers(object, name, expected)?;
    match shape[..] {
        [rows, columns] if columns >= 3 => Ok((values, [rows, columns])),
        _ => Err(value(name, expected, format_args!("shape {shape:?}"))),
    }
}

/// Write a cloud to a file, whole or not at all. The same cloud gives the same bytes.
///
/// Parameters
/// ----------
/// path : str or path
///     The file. Its ending decides the format: .ply, .pcd, .npz, .npy, .bin, .feather, .arrow, .csv or .xyz.
/// points : Scan or array of float32, ``[N, C]``
///     What :func:`read` returned, or an array of the host, x, y, z first. Of a scan, columns such as times of float64 are written with every bit where the format holds them.
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
    path: PathBuf,
    points: &Bound<'_, PyAny>,
    names: Option<List<String>>,
    xyz: Option<&Bound<'_, PyAny>>,
    format: Option<&str>,
) -> PyResult<()> {
    let options = WriteOptions { format: format.map(|word| named(word, "format")).transpose()? };
    let (array, read_names, read_xyz, wide, origin) = match points.cast::<Scan>() {
        Ok(scan) => {
            let Scan { points, names, xyz, wide, origin, .. } = scan.get();
            let xyz = xyz.as_ref().map(|xyz| xyz.bind(py).clone());
            (points.bind(py).clone(), Some(names.clone()), xyz, &wide[..], (*origin).into())
        }
        Err(_) => (points.clone(), None, None, &[][..], [0.0; 3]),
    };
    let (data, shape) = cloud::<f32>(&array, "points")?;
    let exact = xyz.cloned().or(read_xyz).map(|xyz| cloud::<f64>(&xyz, "xyz")).transpose()?;
    if let Some((_, got)) = exact.as_ref().filter(|(_, got)| *got != [shape[0], 3]) {
        return Err(value("xyz", format_args!("shape {:?}", [shape[0], 3]), format_args!("shape {got:?}")));
    }
    let names = names.map(|List(names)| names).or(read_names).unwrap_or_else(|| default_names(shape[1]));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let points = Points::new(&data, shape[1]).map_err(pointmill::Error::from).or_raise(&[])?;
    let mut named = NamedPoints::new(points, &names);
    named.xyz_f64 = exact.as_ref().map(|(xyz, _)| xyz.as_slice());
    named.origin = origin;
    detached(py, || {
        for (wide, dtype) in wide {
            // Values that somebody has changed since they were read are those of the points.
            if wide.is_of(points) {
                named.fields.to_mut()[wide.column()].dtype = *dtype;
                named.wide.push(wide.clone());
            }
        }
        pointmill_io::write(&path, named, &options)
    })
    .map_err(file)
}

/// Read the poses of a file.
///
/// Parameters
/// ----------
/// path : str or path
///     Text of KITTI (12 numbers per line), TUM (time, translation, quaternion), EuRoC (a header, nanoseconds, w first), 4x4 matrices or x, y, z, roll, pitch, yaw; or the Feather table of an Argoverse 2 log.
/// format : {"kitti", "tum", "matrix", "xyzrpy", "euroc", "argoverse2"}, optional
///     The format; by default the first line decides, or EuRoC's header.
///
/// Returns
/// -------
/// poses : array of float64, ``[P, 4, 4]``
///     Rigid transforms.
/// times : array of float64, ``[P]``, or None
///     Seconds, if the file has times.
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> import numpy as np
/// >>> import pointmill
/// >>> path = os.path.join(tempfile.mkdtemp(), "poses.txt")
/// >>> pointmill.write_poses(path, np.eye(4)[None], times=[0.5], format="tum")
/// >>> poses, times = pointmill.read_poses(path)
/// >>> poses.shape, times.tolist()
/// ((1, 4, 4), [0.5])
#[pyfunction]
#[pyo3(signature = (path, *, format = None))]
pub(crate) fn read_poses(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
) -> PyResult<(Py<PyAny>, Option<Py<PyAny>>)> {
    let format = format.map(|word| named::<PoseFormat>(word, "format")).transpose()?;
    let options = PoseOptions { format, ..PoseOptions::default() };
    let Poses { poses, times } = detached(py, || pointmill_io::read_poses(&path, &options)).map_err(file)?;
    let shape = [poses.len(), 4, 4];
    let numbers: Vec<f64> = poses.iter().flat_map(pointmill::Pose::matrix).flatten().collect();
    let poses = PyArray1::from_vec(py, numbers).reshape(shape)?.into_any().unbind();
    Ok((poses, times.map(|times| PyArray1::from_vec(py, times).into_any().unbind())))
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

/// Write poses to a file, whole or not at all. Numbers are the shortest that read back as the same float64.
///
/// Parameters
/// ----------
/// path : str or path
///     The file.
/// poses : array, ``[P, 4, 4]`` or ``[P, 6]``
///     Rigid transforms, or x, y, z, roll, pitch, yaw.
/// times : array, ``[P]``, optional
///     Seconds; ``"tum"`` needs them, or ``stamps_ns``.
/// format : {"kitti", "tum", "matrix", "xyzrpy"}
///     The format.
/// stamps_ns : list of int, ``[P]``, optional
///     The times in whole nanoseconds, for ``"tum"``. All of their digits are written; float64 seconds since 1970 are 240 ns apart.
///
/// Examples
/// --------
/// >>> import os, tempfile
/// >>> import numpy as np
/// >>> import pointmill
/// >>> path = os.path.join(tempfile.mkdtemp(), "poses.txt")
/// >>> pointmill.write_poses(path, np.eye(4)[None])
/// >>> open(path).read()
/// '1 0 0 0 0 1 0 0 0 0 1 0\n'
#[pyfunction]
#[pyo3(signature = (path, poses, *, times = None, format = "kitti", stamps_ns = None))]
pub(crate) fn write_poses(
    py: Python<'_>,
    path: PathBuf,
    poses: &Bound<'_, PyAny>,
    times: Option<&Bound<'_, PyAny>>,
    format: &str,
    stamps_ns: Option<Vec<i64>>,
) -> PyResult<()> {
    let format: PoseFormat = named(format, "format")?;
    let (poses, _) = poses::poses(poses, "poses")?;
    if let Some(stamps) = stamps_ns {
        if times.is_some() || format != PoseFormat::Tum {
            let got = if times.is_some() { "both".into() } else { format!("format={:?}", format.as_str()) };
            return Err(value("stamps_ns", "format=\"tum\" and no times", got));
        }
        return detached(py, || pointmill_io::write_stamped_poses(&path, &poses, &stamps)).map_err(file);
    }
    let times = times.map(|times| poses::row(times, "times")).transpose()?;
    let written = Poses { poses, times };
    detached(py, || pointmill_io::write_poses(&path, &written, format)).map_err(file)
}
