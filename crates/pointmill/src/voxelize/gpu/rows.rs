//! Rows whose points are gathered in slots, or in lists.

use super::super::{VoxelArray, Voxels};
use super::plan::Way;
use super::{Call, Workspace};
use crate::Result;
use pointmill_kernels::prim::BLOCK;
use pointmill_kernels::prim::scan::Tiles;
use pointmill_kernels::voxelize as kernels;
use std::ptr::{null, null_mut};

impl Workspace {
    pub(super) fn table(&self, call: &Call<'_>) -> kernels::Table {
        let (entries, short) = (self.table.pointer(), u32::from(call.plan.short_keys));
        kernels::Table { entries, mask: call.plan.mask, seed: self.seed, short }
    }

    /// Slots for so many points of each row; none for 0.
    fn slots_of(&self, max_points: u32) -> kernels::Slots {
        let slots = if max_points == 0 { null_mut() } else { self.slots.pointer() };
        kernels::Slots { slots, order: null(), stride: kernels::Slots::stride(max_points), max_points }
    }

    /// Queues the first kernel, which needs nothing of the result but its counters.
    ///
    /// # Safety
    /// There is room for what the plan says.
    pub(super) unsafe fn insert(&self, call: &Call<'_>) -> Result<()> {
        let args = kernels::InsertArgs {
            cloud: call.cloud,
            begin: Self::begin(call),
            table: self.table(call),
            slot_of_point: self.slot_of_point.pointer(),
        };
        // SAFETY: the caller's promise.
        unsafe { self.stream.launch::<kernels::Insert>(call.plan.n.div_ceil(BLOCK).max(1), args) }
    }

    /// Queues all others.
    ///
    /// # Safety
    /// As [`Workspace::insert`], which was called before.
    pub(super) unsafe fn enqueue(
        &mut self,
        call: &Call<'_>,
        for_host: kernels::ForHost,
        out: &mut Voxels,
    ) -> Result<()> {
        let (stream, plan) = (self.stream.clone(), &call.plan);
        let dynamic = plan.max_points == 0;
        let (outputs, lists) = (&call.extent.outputs, call.extent.lists);
        if dynamic && let Some(counts) = out.arrays.typed_mut::<i32>(VoxelArray::NumPoints) {
            counts.fill_words(0, plan.rows)?;
        }
        let arrays = &out.arrays;
        let num_points = arrays.pointer::<i32>(VoxelArray::NumPoints).cast::<u32>();
        let mut members = kernels::Members {
            n: plan.n,
            slots: self.slots_of(plan.max_points),
            num_points: if dynamic { num_points } else { null_mut() },
            point_to_voxel: if outputs.point_to_voxel {
                arrays.pointer(VoxelArray::PointToVoxel)
            } else if dynamic && (lists || plan.chosen.is_some()) {
                self.point_to_voxel.pointer()
            } else {
                null_mut()
            },
        };
        let (slot_of_point, table, counters) = (self.slot_of_point.pointer(), self.table(call), call.counters);
        let assign = kernels::AssignArgs { slot_of_point, table, members, counters };
        // SAFETY: the caller's promise about the sizes.
        unsafe {
            match &plan.way {
                Way::Cells(cells) => {
                    members.slots.order = self.assign_cells(call, cells, members, for_host, out)?;
                }
                Way::Place => {
                    self.place_rows(call, table, for_host, out)?;
                    stream.launch::<kernels::Assign>(plan.n.div_ceil(BLOCK).max(1), assign)?;
                }
                Way::Rows => {
                    let rows = kernels::RowsArgs {
                        assign,
                        max_voxels: call.cloud.batch.max_voxels,
                        tiles: call.tiles,
                        coords: call.coords(out),
                        lost: call.lost,
                        for_host,
                    };
                    if plan.many {
                        stream.launch::<kernels::Rows<{ kernels::MANY }>>(plan.tiles, rows)?;
                    } else {
                        stream.launch::<kernels::Rows<{ kernels::FEW }>>(plan.tiles, rows)?;
                    }
                }
            }
        }
        let mut slots = members.slots;
        let list = |array| if lists { arrays.pointer::<u32>(array) } else { null_mut() };
        let (row_splits, indices) = (list(VoxelArray::RowSplits), list(VoxelArray::Indices));
        // SAFETY: the tiles of lists follow the others.
        let mut tiles = Tiles { words: unsafe { call.tiles.words.add(plan.tile_words as usize) } };
        let all = if plan.chosen.is_some() { self.choice.lists() } else { [row_splits, indices] };
        if dynamic && (lists || plan.chosen.is_some()) {
            // SAFETY: as above.
            unsafe { self.list_all(call, members.point_to_voxel, num_points, tiles, all) }?;
        }
        if let Some((most, pick)) = plan.chosen {
            slots = self.slots_of(most);
            // SAFETY: as above; the lists of all points are queued.
            unsafe { self.choose(call, pick, members.point_to_voxel, slots, call.coords(out)) }?;
            // SAFETY: these tiles follow those of all points.
            tiles = Tiles { words: unsafe { tiles.words.add(Tiles::words(plan.list_tiles) as usize) } };
        }
        // From here on rows have slots but for dynamic voxelization.
        let dynamic = slots.slots.is_null();
        if lists && !dynamic {
            let args = kernels::ListsArgs { slots, rows: call.rows(), row_splits, indices, tiles };
            // SAFETY: as above.
            unsafe { stream.launch::<kernels::Lists>(plan.list_tiles, args) }?;
        }
        let (points, columns, rows) = (call.cloud.points, plan.columns, call.rows());
        // Points of rows of few are written together with their means; means alone are faster by
        // themselves.
        let few = outputs.voxels && !dynamic && slots.max_points <= kernels::FEW_POINTS;
        let voxels = if outputs.voxels { arrays.pointer::<f32>(VoxelArray::Voxels).cast() } else { null_mut() };
        if outputs.voxels && !few {
            let args = kernels::EmitPointsArgs { points, columns, rows, slots, voxels };
            let tiles = (plan.rows as u64 * u64::from(slots.max_points))
                .div_ceil(u64::from(kernels::slots_per_tile(columns)))
                .clamp(1, u64::from(stream.enough_blocks(8)));
            // SAFETY: as above.
            unsafe { stream.launch::<kernels::EmitPoints>(tiles as u32, args) }?;
        }
        let emit = kernels::EmitArgs {
            points,
            columns,
            rows,
            slots,
            lists: if dynamic { indices } else { null_mut() },
            list_splits: row_splits,
            num_points,
            means: call.means(arrays),
            voxels,
            padded: call.padded(arrays),
            counters,
        };
        let tiles = (plan.rows as u32).div_ceil(kernels::rows_per_tile(columns)).max(1);
        // As many as fit at once with the registers that the kernels take.
        // SAFETY: as above.
        unsafe {
            if few {
                stream.launch::<kernels::EmitFew>(tiles.min(stream.enough_blocks(4)), emit)
            } else {
                stream.launch::<kernels::Emit>(tiles.min(stream.enough_blocks(5)), emit)
            }
        }
    }
}
