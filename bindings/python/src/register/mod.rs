//! Registration without a guess.

mod result;

pub(crate) use result::REGISTERED;

use crate::arrays::Place;
use crate::cloud::{Cloud, own_stream};
use crate::errors::Names;
use crate::icp::copied;
use crate::interrupt::Effort;
use crate::keywords::Keywords;
use crate::pickle::{self, MadeAgain};
use pointmill::registration::global::{RegisterParams, Target};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

const POINTS: Names = &[(pointmill::Argument::Target, "points")];

/// Find the pose that brings a source cloud onto a target cloud without a guess, or say that there is none.
///
/// There is no random number: the result has the same bits on every device, with any number of
/// threads. It runs where the clouds are. For many sources onto one target, :class:`RegisterTarget` makes the target ready once.
/// Points that are not finite, and those at (0, 0, 0), are left out.
///
/// Parameters
/// ----------
/// source : Scan, array or list, ``[N, 3]``
///     x, y, z in metres, in the source's frame; further columns are not used.
/// target : Scan, array or list, ``[M, 3]``
///     x, y, z in metres, in the target's frame.
/// voxel_size : float
///     Edge in metres of the cubes whose points become one: about a hundredth of the extent of a scene.
/// level : bool
///     Whether z is up in both clouds. The pose is then found by a search over x, y, z and yaw, which needs no
///     points that are alike.
/// refine : {"gicp", "plane", "none"}
///     How the pose is refined: by generalized ICP, by point-to-plane ICP, or not at all.
/// source_origin, target_origin : 3 floats, optional
///     What is added to each point of a cloud of float32.
///
/// Returns
/// -------
/// Registered
///     Its pose is an answer where its ``verdict`` is ``"found"``.
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
/// >>> flat = np.random.default_rng(0).uniform(0, 20, (5000, 3)) * [1, 1, 0]
/// >>> pointmill.register(source=flat, target=flat).verdict
/// 'too-few-matches'
#[pyfunction]
#[pyo3(
    signature = (source, target, *, source_origin = None, target_origin = None, **params),
    text_signature = "(source, target, *, voxel_size=0.3, level=False, refine=\"gicp\", source_origin=None, target_origin=None)"
)]
pub(crate) fn register<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
    source_origin: Option<&Bound<'py, PyAny>>,
    target_origin: Option<&Bound<'py, PyAny>>,
    params: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let params = RegisterParams::default().with("register", params)?;
    let source = Cloud::read(source, "source", source_origin, "source_origin")?;
    let target = Cloud::read(target, "target", target_origin, "target_origin")?.on(
        source.place(),
        "source is there",
        "target",
    )?;
    let target = made(py, &target, params, &[])?;
    registered(py, &source, Arc::new(target))
}

fn made(py: Python<'_>, cloud: &Cloud<'_>, params: RegisterParams, names: Names) -> PyResult<Target> {
    let place = cloud.place();
    let effort = Effort::of(place, cloud.len(), 0);
    cloud.run(py, effort, names, move |points| Target::new(points, &params, &own_stream(place)?.device()))
}

fn registered<'py>(py: Python<'py>, source: &Cloud<'py>, target: Arc<Target>) -> PyResult<Bound<'py, PyAny>> {
    let found =
        source.run(py, Effort::of(source.place(), source.len(), 0), &[], move |points| target.register(points))?;
    result::registered(py, &source.array.backend(), &found)
}

/// A target that many sources are registered to without a guess: its features and trees are made once.
///
/// Parameters
/// ----------
/// points : Scan, array or list, ``[M, 3]``
///     x, y, z in metres, in the target's frame; further columns are not used.
/// voxel_size, level, refine
///     As of :func:`register`.
/// origin : 3 floats, optional
///     What is added to each point of float32.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import pointmill
/// >>> target = pointmill.RegisterTarget(np.zeros((100, 3)), voxel_size=0.5)
/// >>> target.register(np.zeros((100, 3))).verdict
/// 'too-few-matches'
#[pyclass(frozen, weakref, name = "RegisterTarget", module = "pointmill")]
pub(crate) struct RegisterTarget {
    target: Arc<Target>,
    place: Place,
    /// Its arguments, for pickles; points are a copy. None of arrays that are not of numpy or torch on
    /// the CPU.
    made_of: Option<Py<PyDict>>,
}

#[pymethods]
impl RegisterTarget {
    #[new]
    #[pyo3(
        signature = (points, *, origin = None, **params),
        text_signature = "(points, *, voxel_size=0.3, level=False, refine=\"gicp\", origin=None)"
    )]
    fn new(
        py: Python<'_>,
        points: &Bound<'_, PyAny>,
        origin: Option<&Bound<'_, PyAny>>,
        params: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let params = RegisterParams::default().with("RegisterTarget.__new__", params)?;
        let cloud = Cloud::read(points, "points", origin, "origin")?;
        let made_of = match (cloud.place(), copied(cloud.array.object())?) {
            (Place::Cpu, Some(points)) => {
                let arguments = params.arguments(py)?;
                arguments.set_item("points", points)?;
                arguments.set_item("origin", cloud.origin())?;
                Some(arguments.unbind())
            }
            _ => None,
        };
        Ok(Self { target: Arc::new(made(py, &cloud, params, POINTS)?), place: cloud.place(), made_of })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<MadeAgain<'py>> {
        match &slf.get().made_of {
            Some(made_of) => pickle::made_again(slf, made_of.bind(slf.py())),
            None => pickle::refused("RegisterTarget", "make one of its points, which can be pickled"),
        }
    }

    /// Nothing changes a target, so a copy is the same one.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        let params = self.target.params();
        let level = if params.level { "True" } else { "False" };
        format!("RegisterTarget(voxel_size={}, level={level}, refine=\"{}\")", params.voxel_size, params.refine)
    }

    /// Find the pose that brings a source onto the target.
    ///
    /// Parameters
    /// ----------
    /// source : Scan, array or list, ``[N, 3]``
    ///     x, y, z in metres, in the source's frame.
    /// origin : 3 floats, optional
    ///     What is added to each point of float32.
    ///
    /// Returns
    /// -------
    /// Registered
    #[pyo3(signature = (source, *, origin = None))]
    fn register<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        origin: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let source =
            Cloud::read(source, "source", origin, "origin")?.on(self.place, "the target is there", "source")?;
        registered(py, &source, Arc::clone(&self.target))
    }
}
