//! Pairs of sparse convolutions.

use crate::array::{Outcome, View, counted, lent, lent_or_none, pointmill_array};
use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{choice, create, defaults, destroy, given_or, number, some, structs};
use crate::stream::{of, pointmill_stream};
use pointmill::interop::Lent;
use pointmill::sparse::{CellCoords, ConvKind, ConvPairs, ConvParams, IndexPairs, SparseCells};
use pointmill::{Argument, Buffer, Stream};
use std::ffi::c_char;

/// What a layer does.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum pointmill_conv_kind {
    POINTMILL_SUBMANIFOLD = 0,
    POINTMILL_STRIDED = 1,
    POINTMILL_INVERSE = 2,
    POINTMILL_TRANSPOSED = 3,
}

/// Parameters of a sparse convolution; triples along z, y, x.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_conv_params {
    /// sizeof(pointmill_conv_params)
    pub struct_size: usize,
    /// Default 3, 3, 3.
    pub kernel: [u32; 3],
    /// Default 1.
    pub stride: [u32; 3],
    /// Default 0.
    pub padding: [u32; 3],
    /// Default 1.
    pub dilation: [u32; 3],
    /// A pointmill_conv_kind; default submanifold.
    pub kind: u32,
    /// Most outputs of a strided or transposed layer; default 0, as many as there are, for which a call
    /// on a GPU waits.
    pub capacity: u32,
    /// Whether masks are an output; default 0.
    pub masks: u32,
    /// Whether lists are an output, the pairs of each offset; default 0.
    pub lists: u32,
}
structs!(pointmill_conv_params);

impl pointmill_conv_params {
    fn new() -> Self {
        let ConvParams { kernel, stride, padding, dilation, kind, .. } = ConvParams::default();
        let (struct_size, kind) = (size_of::<Self>(), number(ConvKind::ALL, &kind));
        Self { struct_size, kernel, stride, padding, dilation, kind, capacity: 0, masks: 0, lists: 0 }
    }

    fn params(&self) -> Result<ConvParams> {
        let Self { kernel, stride, padding, dilation, .. } = *self;
        Ok(ConvParams {
            kernel,
            stride,
            padding,
            dilation,
            kind: choice(ConvKind::ALL, self.kind, "kind")?,
            capacity: Some(self.capacity).filter(|&most| most > 0),
            masks: self.masks != 0,
            lists: self.lists != 0,
        })
    }
}

/// Finds pairs, call after call.
#[derive(Debug)]
pub struct pointmill_index_pairs {
    stream: Stream,
    worker: IndexPairs,
    pairs: ConvPairs,
    outcome: Outcome,
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_conv_params_init(params: *mut pointmill_conv_params) -> pointmill_status {
    defaults(params, pointmill_conv_params::new)
}

/// A finder of pairs whose work goes to the stream. Pass NULL to use the default parameters.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_index_pairs_create(
    stream: Option<&pointmill_stream>,
    params: *const pointmill_conv_params,
    pairs: Option<&mut *mut pointmill_index_pairs>,
) -> pointmill_status {
    guard(|| {
        create(pairs, || {
            let stream = of(stream)?;
            let worker = IndexPairs::new(stream, &given_or(params, pointmill_conv_params::new)?.params()?)?;
            let outcome = Outcome::none("pointmill_index_pairs_run");
            Ok(pointmill_index_pairs { pairs: worker.output()?, worker, stream: stream.clone(), outcome })
        })
    })
}

/// Cells, and how many of them count.
struct LentCoords {
    cells: Buffer4,
    count: Option<Buffer<u32>>,
}

/// Cells of four numbers, on the host or on a device.
enum Buffer4 {
    Host(Lent),
    Device(Buffer<i32>),
}

impl LentCoords {
    fn new(lent: Lent, count: Option<Buffer<u32>>, argument: Argument, stream: &Stream) -> Result<Self> {
        let ints = lent.ints(argument, &[4])?;
        let on_host = lent.host::<i32>().len() == ints.len();
        let cells = if on_host { Buffer4::Host(lent) } else { Buffer4::Device(lent.ints_on(stream)?) };
        Ok(Self { cells, count })
    }

    fn coords(&self) -> Result<CellCoords<'_>> {
        let coords = match &self.cells {
            Buffer4::Host(lent) => CellCoords::from(lent.host::<i32>().as_chunks::<4>().0),
            Buffer4::Device(buffer) => CellCoords::on_device(buffer, buffer.len() / 4)?,
        };
        Ok(self.count.as_ref().map_or(coords, |count| coords.counted(count)))
    }
}

/// Finds the pairs of cells [V, 4] of i32, item, z, y, x, of `num_items` items of the shape z, y, x.
/// `count` is a u32 that says how many of the rows there are, or null. Inverse layers are given
/// `outputs` [N, 4] and `outputs_shape`; others null.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_index_pairs_run(
    pairs: Option<&mut pointmill_index_pairs>,
    cells: *const pointmill_array,
    count: *const pointmill_array,
    num_items: u32,
    shape: Option<&[u32; 3]>,
    outputs: *const pointmill_array,
    outputs_shape: Option<&[u32; 3]>,
) -> pointmill_status {
    guard(|| {
        let pointmill_index_pairs { stream, worker, pairs, outcome } = some(pairs, "pairs")?;
        outcome.of(|| {
            let cells = lent(cells, Argument::Coords, stream)?;
            let cells = LentCoords::new(cells, counted(count, stream)?, Argument::Coords, stream)?;
            let shape = *shape.ok_or_else(|| Fault::new("shape", "three numbers", "null"))?;
            let given = SparseCells::new(cells.coords()?, num_items, shape);
            let Some(outputs) = lent_or_none(outputs, Argument::Outputs, stream)? else {
                return Ok(worker.run(given, pairs)?);
            };
            let outputs = LentCoords::new(outputs, None, Argument::Outputs, stream)?;
            let shape = *outputs_shape.ok_or_else(|| Fault::new("outputs_shape", "three numbers", "null"))?;
            Ok(worker.run(given.outputs(outputs.coords()?, shape), pairs)?)
        })
    })
}

/// An array of the last call, of N outputs at most and K offsets: "cells" [N, 4], "table" [K, N] and
/// "counts" [K] of i32; "masks" [N, words] of u32; "lists" [2, K, V] of i32; "num_cells" [2] of u32,
/// outputs and those that there was no room for.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_index_pairs_array(
    pairs: Option<&pointmill_index_pairs>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_index_pairs { stream, pairs: p, outcome, .. } = some(pairs, "pairs")?;
        outcome.give(|| View::of(p, &[("num_cells", p.num_cells())]), name, stream, array)
    })
}

/// Waits. Fails if cells of the last call are outside or repeated, which a GPU finds late.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_index_pairs_check(pairs: Option<&pointmill_index_pairs>) -> pointmill_status {
    guard(|| Ok(some(pairs, "pairs")?.pairs.read().map(drop)?))
}

/// Destroys the finder and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_index_pairs_destroy(pairs: Option<Box<pointmill_index_pairs>>) {
    destroy(pairs);
}
