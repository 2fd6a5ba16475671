//! Larger and larger cells.

mod cpu;
mod gpu;
mod params;
mod result;

pub use params::PoolParams;
pub use result::{Hierarchy, Stage, StageArray, StageArrays};

use super::{Cells, Serialized};
use crate::device::{Output, Side, Stream};
use crate::{Argument, Result, ensure};
pub(super) use result::StageSizes;

/// Makes hierarchies call after call, and keeps its memory: on a GPU 16 bytes for each row.
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::{Cells, PoolParams, Pooler, SerializeParams, serialize};
/// let cells = Cells::new(&[[0, 0, 0], [7, 7, 7], [1, 1, 1]])?;
/// let serialized = serialize(cells, &SerializeParams::default(), &Device::cpu())?;
/// let mut pooler = Pooler::new(&Device::cpu().stream()?, &PoolParams::default())?;
/// let mut out = pooler.output()?;
/// pooler.run(cells, &serialized, &mut out)?;
/// assert_eq!(out.read()?[0].cluster, [0, 1, 0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Pooler {
    stream: Stream,
    params: PoolParams,
    side: Side<(), gpu::Workspace>,
}

impl Pooler {
    /// A pooler whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters out of range; out of memory.
    pub fn new(stream: &Stream, params: &PoolParams) -> Result<Self> {
        params.validate()?;
        let side = Side::new(stream, || Ok(()), || gpu::Workspace::new(stream))?;
        Ok(Self { stream: stream.clone(), params: params.clone(), side })
    }

    /// An empty result to be filled; its buffers grow as needed and are used again.
    ///
    /// # Errors
    /// Out of memory.
    pub fn output(&self) -> Result<Hierarchy> {
        let stages = self.params.strides.iter().map(|_| Stage::empty(&self.stream)).collect::<Result<_>>()?;
        Ok(Hierarchy { stages, stream: self.stream.clone() })
    }

    /// Makes all stages. See [`pool_hierarchy`](super::pool_hierarchy()). No call waits.
    ///
    /// # Errors
    /// As [`pool_hierarchy`](super::pool_hierarchy()); a result on another device, or of another
    /// number of stages.
    pub fn run(&mut self, cells: Cells<'_>, serialized: &Serialized, out: &mut Hierarchy) -> Result<()> {
        cells.check(&self.stream)?;
        self.stream.check_memory(Argument::Codes, "memory of", Output::stream(serialized))?;
        self.stream.check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let expected = format_args!("{} rows, as many as cells", cells.len());
        ensure(serialized.capacity() == cells.len(), Argument::Codes, expected, serialized.capacity())?;
        let expected = format_args!("{} stages", self.params.strides.len());
        ensure(out.stages.len() == self.params.strides.len(), Argument::Out, expected, out.stages.len())?;
        let [a, b, c] = cells.streams();
        let Self { stream, params, side } = self;
        side.fill(
            stream,
            &[a, b, c, Some(Output::stream(serialized))],
            out,
            |(), out| {
                let halvings = reserve(out, &cells, serialized, params)?;
                cpu::run(&cells, serialized, &halvings, &mut out.stages)
            },
            |gpu, out| {
                let halvings = reserve(out, &cells, serialized, params)?;
                gpu.run(&cells, serialized, &halvings, out)
            },
        )
    }
}

/// Makes room in all stages; returns how often each halves coordinates.
fn reserve(out: &mut Hierarchy, cells: &Cells<'_>, serialized: &Serialized, params: &PoolParams) -> Result<Vec<u32>> {
    let (mut rows, mut depth, orders) = (cells.len(), serialized.depth(), serialized.orders().len());
    let mut halvings = Vec::new();
    for (i, (stage, stride)) in out.stages.iter_mut().zip(&params.strides).enumerate() {
        let wanted = stride.trailing_zeros();
        let halved = if wanted > depth { 0 } else { wanted };
        depth -= halved;
        let capacity = params.capacities.as_ref().map_or(rows, |capacities| capacities[i]);
        stage.reserve(StageSizes { rows, cells: capacity, orders })?;
        stage.depth = depth;
        halvings.push(halved);
        rows = capacity;
    }
    Ok(halvings)
}
