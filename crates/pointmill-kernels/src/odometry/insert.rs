//! Points that enter the map.

use super::map::{Map, MapHead, Voxel};
use super::sample::Timed;
use super::sums::Deskew;
use super::*;
use crate::prim::scan::{SHARED_WORDS, Tiles};
use crate::prim::{compact::rank_tile, hash::find_or_insert, scan};
use pointmill_core::odometry::cells::{AROUND, around, beside, cell_of, key_of, offset_in, squared};
use pointmill_core::rigid::Rigid;

/// Arguments of [`InsertPoints`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InsertPointsArgs {
    /// Points of a sweep.
    pub samples: *const Timed,
    /// The number of points.
    pub n: u32,
    /// How they move.
    pub deskew: Deskew,
    /// Their pose.
    pub pose: Rigid,
    /// The map, whose table has room for as many cells more.
    pub map: Map,
    /// For each entry of the table the lowest index of the points of a cell that is new; all ones
    /// before.
    pub firsts: *mut u32,
    /// Where the points are in the world, each followed by a zero.
    pub world: *mut [f64; 4],
    /// The entry of each point, or [`NONE`].
    pub entries: *mut u32,
}

kernel! {
    /// Finds the cells of points in the world. One thread a point.
    InsertPoints = "odometry_insert_points", block BLOCK, shared 0, cooperative false,
    fn(a: InsertPointsArgs) {
        let i = global_index();
        if i >= a.n {
            return;
        }
        let p = a.pose.apply(a.deskew.apply(*a.samples.add(i as usize)));
        *a.world.add(i as usize) = [p[0], p[1], p[2], 0.0];
        let mut entry = NONE;
        if let Some(cell) = cell_of(p, a.map.size) {
            entry = find_or_insert(a.map.keys, 1, a.map.mask, a.map.seed, key_of(cell));
            if entry != NONE && *a.map.values.add(entry as usize) == NONE {
                atomic_min(a.firsts.add(entry as usize), i);
            }
        }
        *a.entries.add(i as usize) = entry;
    }
}

/// Arguments of [`AllocateVoxels`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AllocateVoxelsArgs {
    /// The number of points.
    pub n: u32,
    /// Where they are in the world.
    pub world: *const [f64; 4],
    /// The entry of each.
    pub entries: *const u32,
    /// The map.
    pub map: Map,
    /// What [`InsertPoints`] wrote; all ones after.
    pub firsts: *mut u32,
    /// Places of voxels that are free; the last is taken first.
    pub free: *const u32,
    /// What is known of the map.
    pub head: *mut MapHead,
    /// State, zero before.
    pub tiles: Tiles,
}

kernel! {
    /// Makes voxels of cells that are new, in the order of their first points. One block a tile.
    AllocateVoxels = "odometry_allocate_voxels", block BLOCK, shared SHARED_WORDS, cooperative true,
    fn(a: AllocateVoxelsArgs) {
        let shared = Shared::at(0);
        let tile = scan::take_tile(a.tiles, shared);
        let first = |i: u32| {
            // A cell that is not new has no first point.
            let entry = if i < a.n { *a.entries.add(i as usize) } else { NONE };
            entry != NONE && load_relaxed(a.firsts.add(entry as usize)) == i
        };
        let r = rank_tile::<ITEMS>(a.tiles, tile, shared, first);
        let (slots, free) = ((*a.head).slots, (*a.head).free);
        for j in 0..ITEMS {
            if r.flagged[j] {
                let (i, rank) = ((r.start + j as u32 * WARP) as usize, r.rank[j]);
                let entry = *a.entries.add(i) as usize;
                let slot = if rank < free { *a.free.add((free - 1 - rank) as usize) } else { slots + rank - free };
                let [x, y, z, _] = *a.world.add(i);
                if let Some(cell) = cell_of([x, y, z], a.map.size) {
                    *a.map.voxels.add(slot as usize) = Voxel { cell, count: 0, changed: 0 };
                }
                *a.map.values.add(entry) = slot;
                store_relaxed(a.firsts.add(entry), NONE);
            }
        }
        if thread_index() == 0 && a.n <= (tile + 1) * TILE {
            (*a.head).allocated = r.end;
        }
    }
}

/// Arguments of [`AssignSlots`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AssignSlotsArgs {
    /// The number of points.
    pub n: u32,
    /// The entry of each.
    pub entries: *const u32,
    /// The voxel of each entry.
    pub values: *const u32,
    /// The voxel of each point.
    pub slots: *mut u32,
    /// What points without a voxel get; above all voxels.
    pub none: u32,
    /// What is known of the map.
    pub head: *mut MapHead,
}

kernel! {
    /// The voxel of each point. One thread a point.
    AssignSlots = "odometry_assign_slots", block BLOCK, shared 0, cooperative false,
    fn(a: AssignSlotsArgs) {
        let i = global_index();
        if i < a.n {
            let entry = *a.entries.add(i as usize);
            *a.slots.add(i as usize) = if entry == NONE { a.none } else { *a.values.add(entry as usize) };
        }
        if i == 0 {
            let head = &mut *a.head;
            let again = if head.allocated < head.free { head.allocated } else { head.free };
            head.free -= again;
            head.slots += head.allocated - again;
            head.allocated = 0;
        }
    }
}

/// Arguments of [`Fill`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FillArgs {
    /// The voxels of points, sorted.
    pub slots: *const u32,
    /// The points, by voxel and then in their order.
    pub order: *const u32,
    /// The number of points.
    pub n: u32,
    /// What points without a voxel have.
    pub none: u32,
    /// Where the points are in the world.
    pub world: *const [f64; 4],
    /// The map.
    pub map: Map,
    /// The square of the least distance of two points of a voxel.
    pub spacing: f32,
    /// The number of this change.
    pub changes: u32,
    /// What is known of the map.
    pub head: *mut MapHead,
}

kernel! {
    /// Adds points to their voxels. One thread a point; the first of a voxel adds all.
    Fill = "odometry_fill", block BLOCK, shared 0, cooperative false,
    fn(a: FillArgs) {
        let i = global_index();
        if i >= a.n {
            return;
        }
        let slot = *a.slots.add(i as usize);
        if slot >= a.none || i > 0 && *a.slots.add(i as usize - 1) == slot {
            return;
        }
        let voxel = a.map.voxels.add(slot as usize);
        let (cell, before, first) = ((*voxel).cell, (*voxel).count, slot * a.map.cap);
        let (mut count, mut k) = (before, i);
        while k < a.n && count < a.map.cap && *a.slots.add(k as usize) == slot {
            let [x, y, z, _] = *a.world.add(*a.order.add(k as usize) as usize);
            let p = offset_in([x, y, z], cell, a.map.size);
            let mut near = false;
            let mut other = 0;
            while other < count && !near {
                near = squared(a.map.offset(first + other), p) < a.spacing;
                other += 1;
            }
            if !near {
                *a.map.points.add((first + count) as usize) = [p[0], p[1], p[2], 0.0];
                *a.map.made.add((first + count) as usize) = 0;
                count += 1;
            }
            k += 1;
        }
        if count > before {
            (*voxel).count = count;
            atomic_add(&raw mut (*a.head).points, count - before);
            // Normals reach into the neighbours.
            let mut d = 0;
            while d < AROUND {
                let near = a.map.find(beside(cell, around(d)));
                if near != NONE {
                    store_relaxed(&raw mut (*a.map.voxels.add(near as usize)).changed, a.changes);
                }
                d += 1;
            }
        }
    }
}
