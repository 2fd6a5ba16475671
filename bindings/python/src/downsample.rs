//! One point for each voxel.

use crate::args::{along_axes, named};
use crate::arrays::{Array, Dtype};
use crate::cache::Cache;
use crate::cloud;
use crate::errors::OrRaise;
use crate::errors::value;
use crate::files::Scan;
use crate::interrupt::Effort;
use crate::poses;
use pointmill::Error;
use pointmill::downsample::{DownsampleParams, Downsampled, Downsampler, Keep};
use pointmill_io::{Format, NamedPoints};
use pyo3::prelude::*;

/// So many points take no longer than a millisecond on the CPU.
const SHORT: usize = 1 << 13;

pub(crate) static CACHE: Cache<DownsampleParams, Downsampler> = Cache::new();

/// Keep one point for each voxel of a cloud.
///
/// The result has the same bits on every device, in every run and with any number of threads. The grid begins at a multiple of the voxel size and needs no range. Points with a NaN or an infinity in x, y or z are dropped.
///
/// Parameters
/// ----------
/// points : Scan or array, ``[N, C]``
///     x, y, z in metres, then whatever is carried along; 3 <= C <= 64. As of :func:`voxelize`.
///     Of a :class:`Scan` a scan is returned.
/// voxel_size : float or 3 floats
///     Edge of a voxel in metres, or edges along x, y, z.
/// keep : {"mean", "first", "centre", "random"}
///     Point of a voxel: the mean of all columns of its points, of a scan the first value in columns of whole numbers such as classes; its first point, the one nearest to its centre, or one at random.
/// seed : int
///     What decides with ``keep="random"``; 0 or more.
/// origin : 3 floats or "auto", optional
///     Offset subtracted from float64 points before conversion to float32, as of :func:`voxelize`; the result is relative to it.
///
/// Returns
/// -------
/// Scan or array of float32, ``[V, C]``
///     A point for each voxel; of a :class:`Scan` a scan with its names, origin, times and coordinate reference system, else an array of the library and on the device of `points`. Rows are in the order of the first points of the voxels.
///
/// Raises
/// ------
/// ValueError, TypeError
///     An argument that is none, by name, with what was expected and what was there.
/// MemoryError
///     No memory.
/// RuntimeError
///     A device that failed.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import pointmill
/// >>> points = np.array([[2.25, 0.5, 0.5], [2.75, 0.5, 0.5], [0.5, 0.5, 0.5]], np.float32)
/// >>> pointmill.downsample(points, 1.0).tolist()
/// [[2.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
/// >>> pointmill.downsample(points, 1.0, keep="first").tolist()
/// [[2.25, 0.5, 0.5], [0.5, 0.5, 0.5]]
#[pyfunction]
#[pyo3(signature = (points, voxel_size, keep = "mean", seed = 0, *, origin = None))]
pub(crate) fn downsample<'py>(
    py: Python<'py>,
    points: &Bound<'py, PyAny>,
    voxel_size: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] keep: &str,
    #[pyo3(from_py_with = crate::args::plain)] seed: i128,
    origin: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let scan = points.cast::<Scan>().ok().filter(|_| origin.is_none());
    let found = cloud::subtracted((points, "points"), origin, "origin")?;
    let moved = found.map(|found| cloud::local((points, "points"), found)).transpose()?;
    let points = Array::taken(moved.as_ref().unwrap_or(points), "points", &[Dtype::F32], Some("origin"))?
        .shaped(&[None, None], "[N, C]")?;
    let (len, columns) = (points.shape()[0], points.shape()[1]);
    if columns < 3 {
        return Err(value("points", "3 to 64 columns (x, y, z first)", columns));
    }
    let params = DownsampleParams {
        voxel_size: along_axes(voxel_size, "voxel_size", "edges")?.map(|edge| edge as f32),
        keep: named(keep, "keep")?,
        seed: u64::try_from(seed).map_err(|_| value("seed", "a whole number from 0 to 2^64 - 1", seed))?,
    };
    let (place, backend) = (points.place(), points.backend());
    let thin = CACHE.call(
        py,
        (place, &params, &[]),
        |stream| Downsampler::new(stream, &params),
        |_, stream| points.data(stream),
        Effort::of(place, len, SHORT),
        move |worker, _, data| worker.run(data.rows(columns)?),
    )?;
    if let Some(scan) = scan {
        return thinned(py, scan.get(), &thin, params.keep);
    }
    backend.give(thin.points, &[thin.report.kept, columns])
}

/// What is left of a scan, as a scan.
fn thinned<'py>(py: Python<'py>, scan: &Scan, thin: &Downsampled, keep: Keep) -> PyResult<Bound<'py, PyAny>> {
    let left = scan.with_named(py, None, |named| {
        let whole = pointmill_io::Scan::of_points(&named, Format::Bin).map_err(|_| refused(&named))?;
        pointmill_data::thinned(&whole, thin, keep)
    })?;
    let left = left.or_raise(&[])?;
    let seconds = scan.times(py).map(|times| poses::row(times.bind(py), "times")).transpose()?;
    let [splits, indices] = thin.lists().or_raise(&[])?;
    let kept = thin.kept_indices().or_raise(&[])?;
    let times = seconds.map(|seconds| match keep {
        Keep::Mean => {
            let lists = splits.windows(2).map(|span| &indices[span[0] as usize..span[1] as usize]);
            let mean = |list: &[u32]| list.iter().map(|&i| seconds[i as usize]).sum::<f64>() / list.len() as f64;
            lists.map(mean).collect()
        }
        _ => kept.iter().map(|&i| seconds[i as usize]).collect(),
    });
    Ok(Bound::new(py, scan.replaced(py, left, times)?)?.into_any())
}

/// Memory that was refused.
fn refused(named: &NamedPoints<'_>) -> Error {
    Error::OutOfMemory { device: "cpu".into(), bytes: 4 * named.points.data().len() as u64 }
}
