//! Voxelization.

use crate::args::{along_axes, choice, list, named, singles, whole};
use crate::arrays::{Array, Data, Dtype, Filled, Lender, OwnedBackend, Place};
use crate::cache::Cache;
use crate::cloud;
use crate::errors::{CallError, Names, value};
use crate::interrupt::Effort;
use crate::record::{Attributes, Class, Fields};
use pointmill::interop::{exchange_voxels, voxelize_into};
use pointmill::voxelize::{
    MAX_POINTS_PER_VOXEL, MeanType, Outputs, Pick, Report, VoxelArray, VoxelizeParams, Voxelizer,
};
use pointmill::{Aabb, Argument, Stream};
use pyo3::prelude::*;

/// What the library calls the arguments.
const NAMES: Names = &[
    (Argument::MaxPointsPerVoxel, "max_num_points"),
    (Argument::OutputsVoxels, "voxels"),
    (Argument::Pick, "pick_column"),
    (Argument::Range, "point_cloud_range"),
    (Argument::Grid, "point_cloud_range"),
];
/// Most samples beside one for each point.
const MAX_SAMPLES: usize = 1 << 16;
/// So many points take no longer than a millisecond on the CPU.
const SHORT: usize = 1 << 14;

pub(crate) static CACHE: Cache<VoxelizeParams, Worker> = Cache::new();

/// An operator and a result that is filled again and again.
pub(crate) struct Worker {
    voxelizer: Voxelizer,
    voxels: pointmill::voxelize::Voxels,
}

impl Worker {
    fn new(stream: &Stream, params: &VoxelizeParams) -> pointmill::Result<Self> {
        let voxelizer = Voxelizer::new(stream, params)?;
        Ok(Self { voxels: voxelizer.output()?, voxelizer })
    }
}

pub(crate) static REPORT: Class = Class::new(
    ("pointmill", "VoxelReport"),
    "What a call counted; every input point is in exactly one of `points_kept`, `points_dropped_full_voxel`, `points_dropped_dropped_voxel`, `out_of_range` and `non_finite`.",
    None,
    || Attributes::default().record::<Report>(""),
);

pub(crate) static VOXELS: Class = Class::new(
    ("pointmill", "Voxels"),
    "The result of :func:`pointmill.voxelize`: arrays of the library and on the device of the points.\n\nWith V rows, M points a voxel, C columns a point, N points and B samples; what was not asked for is ``None``.",
    Some("Voxels(num_voxels={num_voxels}, coords={coords.shape})"),
    || {
        let origin = "``(x, y, z)``: what means and ranges are relative to, in metres; zeros without ``origin``.";
        let rows = "V, the number of rows; ``None`` for padded results on a GPU, where nobody waited for it.";
        Attributes::default()
            .arrays(&[VoxelArray::Coords, VoxelArray::NumPoints])
            .add("origin", "tuple[float, float, float]", origin)
            .add("num_voxels", "_Rows", rows)
            .add("report", "VoxelReport | Any", "What the call counted; ``None`` on a GPU unless asked for.")
    },
);

/// What a call needs besides the operator and its result.
struct Job {
    data: Data,
    columns: usize,
    row_splits: Option<Vec<usize>>,
    /// Whether the caller wants to know what was counted.
    report: bool,
    /// Where arrays are lent, if they are.
    lender: Option<OwnedBackend>,
}

impl Job {
    /// Fills new arrays, and waits for what must be known of them and no more.
    fn run(&self, worker: &mut Worker, stream: &Stream) -> Result<Done, CallError> {
        let Worker { voxelizer, voxels } = worker;
        let mut lender = Lender::new(self.lender.as_ref(), stream);
        let points = self.data.rows(self.columns)?;
        voxelize_into(voxelizer, points, self.row_splits.as_deref(), voxels, |bounds| lender.lend(bounds))?;
        let outputs = &voxelizer.params().outputs;
        let report = stream.device().is_cpu() || self.report || outputs.lists;
        let report = report.then(|| voxels.report()).transpose()?;
        let rows = match report {
            Some(report) => Some(report.voxels),
            None if outputs.padded => None,
            None => Some(voxels.num_voxels()?),
        };
        let arrays = lender.filled(voxels.specs()?, |none| exchange_voxels(voxels, none))?;
        Ok(Done { rows, report, arrays })
    }
}

/// What the host knows and has after a call.
struct Done {
    rows: Option<usize>,
    report: Option<Report>,
    arrays: Filled<VoxelArray>,
}

/// The most points of a voxel.
fn most_points(n: i64) -> PyResult<u32> {
    let known = u32::try_from(n).ok().filter(|n| (1..=MAX_POINTS_PER_VOXEL).contains(n));
    known.ok_or_else(|| value("max_num_points", format_args!("1 to {MAX_POINTS_PER_VOXEL}, or None for all points"), n))
}

/// Which points of a fuller voxel stay.
fn picked(pick: &str, seed: u64, column: Option<i64>) -> PyResult<Pick> {
    let known =
        [("first", Pick::First), ("random", Pick::Random { seed }), ("round-robin", Pick::RoundRobin { column: 0 })];
    let wrong = |expected, got: &dyn std::fmt::Display| {
        Err(value("pick_column", expected, format_args!("{got} (pick is {pick:?})")))
    };
    match (choice(pick, "pick", &known)?, column) {
        (Pick::RoundRobin { .. }, Some(column)) => Ok(Pick::RoundRobin { column: whole(column, 0, "pick_column")? }),
        (Pick::RoundRobin { .. }, None) => wrong("the column whose values take turns", &"None"),
        (_, Some(column)) => wrong("None, but for the pick \"round-robin\"", &column),
        (pick, None) => Ok(pick),
    }
}

/// Bin points into voxels, the first step of LiDAR detectors.
///
/// The result has the same bits on every device, in every run and with any number of threads.
///
/// Parameters
/// ----------
/// points : Scan, array or list, ``[N, C]``
///     x, y, z in metres, then whatever is carried along; 3 <= C <= 64, of any library with DLPack or ``__array_interface__``, on the CPU or an NVIDIA GPU.
///     C-contiguous float32 is used in place, what else is converted once.
///     A :class:`Scan` is its ``points``, about its origin.
/// voxel_size : float or 3 floats
///     Edges along x, y, z in metres; one for all.
/// point_cloud_range : 6 floats
///     x_min, y_min, z_min, x_max, y_max, z_max in metres.
/// max_num_points : int or None
///     M, most points of a voxel. None keeps all (dynamic voxelization).
/// max_voxels : int
///     Most voxels of a sample: the first in the order of rows stay.
/// pick : {"first", "random", "round-robin"}
///     Which points of a fuller voxel stay, in input order: the first; a choice by chance, which `seed`, the sample and the cell decide on every device alike; or one of each value of `pick_column` in turn.
/// seed : int
/// pick_column : int, optional
///     The column whose values take turns, counted from 0, such as the time lag of several sweeps: none of them is starved then.
/// order : {"first-seen", "sorted"}
///     Rows by the smallest index of their points, or by cell.
/// voxels : bool, optional
///     Whether to make ``voxels``; yes, but for dynamic voxelization.
/// mean : {None, "float32", "float16"}
///     Whether to make ``mean``, and in which type.
/// point_to_voxel : bool
///     Whether to make ``point_to_voxel``.
/// lists : bool
///     Whether to make ``row_splits`` and ``indices``. On a GPU the call waits for their length.
/// padded : bool
///     Whether the arrays have ``max_voxels`` rows a sample; unused rows have coordinates -1 and zeros elsewhere. Then a GPU is never waited for.
/// strict_range : bool
///     Whether points must also lie in min <= p < max. It matters where the range is not a whole number of voxels.
/// row_splits : ints, ``[B + 1]``, optional
///     For a batch, where each sample's points start; the caps hold for each sample.
/// report : bool
///     Whether to wait for ``report`` on a GPU; on the CPU it is always there.
/// origin : 3 floats or "auto", optional
///     Offset subtracted from points of float64, integers and lists before they become float32; the range and the means are
///     relative to it. Points of float32 are taken as relative to it already. ``"auto"`` takes it from
///     points of the host as :func:`read` does.
///
/// Returns
/// -------
/// Voxels
///     Arrays of the library and on the device of `points`. A GPU's work is on the caller's current stream.
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
/// >>> points = np.array([[2.5, 0.5, 0.5], [2.6, 0.5, 0.5], [0.5, 0.5, 0.5], [9.0, 0.0, 0.0]], np.float32)
/// >>> result = pointmill.voxelize(points, voxel_size=1, point_cloud_range=[0, 0, 0, 4, 4, 1], max_num_points=1)
/// >>> result.coords.tolist()
/// [[0, 0, 2], [0, 0, 0]]
/// >>> result.report.points_dropped_full_voxel, result.report.out_of_range
/// (1, 1)
#[pyfunction]
#[pyo3(signature = (points, *, voxel_size, point_cloud_range, max_num_points = 10, max_voxels = 160_000,
    pick = "first", seed = 0, pick_column = None, order = "first-seen", voxels = None, mean = None,
    point_to_voxel = false, lists = false, padded = false,
    strict_range = false, row_splits = None, report = false, origin = None))]
pub(crate) fn voxelize<'py>(
    py: Python<'py>,
    points: &Bound<'py, PyAny>,
    voxel_size: &Bound<'py, PyAny>,
    point_cloud_range: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] max_num_points: Option<i64>,
    #[pyo3(from_py_with = crate::args::plain)] max_voxels: i64,
    #[pyo3(from_py_with = crate::args::plain)] pick: &str,
    #[pyo3(from_py_with = crate::args::plain)] seed: u64,
    #[pyo3(from_py_with = crate::args::plain)] pick_column: Option<i64>,
    #[pyo3(from_py_with = crate::args::plain)] order: &str,
    #[pyo3(from_py_with = crate::args::plain)] voxels: Option<bool>,
    #[pyo3(from_py_with = crate::args::plain)] mean: Option<&str>,
    #[pyo3(from_py_with = crate::args::plain)] point_to_voxel: bool,
    #[pyo3(from_py_with = crate::args::plain)] lists: bool,
    #[pyo3(from_py_with = crate::args::plain)] padded: bool,
    #[pyo3(from_py_with = crate::args::plain)] strict_range: bool,
    row_splits: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] report: bool,
    origin: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let found = cloud::subtracted((points, "points"), origin, "origin")?;
    let moved = found.map(|found| cloud::local((points, "points"), found)).transpose()?;
    let points = Array::taken(moved.as_ref().unwrap_or(points), "points", &[Dtype::F32], Some("origin"))?
        .shaped(&[None, None], "[N, C]")?;
    let columns = points.shape()[1];
    if columns < 3 {
        return Err(value("points", "3 to 64 columns (x, y, z first)", columns));
    }
    let [x0, y0, z0, x1, y1, z1] =
        singles(point_cloud_range, "point_cloud_range", "x_min, y_min, z_min, x_max, y_max, z_max")?;
    let params = VoxelizeParams {
        voxel_size: along_axes(voxel_size, "voxel_size", "edges")?.map(|edge| edge as f32),
        range: Aabb::new([x0, y0, z0], [x1, y1, z1]),
        max_voxels: whole(max_voxels, 1, "max_voxels")?,
        max_points_per_voxel: max_num_points.map(most_points).transpose()?,
        pick: picked(pick, seed, pick_column)?,
        order: named(order, "order")?,
        strict_range,
        outputs: Outputs {
            voxels: voxels.unwrap_or(max_num_points.is_some()),
            mean: mean
                .map(|m| choice(m, "mean", &[("float32", MeanType::F32), ("float16", MeanType::F16)]))
                .transpose()?,
            point_to_voxel,
            lists,
            padded,
        },
    };
    let most = points.shape()[0].saturating_add(MAX_SAMPLES + 1);
    let row_splits = row_splits.map(|splits| list(splits, "row_splits", "whole numbers", most)).transpose()?;
    let (place, backend) = (points.place(), points.backend());
    let effort = Effort::of(place, points.shape()[0], SHORT);
    let done = CACHE.call(
        py,
        (place, &params, NAMES),
        |stream| Worker::new(stream, &params),
        |_, stream| {
            // Lists are as long as the points that are kept, which is known when all is done.
            let lender = (backend.lends_memory() && !params.needs_lists()).then(|| backend.unbind());
            Ok(Job { data: points.data(stream)?, columns, row_splits, report, lender })
        },
        effort,
        |worker, stream, job| job.run(worker, stream),
    )?;
    let outputs = backend.outputs(done.arrays)?;
    let report = done.report.filter(|_| report || place == Place::Cpu);
    let report = report.map(|report| Fields::new(py, None).record(&report)?.of(&REPORT)).transpose()?;
    let [x, y, z] = found.unwrap_or_default();
    let fields = Fields::new(py, None).arrays(outputs)?.set("origin", (x, y, z))?;
    fields.set("num_voxels", done.rows)?.set("report", report)?.of(&VOXELS)
}
