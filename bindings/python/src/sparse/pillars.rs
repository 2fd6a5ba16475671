//! Sweeps in one frame, and features of pillars.

use crate::args::{along_axes, list, whole};
use crate::arrays::{Array, Data, Dtype, Numbers, Taken};
use crate::cache::Cache;
use crate::errors::{Names, OrRaise, kind, value};
use crate::interrupt::Effort;
use crate::poses::matrix;
use pointmill::sparse::{Densifier, PillarEncoder, PillarParams, PillarPoints};
use pyo3::prelude::*;

const NAMES: Names = &[];
/// So many points take no longer than a millisecond on the CPU.
const SHORT: usize = 1 << 14;
/// Sweeps of a call at most.
const MAX_SWEEPS: usize = 1 << 16;

pub(crate) static DENSIFY: Cache<(), Densifier> = Cache::new();
pub(crate) static PILLARS: Cache<PillarParams, PillarEncoder> = Cache::new();

/// Put the points of several sweeps into one frame, with the time lag of each as a last column.
///
/// Parameters
/// ----------
/// sweeps : list of arrays, ``[N, C]`` each
///     x, y, z first, in metres; all with the same columns, and on one device.
/// transforms : list of arrays, ``[4, 4]`` each
///     Rigid transforms from each sweep to the common frame, on the host.
/// time_lags : list of float
///     One for each sweep, in seconds as a rule; written as they are.
///
/// Returns
/// -------
/// array of float32, ``[sum of N, C + 1]``
///     Sweep after sweep, of the library and on the device of the first. x, y, z are moved in double precision and rounded once.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from pointmill import sparse
/// >>> now, before = np.array([[1, 0, 0, 0.5]], np.float32), np.array([[2, 0, 0, 0.5]], np.float32)
/// >>> back = np.eye(4)
/// >>> back[0, 3] = -1
/// >>> sparse.densify([now, before], [np.eye(4), back], [0, 0.5]).tolist()
/// [[1.0, 0.0, 0.0, 0.5, 0.0], [1.0, 0.0, 0.0, 0.5, 0.5]]
#[pyfunction]
pub(crate) fn densify<'py>(
    py: Python<'py>,
    sweeps: &Bound<'py, PyAny>,
    transforms: &Bound<'py, PyAny>,
    time_lags: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let sweeps: Vec<Bound<'py, PyAny>> = list(sweeps, "sweeps", "sweeps", MAX_SWEEPS)?;
    let poses: Vec<Bound<'py, PyAny>> = list(transforms, "transforms", "transforms", MAX_SWEEPS)?;
    let poses = poses.iter().map(|pose| matrix(pose, "transforms")).collect::<PyResult<Vec<_>>>()?;
    let lags: Vec<f32> = list(time_lags, "time_lags", "numbers", MAX_SWEEPS)?;
    let read = |sweep| Array::taken(sweep, "sweeps", &[Dtype::F32], None)?.shaped(&[None, None], "[N, C]");
    let sweeps = sweeps.iter().map(read).collect::<PyResult<Vec<_>>>()?;
    let Some(first) = sweeps.first() else { return Err(value("sweeps", "at least 1 sweep", 0)) };
    let (place, backend, columns) = (first.place(), first.backend(), first.shape()[1]);
    let points: usize = sweeps.iter().map(|sweep| sweep.shape()[0]).sum();
    if let Some((i, sweep)) = sweeps.iter().enumerate().find(|(_, sweep)| sweep.place() != place) {
        let got = format_args!("one on {} in sweep {i}", sweep.place());
        return Err(value("sweeps", format_args!("arrays on {place}, as sweep 0"), got));
    }
    let take = |stream: &pointmill::Stream| {
        let data = sweeps.iter().map(|sweep| Ok((sweep.data(stream)?, sweep.shape()[1])));
        data.collect::<PyResult<Vec<(Data, usize)>>>()
    };
    let shape = [points, columns + 1];
    let (lent, room) = backend.room(&shape)?;
    let out = DENSIFY.call(
        py,
        (place, &(), NAMES),
        Densifier::new,
        |_, stream| take(stream),
        Effort::of(place, points, SHORT),
        move |densifier, stream, sweeps| {
            let rows =
                sweeps.iter().map(|(data, columns)| data.rows(*columns)).collect::<pointmill::Result<Vec<_>>>()?;
            let mut out = room.map_or_else(|| stream.alloc(0), Ok)?;
            densifier.run(&rows, &poses, &lags, &mut out).map(|()| out)
        },
    )?;
    backend.finish(lent, out, &shape)
}

/// Make what a network of pillars sees of their points.
///
/// Parameters
/// ----------
/// voxels : array of float32, ``[V, T, C]``
///     T slots a pillar, its points in the first, as :func:`pointmill.voxelize` makes them.
/// num_points : array of int32 or int64, ``[V]``
///     Points of each pillar.
/// coords : array of int32 or int64, ``[V, 3]`` or ``[V, 4]``
///     Cells z, y, x, with the item first if there are 4.
/// voxel_size : 3 floats
///     Edges of a pillar along x, y, z in metres.
/// origin : 3 floats
///     The least corner of the range.
/// features : {C + 5, C + 6}
///     The columns of the point; x, y, z less the mean of the pillar's points; x, y (of C + 6 z too) less the centre of the pillar. OpenPCDet and mmdet3d 1.x have C + 6.
///
/// Returns
/// -------
/// array of float32, ``[V, T, features]``
///     Of the library and on the device of `voxels`; zeros in slots without a point.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from pointmill import sparse
/// >>> slots = np.array([[[1, 2, 0, 0.5], [0, 0, 0, 0]]], np.float32)
/// >>> sparse.pillar_features(slots, [1], [[0, 2, 1]], voxel_size=(1, 1, 4), origin=(0, 0, 0))[0, 0].tolist()
/// [1.0, 2.0, 0.0, 0.5, 0.0, 0.0, 0.0, -0.5, -0.5]
#[pyfunction]
#[pyo3(
    signature = (voxels, num_points, coords, *, voxel_size = None, origin = None, features = 9),
    text_signature = "(voxels, num_points, coords, *, voxel_size=(0.16, 0.16, 4.0), origin=(0.0, -39.68, -3.0), features=9)"
)]
pub(crate) fn pillar_features<'py>(
    py: Python<'py>,
    voxels: &Bound<'py, PyAny>,
    num_points: &Bound<'py, PyAny>,
    coords: &Bound<'py, PyAny>,
    voxel_size: Option<&Bound<'py, PyAny>>,
    origin: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] features: i64,
) -> PyResult<Bound<'py, PyAny>> {
    let features = whole(features, 0, "features")?;
    let mut params = PillarParams { features, ..PillarParams::default() };
    if let Some(size) = voxel_size {
        params.voxel_size = along_axes(size, "voxel_size", "edges")?.map(|edge| edge as f32);
    }
    if let Some(origin) = origin {
        params.origin = along_axes(origin, "origin", "the least corner")?.map(|edge| edge as f32);
    }
    params.validate().or_raise(NAMES)?;
    let voxels = Array::taken(voxels, "voxels", &[Dtype::F32], None)?.shaped(&[None, None, None], "[V, T, C]")?;
    let &[pillars, slots, columns] = voxels.shape() else { return Err(kind("voxels", "3 axes", "others")) };
    let num_points = Numbers::new(num_points, "num_points", &[Some(pillars)], "[V]")?.beside(&voxels)?;
    let cells = Numbers::new(coords, "coords", &[Some(pillars), None], "[V, 3] or [V, 4]")?.beside(&voxels)?;
    let (place, backend, cell_columns) = (voxels.place(), voxels.backend(), cells.array().shape()[1]);
    let shape = [pillars, slots, params.features as usize];
    let (lent, room) = backend.room(&shape)?;
    let out = PILLARS.call(
        py,
        (place, &params, NAMES),
        |stream| PillarEncoder::new(stream, &params),
        |_, stream| Ok((voxels.data(stream)?, num_points.take(stream)?, cells.take(stream)?)),
        Effort::of(place, pillars.saturating_mul(slots), SHORT),
        move |encoder, stream, (voxels, num_points, cells): &(Data, Taken, Taken)| {
            let (num_points, cells) = (num_points.buffer(stream)?, cells.buffer(stream)?);
            let rows = voxels.rows(columns)?;
            let mut out = room.map_or_else(|| stream.alloc(0), Ok)?;
            let given = PillarPoints::on_device(rows, slots, &num_points, &cells, cell_columns)?;
            encoder.run(given, &mut out).map(|()| out)
        },
    )?;
    backend.finish(lent, out, &shape)
}
