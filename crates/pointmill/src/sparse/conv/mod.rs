//! Pairs of a sparse convolution.

mod cpu;
mod gpu;
mod input;
mod output;
mod params;
#[cfg(test)]
mod tests;

pub use input::{CellCoords, SparseCells};
pub use output::{ConvArray, ConvArrays, ConvPairs, ConvReport};
pub use params::{ConvKind, ConvParams};

use crate::device::{Output, Side, Stream};
use crate::{Argument, Device, Result};

/// The pairs of input cell, output cell and offset of the kernel of a sparse convolution.
///
/// **Shapes**: input cells `[V, 4]`, see [`SparseCells`]. Output cells `[N, 4]`, a table `[K, N]` of
/// rows of inputs, -1 where there is none, and the number of pairs of each offset `[K]`; see
/// [`ConvArrays`]. With `o` an output and `i` an input, offset `(kz * Ky + ky) * Kx + kx` pairs
/// - submanifold: `i = o + (k - (K - 1) / 2) * dilation`;
/// - strided: `i = o * stride - padding + k * dilation`;
/// - inverse and transposed: `o = i * stride - padding + k * dilation`.
///
/// **Order and determinism**: outputs of a strided and a transposed layer ascend by item, z, y and
/// x. Outputs of a submanifold layer are the inputs in their order, so that features of a residual
/// block stay in their rows; those of an inverse layer are the cells that the caller gives
/// ([`SparseCells::outputs`]), in their order. Another order of the inputs changes row numbers
/// alone. The same bits on every device.
///
/// **Limits**: fewer than 2^30 cells, also as the bound of outputs; shapes up to 2^30 along an axis
/// and fewer than 2^63 cells in all; 4,096 offsets.
///
/// # Errors
/// Parameters that do not fit, a shape that leaves no cells, cells outside of the shape or given
/// twice, out of memory, a lost device.
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::{ConvParams, SparseCells, index_pairs};
/// let cells = SparseCells::new(&[[0, 0, 0, 0], [0, 0, 0, 1]], 1, [1, 4, 4]);
/// let params = ConvParams { kernel: [1, 1, 3], ..ConvParams::default() };
/// let pairs = index_pairs(cells, &params, &Device::cpu())?.read()?;
/// assert_eq!(pairs.table, [-1, 0, 0, 1, 1, -1]);
/// assert_eq!(pairs.counts, [1, 2, 1]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn index_pairs(cells: SparseCells<'_>, params: &ConvParams, device: &Device) -> Result<ConvPairs> {
    let mut worker = IndexPairs::new(&device.stream()?, params)?;
    let mut out = worker.output()?;
    worker.run(cells, &mut out)?;
    Ok(out)
}

/// Finds pairs call after call, and keeps its memory.
///
/// On a GPU a call only queues work, and can be recorded in a graph, unless the layer is strided or
/// transposed and has no capacity: then it waits for the number of outputs.
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::{ConvKind, ConvParams, IndexPairs, SparseCells};
/// let stream = Device::auto().stream()?;
/// let strided = ConvParams { kind: ConvKind::Strided, stride: [2; 3], padding: [1; 3], ..ConvParams::default() };
/// let mut down = IndexPairs::new(&stream, &strided)?;
/// let mut same = IndexPairs::new(&stream, &ConvParams::default())?;
/// let (mut coarse, mut pairs) = (down.output()?, same.output()?);
/// for x in 0..3 {
///     down.run(SparseCells::new(&[[0, 0, 4, x], [0, 1, 4, x]], 1, [2, 8, 8]), &mut coarse)?;
///     // The outputs of one layer are the inputs of the next; nothing is copied.
///     same.run(coarse.as_cells(), &mut pairs)?;
/// }
/// assert_eq!(coarse.read()?.cells, [0, 0, 2, 1]);
/// assert_eq!(pairs.read()?.report.cells, 1);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct IndexPairs {
    stream: Stream,
    params: ConvParams,
    side: Side<(), gpu::Workspace>,
}

impl IndexPairs {
    /// A worker whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters that do not fit; out of memory.
    pub fn new(stream: &Stream, params: &ConvParams) -> Result<Self> {
        params.validate()?;
        let side = Side::new(stream, || Ok(()), || gpu::Workspace::new(stream))?;
        Ok(Self { stream: stream.clone(), params: *params, side })
    }

    /// An empty result to be filled; its buffers grow as needed and are used again.
    ///
    /// # Errors
    /// Out of memory.
    pub fn output(&self) -> Result<ConvPairs> {
        ConvPairs::empty(&self.stream)
    }

    /// Finds the pairs. See [`index_pairs`].
    ///
    /// # Errors
    /// As [`index_pairs`]; a result on another device.
    pub fn run(&mut self, cells: SparseCells<'_>, out: &mut ConvPairs) -> Result<()> {
        let job = cells.check(&self.params, &self.stream)?;
        self.stream.check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let Self { stream, side, .. } = self;
        side.fill(stream, &job.streams(), out, |(), out| cpu::run(&job, out), |gpu, out| gpu.run(&job, out))
    }
}
