//! Pairs of a sparse convolution.

use crate::args::{named, triple, whole};
use crate::arrays::{Numbers, Taken, Target};
use crate::cache::Cache;
use crate::errors::{CallError, Names, value};
use crate::interrupt::Effort;
use crate::record::{Attributes, Class, Fields};
use pointmill::Stream;
use pointmill::sparse::{CellCoords, ConvArray, ConvPairs, ConvParams, ConvReport, IndexPairs, SparseCells};
use pyo3::prelude::*;

const NAMES: Names = &[];
/// So many cells take no longer than a millisecond on the CPU.
const SHORT: usize = 1 << 10;

pub(crate) static CACHE: Cache<ConvParams, (ConvPairs, IndexPairs)> = Cache::new();

pub(crate) static PAIRS: Class = Class::new(
    ("pointmill.sparse", "ConvPairs"),
    "The result of :func:`pointmill.sparse.index_pairs`: arrays of int32, of the library and on the device of the cells. With ``padded`` on a GPU what was counted is ``None``.",
    Some("ConvPairs(shape={shape}, table={table.shape})"),
    || {
        Attributes::default()
            .add("coords", "_Own", "``[cells, 4]`` int32. Item, z, y, x of each output.")
            .arrays(&[ConvArray::Table, ConvArray::Counts])
            .without(&["cells"])
            .add("shape", "tuple[int, int, int]", "Cells of an item along z, y, x that the outputs lie in.")
            .maybe_record::<ConvReport>()
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
/// lists : bool
///     Whether to make ``lists``, the pairs of each offset.
/// padded : bool
///     Whether a strided or transposed layer has `capacity` outputs, with -1 behind those that are, so that a GPU is never waited for. Then cells outside of the shape and repeated ones are no error on a GPU.
///
/// Returns
/// -------
/// ConvPairs
///     Outputs of a submanifold layer are the inputs in their order, those of an inverse layer `outputs`; others ascend by item, z, y and x. On a GPU the call waits for their number, unless it is `padded`.
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
    signature = (coords, shape, batch = 1, *, kind = "submanifold", kernel = None, stride = None, padding = None, dilation = None, outputs = None, output_shape = None, capacity = None, masks = false, lists = false, padded = false),
    text_signature = "(coords, shape, batch=1, *, kind=\"submanifold\", kernel=3, stride=1, padding=0, dilation=1, outputs=None, output_shape=None, capacity=None, masks=False, lists=False, padded=False)"
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
    #[pyo3(from_py_with = crate::args::plain)] lists: bool,
    #[pyo3(from_py_with = crate::args::plain)] padded: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let mut params = ConvParams { kind: named(kind, "kind")?, masks, lists, ..ConvParams::default() };
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
    let target = Target::new(&cells.array().backend(), padded);
    let take = |stream: &Stream| {
        let outputs = outputs.as_ref().map(|(all, shape)| Ok::<_, PyErr>(((all.take(stream)?, all.len()), *shape)));
        Ok((Job { cells: (cells.take(stream)?, len), outputs: outputs.transpose()?, batch, shape }, target))
    };
    let (made, [z, y, x]) = CACHE.call(
        py,
        (place, &params, NAMES),
        |stream| IndexPairs::new(stream, &params).and_then(|worker| Ok((worker.output()?, worker))),
        |_, stream| take(stream),
        Effort::of(place, len, SHORT),
        |(out, worker), stream, (job, target)| {
            let made = target.fill(out, stream, |out| job.run(worker, stream, out))?;
            Ok::<_, CallError>((made, out.shape()))
        },
    )?;
    let mut arrays = cells.array().backend().outputs(made.arrays)?;
    Fields::new(py, None)
        .set("coords", arrays.take(ConvArray::Cells))?
        .arrays(arrays)?
        .set("shape", (z, y, x))?
        .maybe_record(made.report.as_ref())?
        .of(&PAIRS)
}
