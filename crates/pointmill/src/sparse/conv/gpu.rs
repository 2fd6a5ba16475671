//! Pairs where kernels run.

use super::ConvPairs;
use super::input::Job;
use crate::device::{Buffer, Stream, workspace};
use crate::prim::{Pairs as Sorted, Sorter, passes_for};
use crate::seed::seed;
use crate::{Argument, Result, ensure};
use pointmill_core::hash::Seed;
use pointmill_kernels::prim::Length;
use pointmill_kernels::prim::scan::Tiles;
use pointmill_kernels::sparse as kernels;
use pointmill_kernels::sparse::{BLOCK, CellTable, ConvCells, ENTRY, NONE, OFFSETS_OF_BLOCK, PAIR_TILE};
use std::ptr::{null, null_mut};

workspace! {
    /// Memory that calls use again.
    pub(super) struct Workspace(stream) {
        stream: Stream,
        inputs: Buffer<i32>,
        outputs: Buffer<i32>,
        seed: Seed = seed(),
        table: Buffer<u64>,
        set: Buffer<u64>,
        ids: Buffer<u64>,
        sorted: Buffer<u64>,
        order: Buffer<u32>,
        tiles: Buffer<u32>,
        found: Buffer<u32> = stream.upload(&[0])?,
        sorter: Sorter<u64>,
    }
}

/// Entries of a table for so many keys.
const fn entries(keys: u32) -> usize {
    (keys as usize * 2 + 2).next_power_of_two()
}

impl Workspace {
    pub(super) fn run(&mut self, job: &Job<'_>, out: &mut ConvPairs) -> Result<()> {
        out.faults.fill_words(NONE, 3)?;
        let n = job.inputs.len() as u32;
        let inputs =
            ConvCells { cells: job.inputs.address(&mut self.inputs)?, n: job.inputs.length(), grid: job.input_grid };
        let entries = entries(n);
        self.table.reserve(entries * ENTRY)?;
        self.table.fill_words(u32::MAX, entries * ENTRY * 2)?;
        let table = CellTable { entries: self.table.pointer(), mask: entries as u32 - 1, seed: self.seed };
        let faults = out.faults.pointer().cast();
        if n > 0 {
            // SAFETY: room was made for all inputs, and the table is empty.
            unsafe {
                self.stream
                    .launch::<kernels::Insert>(n.div_ceil(BLOCK), kernels::InsertArgs { inputs, table, faults })?;
            }
        }
        let (outputs, ids, rows) = match job.outputs {
            Some(given) => {
                // The outputs of a submanifold layer are its inputs.
                let cells = if job.transposed { given.address(&mut self.outputs)? } else { inputs.cells };
                (ConvCells { cells, n: given.length(), grid: job.output_grid }, null(), given.len())
            }
            None => {
                let n = self.reach(job, inputs)?;
                let cells = ConvCells { cells: null(), n, grid: job.output_grid };
                (cells, self.sorted.pointer().cast_const(), job.capacity.unwrap_or(n.bound) as usize)
            }
        };
        out.begin(job, rows)?;
        out.counts.fill_words(0, job.offsets as usize)?;
        let args = kernels::PairsArgs {
            table,
            grid: job.input_grid,
            outputs,
            ids,
            window: job.window,
            offsets: job.offsets,
            transposed: u32::from(job.transposed),
            rows: rows as u32,
            cells: out.cells.pointer().cast(),
            pairs: out.table.pointer().cast(),
            counts: out.counts.pointer().cast(),
            masks: if job.masks { out.masks.pointer() } else { null_mut() },
            num_cells: out.num_cells.pointer().cast(),
            faults,
        };
        let blocks = (rows as u32).div_ceil(BLOCK).max(1) * job.offsets.div_ceil(OFFSETS_OF_BLOCK);
        // SAFETY: room was made for all rows; the inputs are in the table.
        unsafe { self.stream.launch::<kernels::Pairs>(blocks, args) }?;
        if job.lists { self.list(job, out, rows as u32) } else { Ok(()) }
    }

    /// Queues listing the pairs of each offset.
    fn list(&mut self, job: &Job<'_>, out: &mut ConvPairs, rows: u32) -> Result<()> {
        let (offsets, inputs) = (job.offsets, job.inputs.len() as u32);
        out.lists.fill_words(NONE, 2 * offsets as usize * inputs as usize)?;
        let places = offsets as usize * rows as usize;
        ensure(places < 1 << 30, Argument::Coords, "fewer than 2^30 outputs times offsets for lists", places)?;
        let tiles = (places as u32).div_ceil(PAIR_TILE);
        if tiles == 0 {
            return Ok(());
        }
        let words = Tiles::words(tiles) as usize;
        self.tiles.reserve(words)?;
        self.tiles.fill_words(0, words)?;
        let args = kernels::PairListsArgs {
            table: out.table.pointer().cast_const().cast(),
            offsets,
            rows,
            counts: out.counts.pointer().cast_const().cast(),
            tiles: Tiles { words: self.tiles.pointer() },
            inputs,
            pairs: out.lists.pointer().cast(),
        };
        // SAFETY: there is room for as many pairs of an offset as there are inputs.
        unsafe { self.stream.launch::<kernels::PairLists>(tiles, args) }
    }

    /// Queues listing and sorting the outputs that the inputs reach; how many are kept.
    fn reach(&mut self, job: &Job<'_>, inputs: ConvCells) -> Result<Length> {
        let entries = entries(job.bound);
        self.set.reserve(entries)?;
        self.set.fill_words(u32::MAX, entries * 2)?;
        self.found.fill_words(0, 1)?;
        self.ids.reserve(job.bound as usize)?;
        let args = kernels::OutputsArgs {
            inputs,
            grid: job.output_grid,
            window: job.window,
            offsets: job.offsets,
            transposed: u32::from(job.transposed),
            set: self.set.pointer(),
            mask: entries as u32 - 1,
            seed: self.seed,
            ids: self.ids.pointer(),
            found: self.found.pointer(),
        };
        if inputs.n.bound > 0 {
            // SAFETY: room was made for all that the inputs can reach, and the set is empty.
            unsafe { self.stream.launch::<kernels::Outputs>(inputs.n.bound.div_ceil(BLOCK), args) }?;
        }
        let all = match job.capacity {
            Some(_) => Length { bound: job.bound, exact: self.found.pointer() },
            None => Length::known(self.found.read(1)?.first().copied().unwrap_or(0)),
        };
        let passes = passes_for(job.output_grid.cells().map_or(u64::MAX, |cells| cells - 1));
        self.sorted.reserve(all.bound as usize)?;
        self.order.reserve(all.bound as usize)?;
        self.sorter.reserve(all.bound, passes)?;
        let input = Sorted { keys: self.ids.pointer(), values: null_mut() };
        let output = Sorted { keys: self.sorted.pointer(), values: self.order.pointer() };
        // SAFETY: room was made for all of them.
        unsafe { self.sorter.enqueue(input, output, all, passes) }?;
        let bound = all.bound.min(job.capacity.unwrap_or(u32::MAX));
        Ok(Length { bound, ..all })
    }
}
