//! Pairs, on a device and on the host.

use super::input::{Job, outside_of, repeated};
use super::{CellCoords, SparseCells};
use crate::device::{Buffer, Output, Stream};
use crate::{Argument, NamedArrays, Result, memory};
use pointmill_core::array::ArrayView;
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

/// Pairs of a sparse convolution, on the device that found them. Nothing of it waits but
/// [`ConvPairs::read`].
#[derive(Debug)]
pub struct ConvPairs {
    pub(super) cells: Buffer<i32>,
    pub(super) table: Buffer<i32>,
    pub(super) counts: Buffer<i32>,
    pub(super) masks: Buffer<u32>,
    pub(super) num_cells: Buffer<u32>,
    pub(super) faults: Buffer<u32>,
    rows: usize,
    offsets: usize,
    words: usize,
    input_grid: CellGrid,
    output_grid: CellGrid,
}

/// Pairs of a sparse convolution, on the host.
///
/// Its named arrays: `cells` i32 `[N, 4]`, `table` i32 `[K, N]`, `counts` i32 `[K]`, and `masks` u32
/// `[N, words]` if the parameters ask for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvArrays {
    /// `[N, 4]`: item, z, y, x of each output.
    pub cells: Vec<i32>,
    /// `[K, N]`: the row of the input that the offset pairs with the output, or -1.
    pub table: Vec<i32>,
    /// `[K]`: how many pairs each offset has.
    pub counts: Vec<i32>,
    /// `[N, words]`: bit `k % 32` of word `k / 32` says whether the output has a pair of offset `k`;
    /// empty unless asked for.
    pub masks: Vec<u32>,
    /// What was counted.
    pub report: ConvReport,
}

impl ConvPairs {
    pub(super) fn new(stream: &Stream) -> Result<Self> {
        let grid = CellGrid { batch: 0, shape: [0; 3] };
        Ok(Self {
            cells: stream.alloc(0)?,
            table: stream.alloc(0)?,
            counts: stream.alloc(0)?,
            masks: stream.alloc(0)?,
            num_cells: stream.upload(&[0; 2])?,
            faults: stream.upload(&[NONE; 3])?,
            rows: 0,
            offsets: 0,
            words: 0,
            input_grid: grid,
            output_grid: grid,
        })
    }

    /// Rows of the arrays: the capacity, or the number of outputs.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The number of offsets, K.
    pub const fn offsets(&self) -> usize {
        self.offsets
    }

    /// Words of a mask.
    pub const fn words(&self) -> usize {
        self.words
    }

    /// Cells of an item along z, y, x that the outputs lie in.
    pub const fn shape(&self) -> [u32; 3] {
        self.output_grid.shape
    }

    /// `[rows, 4]`: item, z, y, x of each output, and -1 behind them. The buffer can be longer.
    pub const fn cells(&self) -> &Buffer<i32> {
        &self.cells
    }

    /// `[K, rows]`: rows of inputs, and -1 where there is none. The buffer can be longer.
    pub const fn table(&self) -> &Buffer<i32> {
        &self.table
    }

    /// `[K]`: how many pairs each offset has. The buffer can be longer.
    pub const fn counts(&self) -> &Buffer<i32> {
        &self.counts
    }

    /// `[rows, words]`: see [`ConvArrays::masks`]. The buffer can be longer.
    pub const fn masks(&self) -> &Buffer<u32> {
        &self.masks
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
        CellCoords::of(&self.cells, self.rows).counted(&self.num_cells)
    }

    /// Waits, and copies the arrays to the host, without rows behind the outputs.
    ///
    /// # Errors
    /// A cell in memory of a GPU outside of its shape, or given twice; whatever the queued work ran
    /// into, or no memory.
    pub fn read(&self) -> Result<ConvArrays> {
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
        let cells = cells as usize;
        let counts = self.counts.read(self.offsets)?;
        let padded = self.table.read(self.offsets * self.rows)?;
        let table = if cells == self.rows {
            padded
        } else {
            let mut table = Vec::new();
            memory::room(&mut table, self.offsets * cells)?;
            (0..self.offsets).for_each(|k| table.extend_from_slice(&padded[k * self.rows..][..cells]));
            table
        };
        let pairs = counts.iter().map(|&count| count as usize).sum();
        let report = ConvReport { cells, dropped: dropped as usize, pairs };
        let masks = self.masks.read(cells * self.words)?;
        Ok(ConvArrays { cells: self.cells.read(cells * 4)?, table, counts, masks, report })
    }

    /// Makes room for the results of a call.
    pub(super) fn reserve(&mut self, job: &Job<'_>, rows: usize) -> Result<()> {
        (self.rows, self.offsets, self.words) = (0, 0, 0);
        let words = if job.masks { job.offsets.div_ceil(OFFSETS_OF_BLOCK) as usize } else { 0 };
        self.cells.reserve(rows * 4)?;
        self.table.reserve(rows.saturating_mul(job.offsets as usize))?;
        self.counts.reserve(job.offsets as usize)?;
        self.masks.reserve(rows * words)?;
        (self.rows, self.offsets, self.words) = (rows, job.offsets as usize, words);
        (self.input_grid, self.output_grid) = (job.input_grid, job.output_grid);
        Ok(())
    }
}

impl Output for ConvPairs {
    fn stream(&self) -> &Stream {
        self.cells.stream()
    }

    fn set_stream(&mut self, stream: &Stream) {
        for buffer in [&mut self.cells, &mut self.table, &mut self.counts] {
            buffer.set_stream(stream);
        }
        for buffer in [&mut self.masks, &mut self.num_cells, &mut self.faults] {
            buffer.set_stream(stream);
        }
    }
}

impl NamedArrays for ConvArrays {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        let (cells, offsets) = (self.report.cells, self.counts.len());
        let mut arrays = vec![
            ("cells", ArrayView::i32(&[cells, 4], &self.cells)),
            ("table", ArrayView::i32(&[offsets, cells], &self.table)),
            ("counts", ArrayView::i32(&[offsets], &self.counts)),
        ];
        if !self.masks.is_empty() {
            arrays.push(("masks", ArrayView::u32(&[cells, self.masks.len() / cells], &self.masks)));
        }
        arrays
    }
}
