//! Targets of many alignments as a class.

use super::result::registration;
use super::{NAMES, SHORT, guess_of};
use crate::arrays::Place;
use crate::cloud::{Cloud, own_stream};
use crate::errors::Names;
use crate::interrupt::Effort;
use crate::keywords::Keywords;
use crate::pickle::{self, MadeAgain};
use crate::poses;
use numpy::{PyArray1, PyArrayMethods};
use pointmill::icp::{IcpParams, Target};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

const TARGET: Names = &[(pointmill::Argument::Target, "points"), (pointmill::Argument::TargetNormals, "normals")];

/// A target that many sources are aligned to: its tree and its normals are made once.
///
/// Parameters
/// ----------
/// points : Scan, array or list, ``[M, 3]``
///     x, y, z in metres, in the target's frame; further columns are not used.
/// metric, max_distance, max_iterations, step_tolerance, robust, neighbours, schedule, drop_zeros,
/// search
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
#[pyclass(frozen, weakref, name = "Target", module = "pointmill.icp")]
pub(crate) struct IcpTarget {
    target: Arc<Target>,
    place: Place,
    len: usize,
    /// Its arguments, for pickles; points and normals are copies. None of arrays that are not of
    /// numpy or torch on the CPU.
    made_of: Option<Py<PyDict>>,
}

/// Rows of three numbers as an array of numpy.
fn array_of<'py>(py: Python<'py>, rows: &[[f32; 3]]) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyArray1::from_slice(py, rows.as_flattened()).reshape([rows.len(), 3])?.into_any())
}

/// A copy of an array of numpy or of torch on the CPU, of which the caller may change the original.
pub(crate) fn copied<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
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
    #[pyo3(
        signature = (points, *, origin = None, normals = None, **params),
        text_signature = "(points, *, metric=\"point-to-plane\", max_distance=None, max_iterations=100, \
        step_tolerance=1e-6, robust=None, neighbours=20, schedule=None, drop_zeros=False, search=\"auto\", \
        origin=None, normals=None)"
    )]
    fn new(
        py: Python<'_>,
        points: &Bound<'_, PyAny>,
        origin: Option<&Bound<'_, PyAny>>,
        normals: Option<&Bound<'_, PyAny>>,
        params: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let params = IcpParams::default().with("Target.__new__", params)?;
        let cloud = Cloud::read(points, "points", origin, "origin")?;
        let normals = normals.map(|object| poses::rows(object, "normals")).transpose()?;
        let (place, len) = (cloud.place(), cloud.len());
        let made_of = match (place, copied(cloud.array.object())?) {
            (Place::Cpu, Some(points)) => {
                let arguments = params.arguments(py)?;
                arguments.set_item("points", points)?;
                arguments.set_item("origin", cloud.origin())?;
                arguments.set_item("normals", normals.as_ref().map(|rows| array_of(py, rows)).transpose()?)?;
                Some(arguments.unbind())
            }
            _ => None,
        };
        let target = cloud.run(py, Effort::of(place, len, SHORT), TARGET, move |points| match &normals {
            Some(normals) => Target::with_normals(&own_stream(place)?, points, normals, &params),
            None => Target::new(&own_stream(place)?, points, &params),
        })?;
        Ok(Self { target: Arc::new(target), place, len, made_of })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<MadeAgain<'py>> {
        match &slf.get().made_of {
            Some(made_of) => pickle::made_again(slf, made_of.bind(slf.py())),
            None => pickle::refused("Target", "make one of its points, which can be pickled"),
        }
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
    /// source : Scan, array or list, ``[N, 3]``
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
        let (target, effort) = (self.target.clone(), Effort::of(self.place, source.len(), SHORT / 4));
        let found = source.run(py, effort, NAMES, move |points| target.align(points, &guess))?;
        registration(py, &source.array.backend(), &found)
    }
}
