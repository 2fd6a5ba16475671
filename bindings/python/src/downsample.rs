//! One point for each voxel.

use crate::cache::Cache;
use crate::cloud;
use crate::errors::OrRaise;
use crate::files::Scan;
use crate::poses;
use crate::worker::{Call, Function, Own};
use pointmill::downsample::{Downsampled, DownsampledArray, Downsampler, Keep};
use pointmill::worker::Inputs;
use pointmill::{Argument, Error};
use pointmill_io::{Format, NamedPoints};
use pyo3::prelude::*;

pub(crate) static DOWNSAMPLE: Function<Downsampler> = Function {
    doc: DOC,
    names: &[],
    by_place: &["voxel_size", "keep", "seed"],
    own: &[Own([
        "origin",
        "None",
        "3 floats or \"auto\", optional",
        "Offset subtracted from float64 points before conversion to float32, as of :func:`voxelize`; the result is relative to it.",
    ])],
    short: 1 << 13,
    cache: Cache::new(),
    call: downsample,
};

const DOC: &str = r#"Keep one point for each voxel of a cloud.

The result has the same bits on every device, in every run and with any number of threads. The grid begins at a multiple of the voxel size and needs no range. Points with a NaN or an infinity in x, y or z are dropped.

{parameters}
Returns
-------
Scan or array of float32, ``[V, C]``
    A point for each voxel; of a :class:`Scan` a scan with its names, origin, times and coordinate reference system, else an array of the library and on the device of `points`. Rows are in the order of the first points of the voxels.

Raises
------
ValueError, TypeError
    An argument that is none, by name, with what was expected and what was there.
MemoryError
    No memory.
RuntimeError
    A device that failed.

Examples
--------
>>> import numpy as np
>>> import pointmill
>>> points = np.array([[2.25, 0.5, 0.5], [2.75, 0.5, 0.5], [0.5, 0.5, 0.5]], np.float32)
>>> pointmill.downsample(points, 1.0).tolist()
[[2.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
>>> pointmill.downsample(points, 1.0, keep="first").tolist()
[[2.25, 0.5, 0.5], [0.5, 0.5, 0.5]]"#;

fn downsample(call: &mut Call<'_, Downsampler>) -> PyResult<Py<PyAny>> {
    let (py, origin) = (call.py(), call.own("origin").cloned());
    let Some(points) = call.input(Argument::Points).cloned() else { unreachable!("points must be there") };
    let scan = points.cast::<Scan>().ok().filter(|_| origin.is_none()).cloned();
    if let Some(found) = cloud::subtracted((&points, "points"), origin.as_ref(), "origin")? {
        call.replace(Argument::Points, cloud::local((&points, "points"), found)?);
    }
    if let Some(scan) = scan {
        let thin = |_: &mut _, worker: &mut Downsampler, inputs: &Inputs<'_>, _: &_, (): &()| {
            worker.run(inputs.rows(Argument::Points)?)
        };
        let (_, thin) = call.work(|_| (), thin)?;
        return thinned(py, scan.get(), &thin, call.params.keep).map(Bound::unbind);
    }
    let (backend, made) = call.run(false)?;
    let [points]: [Py<PyAny>; 1] = backend.outputs(made.arrays.only(&[DownsampledArray::Points]))?.all()?;
    Ok(points)
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
