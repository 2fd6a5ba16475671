//! What the package itself asks of a scan: how it is made, its points about an origin, its times.

use super::scan::Scan;
use super::{cloud, rows};
use crate::ending::detached;
use crate::errors::{OrRaise, file, value};
use crate::interrupt::{self, Effort};
use crate::poses;
use numpy::PyArray1;
use pointmill::Points;
use pointmill_io::{NamedPoints, Times};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PySlice;
use std::sync::{Arc, Mutex, PoisonError};

/// The earliest time, and the times after it as an array of numpy.
fn seconds(py: Python<'_>, times: Times) -> (f64, Py<PyAny>) {
    (times.start, PyArray1::from_vec(py, times.seconds).into_any().unbind())
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
        let (survey, decimals) = {
            let named = NamedPoints::from(&scan);
            (named.survey, named.decimals)
        };
        Ok(Self {
            dtypes: scan.fields.iter().map(|field| field.dtype).collect(),
            survey,
            decimals,
            origin: scan.cloud.origin().into(),
            names: scan.fields.iter().map(|field| field.name.clone()).collect(),
            format: scan.format.to_string(),
            warnings: scan.warnings.iter().map(|warning| format!("{warning:#}")).collect(),
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
    pub(super) fn known(&self, py: Python<'_>) -> Option<&(f64, Py<PyAny>)> {
        let later = || self.later.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known.get_or_init(py, || {
            // Several threads may come here; what the first of them returns counts.
            let later = later().clone();
            detached(py, || later?.times()).map(|times| seconds(py, times))
        });
        later().take();
        known.as_ref()
    }

    /// Does something with the points and all that is known of them, without the interpreter's lock.
    pub(crate) fn with_named<T: Send>(
        &self,
        py: Python<'_>,
        names: Option<&[String]>,
        work: impl FnOnce(NamedPoints<'_>) -> T + Send,
    ) -> PyResult<T> {
        let (data, shape) = cloud::<f32>(self.points(py), "points")?;
        let exact = self.xyz.as_ref().map(|xyz| cloud::<f64>(xyz.bind(py), "xyz")).transpose()?;
        if let Some((_, got)) = exact.as_ref().filter(|(_, got)| *got != [shape[0], 3]) {
            return Err(value("xyz", format_args!("shape {:?}", [shape[0], 3]), format_args!("shape {got:?}")));
        }
        let names: Vec<&str> = names.unwrap_or(&self.names).iter().map(String::as_str).collect();
        let points = Points::new(&data, shape[1]).map_err(pointmill::Error::from).or_raise(&[])?;
        let mut named = NamedPoints::new(points, &names);
        named.xyz_f64 = exact.as_ref().map(|(xyz, _)| xyz.as_slice());
        (named.origin, named.survey, named.decimals) = (self.origin.into(), self.survey.clone(), self.decimals);
        named.fields.to_mut().iter_mut().zip(&self.dtypes).for_each(|(field, dtype)| field.dtype = *dtype);
        Ok(detached(py, || {
            for (wide, dtype) in &self.wide {
                // Values that somebody has changed since they were read are those of the points.
                if wide.is_of(points) {
                    named.fields.to_mut()[wide.column()].dtype = *dtype;
                    named.wide.push(wide.clone());
                }
            }
            work(named)
        }))
    }

    /// A scan of other points, with all else that is known of this one; `times` are its times.
    pub(crate) fn replaced(&self, py: Python<'_>, by: pointmill_io::Scan, times: Option<Vec<f64>>) -> PyResult<Self> {
        let made = Self::new(py, Effort::Short, move || Ok(by))?;
        if let (Some(times), Some(start)) = (times, self.start(py)) {
            let known = PyOnceLock::new();
            // Nobody else knows it yet.
            let _ = known.set(py, Some((start, PyArray1::from_vec(py, times).into_any().unbind())));
            return Ok(self.described(Self { known, later: Mutex::default(), ..made }));
        }
        Ok(self.described(made))
    }

    fn described(&self, made: Self) -> Self {
        Self {
            format: self.format.clone(),
            warnings: self.warnings.clone(),
            stamp_ns: self.stamp_ns,
            deskewed: self.deskewed,
            recorded_ns: self.recorded_ns,
            frame: self.frame.clone(),
            ..made
        }
    }

    /// With what a bag says of it.
    pub(crate) fn of_bag(self, stamp_ns: i64, recorded_ns: u64, frame: String) -> Self {
        Self { stamp_ns: Some(stamp_ns), recorded_ns: Some(recorded_ns), frame: Some(frame), ..self }
    }

    /// All columns, about the origin.
    pub(crate) fn points<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.points.bind(py)
    }

    /// x, y, z first, with every bit of the file: those of float64 as they are, those of float32
    /// about the origin.
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
