//! Pairs of a sparse convolution.

use super::input::{Numbers, Taken, triple};
use crate::args::{named, whole};
use crate::cache::Cache;
use crate::errors::{Names, value};
use crate::interrupt::Effort;
use crate::record::{Attributes, Class, Fields};
use pointmill::Stream;
use pointmill::sparse::{CellCoords, ConvPairs, ConvParams, ConvReport, IndexPairs, SparseCells};
use pyo3::prelude::*;

const NAMES: Names = &[];
/// So many cells take no longer than a millisecond on the CPU.
const SHORT: usize = 1 << 10;

pub(crate) static CACHE: Cache<ConvParams, (IndexPairs, ConvPairs)> = Cache::new();

pub(crate) static PAIRS: Class = Class::new(
    ("pointmill.sparse", "ConvPairs"),
    "The result of :func:`pointmill.sparse.index_pairs`: arrays of int32, of the library and on the device of the cells, with N output cells and K offsets of the kernel.",
    Some("ConvPairs(shape={shape}, table={table.shape})"),
    || {
        Attributes::default()
            .add("coords", "_Own", "``[N, 4]``: item, z, y, x of each output.")
            .add("table", "_Own", "``[K, N]``: the row of the input that the offset pairs with the output, or -1.")
            .add("counts", "_Own", "``[K]``: how many pairs each offset has.")
            .add("masks", "_Own | Any", "``[N, words]``: bit ``k % 32`` of word ``k // 32`` says whether the output has a pair of offset k; ``None`` unless asked for.")
            .add("shape", "tuple[int, int, int]", "Cells of an item along z, y, x that the outputs lie in.")
            .record::<ConvReport>("")
    },
);

/// What a call holds.
struct Job {
    cells: (Taken, usize),
    outputs: Option<((Taken, usize), [u32; 3])>,
    batch: u32,
    shape: [u32; 3],
}

impl Job {
    fn run(&self, worker: &mut IndexPairs, stream: &Stream, out: &mut ConvPairs) -> pointmill::Result<()> {
        let cells = self.cells.0.buffer(stream)?;
        let outputs = self.outputs.as_ref().map(|((outputs, _), _)| outputs.buffer(stream)).transpose()?;
        let mut given = SparseCells::new(CellCoords::on_device(&cells, self.cells.1)?, self.batch, self.shape);
        if let (Some(buffer), Some(((_, len), shape))) = (&outputs, &self.outputs) {
            given = given.outputs(CellCoords::on_device(buffer, *len)?, *shape);
        }
        worker.run(given, out)
    }
}

/// Find which input cell meets which output cell at which offset of a kernel.
///
/// Offset ``(kz * Ky + ky) * Kx + kx`` pairs an output o with an input i: submanifold ``i = o + (k - (K - 1) / 2) * dilation``; strided ``i = o * stride - padding + k * dilation``; inverse and transposed ``o = i * stride - padding + k * dilation``. The result has the same bits on every device, in every run and with any number of threads.
///
/// Parameters
/// ----------
/// coords : array of int32 or int64, or list, ``[V, 4]``
///     Cells item, z, y, x, each once, in any order. On a GPU those of int64 are cast to int32.
/// shape : 3 ints
///     Cells of an item along z, y, x.
/// batch : int
///     Items.
/// kind : {"submanifold", "strided", "inverse", "transposed"}
/// kernel, stride, padding, dilation : int or 3 ints
///     Along z, y, x. A submanifold layer is centred, whatever `padding` is.
/// outputs : array of int32 or int64, or list, ``[N, 4]``, optional
///     For an inverse layer: the cells that the strided layer had as inputs.
/// output_shape : 3 ints, optional
///     For an inverse layer: the shape that the strided layer had.
/// capacity : int, optional
///     Most outputs of a strided or transposed layer; those beyond are dropped from the end, and counted.
/// masks : bool
///     Whether to make ``masks``.
///
/// Returns
/// -------
/// ConvPairs
///     Outputs of a submanifold layer are the inputs in their order, those of an inverse layer `outputs`; others ascend by item, z, y and x. On a GPU the call waits for their number.
///
/// Raises
/// ------
/// ValueError, TypeError
///     An argument that is none, by name; a cell outside of the shape or given twice by row.
///
/// Examples
/// --------
/// >>> from pointmill import sparse
/// >>> pairs = sparse.index_pairs([[0, 0, 0, 0], [0, 0, 0, 1]], shape=(1, 4, 4), kernel=(1, 1, 3))
/// >>> pairs.table.tolist(), pairs.counts.tolist()
/// ([[-1, 0], [0, 1], [1, -1]], [1, 2, 1])
#[pyfunction]
#[pyo3(
    signature = (coords, shape, batch = 1, *, kind = "submanifold", kernel = None, stride = None, padding = None, dilation = None, outputs = None, output_shape = None, capacity = None, masks = false),
    text_signature = "(coords, shape, batch=1, *, kind=\"submanifold\", kernel=3, stride=1, padding=0, dilation=1, outputs=None, output_shape=None, capacity=None, masks=False)"
)]
pub(crate) fn index_pairs<'py>(
    py: Python<'py>,
    coords: &Bound<'py, PyAny>,
    shape: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] batch: i64,
    #[pyo3(from_py_with = crate::args::plain)] kind: &str,
    kernel: Option<&Bound<'py, PyAny>>,
    stride: Option<&Bound<'py, PyAny>>,
    padding: Option<&Bound<'py, PyAny>>,
    dilation: Option<&Bound<'py, PyAny>>,
    outputs: Option<&Bound<'py, PyAny>>,
    output_shape: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] capacity: Option<i64>,
    #[pyo3(from_py_with = crate::args::plain)] masks: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let mut params = ConvParams { kind: named(kind, "kind")?, masks, ..ConvParams::default() };
    let sizes = [
        (kernel, "kernel", 1, &mut params.kernel),
        (stride, "stride", 1, &mut params.stride),
        (padding, "padding", 0, &mut params.padding),
        (dilation, "dilation", 1, &mut params.dilation),
    ];
    for (given, name, least, field) in sizes {
        if let Some(given) = given {
            *field = triple(given, name, least)?;
        }
    }
    params.capacity = capacity.map(|most| whole(most, 1, "capacity")).transpose()?;
    let (shape, batch) = (triple(shape, "shape", 1)?, whole(batch, 1, "batch")?);
    let text = "[V, 4] (item, z, y, x)";
    let cells = Numbers::new(coords, "coords", &[None, Some(4)], text)?;
    let given = outputs.map(|all| Numbers::new(all, "outputs", &[None, Some(4)], text)?.beside(cells.array()));
    let outputs = match (given.transpose()?, output_shape) {
        (Some(outputs), Some(shape)) => Some((outputs, triple(shape, "output_shape", 1)?)),
        (None, None) => None,
        (Some(_), None) => return Err(value("output_shape", "the shape of outputs", "None")),
        (None, Some(_)) => return Err(value("outputs", "cells of output_shape", "None")),
    };
    let (place, len) = (cells.array().place(), cells.len());
    let make = |stream: &Stream| {
        let worker = IndexPairs::new(stream, &params)?;
        worker.output().map(|out| (worker, out))
    };
    let take = |stream: &Stream| {
        let outputs = outputs.as_ref().map(|(all, shape)| Ok::<_, PyErr>(((all.take(stream)?, all.len()), *shape)));
        Ok(Job { cells: (cells.take(stream)?, len), outputs: outputs.transpose()?, batch, shape })
    };
    let (found, offsets, words, shape) = CACHE.call(
        py,
        (place, &params, NAMES),
        make,
        |_, stream| take(stream),
        Effort::of(place, len, SHORT),
        |(worker, out), stream, job| {
            job.run(worker, stream, out)?;
            out.read().map(|found| (found, out.offsets(), out.words(), out.shape()))
        },
    )?;
    let (backend, cells, [z, y, x]) = (cells.array().backend(), found.report.cells, shape);
    let masks = found.masks.into_iter().map(|word| word as i32).collect();
    let masks = params.masks.then(|| backend.give_values::<i32>(masks, &[cells, words])).transpose()?;
    Fields::new(py, None)
        .set("coords", backend.give_values(found.cells, &[cells, 4])?)?
        .set("table", backend.give_values(found.table, &[offsets, cells])?)?
        .set("counts", backend.give_values(found.counts, &[offsets])?)?
        .set("masks", masks)?
        .set("shape", (z, y, x))?
        .record(&found.report)?
        .of(&PAIRS)
}
