//! Points that stay by chance or by turns.

use super::super::Pick;
use super::plan::Plan;
use super::{Call, Workspace};
use crate::Result;
use crate::device::{Buffer, workspace};
use crate::prim::{Pairs, Sorter, passes_for};
use pointmill_kernels::prim::{BLOCK, Length};
use pointmill_kernels::simt::WARP;
use pointmill_kernels::voxelize as kernels;
use std::ptr::{null, null_mut};

workspace! {
    /// Memory of a choice: the lists of all points, and what they are sorted by.
    pub(super) struct Choice(stream) {
        row_splits: Buffer<u32>,
        indices: Buffer<u32>,
        keys: Buffer<u64>,
        sorted_keys: Buffer<u64>,
        sorted: Buffer<u32>,
        turns: Buffer<u32>,
    }
}

/// Digits of the keys that turns are sorted by.
fn passes(plan: &Plan) -> u32 {
    passes_for((plan.rows as u64) << 32 | u64::from(u32::MAX))
}

impl Choice {
    pub(super) fn reserve(&mut self, plan: &Plan, pick: Pick, sorter: &mut Sorter<u64>) -> Result<()> {
        let n = plan.n as usize;
        self.row_splits.reserve(plan.rows + 1)?;
        self.indices.reserve(n)?;
        if let Pick::RoundRobin { .. } = pick {
            self.keys.reserve(n)?;
            self.sorted_keys.reserve(n)?;
            self.sorted.reserve(n)?;
            self.turns.reserve(n)?;
            sorter.reserve(plan.n, passes(plan))?;
        }
        Ok(())
    }

    /// Where the lists of all points start, and the lists.
    pub(super) fn lists(&self) -> [*mut u32; 2] {
        [self.row_splits.pointer(), self.indices.pointer()]
    }
}

impl Workspace {
    /// Puts the points that stay into the slots of their rows.
    ///
    /// # Safety
    /// There is room for what the plan says, and rows, their lists and coordinates are known.
    pub(super) unsafe fn choose(
        &mut self,
        call: &Call<'_>,
        pick: Pick,
        point_to_voxel: *const i32,
        slots: kernels::Slots,
        coords: kernels::Coords,
    ) -> Result<()> {
        let (plan, stream, choice) = (&call.plan, &self.stream, &self.choice);
        let [row_splits, indices] = choice.lists();
        let mut args = kernels::PickArgs {
            rows: call.rows(),
            slots,
            row_splits,
            indices,
            coords: coords.coords,
            coord_columns: call.job.coord_columns() as u32,
            seed: if let Pick::Random { seed } = pick { seed } else { 0 },
            turns: null(),
            by_turn: null(),
        };
        if let Pick::RoundRobin { column } = pick {
            let (n, blocks, passes) = (plan.n, plan.n.div_ceil(BLOCK).max(1), passes(plan));
            let (keys, turns) = (choice.keys.pointer(), choice.turns.pointer());
            let input = Pairs { keys, values: null_mut() };
            let output = Pairs { keys: choice.sorted_keys.pointer(), values: choice.sorted.pointer() };
            let of_rows = kernels::ValuesOfRowsArgs {
                points: call.cloud.points,
                columns: plan.columns,
                n,
                column,
                point_to_voxel,
                rows: plan.rows as u32,
                keys,
            };
            let of_points = kernels::TurnsArgs { n, sorted_keys: output.keys, sorted: output.values, keys, turns };
            // SAFETY: the caller's promise about the sizes; what a kernel reads is queued before.
            unsafe {
                stream.launch::<kernels::ValuesOfRows>(blocks, of_rows)?;
                self.sorter.enqueue(input, output, Length::known(n), passes)?;
                stream.launch::<kernels::Turns>(blocks, of_points)?;
                self.sorter.enqueue(input, output, Length::known(n), passes)?;
            }
            (args.turns, args.by_turn) = (turns, output.values);
        }
        // SAFETY: as above.
        unsafe { stream.launch::<kernels::Pick>((plan.rows as u32).div_ceil(BLOCK / WARP).max(1), args) }
    }
}
