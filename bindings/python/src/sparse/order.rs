//! Cells in the order of curves, larger cells, and patches.

use crate::args::{List, list, named, whole};
use crate::arrays::{Array, Backend, Made, Numbers, Taken, Target};
use crate::cache::Cache;
use crate::errors::{CallError, Names, OrRaise, value};
use crate::interrupt::Effort;
use crate::record::{Attributes, Class, Fields};
use pointmill::interop::ArrayName;
use pointmill::sparse::{
    Cells, Hierarchy, Order, Patches, PoolParams, Pooler, SerializeParams, Serialized, SerializedArray, Serializer,
    Stage, StageArray,
};
use pointmill::{Argument, Ints, Stream};
use pyo3::prelude::*;
use pyo3::types::PyList;

const NAMES: Names = &[(Argument::Coords, "grid_coord"), (Argument::Capacity, "capacities")];
/// So many cells take no longer than a millisecond on the CPU.
const SHORT: usize = 1 << 12;
/// Items of a batch at most.
const MAX_ITEMS: usize = 1 << 20;

pub(crate) static CACHE: Cache<Params, Worker> = Cache::new();

pub(crate) static SERIALIZED: Class = Class::new(
    ("pointmill.sparse", "Serialized"),
    "The result of :func:`pointmill.sparse.serialize`: arrays of the library and on the device of the cells.",
    Some("Serialized(depth={depth}, codes={codes.shape})"),
    || Attributes::default().arrays_with(SerializedArray::ALL, &PLACES).add("depth", "int", "Bits of a coordinate."),
);

pub(crate) static STAGE: Class = Class::new(
    ("pointmill.sparse", "PooledStage"),
    "A stage of :func:`pointmill.sparse.pool_hierarchy`: arrays of the library and on the device of the cells, with rows that come in and larger cells.",
    Some("PooledStage(depth={depth}, dropped={dropped}, grid_coord={grid_coord.shape})"),
    || {
        Attributes::default()
            .arrays_with(StageArray::ALL, &STAGE_PLACES)
            .add("dropped", "int | Any", "Larger cells that there was no room for; ``None`` on a GPU with ``padded``.")
            .add("depth", "int", "Bits of a coordinate that are left.")
    },
);

pub(crate) static PATCHES: Class = Class::new(
    ("pointmill.sparse", "Patches"),
    "The result of :func:`pointmill.sparse.patches`: arrays of int32, with V rows and P places.",
    Some("Patches(pad={pad.shape}, unpad={unpad.shape})"),
    || {
        Attributes::default()
            .add("pad", "_Own", "``[P]``: the row of each place of the patches.")
            .add("unpad", "_Own", "``[V]``: the place of each row.")
            .add("cu_seqlens", "_Own", "Where patches start, and P.")
    },
);

/// What makes an operator another one.
#[derive(Clone, PartialEq)]
pub(crate) struct Params {
    serialize: SerializeParams,
    pool: Option<PoolParams>,
}

/// Arrays that are given as numpy and torch index with.
const PLACES: [SerializedArray; 2] = [SerializedArray::Order, SerializedArray::Inverse];
const STAGE_PLACES: [StageArray; 2] = [StageArray::Order, StageArray::Inverse];

/// Operators and results that are filled again and again.
pub(crate) struct Worker {
    serializer: Serializer,
    serialized: Serialized,
    pool: Option<(Pooler, Hierarchy)>,
}

impl Worker {
    fn new(stream: &Stream, params: &Params) -> pointmill::Result<Self> {
        let serializer = Serializer::new(stream, &params.serialize)?;
        let pooler = params.pool.as_ref().map(|params| Pooler::new(stream, params)).transpose()?;
        let pool = pooler.map(|pooler| pooler.output().map(|out| (pooler, out))).transpose()?;
        Ok(Self { serialized: serializer.output()?, serializer, pool })
    }
}

/// What a call holds.
struct Job {
    cells: Taken,
    batch: Option<(Taken, usize)>,
    len: usize,
    target: Target,
}

/// What a call made.
struct Done {
    cells: Made<Serialized>,
    depth: u32,
    stages: Vec<(Made<Stage>, u32)>,
}

impl Job {
    fn run(&self, worker: &mut Worker, stream: &Stream) -> Result<Done, CallError> {
        let coords = self.cells.buffer(stream)?;
        let lent = |(batch, items): &(Taken, usize)| pointmill::Result::<_>::Ok((batch.buffer(stream)?, *items));
        let batch = self.batch.as_ref().map(lent).transpose()?;
        let mut cells = Cells::new(Ints::on_device(&coords, 3 * self.len)?)?;
        if let Some((batch, items)) = &batch {
            cells = cells.batch(Ints::on_device(batch, self.len)?, *items)?;
        }
        let Worker { serializer, serialized, pool } = worker;
        let target = &self.target;
        let lending = target.lend(serialized, stream);
        let mut ran = serializer.run(cells, serialized);
        let mut lent = Vec::new();
        if let (Some((pooler, out)), Ok(())) = (pool.as_mut(), &ran) {
            lent.extend(out.stages_mut().iter_mut().map(|stage| target.lend(stage, stream)));
            ran = pooler.run(cells, serialized, out);
        }
        let depth = serialized.depth();
        // Every stage lets go of what was lent, whatever happened.
        let failed = ran.as_ref().err().cloned();
        let taken = target.take(serialized, stream, lending, ran);
        let stages = pool.iter_mut().flat_map(|(_, out)| out.stages_mut()).zip(lent).map(|(stage, lending)| {
            let depth = stage.depth();
            let ran = failed.clone().map_or(Ok(()), Err);
            Ok((target.take(stage, stream, lending, ran)?, depth))
        });
        let stages = stages.collect::<Vec<Result<_, CallError>>>();
        Ok(Done { cells: taken?, depth, stages: stages.into_iter().collect::<Result<_, _>>()? })
    }
}

fn params(depth: Option<i64>, orders: Option<Vec<String>>) -> PyResult<SerializeParams> {
    let depth = depth.map(|depth| whole(depth, 1, "depth")).transpose()?;
    let mut params = SerializeParams { depth, ..SerializeParams::default() };
    if let Some(orders) = orders {
        params.orders = orders.iter().map(|word| named::<Order>(word, "orders")).collect::<PyResult<_>>()?;
    }
    Ok(params)
}

fn call<'py>(
    py: Python<'py>,
    grid_coord: &Bound<'py, PyAny>,
    batch: Option<&Bound<'py, PyAny>>,
    items: Option<i64>,
    params: &Params,
    padded: bool,
) -> PyResult<(Backend<'py>, Done)> {
    let cells = Numbers::new(grid_coord, "grid_coord", &[None, Some(3)], "[V, 3] (x, y, z)")?;
    let batch = batch.map(|batch| Numbers::new(batch, "batch", &[None], "[V]")?.beside(cells.array())).transpose()?;
    if let Some(batch) = batch.as_ref().filter(|batch| batch.len() != cells.len()) {
        return Err(value("batch", format_args!("{} items, one for each cell", cells.len()), batch.len()));
    }
    let items = match (&batch, items) {
        (_, Some(items)) => whole(items, 1, "items")? as usize,
        (Some(batch), None) => batch.items()?,
        (None, None) => 1,
    };
    let (place, backend, len) = (cells.array().place(), cells.array().backend(), cells.len());
    let target = Target::new(&backend, padded);
    let done = CACHE.call(
        py,
        (place, params, NAMES),
        |stream| Worker::new(stream, params),
        |_, stream| {
            let batch = batch.as_ref().map(|batch| Ok::<_, PyErr>((batch.take(stream)?, items))).transpose()?;
            Ok(Job { cells: cells.take(stream)?, batch, len, target })
        },
        Effort::of(place, len, SHORT),
        |worker, stream, job| job.run(worker, stream),
    )?;
    Ok((backend, done))
}

fn serialized<'py>(
    py: Python<'py>,
    backend: &Backend<'py>,
    cells: Made<Serialized>,
    depth: u32,
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = backend.outputs_wide(cells.arrays, &PLACES)?;
    Fields::new(py, None).arrays(arrays)?.set("depth", depth)?.of(&SERIALIZED)
}

fn stage<'py>(
    py: Python<'py>,
    backend: &Backend<'py>,
    (made, depth): (Made<Stage>, u32),
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = backend.outputs_wide(made.arrays, &STAGE_PLACES)?;
    Fields::new(py, None).arrays(arrays)?.set("dropped", made.report)?.set("depth", depth)?.of(&STAGE)
}

/// Order cells along curves that fill the grid.
///
/// Codes and orders are those of Point Transformer V3, with the same bits on every device, in every run and with any number of threads. A code is the item of the batch, above the position on the curve.
///
/// Parameters
/// ----------
/// grid_coord : array of int32 or int64, or list, ``[V, 3]``
///     Cells x, y, z of 0 or more. On a GPU those of int64 are cast to int32.
/// batch : array of int32 or int64, or list, ``[V]``, optional
///     The item of each cell, 0 or more. Cells of an item need not stand together.
/// items : int, optional
///     Items of the batch; without it one more than the largest of `batch`.
/// depth : int, optional
///     Bits of a coordinate, 1 to 16; without it those of the largest coordinate plus 1.
/// orders : list of str
///     1 to 4 curves.
///
/// Returns
/// -------
/// Serialized
///     Ascending by code, and of equal codes by row. On a GPU the call waits to refuse bad cells, but not while a graph records it.
///
/// Raises
/// ------
/// ValueError, TypeError
///     An argument that is none, by name; a cell or an item out of range by row; codes of more than 63 bits.
///
/// Examples
/// --------
/// >>> from pointmill import sparse
/// >>> cells = sparse.serialize([[1, 1, 1], [0, 0, 0], [1, 0, 0]], orders=["z"])
/// >>> cells.codes.tolist(), cells.order.tolist(), cells.inverse.tolist()
/// ([[7, 0, 4]], [[1, 2, 0]], [[2, 0, 1]])
#[pyfunction]
#[pyo3(
    signature = (grid_coord, batch = None, *, items = None, depth = None, orders = None),
    text_signature = "(grid_coord, batch=None, *, items=None, depth=None, orders=(\"z\", \"z-trans\", \"hilbert\", \"hilbert-trans\"))"
)]
pub(crate) fn serialize<'py>(
    py: Python<'py>,
    grid_coord: &Bound<'py, PyAny>,
    batch: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] items: Option<i64>,
    #[pyo3(from_py_with = crate::args::plain)] depth: Option<i64>,
    #[pyo3(from_py_with = crate::args::plain)] orders: Option<List<String>>,
) -> PyResult<Bound<'py, PyAny>> {
    let params = Params { serialize: params(depth, orders.map(|orders| orders.0))?, pool: None };
    let (backend, done) = call(py, grid_coord, batch, items, &params, false)?;
    serialized(py, &backend, done.cells, done.depth)
}

/// Order cells, and make larger and larger cells of them, as the pooling of Point Transformer V3 does.
///
/// No stage sorts. A stage that halves coordinates more often than they have bits left leaves cells as they are.
///
/// Parameters
/// ----------
/// grid_coord : array of int32 or int64, or list, ``[V, 3]``
///     As of :func:`serialize`.
/// batch : array of int32 or int64, or list, ``[V]``, optional
///     As of :func:`serialize`.
/// strides : list of int
///     How many times larger the cells of each stage are, powers of two.
/// items : int, optional
///     As of :func:`serialize`.
/// depth : int, optional
///     As of :func:`serialize`.
/// orders : list of str
///     As of :func:`serialize`.
/// capacities : list of int, optional
///     Most larger cells of each stage. Those beyond are dropped from the end of the first order, and counted; their rows have the cluster -1.
/// padded : bool
///     Whether the arrays of each stage have rows for as many larger cells as there is room for, with -1 behind those that are, so that a GPU is never waited for. Then bad cells are no error on a GPU.
///
/// Returns
/// -------
/// (Serialized, list of PooledStage)
///     The cells in order, and the stages. Larger cells ascend by their code on the first curve. On a GPU the call waits, but not while a graph records it.
///
/// Examples
/// --------
/// >>> from pointmill import sparse
/// >>> cells, stages = sparse.pool_hierarchy([[0, 0, 0], [7, 7, 7], [1, 1, 1]])
/// >>> stages[0].cluster.tolist(), stages[0].indptr.tolist()
/// ([0, 1, 0], [0, 2, 3])
/// >>> stages[3].grid_coord.tolist()
/// [[0, 0, 0]]
#[pyfunction]
#[pyo3(
    signature = (grid_coord, batch = None, *, strides = None, items = None, depth = None, orders = None, capacities = None, padded = false),
    text_signature = "(grid_coord, batch=None, *, strides=(2, 2, 2, 2), items=None, depth=None, orders=(\"z\", \"z-trans\", \"hilbert\", \"hilbert-trans\"), capacities=None, padded=False)"
)]
pub(crate) fn pool_hierarchy<'py>(
    py: Python<'py>,
    grid_coord: &Bound<'py, PyAny>,
    batch: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] strides: Option<List<i64>>,
    #[pyo3(from_py_with = crate::args::plain)] items: Option<i64>,
    #[pyo3(from_py_with = crate::args::plain)] depth: Option<i64>,
    #[pyo3(from_py_with = crate::args::plain)] orders: Option<List<String>>,
    #[pyo3(from_py_with = crate::args::plain)] capacities: Option<List<i64>>,
    #[pyo3(from_py_with = crate::args::plain)] padded: bool,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyList>)> {
    let mut pool = PoolParams::default();
    if let Some(List(strides)) = strides {
        pool.strides = strides.into_iter().map(|stride| whole(stride, 1, "strides")).collect::<PyResult<_>>()?;
    }
    let room = |most| whole(most, 1, "capacities").map(|most| most as usize);
    pool.capacities = capacities.map(|List(all)| all.into_iter().map(room).collect::<PyResult<_>>()).transpose()?;
    let params = Params { serialize: params(depth, orders.map(|orders| orders.0))?, pool: Some(pool) };
    let (backend, done) = call(py, grid_coord, batch, items, &params, padded)?;
    let stages = done.stages.into_iter().map(|made| stage(py, &backend, made)).collect::<PyResult<Vec<_>>>()?;
    Ok((serialized(py, &backend, done.cells, done.depth)?, PyList::new(py, stages)?))
}

/// Group the rows of each item of a batch into patches of one size.
///
/// An item of more rows than a patch is filled up to whole patches; the last patch repeats rows of the patch before, those at the same places.
///
/// Parameters
/// ----------
/// offsets : ints, ``[items]``
///     Where the items end.
/// patch_size : int
/// like : array, optional
///     The results are of the library and on the device of this array; without it of numpy.
///
/// Returns
/// -------
/// Patches
///
/// Examples
/// --------
/// >>> from pointmill import sparse
/// >>> made = sparse.patches([3, 5], 2)
/// >>> made.pad.tolist(), made.unpad.tolist(), made.cu_seqlens.tolist()
/// ([0, 1, 2, 1, 3, 4], [0, 1, 2, 4, 5], [0, 2, 4, 6])
#[pyfunction]
#[pyo3(signature = (offsets, patch_size, *, like = None))]
pub(crate) fn patches<'py>(
    py: Python<'py>,
    offsets: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] patch_size: i64,
    like: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let offsets: Vec<usize> = list(offsets, "offsets", "whole numbers", MAX_ITEMS)?;
    let made = Patches::new(&offsets, whole(patch_size, 1, "patch_size")? as usize).or_raise(NAMES)?;
    let backend = like.map_or_else(|| Ok(Backend::numpy(py)), |like| Array::read(like, "like").map(|a| a.backend()))?;
    let give = |values: Vec<i32>| {
        let len = values.len();
        backend.give_values(values, &[len])
    };
    let fields = Fields::new(py, None).set("pad", give(made.pad)?)?.set("unpad", give(made.unpad)?)?;
    fields.set("cu_seqlens", give(made.cu_seqlens)?)?.of(&PATCHES)
}
