//! Cells in the order of curves.

mod cpu;
mod gpu;
mod params;
mod result;

pub use params::{MAX_DEPTH, MAX_ORDERS, Order, SerializeParams};
pub use result::{Serialized, SerializedArray, SerializedArrays};

#[cfg(test)]
pub(super) use result::SerializedSizes;

use super::Cells;
use super::radix::Pair;
use crate::device::{Output, Side, Stream};
use crate::{Argument, Result};

/// Serializes call after call, and keeps its memory: 24 bytes for each cell on a GPU, and 32 for
/// each cell and curve on the CPU.
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::{Cells, Order, SerializeParams, Serializer};
/// let params = SerializeParams { depth: Some(4), orders: vec![Order::Hilbert] };
/// let mut serializer = Serializer::new(&Device::auto().stream()?, &params)?;
/// let mut out = serializer.output()?;
/// for x in [0, 15] {
///     serializer.run(Cells::new(&[[x, 0, 0], [0, 0, 3]])?, &mut out)?;
/// }
/// assert_eq!(out.read()?.order, [1, 0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Serializer {
    stream: Stream,
    params: SerializeParams,
    side: Side<Vec<[Vec<Pair>; 2]>, gpu::Workspace>,
}

impl Serializer {
    /// A serializer whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters out of range; out of memory.
    pub fn new(stream: &Stream, params: &SerializeParams) -> Result<Self> {
        params.validate()?;
        let cpu = || Ok(params.orders.iter().map(|_| Default::default()).collect());
        let side = Side::new(stream, cpu, || gpu::Workspace::new(stream))?;
        Ok(Self { stream: stream.clone(), params: params.clone(), side })
    }

    /// An empty result to be filled; its buffers grow as needed and are used again.
    ///
    /// # Errors
    /// Out of memory.
    pub fn output(&self) -> Result<Serialized> {
        Serialized::empty(&self.stream)
    }

    /// Orders cells. See [`serialize`](super::serialize()). With a given depth no call waits.
    ///
    /// # Errors
    /// As [`serialize`](super::serialize()); a result on another device; where no depth is given, a
    /// stream that is being captured.
    pub fn run(&mut self, cells: Cells<'_>, out: &mut Serialized) -> Result<()> {
        cells.check(&self.stream)?;
        self.stream.check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let Self { stream, params, side } = self;
        side.fill(
            stream,
            &cells.streams(),
            out,
            |sorting, out| cpu::run(&cells, params, sorting, out),
            |gpu, out| gpu.run(&cells, params, out),
        )
    }
}

/// No code of such cells is larger.
const fn largest_code(depth: u32, items: u32) -> u64 {
    ((items as u64) << (3 * depth)) - 1
}
