//! Grid sampling by kernels.

use super::result::COUNTS;
use super::{GridOrigin, GridSampleParams, Sampled};
use crate::device::{Buffer, Stream, Uploaded, workspace};
use crate::prim::{Pairs, Sorter, passes_for};
use crate::{Argument, Result, Rows, VoxelGrid, seed};
use pointmill_core::hash::Seed;
use pointmill_kernels::prim::Length;
use pointmill_kernels::prim::scan::{self, Scan, ScanArgs, Tiles};
use pointmill_kernels::sparse::{self as kernels, BLOCK, SAMPLE_TILE, pick};
use std::ptr::{null, null_mut};

workspace! {
    /// Memory that kernels use again.
    pub(super) struct Workspace(stream) {
        stream: Stream,
        staging: Buffer<u8>,
        splits: Uploaded,
        corner: Buffer<u32>,
        table: Buffer<u64>,
        firsts: Buffer<u32>,
        ids: Buffer<u32>,
        slots: Buffer<u32>,
        tiles: Buffer<u32>,
        least: Buffer<u64>,
        keys: Buffer<u32>,
        sorted_keys: Buffer<u32>,
        sorted: Buffer<u32>,
        starts: Buffer<u32>,
        sorter: Sorter<u32>,
        seed: Seed = seed::seed(),
    }
}

impl Workspace {
    pub(super) fn run(
        &mut self,
        points: &Rows<'_>,
        splits: &[usize],
        grid: VoxelGrid,
        params: &GridSampleParams,
        out: &mut Sampled,
    ) -> Result<()> {
        out.counts.fill_words(0, COUNTS)?;
        let n = points.len() as u32;
        if n == 0 {
            return Ok(());
        }
        let (rows, capacity) = (points.len(), out.sizes.cells);
        let entries = (2 * rows + 1).next_power_of_two().max(4);
        let (tiles, blocks) = (n.div_ceil(SAMPLE_TILE), n.div_ceil(BLOCK));
        let (pick, value) = params.pick.numbers();
        let by_number = pick >= pick::NTH;
        let scan_blocks = capacity as u32 / scan::TILE + 1;
        let scan_words = Tiles::words(scan_blocks) as usize;
        let words = Tiles::words(tiles) as usize + scan_words;
        self.table.reserve(entries)?;
        self.firsts.reserve(entries)?;
        self.ids.reserve(entries)?;
        self.slots.reserve(rows)?;
        self.tiles.reserve(words)?;
        self.corner.reserve(3)?;
        self.table.fill_words(u32::MAX, 2 * entries)?;
        self.firsts.fill_words(u32::MAX, entries)?;
        self.tiles.fill_words(0, words)?;
        if pick == pick::NEAREST {
            self.least.reserve(capacity)?;
            self.least.fill_words(u32::MAX, 2 * capacity)?;
        }
        let passes = passes_for(capacity as u64);
        if by_number {
            self.keys.reserve(rows)?;
            self.sorted_keys.reserve(rows)?;
            self.sorted.reserve(rows)?;
            self.starts.reserve(capacity + 1)?;
            self.sorter.reserve(n, passes)?;
        }
        self.splits.set(Argument::RowSplits, splits.iter().map(|&split| split as u32))?;
        let (from_points, items) = (params.origin == GridOrigin::Min, splits.len() as u32 - 1);
        let input = kernels::SamplePoints {
            points: points.address(&mut self.staging)?,
            columns: points.columns() as u32,
            n,
            starts: self.splits.pointer(),
            items,
            grid,
            corner: if from_points { self.corner.pointer().cast_const() } else { null() },
        };
        let args = kernels::SampleArgs {
            input,
            table: self.table.pointer(),
            mask: entries as u32 - 1,
            seed: self.seed,
            firsts: self.firsts.pointer(),
            ids: self.ids.pointer(),
            slots: self.slots.pointer(),
            tiles: Tiles { words: self.tiles.pointer() },
            capacity: capacity as u32,
            pick,
            value,
            coords: out.grid_coord.pointer(),
            batch: out.batch.pointer(),
            rows: out.rows.pointer().cast(),
            num_points: out.num_points.pointer().cast(),
            inverse: out.inverse.pointer(),
            least: self.least.pointer(),
            keys: self.keys.pointer(),
            starts: self.starts.pointer(),
            sorted: self.sorted.pointer(),
            counts: out.counts.pointer().cast(),
        };
        if from_points {
            self.corner.fill_words(u32::MAX, 3)?;
        }
        // SAFETY: room was made for all points, cells and entries; what a kernel reads is queued
        // before.
        unsafe {
            if from_points {
                let finding = kernels::CornerArgs { input, corner: self.corner.pointer() };
                self.stream.launch::<kernels::Corner>(blocks, finding)?;
            }
            self.stream.launch::<kernels::InsertCells>(blocks, args)?;
            self.stream.launch::<kernels::RankCells>(tiles, args)?;
            self.stream.launch::<kernels::AssignCells>(blocks, args)?;
            if pick == pick::NEAREST {
                self.stream.launch::<kernels::NearestPoints>(blocks, args)?;
            }
            if by_number {
                let cells = Length { bound: capacity as u32, exact: out.counts.pointer() };
                let words = self.tiles.pointer().add(Tiles::words(tiles) as usize);
                let sums = ScanArgs {
                    input: args.num_points,
                    output: self.starts.pointer(),
                    n: cells,
                    tiles: Tiles { words },
                };
                self.stream.launch::<Scan>(scan_blocks, sums)?;
                let input = Pairs { keys: self.keys.pointer(), values: null_mut() };
                let output = Pairs { keys: self.sorted_keys.pointer(), values: self.sorted.pointer() };
                self.sorter.enqueue(input, output, Length::known(n), passes)?;
                self.stream.launch::<kernels::ChoosePoints>((capacity as u32).div_ceil(BLOCK), args)?;
            }
        }
        Ok(())
    }
}
