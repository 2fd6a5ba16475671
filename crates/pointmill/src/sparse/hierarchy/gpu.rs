//! Larger and larger cells by kernels.

use super::Hierarchy;
use crate::Result;
use crate::device::{Buffer, Stream, workspace};
use crate::prim::{Pairs, Sorter, passes_for};
use crate::sparse::{Cells, Serialized};
use pointmill_kernels::prim::Length;
use pointmill_kernels::prim::scan::Tiles;
use pointmill_kernels::sparse::{self as kernels, BLOCK, STAGE_TILE};
use std::ptr::null_mut;

workspace! {
    /// Memory that kernels use again.
    pub(super) struct Workspace(stream) {
        stream: Stream,
        staging: [Buffer<i32>; 2] = [stream.alloc(0)?, stream.alloc(0)?],
        tiles: Buffer<u32>,
        keys: Buffer<u32>,
        sorted: Buffer<u32>,
        sorter: Sorter<u32>,
    }
}

impl Workspace {
    pub(super) fn run(
        &mut self,
        cells: &Cells<'_>,
        serialized: &Serialized,
        halvings: &[u32],
        out: &mut Hierarchy,
    ) -> Result<()> {
        let first = cells.staged(&mut self.staging)?;
        let n = Length { bound: first.n.bound, exact: serialized.num_cells().pointer() };
        let (mut rows, orders) = (kernels::CellRows { n, ..first }, serialized.orders().len() as u32);
        let (mut codes, mut order) = (serialized.codes().pointer(), serialized.order().pointer());
        self.keys.reserve(cells.len())?;
        self.sorted.reserve(cells.len())?;
        let passes = passes_for(cells.len() as u64);
        self.sorter.reserve(n.bound, passes)?;
        let words = |bound: u32| orders as usize * Tiles::words(bound.div_ceil(STAGE_TILE).max(1)) as usize;
        let most = out.stages.iter().map(|stage| words(stage.capacity() as u32)).max().unwrap_or(0);
        self.tiles.reserve(most.max(words(n.bound)))?;
        for (i, (stage, &doubled)) in out.stages.iter_mut().zip(halvings).enumerate() {
            let bound = rows.n.bound;
            let tiles = bound.div_ceil(STAGE_TILE);
            self.tiles.fill_words(0, words(bound))?;
            let args = kernels::StageArgs {
                rows,
                codes,
                order,
                orders,
                doubled,
                capacity: stage.capacity() as u32,
                tiles: Tiles { words: self.tiles.pointer() },
                cluster: stage.cluster.pointer(),
                keys: if i == 0 { self.keys.pointer() } else { null_mut() },
                indptr: stage.indptr.pointer().cast(),
                indices: stage.indices.pointer().cast(),
                head: stage.head.pointer().cast(),
                next_coords: stage.grid_coord.pointer(),
                next_batch: stage.batch.pointer(),
                next_codes: stage.codes.pointer(),
                next_order: stage.order.pointer(),
                next_inverse: stage.inverse.pointer(),
                counts: stage.counts.pointer().cast(),
            };
            // SAFETY: room was made for all rows and larger cells; what a kernel reads is queued
            // before.
            unsafe {
                self.stream.launch::<kernels::Parents>(tiles.max(1), args)?;
                if i == 0 {
                    let input = Pairs { keys: self.keys.pointer(), values: null_mut() };
                    let output = Pairs { keys: self.sorted.pointer(), values: args.indices };
                    self.sorter.enqueue(input, output, rows.n, passes)?;
                }
                if stage.capacity() > 0 {
                    self.stream.launch::<kernels::Heads>((stage.capacity() as u32).div_ceil(BLOCK), args)?;
                }
                if (orders > 1) & (tiles > 0) {
                    self.stream.launch::<kernels::NextOrders>((orders - 1) * tiles, args)?;
                }
            }
            (codes, order) = (args.next_codes, args.next_order);
            let n = Length { bound: args.capacity, exact: stage.counts.pointer() };
            rows = kernels::CellRows { coords: args.next_coords, batch: args.next_batch, n };
        }
        Ok(())
    }
}
