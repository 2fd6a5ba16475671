//! Points of full rows that stay by chance or by turns, into slots.

use super::*;
use crate::prim::partition_point;
use pointmill_core::float::same_bits;
use pointmill_core::random::{chance, of_cell};

/// Arguments of [`ValuesOfRows`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ValuesOfRowsArgs {
    /// `[n, columns]`.
    pub points: *const f32,
    /// Values a point has, C.
    pub columns: u32,
    /// The number of points.
    pub n: u32,
    /// The column whose values take turns.
    pub column: u32,
    /// `[n]`: the row of each point or -1.
    pub point_to_voxel: *const i32,
    /// In place of no row: what comes behind all of them.
    pub rows: u32,
    /// `[n]`: row and value of each point, for a sort.
    pub keys: *mut u64,
}

kernel! {
    /// Keys that bring the points of a row with the same value together. One thread a point.
    ValuesOfRows = "voxelize_values_of_rows", block BLOCK, shared 0, cooperative false,
    fn(a: ValuesOfRowsArgs) {
        let i = global_index();
        if i < a.n {
            let row = *a.point_to_voxel.add(i as usize) as u32;
            let value = *a.points.add(i as usize * a.columns as usize + a.column as usize);
            let row = if row == NONE { a.rows } else { row };
            *a.keys.add(i as usize) = (row as u64) << 32 | same_bits(value) as u64;
        }
    }
}

/// Arguments of [`Turns`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TurnsArgs {
    /// The number of points.
    pub n: u32,
    /// Keys of [`ValuesOfRows`], sorted.
    pub sorted_keys: *const u64,
    /// Points in the order of the keys; of equal keys in input order.
    pub sorted: *const u32,
    /// `[n]`: row and turn of each point.
    pub keys: *mut u64,
    /// `[n]`: the turn of each point.
    pub turns: *mut u32,
}

kernel! {
    /// The turn of each point: how many points of its row with the same value come before it. One
    /// thread a point.
    Turns = "voxelize_turns", block BLOCK, shared 0, cooperative false,
    fn(a: TurnsArgs) {
        let at = global_index();
        if at < a.n {
            let own = *a.sorted_keys.add(at as usize);
            let start = partition_point(0, at, |k| *a.sorted_keys.add(k as usize) < own);
            let (i, turn) = (*a.sorted.add(at as usize), at - start);
            *a.turns.add(i as usize) = turn;
            *a.keys.add(i as usize) = (own >> 32) << 32 | turn as u64;
        }
    }
}

/// Arguments of [`Pick`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PickArgs {
    /// The number of rows, V.
    pub rows: Length,
    /// Where the points go that stay; empty before.
    pub slots: Slots,
    /// Where the list of each row starts.
    pub row_splits: *const u32,
    /// All points of all rows.
    pub indices: *const u32,
    /// `[rows, coord_columns]`, z, y, x last.
    pub coords: *const i32,
    /// 3, or 4 with the sample in front.
    pub coord_columns: u32,
    /// The seed of the pick by chance.
    pub seed: u64,
    /// `[n]`: the turn of each point; null for a pick by chance.
    pub turns: *const u32,
    /// All points of all rows, of each row by turn and index; for a pick by turns.
    pub by_turn: *const u32,
}

kernel! {
    /// Chooses the points of each row that stay, in input order. A warp a row.
    Pick = "voxelize_pick", block BLOCK, shared 0, cooperative true,
    fn(a: PickArgs) {
        let row = block_index() * (BLOCK / WARP) + warp();
        if row < a.rows.get() {
            a.pick(row);
        }
    }
}

impl PickArgs {
    /// All lanes call.
    ///
    /// # Safety
    /// The row is below V, and the pointers are valid.
    #[inline(always)]
    unsafe fn pick(&self, row: u32) {
        // SAFETY: the caller promises a row, which has a list of points, slots and coordinates.
        unsafe {
            let (start, end) = (*self.row_splits.add(row as usize), *self.row_splits.add(row as usize + 1));
            let (list, count, most) = (self.indices.add(start as usize), end - start, self.slots.max_points);
            let (slots, by_chance) = (self.slots.of(row), self.turns.is_null());
            let all = count <= most;
            let mut state = 0;
            // The last point that stays by turns.
            let (mut last_turn, mut last) = (0, 0);
            if !all && by_chance {
                let coords = self.coords.add(row as usize * self.coord_columns as usize);
                let of = |k: u32| *coords.add((self.coord_columns - k) as usize) as u32;
                let item = if self.coord_columns == 4 { of(4) } else { 0 };
                state = of_cell(self.seed, item, [of(1), of(2), of(3)]);
            } else if !all {
                last = *self.by_turn.add((start + most - 1) as usize);
                last_turn = *self.turns.add(last as usize);
            }
            let (mut base, mut taken) = (0, 0);
            while base < count && taken < most {
                let k = base + lane();
                let inside = k < count;
                let i = if inside { *list.add(k as usize) } else { NONE };
                let stay = if all {
                    ballot(inside)
                } else if by_chance {
                    choose(if inside { chance(state, k, count) } else { NONE }, most - taken)
                } else {
                    let turn = if inside { *self.turns.add(i as usize) } else { NONE };
                    ballot(inside && (turn < last_turn || (turn == last_turn && i <= last)))
                };
                if stay >> lane() & 1 != 0 {
                    *slots.add((taken + (stay & lanes_before()).count_ones()) as usize) = i;
                }
                taken += stay.count_ones();
                base += WARP;
            }
        }
    }
}

/// Which lanes take their points, one after the other: a lane does where its chance is below how many are
/// still wanted. All lanes call.
#[inline(always)]
fn choose(chance: u32, mut wanted: u32) -> u32 {
    let mut stay = 0;
    for x in 0..WARP {
        let takes = (shuffle(chance, x) < wanted) as u32;
        stay |= takes << x;
        wanted -= takes;
    }
    stay
}
