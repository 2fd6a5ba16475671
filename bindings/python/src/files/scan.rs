//! Clouds of files as a class, also in pickles.

use super::{cloud, default_names, origin_of, rows};
use crate::args::List;
use crate::ending::detached;
use crate::errors::{OrRaise, value};
use crate::pickle::{Reduced, field, way_back};
use crate::poses;
use numpy::PyArray1;
use pointmill::{Points, auto_origin};
use pointmill_io::{Dtype, LaterTimes, LocalOrigin, Survey, Whole, WideColumn};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PySlice, PyType};
use std::sync::{Arc, Mutex};

/// The earliest time, and the times after it.
type Seconds = Option<(f64, Py<PyAny>)>;

/// A cloud, as :func:`read` returns it; arrays of numpy.
///
/// Operators take a scan where they take points, with every bit of its coordinates and about its
/// ``origin``. ``numpy.asarray(scan)`` is ``points``, ``len(scan)`` their number, and
/// ``scan["intensity"]`` the column of this name: float64 where float32 does not hold every value,
/// int64 or uint64 where float64 does not either, otherwise a view of ``points``.
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
#[pyclass(frozen, weakref, module = "pointmill")]
pub(crate) struct Scan {
    /// ``[N, C]`` float32: the points in the order of the file, x, y, z first. No point is left
    /// out.
    #[pyo3(get)]
    pub(super) points: Py<PyAny>,
    /// The names of the columns.
    #[pyo3(get)]
    pub(super) names: Vec<String>,
    /// The format that the file was read in.
    #[pyo3(get)]
    pub(super) format: String,
    /// ``[N, 3]`` float64: x, y, z as the file has them, if float32 loses bits of them; ``None``
    /// otherwise.
    #[pyo3(get)]
    pub(super) xyz: Option<Py<PyAny>>,
    /// The columns of which float32 does not hold every value, and their types, for :func:`write`.
    pub(super) wide: Vec<(Arc<WideColumn>, Dtype)>,
    /// The type that the file has for each column.
    pub(super) dtypes: Vec<Dtype>,
    /// What a LAS file says of its points, and the decimals of coordinates, for :func:`write`.
    pub(super) survey: Option<Arc<Survey>>,
    pub(super) decimals: Option<u8>,
    /// Times that were not asked for so far.
    pub(super) later: Mutex<Option<Arc<LaterTimes>>>,
    /// The earliest time and the times after it, once they were asked for.
    pub(super) known: PyOnceLock<Seconds>,
    /// ``(x, y, z)``: what ``points`` are relative to, in metres; ``xyz`` is not.
    #[pyo3(get)]
    pub(super) origin: (f64, f64, f64),
    /// What was odd about the file.
    #[pyo3(get)]
    pub(super) warnings: Vec<String>,
    /// The stamp of a bag's cloud in nanoseconds since 1970, or of a sweep of Argoverse 2 in those
    /// of its log, by its name; ``None`` of another file.
    #[pyo3(get)]
    pub(crate) stamp_ns: Option<i64>,
    /// Whether the sweep was published without the motion of the sensor within it, so that
    /// ``times`` must not be used to take it out again: its ``dataset`` says so, or it is in an
    /// Argoverse 2 log with poses.
    #[pyo3(get)]
    pub(super) deskewed: bool,
    /// When the cloud of a bag was recorded, in nanoseconds since 1970; ``None`` of a file.
    #[pyo3(get)]
    pub(super) recorded_ns: Option<u64>,
    /// The frame of a bag's cloud; ``None`` of a file.
    #[pyo3(get)]
    pub(super) frame: Option<String>,
}

#[pymethods]
impl Scan {
    #[new]
    #[pyo3(signature = (points, names = None, *, times = None, start = 0.0, stamp_ns = None, deskewed = false, local_origin = None),
        text_signature = "(points, names=None, *, times=None, start=0.0, stamp_ns=None, deskewed=False, local_origin='auto')")]
    fn made(
        py: Python<'_>,
        points: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = crate::args::plain)] names: Option<List<String>>,
        times: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = crate::args::plain)] start: f64,
        #[pyo3(from_py_with = crate::args::plain)] stamp_ns: Option<i64>,
        #[pyo3(from_py_with = crate::args::plain)] deskewed: bool,
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
            LocalOrigin::None => [0.0; 3],
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
            dtypes: vec![Dtype::F32; width],
            survey: None,
            decimals: None,
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
        #[pyo3(from_py_with = crate::args::plain)] copy: Option<bool>,
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
        if let Some((wide, dtype)) = self.wide.iter().find(|(wide, _)| wide.column() == column) {
            let (values, shape) = cloud::<f32>(points, "points")?;
            let held = Points::new(&values, shape[1]).map_err(pointmill::Error::from).or_raise(&[])?;
            // Values that somebody has changed since they were read are those of the points.
            if detached(py, || wide.is_of(held)) {
                // Whole numbers that float64 does not hold stay such.
                match wide.to_whole(*dtype) {
                    Some(Whole::I64(values)) => return Ok(PyArray1::from_vec(py, values).into_any()),
                    Some(Whole::U64(values)) => return Ok(PyArray1::from_vec(py, values).into_any()),
                    None => {}
                }
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

    /// ``[N]`` float64: the time of each point in seconds after ``start``, NaN if it has none;
    /// ``None`` if no column has times.
    #[getter]
    pub(crate) fn times(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.known(py).map(|(_, seconds)| seconds.clone_ref(py))
    }

    /// The earliest time of a point in seconds, as the file counts; ``None`` without times.
    #[getter]
    pub(crate) fn start(&self, py: Python<'_>) -> Option<f64> {
        self.known(py).map(|(start, _)| *start)
    }

    /// The coordinate reference system of a LAS file, or of the .prj beside a PLY or text: its name in
    /// WKT, or its EPSG code; ``None`` where there is none.
    #[getter]
    fn crs(&self) -> Option<String> {
        self.survey.as_ref()?.crs()
    }

    #[getter]
    fn _kept(&self) -> (Vec<String>, Option<String>, Option<u8>) {
        let survey = self.survey.as_ref().map(|survey| survey.to_text());
        (self.dtypes.iter().map(ToString::to_string).collect(), survey, self.decimals)
    }

    #[getter]
    fn _wide(&self) -> Vec<WideParts> {
        let parts = |(wide, dtype): &(Arc<WideColumn>, Dtype)| {
            let (column, first, values, rest, change) = wide.parts();
            (column, first, values.to_vec(), rest.to_vec(), change, dtype.to_string())
        };
        self.wide.iter().map(parts).collect()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduce(slf)
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        restore(fields)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Scan({} points of {}, {})", self.__len__(py)?, self.names.join(", "), self.format))
    }
}

/// The fields of a scan by name and back: those that are attributes, and what is made of others.
macro_rules! fields {
    ($($field:ident),+; $($own:ident: $of:expr),+; $($other:literal),+) => {
        fn reduce<'py>(scan: &Bound<'py, Scan>) -> PyResult<Reduced<'py>> {
            let fields = PyDict::new(scan.py());
            for name in [$(stringify!($field),)+ $($other),+] {
                fields.set_item(name, scan.as_any().getattr(name)?)?;
            }
            way_back(scan, fields)
        }

        fn restore(fields: &Bound<'_, PyDict>) -> PyResult<Scan> {
            Ok(Scan { $($field: field(fields, stringify!($field))?,)+ $($own: $of(fields)?),+ })
        }
    };
}
// Every field that has values; times are pickled as they are asked for, so that none is left.
fields!(points, names, format, xyz, origin, warnings, stamp_ns, deskewed, recorded_ns, frame;
    later: |_| PyResult::Ok(Mutex::default()), known: known_of, wide: wide_of, dtypes: dtypes_of,
    survey: survey_of, decimals: |fields| PyResult::Ok(kept_of(fields)?.2); "start", "times", "_wide", "_kept");

/// A wide column and its type, as a pickle has them.
type WideParts = (usize, Option<i128>, Vec<f64>, Vec<i16>, f64, String);

fn wide_of(fields: &Bound<'_, PyDict>) -> PyResult<Vec<(Arc<WideColumn>, Dtype)>> {
    let columns: Vec<WideParts> = field(fields, "_wide")?;
    let column = |(column, first, values, rest, change, dtype): WideParts| {
        let known = dtype.parse().map_err(|_| value("_wide", "a type such as \"f64\"", &dtype))?;
        let parts = WideColumn::from_parts((column, first, values, rest, change));
        let wide = parts.ok_or_else(|| value("_wide", "as many rests as values", "others"))?;
        Ok((Arc::new(wide), known))
    };
    columns.into_iter().map(column).collect()
}

/// What a scan keeps of its file, as a pickle has it: the types of the columns, the survey, decimals.
type Kept = (Vec<String>, Option<String>, Option<u8>);

fn kept_of(fields: &Bound<'_, PyDict>) -> PyResult<Kept> {
    field(fields, "_kept")
}

fn dtypes_of(fields: &Bound<'_, PyDict>) -> PyResult<Vec<Dtype>> {
    let columns = field::<Vec<String>>(fields, "names")?.len();
    let words = kept_of(fields)?.0;
    let wrong = || value("_kept", format_args!("{columns} types of columns"), words.join(", "));
    let types: Vec<Dtype> = words.iter().filter_map(|word| word.parse().ok()).collect();
    if types.len() == columns && words.len() == columns { Ok(types) } else { Err(wrong()) }
}

fn survey_of(fields: &Bound<'_, PyDict>) -> PyResult<Option<Arc<Survey>>> {
    let Some(text) = kept_of(fields)?.1 else { return Ok(None) };
    let survey = Survey::from_text(&text).ok_or_else(|| value("_kept", "what a LAS file says", text))?;
    Ok(Some(Arc::new(survey)))
}

fn known_of(fields: &Bound<'_, PyDict>) -> PyResult<PyOnceLock<Seconds>> {
    let start: Option<f64> = field(fields, "start")?;
    let known = PyOnceLock::new();
    // Nobody else knows it yet.
    let _ = known.set(fields.py(), start.zip(field(fields, "times")?));
    Ok(known)
}
