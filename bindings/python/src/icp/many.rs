//! Many pairs in one call.

use super::result::registration;
use super::{CACHE, NAMES, SHORT, guess_of};
use crate::args::List;
use crate::arrays::Place;
use crate::cloud::Cloud;
use crate::errors::{OrRaise, value};
use crate::interrupt::{self, Effort};
use crate::keywords::Keywords;
use pointmill::Result;
use pointmill::icp::{Aligner, IcpParams, Pair};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Find the poses that bring each source onto its target, in one call.
///
/// On a GPU the trees of all pairs are built together, and each step of all pairs takes the
/// launches of one; on the CPU threads share the pairs. But for times each result has the bits that
/// :func:`pointmill.icp` returns for its pair.
///
/// Parameters
/// ----------
/// sources : sequence of scans or arrays of float32 or float64, ``[N, 3]``
///     Each as `source` of :func:`pointmill.icp`; all on one device.
/// targets : sequence of scans or arrays of float32 or float64, ``[M, 3]``
///     As many as sources.
/// guesses : sequence of arrays, ``[4, 4]``, optional
///     As many as sources; identity.
/// metric, max_distance, max_iterations, step_tolerance, robust, neighbours, schedule, drop_zeros,
/// search, source_origin, target_origin
///     As of :func:`pointmill.icp`, for all pairs.
///
/// Returns
/// -------
/// list of registration
///     One for each pair. A pair that :func:`pointmill.icp` refuses has its exception in the list, and the other pairs have their results.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from pointmill import icp
/// >>> x, y = (grid.ravel() * 0.04 for grid in np.meshgrid(np.arange(50), np.arange(50)))
/// >>> sheet = np.stack([x, y, 0.2 * np.sin(3 * x) * np.cos(2 * y)], 1)
/// >>> found = icp.align_many([sheet + [0.01, 0, 0], sheet - [0.01, 0, 0]], [sheet, sheet])
/// >>> [round(float(one.target_from_source[0, 3]), 3) for one in found]
/// [-0.01, 0.01]
#[pyfunction]
#[pyo3(
    signature = (sources, targets, guesses = None, *, source_origin = None, target_origin = None, **params),
    text_signature = "(sources, targets, guesses=None, *, metric=\"point-to-plane\", max_distance=None, \
    max_iterations=100, step_tolerance=1e-6, robust=None, neighbours=20, schedule=None, drop_zeros=False, \
    search=\"auto\", source_origin=None, target_origin=None)"
)]
pub(crate) fn align_many<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = crate::args::plain)] sources: List<Bound<'py, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] targets: List<Bound<'py, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] guesses: Option<List<Bound<'py, PyAny>>>,
    source_origin: Option<&Bound<'py, PyAny>>,
    target_origin: Option<&Bound<'py, PyAny>>,
    params: Option<&Bound<'py, PyDict>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let (List(sources), List(targets), guesses) = (sources, targets, guesses.map(|List(guesses)| guesses));
    let params = IcpParams::default().with("align_many", params)?;
    let others = [("targets", Some(targets.len())), ("guesses", guesses.as_ref().map(Vec::len))];
    for (name, number) in others {
        if let Some(number) = number.filter(|number| *number != sources.len()) {
            return Err(value(name, format_args!("{}, one for each source", sources.len()), number));
        }
    }
    let source = |i: usize| Cloud::read(&sources[i], "sources", source_origin, "source_origin");
    // The first source that can be read says where the work is done.
    let place = (0..sources.len()).find_map(|i| source(i).ok()).map_or(Place::Cpu, |source| source.place());
    let mut cached = CACHE.take(place, &params, |stream| Aligner::new(stream, &params)).or_raise(NAMES)?;
    let read = |i: usize| -> PyResult<_> {
        let guess = guess_of(guesses.as_ref().map(|guesses| &guesses[i]))?;
        let source = source(i)?.on(place, "the first source", "sources")?;
        let target = Cloud::read(&targets[i], "targets", target_origin, "target_origin")?;
        let target = target.on(place, "the first source", "targets")?;
        let data = (source.data(&cached.stream)?, target.data(&cached.stream)?, guess);
        data.0.rows().and_then(|_| data.1.rows()).map(drop).or_raise(NAMES)?;
        Ok((source, data))
    };
    let (mut held, mut all, mut points) = (Vec::new(), Vec::new(), 0usize);
    for i in 0..sources.len() {
        all.push(read(i).map(|(source, data)| {
            points = points.saturating_add(source.len()).saturating_add(data.1.len());
            held.push(data);
            source
        }));
    }
    let found = interrupt::run(py, Effort::of(place, points, SHORT), held, move |held| {
        let pairs = held
            .iter()
            .map(|(source, target, guess)| Ok(Pair { source: source.rows()?, target: target.rows()?, guess: *guess }));
        let found = pairs.collect::<Result<Vec<_>>>().and_then(|pairs| cached.worker.align_many(&pairs));
        CACHE.put(place, params, cached);
        found
    })?;
    let mut found = found.or_raise(NAMES)?.into_iter();
    all.into_iter()
        .map(|read| {
            let given = read.and_then(|source| {
                let found = found.next().expect("a result of each pair that was read").or_raise(NAMES)?;
                registration(py, &source.array.backend(), &found)
            });
            given.or_else(|refused| Ok(refused.into_value(py).into_bound(py).into_any()))
        })
        .collect()
}
