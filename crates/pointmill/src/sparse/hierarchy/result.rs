//! The stages of a hierarchy.

use crate::Result;
use crate::arrays::outputs;
use crate::device::{Buffer, Output, Stream};

outputs! {
    /// One stage on the device that made it.
    pub struct Stage of StageArray by StageSizes { rows, cells, orders } reports usize {
        /// The larger cell of each row, or -1.
        Cluster = cluster: i32 [rows],
        /// Where the rows of each larger cell start; behind the last one their number.
        Indptr = indptr: i32 [cells + 1],
        /// Rows by larger cell, and then ascending.
        Indices = indices: i32 [rows],
        /// The first row of each larger cell.
        Head = head: i32 [cells],
        /// The larger cells x, y, z.
        GridCoord = grid_coord: i32 [cells, 3],
        /// The item of each.
        Batch = batch: i32 [cells],
        /// Codes, by row.
        Codes = codes: u64 [orders, cells],
        /// Rows in order; of the first curve 0, 1, 2, ...
        Order = order: u32 [orders, cells],
        /// The place of each row.
        Inverse = inverse: u32 [orders, cells],
    }
    words {
        /// [`StageCounts`](pointmill_kernels::sparse::StageCounts).
        counts = [0; 3],
    }
    state {
        depth: u32 = 0,
    }
    /// One stage on the host. Its vectors are its named arrays.
    #[derive(Eq)]
    pub struct StageArrays {
        /// Larger cells that there was no room for.
        dropped: usize,
        /// Bits of a coordinate that are left.
        depth: u32,
    }
}

impl Stage {
    /// Larger cells that there is room for.
    pub const fn capacity(&self) -> usize {
        self.sizes.cells
    }

    /// Bits of a coordinate that are left.
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// `[3]`: how many larger cells there are, how many there was no room for, and how many rows came
    /// in.
    pub const fn counts(&self) -> &Buffer<u32> {
        &self.counts
    }

    /// Waits; the sizes that are, and how many larger cells there was no room for.
    fn count(&self) -> Result<(StageSizes, usize)> {
        let [cells, dropped, rows] = self.counts.read(3)?[..] else { unreachable!("three words were asked for") };
        Ok((StageSizes { rows: rows as usize, cells: cells as usize, ..self.sizes }, dropped as usize))
    }
}

/// All stages on the device that made them. Nothing of it waits but [`Hierarchy::read`].
#[derive(Debug)]
pub struct Hierarchy {
    pub(super) stages: Vec<Stage>,
    pub(super) stream: Stream,
}

impl Hierarchy {
    /// The stages.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The stages, to lend memory to; see [`DeviceArrays`](crate::interop::DeviceArrays).
    pub fn stages_mut(&mut self) -> &mut [Stage] {
        &mut self.stages
    }

    /// Waits, and copies all stages to the host. Rows that are no cells are told by
    /// [`Serialized::read`](super::super::Serialized::read).
    ///
    /// # Errors
    /// Whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<Vec<StageArrays>> {
        let read = |stage: &Stage| {
            let (sizes, dropped) = stage.count()?;
            stage.host(sizes, dropped, stage.depth)
        };
        self.stages.iter().map(read).collect()
    }
}

impl Output for Hierarchy {
    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn set_stream(&mut self, stream: &Stream) {
        self.stream = stream.clone();
        self.stages.iter_mut().for_each(|stage| stage.set_stream(stream));
    }
}
