//! Pairs, on a device and on the host.

use super::input::{Job, outside_of, repeated};
use super::{CellCoords, SparseCells};
use crate::arrays::outputs;
use crate::{Argument, Buffer, Result};
use pointmill_core::record;
use pointmill_core::sparse::CellGrid;
use pointmill_kernels::sparse::{NONE, OFFSETS_OF_BLOCK};

record! {
    /// What [`index_pairs`](super::index_pairs) counted.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
    #[non_exhaustive]
    pub struct ConvReport {
        /// Output cells, N.
        pub cells: usize,
        /// Output cells beyond the capacity, which were dropped.
        pub dropped: usize,
        /// Pairs of all offsets.
        pub pairs: usize,
    }
}

outputs! {
    /// Pairs of a sparse convolution, on the device that found them. Nothing of it waits but
    /// [`ConvPairs::read`].
    pub struct ConvPairs of ConvArray by ConvSizes { cells, offsets, words, inputs, sides } reports ConvReport {
        /// Item, z, y, x of each output, and -1 behind them.
        Cells = cells: i32 [cells, 4],
        /// The row of the input that the offset pairs with the output, or -1.
        Table = table: i32 [offsets, cells],
        /// How many pairs each offset has.
        Counts = counts: i32 [offsets] else 0,
        /// Bit `k % 32` of word `k / 32` says whether the output has a pair of offset `k`; empty unless
        /// asked for.
        Masks = masks: u32 [cells, words] if words else 0,
        /// For each offset the rows of inputs and those of outputs of its pairs, by output, and -1 behind
        /// them; empty unless asked for.
        Lists = lists: i32 [sides, offsets, inputs] if sides,
    }
    words {
        /// How many outputs there are, and how many were dropped.
        num_cells = [0; 2],
        faults = [NONE; 3],
    }
    state {
        input_grid: CellGrid = CellGrid { batch: 0, shape: [0; 3] },
        output_grid: CellGrid = CellGrid { batch: 0, shape: [0; 3] },
    }
    /// Pairs of a sparse convolution, on the host. Its vectors are its named arrays.
    #[derive(Eq)]
    pub struct ConvArrays {
        /// What was counted.
        report: ConvReport,
    }
}

impl ConvPairs {
    /// Rows of the arrays: the capacity, or the number of outputs.
    pub const fn rows(&self) -> usize {
        self.sizes.cells
    }

    /// The number of offsets, K.
    pub const fn offsets(&self) -> usize {
        self.sizes.offsets
    }

    /// Words of a mask.
    pub const fn words(&self) -> usize {
        self.sizes.words
    }

    /// Cells of an item along z, y, x that the outputs lie in.
    pub const fn shape(&self) -> [u32; 3] {
        self.output_grid.shape
    }

    /// Two words: how many outputs there are, and how many were dropped.
    pub const fn num_cells(&self) -> &Buffer<u32> {
        &self.num_cells
    }

    /// The outputs as inputs of another layer, without a copy and without waiting for their number.
    pub fn as_cells(&self) -> SparseCells<'_> {
        SparseCells::new(self.coords(), self.output_grid.batch, self.output_grid.shape)
    }

    /// The outputs, of which as many count as there are.
    pub fn coords(&self) -> CellCoords<'_> {
        CellCoords::of(&self.cells, self.sizes.cells).counted(&self.num_cells)
    }

    fn count(&self) -> Result<(ConvSizes, ConvReport)> {
        let [cells, dropped] = self.num_cells.read(2)?[..] else { unreachable!("two words were asked for") };
        let faults = self.faults.read(3)?;
        let kinds =
            [(Argument::Coords, &self.input_grid, faults[0]), (Argument::Outputs, &self.output_grid, faults[2])];
        for (argument, grid, row) in kinds {
            if row != NONE {
                return Err(outside_of(argument, grid, format_args!("row {row}")));
            }
        }
        if faults[1] != NONE {
            return Err(repeated(faults[1] as usize));
        }
        let pairs = self.counts.read(self.sizes.offsets)?.iter().map(|&count| count as usize).sum();
        let report = ConvReport { cells: cells as usize, dropped: dropped as usize, pairs };
        Ok((ConvSizes { cells: report.cells, ..self.sizes }, report))
    }

    /// Waits, and copies the arrays to the host, without rows behind the outputs.
    ///
    /// # Errors
    /// A cell in memory of a GPU outside of its shape, or given twice; whatever the queued work ran
    /// into, or no memory.
    pub fn read(&self) -> Result<ConvArrays> {
        let (sizes, report) = self.count()?;
        self.host(sizes, report)
    }

    /// Makes room for the results of a call.
    pub(super) fn begin(&mut self, job: &Job<'_>, rows: usize) -> Result<()> {
        let words = if job.masks { job.offsets.div_ceil(OFFSETS_OF_BLOCK) as usize } else { 0 };
        let (offsets, inputs) = (job.offsets as usize, job.inputs.len());
        self.reserve(ConvSizes { cells: rows, offsets, words, inputs, sides: if job.lists { 2 } else { 0 } })?;
        (self.input_grid, self.output_grid) = (job.input_grid, job.output_grid);
        Ok(())
    }
}
