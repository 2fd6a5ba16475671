//! Rows of cells in the order of their ids: sorted rows, and first-seen rows of many points, which
//! are put into their order after that.

use super::super::{VoxelArray, Voxels};
use super::{Call, Workspace, reserve_filled};
use crate::device::{Buffer, workspace};
use crate::{Error, Result};
use pointmill_kernels::prim::scan::Tiles;
use pointmill_kernels::prim::{BLOCK, Length};
use pointmill_kernels::voxelize as kernels;
use std::ptr::{null, null_mut};

workspace! {
    /// Memory of a set of numbers.
    struct Set(stream) {
        words: Buffer<u32>,
        ranked: Buffer<u64>,
    }
}

impl Set {
    fn reserve(&mut self, quads: u32, clean: bool) -> Result<()> {
        let words = quads as usize * 4;
        reserve_filled(&mut self.words, words, 0, clean)?;
        self.ranked.reserve(words).map(drop)
    }

    fn bits(&self, quads: u32) -> kernels::Bits {
        kernels::Bits { words: self.words.pointer(), quads, ranked: self.ranked.pointer() }
    }
}

workspace! {
    /// Memory that calls use again.
    pub(super) struct Memory(stream) {
        cells: Set,
        firsts: Set,
        row_of_cell: Buffer<u32>,
        order: Buffer<u32>,
    }
}

impl Memory {
    /// Makes room for what the plan says.
    pub(super) fn reserve(&mut self, plan: &Cells, clean: bool) -> Result<()> {
        self.cells.reserve(plan.quads, clean)?;
        self.firsts.reserve(plan.first_quads, clean)?;
        self.row_of_cell.reserve(plan.most)?;
        self.order.reserve(plan.most)?;
        Ok(())
    }
}

/// Sizes of sets, cells and tiles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cells {
    /// Quads of words for all cells; zero for calls that work otherwise.
    quads: u32,
    /// Quads of words for all points; zero for sorted rows.
    first_quads: u32,
    /// No more cells than this are put into another order.
    pub(super) most: usize,
}

/// Largest number of cells in all samples: their bits take 64 MiB, and their ranks up to 128 MiB.
const MOST_CELLS: u64 = if cfg!(test) { 1 << 24 } else { 1 << 29 };

impl Cells {
    /// For so many points and keys; `None` for too many keys.
    pub(super) fn new(n: usize, keys: u64, sorted: bool) -> Option<Self> {
        let quads = kernels::Bits::quads(keys) as u32;
        // One bit behind the last point, where empty samples start.
        let first_quads = if sorted { 0 } else { kernels::Bits::quads(n as u64 + 1) as u32 };
        let most = if sorted { 0 } else { keys.min(n as u64) as usize };
        (keys <= MOST_CELLS).then_some(Self { quads, first_quads, most })
    }

    /// Whether rows are put into another order than that of their cells.
    pub(super) const fn reorder(&self) -> bool {
        self.first_quads > 0
    }

    const fn tiles(quads: u32) -> u32 {
        let tiles = quads.div_ceil(kernels::QUADS_PER_TILE);
        if tiles == 0 { 1 } else { tiles }
    }

    /// Words of tiles that these kernels use.
    pub(super) const fn tile_words(&self) -> u32 {
        Tiles::words(Self::tiles(self.quads)) + Tiles::words(Self::tiles(self.first_quads))
    }
}

impl Workspace {
    /// Queues the first kernel, which needs nothing of the result but its counters.
    ///
    /// # Safety
    /// There is room for what the plan says.
    pub(super) unsafe fn mark(&self, call: &Call<'_>, cells: &Cells) -> Result<()> {
        let args = kernels::MarkArgs {
            cloud: call.cloud,
            begin: Self::begin(call),
            cells: self.cells.cells.bits(cells.quads),
            key_of_point: self.slot_of_point.pointer(),
        };
        // SAFETY: the caller's promise.
        unsafe {
            if call.plan.many {
                self.stream.launch::<kernels::Mark<{ kernels::MANY }>>(call.plan.tiles, args)
            } else {
                self.stream.launch::<kernels::Mark<{ kernels::FEW }>>(call.plan.tiles, args)
            }
        }
    }

    /// Queues what gives points their rows and rows their points; returns where the slots of each
    /// row are.
    ///
    /// # Safety
    /// As [`Workspace::mark`], which was called before.
    pub(super) unsafe fn assign_cells(
        &self,
        call: &Call<'_>,
        cells: &Cells,
        members: kernels::Members,
        for_host: kernels::ForHost,
        out: &Voxels,
    ) -> Result<*const u32> {
        let (stream, batch, counters, lost) = (&self.stream, call.cloud.batch, call.counters, call.lost);
        let (points, reorder) = (call.plan.n.div_ceil(BLOCK).max(1), cells.reorder());
        let all = self.cells.cells.bits(cells.quads);
        let firsts = self.cells.firsts.bits(cells.first_quads);
        let batched = call.job.row_splits.is_some();
        let (sample_found, voxel_splits) = match batched {
            true => (self.sample_found.pointer(), out.arrays.pointer::<u32>(VoxelArray::VoxelSplits)),
            false => (null_mut(), null_mut()),
        };
        let coords = call.coords(out);
        let nobody = kernels::ForHost { word: null_mut(), ..for_host };
        // Ranks a set whose ranks are those of rows, and counts the rows.
        let rank_rows = |bits, tiles, step| {
            let told = if batched { nobody } else { for_host };
            let quads = if reorder { cells.first_quads } else { cells.quads };
            let args = kernels::RankBitsArgs { bits, tiles, batch, step, sample_found, counters, lost, for_host: told };
            // SAFETY: the caller's promise.
            unsafe {
                stream.launch::<kernels::RankBits>(Cells::tiles(quads), args)?;
                if batched {
                    let args = kernels::SamplesArgs { batch, sample_found, voxel_splits, counters, lost, for_host };
                    stream.launch::<kernels::Samples>(1, args)?;
                }
            }
            Ok::<_, Error>(())
        };
        if reorder {
            let args = kernels::RankBitsArgs {
                bits: all,
                tiles: call.tiles,
                batch,
                step: 0,
                sample_found: null_mut(),
                counters,
                lost,
                for_host: nobody,
            };
            // SAFETY: the caller's promise.
            unsafe { stream.launch::<kernels::RankBits>(Cells::tiles(cells.quads), args) }?;
        } else {
            rank_rows(all, call.tiles, call.cloud.grid.num_cells() as u32)?;
        }
        let assign = kernels::AssignCellsArgs {
            key_of_point: self.slot_of_point.pointer(),
            cells: all,
            batch,
            sample_found,
            voxel_splits,
            all: u32::from(reorder),
            members: kernels::Members {
                point_to_voxel: if reorder { null_mut() } else { members.point_to_voxel },
                ..members
            },
            coords,
            counters,
        };
        // SAFETY: the caller's promise.
        unsafe {
            if call.plan.many {
                stream.launch::<kernels::AssignCells<{ kernels::MANY }>>(call.plan.tiles, assign)
            } else {
                stream.launch::<kernels::AssignCells<{ kernels::FEW }>>(call.plan.tiles, assign)
            }
        }?;
        if !reorder {
            return Ok(null());
        }
        let order = kernels::OrderArgs {
            // SAFETY: a field of the counters.
            found: Length { bound: cells.most as u32, exact: unsafe { &raw const (*counters).found } },
            slots: members.slots,
            firsts,
            key_of_point: assign.key_of_point,
            batch,
            sample_found,
            voxel_splits,
            row_of_cell: self.cells.row_of_cell.pointer(),
            order: self.cells.order.pointer(),
            coords,
        };
        // There can be far fewer cells than points, and blocks without any take time too.
        let blocks = order.found.bound.div_ceil(BLOCK).clamp(1, stream.enough_blocks(8));
        // SAFETY: the caller's promise; the tiles of the first points follow those of the cells.
        unsafe {
            stream.launch::<kernels::MarkFirsts>(blocks, order)?;
            let words = call.tiles.words.add(Tiles::words(Cells::tiles(cells.quads)) as usize);
            rank_rows(firsts, Tiles { words }, 0)?;
            stream.launch::<kernels::Order>(blocks, order)?;
        }
        // Without a cell past its cap no point has lost its row.
        if !members.point_to_voxel.is_null() || (batch.max_voxels as usize) < cells.most {
            let args = kernels::FindRowsArgs {
                key_of_point: assign.key_of_point,
                n: call.plan.n,
                cells: all,
                row_of_cell: order.row_of_cell,
                point_to_voxel: members.point_to_voxel,
                counters,
            };
            // SAFETY: the caller's promise.
            unsafe { stream.launch::<kernels::FindRows>(points, args) }?;
        }
        Ok(order.order)
    }
}
