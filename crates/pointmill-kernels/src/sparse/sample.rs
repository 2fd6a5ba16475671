//! One point of each cell.

use super::{BLOCK, NONE};
use crate::prim::compact::rank_tile;
use crate::prim::hash;
use crate::prim::last_where;
use crate::prim::scan::{SHARED_WORDS, Tiles, take_tile};
use crate::simt::*;
use pointmill_core::VoxelGrid;
use pointmill_core::hash::Seed;
use pointmill_core::random::{below, of_cell};
use pointmill_core::sparse::{distance_to_centre, of_ordered_bits, ordered_bits};

/// Points a thread of [`RankCells`] looks at.
const ITEMS: usize = 4;
/// Points of a tile of [`RankCells`].
pub const SAMPLE_TILE: u32 = BLOCK * ITEMS as u32;

/// Which point of a cell is taken.
pub mod pick {
    /// The first.
    pub const FIRST: u32 = 0;
    /// The nearest to the centre.
    pub const NEAREST: u32 = 1;
    /// The one with this number, modulo how many there are.
    pub const NTH: u32 = 2;
    /// One by chance.
    pub const RANDOM: u32 = 3;
}

/// Points, and the grid that they are sampled by.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SamplePoints {
    /// `[n, columns]`, x, y, z first.
    pub points: *const f32,
    /// Values of a row.
    pub columns: u32,
    /// The number of points.
    pub n: u32,
    /// Where each item starts; null for one item.
    pub starts: *const u32,
    /// How many items there are.
    pub items: u32,
    /// The grid of an item.
    pub grid: VoxelGrid,
    /// The corner of the grid, in [`ordered_bits`]; null for its own.
    pub corner: *const u32,
}

/// What sampling counts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SampleCounts {
    /// Cells that there is room for.
    pub cells: u32,
    /// Cells that there is no room for.
    pub cells_dropped: u32,
    /// Points with a coordinate that is not finite.
    pub non_finite: u32,
    /// Points outside the grid.
    pub outside: u32,
    /// Points of cells that there is no room for.
    pub points_dropped: u32,
}

impl SamplePoints {
    /// # Safety
    /// There is such a point.
    #[inline(always)]
    unsafe fn point(&self, i: u32) -> [f32; 3] {
        // SAFETY: the caller promises the point.
        unsafe {
            let row = self.points.add(i as usize * self.columns as usize);
            [*row, *row.add(1), *row.add(2)]
        }
    }

    /// The grid about its corner.
    ///
    /// # Safety
    /// The corner is null or three words.
    #[inline(always)]
    unsafe fn grid(&self) -> VoxelGrid {
        if self.corner.is_null() {
            return self.grid;
        }
        // SAFETY: the caller promises the words.
        let corner = unsafe { [*self.corner, *self.corner.add(1), *self.corner.add(2)] };
        let corner = [of_ordered_bits(corner[0]), of_ordered_bits(corner[1]), of_ordered_bits(corner[2])];
        self.grid.moved_to(corner)
    }

    /// The last item that starts at or before the point.
    ///
    /// # Safety
    /// The starts are null or as many as items.
    #[inline(always)]
    unsafe fn item(&self, i: u32) -> u32 {
        // SAFETY: below the number of items, which is 1 where there are no starts.
        last_where(self.items, |item| unsafe { *self.starts.add(item as usize) } <= i)
    }
}

#[inline(always)]
fn is_finite(p: [f32; 3]) -> bool {
    p[0].is_finite() & p[1].is_finite() & p[2].is_finite()
}

/// Arguments of [`Corner`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CornerArgs {
    /// The points.
    pub input: SamplePoints,
    /// The least x, y and z in [`ordered_bits`]; all ones before.
    pub corner: *mut u32,
}

kernel! {
    /// Finds the least coordinates of finite points. One thread a point.
    Corner = "sparse_corner", block BLOCK, shared 0, cooperative true,
    fn(a: CornerArgs) {
        let i = global_index();
        let mut bits = [u32::MAX; 3];
        if i < a.input.n {
            let p = a.input.point(i);
            if is_finite(p) {
                bits = [ordered_bits(p[0]), ordered_bits(p[1]), ordered_bits(p[2])];
            }
        }
        for k in 0..3 {
            let (least, of_warp) = (a.corner.add(k), warp_least(bits[k]));
            if (lane() == 0) & (of_warp < load_relaxed(least)) {
                atomic_min(least, of_warp);
            }
        }
    }
}

/// Arguments of [`InsertCells`], [`RankCells`], [`AssignCells`], [`NearestPoints`] and
/// [`ChoosePoints`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SampleArgs {
    /// The points.
    pub input: SamplePoints,
    /// `mask + 1` keys, all ones before.
    pub table: *mut u64,
    /// Entries minus one; more entries than points.
    pub mask: u32,
    /// By which keys are spread.
    pub seed: Seed,
    /// `[mask + 1]`: the first point of each key, all ones before; then the cell.
    pub firsts: *mut u32,
    /// `[mask + 1]`: the cell of each key.
    pub ids: *mut u32,
    /// `[n]`: the entry of each point, or [`NONE`].
    pub slots: *mut u32,
    /// State of the scan, zero before.
    pub tiles: Tiles,
    /// Cells that there is room for.
    pub capacity: u32,
    /// One of [`pick`].
    pub pick: u32,
    /// The number, or the seed.
    pub value: u64,
    /// `[capacity, 3]`.
    pub coords: *mut i32,
    /// `[capacity]`.
    pub batch: *mut i32,
    /// `[capacity]`: the point that is taken.
    pub rows: *mut u32,
    /// `[capacity]`: points of each cell.
    pub num_points: *mut u32,
    /// `[n]`: the cell of each point, or -1.
    pub inverse: *mut i32,
    /// `[capacity]`: the least distance, all ones before; for [`pick::NEAREST`].
    pub least: *mut u64,
    /// `[n]`: the cell of each point, or the capacity; for a sort.
    pub keys: *mut u32,
    /// `[capacity + 1]`: where the points of each cell start in `sorted`.
    pub starts: *const u32,
    /// `[n]`: points by cell.
    pub sorted: *const u32,
    /// What is counted; zero before.
    pub counts: *mut SampleCounts,
}

/// Adds the lanes that say so. All lanes call.
///
/// # Safety
/// The counter is valid.
#[inline(always)]
unsafe fn add_votes(counter: *mut u32, vote: bool) {
    let votes = ballot(vote);
    if (votes != 0) & (lane() == 0) {
        // SAFETY: the caller's promise.
        unsafe { atomic_add(counter, votes.count_ones()) };
    }
}

kernel! {
    /// Gives the cell of each point an entry. One thread a point.
    InsertCells = "sparse_sample_insert", block BLOCK, shared 0, cooperative true,
    fn(a: SampleArgs) {
        let i = global_index();
        let (mut non_finite, mut outside) = (false, false);
        if i < a.input.n {
            let p = a.input.point(i);
            let grid = a.input.grid();
            let mut slot = NONE;
            if let Some(cell) = grid.cell(p) {
                let key = a.input.item(i) as u64 * grid.num_cells() + grid.id(cell);
                slot = hash::find_or_insert(a.table, 1, a.mask, a.seed, key);
                let first = a.firsts.add(slot as usize);
                if i < load_relaxed(first) {
                    atomic_min(first, i);
                }
            } else {
                non_finite = !is_finite(p);
                outside = !non_finite;
            }
            *a.slots.add(i as usize) = slot;
        }
        add_votes(&raw mut (*a.counts).non_finite, non_finite);
        add_votes(&raw mut (*a.counts).outside, outside);
    }
}

kernel! {
    /// Numbers cells by their first point. One block a tile of [`SAMPLE_TILE`] points.
    RankCells = "sparse_sample_rank", block BLOCK, shared SHARED_WORDS, cooperative true,
    fn(a: SampleArgs) {
        let shared = Shared::at(0);
        let n = a.input.n;
        let tile = take_tile(a.tiles, shared);
        let is_first = |i: u32| {
            if i >= n {
                return false;
            }
            let slot = *a.slots.add(i as usize);
            slot != NONE && *a.firsts.add(slot as usize) == i
        };
        let ranks = rank_tile::<ITEMS>(a.tiles, tile, shared, is_first);
        for j in 0..ITEMS {
            if ranks.flagged[j] {
                let (i, id) = (ranks.start + j as u32 * WARP, ranks.rank[j]);
                *a.ids.add(*a.slots.add(i as usize) as usize) = id;
                if id < a.capacity {
                    if let Some(cell) = a.input.grid().cell(a.input.point(i)) {
                        let coords = a.coords.add(3 * id as usize);
                        *coords = cell[0] as i32;
                        *coords.add(1) = cell[1] as i32;
                        *coords.add(2) = cell[2] as i32;
                    }
                    *a.batch.add(id as usize) = a.input.item(i) as i32;
                    *a.rows.add(id as usize) = if a.pick == pick::NEAREST { NONE } else { i };
                    *a.num_points.add(id as usize) = 0;
                }
            }
        }
        if (thread_index() == 0) & (n <= (tile + 1) * SAMPLE_TILE) {
            let cells = if ranks.end < a.capacity { ranks.end } else { a.capacity };
            (*a.counts).cells = cells;
            (*a.counts).cells_dropped = ranks.end - cells;
        }
    }
}

kernel! {
    /// Gives each point its cell. One thread a point.
    AssignCells = "sparse_sample_assign", block BLOCK, shared 0, cooperative true,
    fn(a: SampleArgs) {
        let i = global_index();
        let mut dropped = false;
        if i < a.input.n {
            let slot = *a.slots.add(i as usize);
            let mut id = a.capacity;
            if slot != NONE {
                id = *a.ids.add(slot as usize);
                dropped = id >= a.capacity;
            }
            let kept = id < a.capacity;
            *a.inverse.add(i as usize) = if kept { id as i32 } else { -1 };
            if a.pick >= pick::NTH {
                *a.keys.add(i as usize) = if kept { id } else { a.capacity };
            }
            if kept {
                atomic_add(a.num_points.add(id as usize), 1);
                if a.pick == pick::NEAREST {
                    let (p, grid) = (a.input.point(i), a.input.grid());
                    if let Some(cell) = grid.cell(p) {
                        atomic_min_u64(a.least.add(id as usize), distance_to_centre(&grid, cell, p).to_bits());
                    }
                }
            }
        }
        add_votes(&raw mut (*a.counts).points_dropped, dropped);
    }
}

kernel! {
    /// Takes the first of the nearest points of each cell. One thread a point.
    NearestPoints = "sparse_sample_nearest", block BLOCK, shared 0, cooperative false,
    fn(a: SampleArgs) {
        let i = global_index();
        if i >= a.input.n {
            return;
        }
        let id = *a.inverse.add(i as usize);
        if id >= 0 {
            let (p, grid) = (a.input.point(i), a.input.grid());
            if let Some(cell) = grid.cell(p)
                && distance_to_centre(&grid, cell, p).to_bits() == *a.least.add(id as usize)
            {
                atomic_min(a.rows.add(id as usize), i);
            }
        }
    }
}

kernel! {
    /// Takes a point of each cell by its number. One thread a cell.
    ChoosePoints = "sparse_sample_choose", block BLOCK, shared 0, cooperative false,
    fn(a: SampleArgs) {
        let id = global_index() as usize;
        if id >= (*a.counts).cells as usize {
            return;
        }
        let (start, count) = (*a.starts.add(id), *a.num_points.add(id));
        let number = if a.pick == pick::RANDOM {
            let row = a.coords.add(3 * id);
            let cell = [*row as u32, *row.add(1) as u32, *row.add(2) as u32];
            below(of_cell(a.value, *a.batch.add(id) as u32, cell), count)
        } else {
            a.value as u32 % count
        };
        *a.rows.add(id) = *a.sorted.add((start + number) as usize);
    }
}
