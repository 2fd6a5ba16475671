//! One alignment in one call.

use super::result::registration;
use super::{CACHE, NAMES, SHORT, guess_of};
use crate::cloud::{Cloud, CloudData};
use crate::interrupt::Effort;
use crate::keywords::Keywords;
use crate::poses;
use pointmill::icp::{Aligner, IcpParams};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Find the pose that brings a source cloud onto a target cloud: iterative closest point.
///
/// Neighbours are exact, and but for times the result has the same bits on every device and with
/// any number of threads. An alignment that fails is a result with a status that gives the reason.
/// For many sources onto one target, ``icp.Target`` makes the tree and the normals of the target
/// once.
///
/// Parameters
/// ----------
/// source : Scan, array or list, ``[N, 3]``
///     x, y, z in metres, in the source's frame; further columns are not used.
/// target : Scan, array or list, ``[M, 3]``
///     x, y, z in metres, in the target's frame.
/// guess : array, ``[4, 4]``, optional
///     The pose to start from, ``target_from_source``; identity. Entries of the rotation may be up to 1e-3 off the nearest rotation, which is then used.
/// metric : {"point-to-point", "point-to-plane", "gicp"}
///     Error metric to minimize: distances of pairs, of points from planes, or of surface patches.
/// max_distance : float, optional
///     Pairs that are farther apart than these metres do not count.
/// max_iterations : int
///     Most steps of a stage.
/// step_tolerance : float
///     A shorter step ends a stage, as a part of the extent of the source.
/// robust : (str, float), optional
///     Weights of pairs by their residuals: "huber", "cauchy", "geman-mcclure" or "tukey", and a width in metres.
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
///     Normals of the target's points, of any length and sign, in place of those that "point-to-plane" and "gicp" make from neighbours. Pairs with a point whose
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
/// >>> found = pointmill.icp(sheet + [0.015, -0.01, 0.005], sheet, metric="point-to-point")
/// >>> found.status, found.fitness, bool(abs(found.target_from_source[0, 3] + 0.015) < 1e-6)
/// ('fixed', 1.0, True)
#[pyfunction]
#[pyo3(
    signature = (source, target, *, guess = None, source_origin = None, target_origin = None, target_normals = None, **params),
    text_signature = "(source, target, *, guess=None, metric=\"point-to-plane\", max_distance=None, \
    max_iterations=100, step_tolerance=1e-6, robust=None, neighbours=20, schedule=None, drop_zeros=False, \
    search=\"auto\", source_origin=None, target_origin=None, target_normals=None)"
)]
pub(crate) fn icp<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
    guess: Option<&Bound<'py, PyAny>>,
    source_origin: Option<&Bound<'py, PyAny>>,
    target_origin: Option<&Bound<'py, PyAny>>,
    target_normals: Option<&Bound<'py, PyAny>>,
    params: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let params = IcpParams::default().with("icp", params)?;
    let guess = guess_of(guess)?;
    let source = Cloud::read(source, "source", source_origin, "source_origin")?;
    let place = source.place();
    let target = Cloud::read(target, "target", target_origin, "target_origin")?.on(place, "source", "target")?;
    let normals = target_normals.map(|object| poses::rows(object, "target_normals")).transpose()?;
    let found = CACHE.call(
        py,
        (place, &params, NAMES),
        |stream| Aligner::new(stream, &params),
        |_, stream| Ok((source.data(stream)?, target.data(stream)?)),
        Effort::of(place, source.len().saturating_add(target.len()), SHORT),
        move |aligner, _, (source, target): &(CloudData, CloudData)| match &normals {
            Some(normals) => aligner.align_with_normals(source.rows()?, target.rows()?, normals, &guess),
            None => aligner.align(source.rows()?, target.rows()?, &guess),
        },
    )?;
    registration(py, &source.array.backend(), &found)
}
