//! One point of each cell.

use crate::args::{along_axes, list, numbers, whole};
use crate::arrays::{Array, Data, Dtype, Target};
use crate::cache::Cache;
use crate::errors::{Names, value};
use crate::interrupt::Effort;
use crate::record::{Attributes, Class, Fields};
use pointmill::Aabb;
use pointmill::interop::ArrayName;
use pointmill::sparse::{GridOrigin, GridSampleParams, GridSampleReport, GridSampler, Pick, Sampled, SampledArray};
use pyo3::prelude::*;

const NAMES: Names = &[];
/// So many points take no longer than a millisecond on the CPU.
const SHORT: usize = 1 << 13;

pub(crate) static CACHE: Cache<GridSampleParams, (Sampled, GridSampler)> = Cache::new();

pub(crate) static SAMPLED: Class = Class::new(
    ("pointmill.sparse", "GridSampled"),
    "The result of :func:`pointmill.sparse.grid_sample`: arrays of int32, of the library and on the device of the points. With ``padded`` on a GPU what was counted is ``None``.",
    Some("GridSampled(cells={cells}, grid_coord={grid_coord.shape})"),
    || Attributes::default().arrays(SampledArray::ALL).maybe_record::<GridSampleReport>(),
);

/// Take one point of each cell of a grid.
///
/// A cell is ``floor((p - origin) / size)``. The result has the same bits on every device, in every run and with any number of threads.
///
/// Parameters
/// ----------
/// points : array or list, ``[N, C]``
///     x, y, z first, in metres.
/// grid_size : float or 3 floats
///     Edges of a cell in metres.
/// point_cloud_range : 6 floats, optional
///     Where the grid begins and ends; without it at the least x, y and z of all points.
/// pick : {"first", "nearest", "nth", "random"}
///     The first point in input order; the nearest to the centre; the one of number `number`, modulo how many the cell has; or one by chance, which `seed`, the item and the cell decide.
/// number : int
/// seed : int
/// capacity : int, optional
///     Most cells; the last are dropped first. As many as points.
/// padded : bool
///     Whether the arrays of cells have `capacity` rows, with -1 and no points behind the cells, so that a GPU is never waited for. Then points beyond all cells are no error on a GPU.
/// row_splits : ints, ``[items + 1]``, optional
///     For a batch, where the points of each item start.
///
/// Returns
/// -------
/// GridSampled
///     Cells by their first point. On a GPU the call waits for their number, unless it is `padded`.
///
/// Raises
/// ------
/// ValueError, TypeError
///     An argument that is none, by name; without a range, a point farther from the others than cells reach.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from pointmill import sparse
/// >>> points = np.array([[4, 1, 1], [1, 1, 1], [4.1, 1.1, 1.1]], np.float32)
/// >>> sampled = sparse.grid_sample(points, grid_size=0.5)
/// >>> sampled.rows.tolist(), sampled.inverse.tolist()
/// ([0, 1], [0, 1, 0])
/// >>> sampled.grid_coord.tolist()
/// [[6, 0, 0], [0, 0, 0]]
#[pyfunction]
#[pyo3(
    signature = (points, grid_size = None, *, point_cloud_range = None, pick = "first", number = 0, seed = 0, capacity = None, padded = false, row_splits = None),
    text_signature = "(points, grid_size=0.05, *, point_cloud_range=None, pick=\"first\", number=0, seed=0, capacity=None, padded=False, row_splits=None)"
)]
pub(crate) fn grid_sample<'py>(
    py: Python<'py>,
    points: &Bound<'py, PyAny>,
    grid_size: Option<&Bound<'py, PyAny>>,
    point_cloud_range: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] pick: &str,
    #[pyo3(from_py_with = crate::args::plain)] number: i64,
    #[pyo3(from_py_with = crate::args::plain)] seed: u64,
    #[pyo3(from_py_with = crate::args::plain)] capacity: Option<i64>,
    #[pyo3(from_py_with = crate::args::plain)] padded: bool,
    row_splits: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let points = Array::taken(points, "points", &[Dtype::F32], None)?.shaped(&[None, None], "[N, C]")?;
    let (n, columns) = (points.shape()[0], points.shape()[1]);
    if columns < 3 {
        return Err(value("points", "at least 3 columns: x, y, z first", columns));
    }
    let mut params = GridSampleParams::default();
    if let Some(size) = grid_size {
        params.grid_size = along_axes(size, "grid_size", "edges")?.map(|edge| edge as f32);
    }
    if let Some(range) = point_cloud_range {
        let what = "x_min, y_min, z_min, x_max, y_max, z_max";
        let [x0, y0, z0, x1, y1, z1] = numbers(range, "point_cloud_range", what)?.map(|number: f64| number as f32);
        params.origin = GridOrigin::Range(Aabb::new([x0, y0, z0], [x1, y1, z1]));
    }
    params.pick = match pick {
        "first" => Pick::First,
        "nearest" => Pick::Nearest,
        "nth" => Pick::Nth(whole(number, 0, "number")?),
        "random" => Pick::Random { seed },
        other => {
            return Err(value("pick", "\"first\", \"nearest\", \"nth\" or \"random\"", format_args!("{other:?}")));
        }
    };
    params.capacity = capacity.map(|most| whole(most, 1, "capacity").map(|most| most as usize)).transpose()?;
    let most = n.saturating_add(1 << 20);
    let splits = row_splits.map(|splits| list(splits, "row_splits", "whole numbers", most)).transpose()?;
    let (place, backend) = (points.place(), points.backend());
    let target = Target::new(&backend, padded);
    let made = CACHE.call(
        py,
        (place, &params, NAMES),
        |stream| GridSampler::new(stream, &params).and_then(|sampler| Ok((sampler.output()?, sampler))),
        |_, stream| Ok((points.data(stream)?, splits, target)),
        Effort::of(place, n, SHORT),
        move |(out, sampler), stream, (points, splits, target): &(Data, Option<Vec<usize>>, Target)| {
            target.fill(out, stream, |out| sampler.run(points.rows(columns)?, splits.as_deref(), out))
        },
    )?;
    Fields::new(py, None).arrays(backend.outputs(made.arrays)?)?.maybe_record(made.report.as_ref())?.of(&SAMPLED)
}
