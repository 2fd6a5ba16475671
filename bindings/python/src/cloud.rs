//! Points of an argument, in either precision and about an origin.

use crate::arrays::{Array, Data, Dtype, Place, listed};
use crate::errors::{Names, OrRaise, value};
use crate::files::Scan;
use crate::interrupt::{self, Effort};
use crate::poses;
use pointmill::ndt::MAX_CELL;
use pointmill::{Device, Result, Rows, Stream, auto_origin};
use pyo3::prelude::*;

/// Points `[N, 3 or more]`.
pub(crate) struct Cloud<'py> {
    pub(crate) array: Array<'py>,
    origin: Option<[f64; 3]>,
}

/// The values of a cloud.
pub(crate) struct CloudData {
    data: Data,
    columns: usize,
    origin: Option<[f64; 3]>,
}

impl<'py> Cloud<'py> {
    /// Points of an array, or of a scan with every bit of its file and about its origin.
    pub(crate) fn read(
        object: &Bound<'py, PyAny>,
        name: &'static str,
        origin: Option<&Bound<'py, PyAny>>,
        origin_name: &'static str,
    ) -> PyResult<Self> {
        let exact = match object.cast::<Scan>() {
            Ok(scan) => scan.get().exact(object.py()),
            Err(_) => object,
        };
        let array = Array::taken(exact, name, &[Dtype::F32, Dtype::F64], None)?.shaped(&[None, None], "[N, 3]")?;
        if array.shape()[1] < 3 {
            return Err(value(name, "3 or more columns (x, y, z first)", array.shape()[1]));
        }
        Ok(Self { array, origin: self::origin((object, name), origin, origin_name)? })
    }

    pub(crate) fn len(&self) -> usize {
        self.array.shape()[0]
    }

    pub(crate) fn place(&self) -> Place {
        self.array.place()
    }

    /// Refuses a cloud that lies elsewhere than `what` does.
    pub(crate) fn on(self, place: Place, what: &str, name: &'static str) -> PyResult<Self> {
        let same = match (place, self.place()) {
            (Place::Cuda { index: a, .. }, Place::Cuda { index: b, .. }) => a == b,
            (a, b) => a == b,
        };
        if same {
            return Ok(self);
        }
        let expected = format!("an array on {place}, as {what}");
        Err(value(name, expected, format_args!("one on {}", self.place())))
    }

    /// The origin that cells of `unit` metres are counted from: that of coordinates of float64; that of
    /// float32, which is added to them, where cells about zero end before it.
    pub(crate) fn lattice_origin(&self, unit: f64) -> [f64; 3] {
        let exact = *self.array.dtype() == Dtype::F64;
        let beyond = |origin: &[f64; 3]| origin.iter().any(|x| x.abs() >= f64::from(MAX_CELL) * unit);
        self.origin.filter(|origin| exact || beyond(origin)).unwrap_or_default()
    }

    /// What is added to points of float32, or was taken for the middle of those of float64.
    pub(crate) const fn origin(&self) -> Option<[f64; 3]> {
        self.origin
    }

    /// Runs `work` with the points on the caller's stream, without the interpreter's lock; see
    /// [`interrupt::run`].
    pub(crate) fn run<R: Send + 'static>(
        &self,
        py: Python<'_>,
        effort: Effort,
        names: Names,
        work: impl FnOnce(Rows<'_>) -> Result<R> + Send + 'static,
    ) -> PyResult<R> {
        let data = self.data(&self.place().stream().or_raise(names)?)?;
        interrupt::run(py, effort, data, move |data| work(data.rows()?))?.or_raise(names)
    }

    /// The values, for work on a stream.
    pub(crate) fn data(&self, stream: &Stream) -> PyResult<CloudData> {
        Ok(CloudData { data: self.array.data(stream)?, columns: self.array.shape()[1], origin: self.origin })
    }
}

impl CloudData {
    /// The number of points.
    pub(crate) fn len(&self) -> usize {
        self.rows().map_or(0, |rows| rows.len())
    }

    pub(crate) fn rows(&self) -> Result<Rows<'_>> {
        let rows = self.data.rows(self.columns)?;
        self.origin.map_or(Ok(rows), |origin| rows.about(origin))
    }
}

/// An origin: three numbers, or ``"auto"`` for the one of float64 coordinates of the host; without
/// either that of a scan. None where there is none.
pub(crate) fn origin(
    (points, name): (&Bound<'_, PyAny>, &'static str),
    origin: Option<&Bound<'_, PyAny>>,
    origin_name: &'static str,
) -> PyResult<Option<[f64; 3]>> {
    let scan = points.cast::<Scan>().ok();
    let own = scan.and_then(|scan| scan.get().own_origin());
    let Some(origin) = origin else { return Ok(own) };
    if !origin.extract::<&str>().is_ok_and(|word| word == "auto") {
        return poses::origin(Some(origin), origin_name);
    }
    let points = &listed(scan.map_or(points, |scan| scan.get().exact(points.py())), name, "float64")?;
    if !is_wide(points)? {
        return Ok(own);
    }
    let (values, shape) = poses::numbers::<f64>(points, name, "an array of the host for the origin \"auto\"")?;
    let columns = shape.last().copied().filter(|n| *n >= 3).ok_or_else(|| value(name, "3 or more columns", "fewer"))?;
    let xyz: Vec<[f64; 3]> = values.chunks_exact(columns).map(|row| [row[0], row[1], row[2]]).collect();
    Ok(Some(auto_origin(&xyz)).filter(|origin| *origin != [0.0; 3]))
}

/// x, y, z of rows that begin with them, of a scan or of an array of the host or of a GPU.
pub(crate) fn coordinates(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<[f64; 3]>> {
    let scan = object.cast::<Scan>().ok().map(Bound::get);
    let exact = scan.map_or(object, |scan| scan.exact(object.py()));
    let (values, [_, columns]) = poses::on_host(exact, name, "an array of shape [N, 3]")?;
    if columns < 3 {
        return Err(value(name, "3 or more columns (x, y, z first)", columns));
    }
    let less = scan.and_then(Scan::subtracted).unwrap_or_default();
    Ok(values.chunks_exact(columns).map(|row| [0, 1, 2].map(|axis| row[axis] + less[axis])).collect())
}

/// What points of float64 are less before they become float32: an origin that the caller gave, or
/// that of a scan. None where there is neither.
pub(crate) fn subtracted(
    points: (&Bound<'_, PyAny>, &'static str),
    origin: Option<&Bound<'_, PyAny>>,
    origin_name: &'static str,
) -> PyResult<Option<[f64; 3]>> {
    let found = self::origin(points, origin, origin_name)?;
    Ok(found.or_else(|| origin.map(|_| [0.0; 3])))
}

/// Whether an array of any library has values of float64 or whole numbers.
fn is_wide(points: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !points.hasattr("dtype")? {
        return Ok(false);
    }
    let dtype = points.getattr("dtype")?.str()?.to_string();
    Ok(dtype.ends_with("float64") || dtype.contains("int"))
}

/// Points of float64, of whole numbers, of a list or of a scan, less an origin, as an array of float32
/// of the same library and on the same device; others as they are.
pub(crate) fn local<'py>(
    (points, name): (&Bound<'py, PyAny>, &'static str),
    origin: [f64; 3],
) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(scan) = points.cast::<Scan>() {
        return scan.get().about(points.py(), origin);
    }
    let points = listed(points, name, "float64")?;
    if !is_wide(&points)? {
        return Ok(points);
    }
    let columns: usize = points.getattr("shape")?.get_item(-1)?.extract()?;
    let row: Vec<f64> = (0..columns).map(|i| origin.get(i).copied().unwrap_or(0.0)).collect();
    if points.hasattr("new_tensor")? {
        let points = points.call_method0("double")?;
        let row = points.call_method1("new_tensor", (row,))?;
        return points.call_method1("sub", (row,))?.call_method0("float");
    }
    let library = match points.hasattr("__array_namespace__")? {
        true => points.call_method0("__array_namespace__")?,
        false => points.py().import("numpy")?.into_any(),
    };
    points.sub(library.call_method1("asarray", (row,))?)?.call_method1("astype", ("float32",))
}

/// A stream of an object's own, which may outlive the stream of its points.
pub(crate) fn own_stream(place: Place) -> Result<Stream> {
    match place {
        Place::Cpu => Device::cpu().stream(),
        Place::Cuda { index, .. } => Device::cuda(index)?.stream(),
    }
}
