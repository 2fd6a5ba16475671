//! Voxels that leave the map.

use super::map::{Map, MapHead};
use super::*;
use crate::prim::{
    Length,
    compact::rank_tile,
    hash::find_or_insert,
    scan::{self, SHARED_WORDS, Tiles},
};
use pointmill_core::odometry::cells::{key_of, leaves};

/// Arguments of [`RemoveFarVoxels`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RemoveFarVoxelsArgs {
    /// The map.
    pub map: Map,
    /// Places of voxels that were ever taken.
    pub slots: Length,
    /// What voxels leave that are farther than `radius` from.
    pub middle: [f64; 3],
    /// In metres.
    pub radius: f64,
    /// Places of voxels that are free.
    pub free: *mut u32,
    /// What is known of the map.
    pub head: *mut MapHead,
    /// State, zero before.
    pub tiles: Tiles,
}

kernel! {
    /// Takes voxels away that are far, and lists their places, ascending. One block a tile.
    RemoveFarVoxels = "odometry_remove_far_voxels", block BLOCK, shared SHARED_WORDS, cooperative true,
    fn(a: RemoveFarVoxelsArgs) {
        let shared = Shared::at(0);
        let n = a.slots.get();
        let tile = scan::take_tile(a.tiles, shared);
        if tile > 0 && tile * TILE >= n {
            return;
        }
        let far = |i: u32| {
            if i >= n {
                return false;
            }
            let voxel = *a.map.voxels.add(i as usize);
            voxel.count > 0 && leaves(voxel.cell, a.map.size, a.middle, a.radius)
        };
        let r = rank_tile::<ITEMS>(a.tiles, tile, shared, far);
        let free = (*a.head).free;
        let mut points = 0;
        for j in 0..ITEMS {
            if r.flagged[j] {
                let slot = r.start + j as u32 * WARP;
                let voxel = a.map.voxels.add(slot as usize);
                points += (*voxel).count;
                (*voxel).count = 0;
                *a.free.add((free + r.rank[j]) as usize) = slot;
            }
        }
        let points = warp_sum(points);
        if lane() == 0 && points > 0 {
            atomic_add(&raw mut (*a.head).points, points.wrapping_neg());
        }
        if thread_index() == 0 && n <= (tile + 1) * TILE {
            (*a.head).removed = r.end;
        }
    }
}

/// Arguments of [`RebuildIndex`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RebuildIndexArgs {
    /// The map, with an empty table.
    pub map: Map,
    /// Places of voxels that were ever taken.
    pub slots: Length,
    /// What is known of the map.
    pub head: *mut MapHead,
}

kernel! {
    /// Makes the table of cells anew. One thread a voxel.
    RebuildIndex = "odometry_rebuild_index", block BLOCK, shared 0, cooperative false,
    fn(a: RebuildIndexArgs) {
        let i = global_index();
        if i < a.slots.get() {
            let voxel = *a.map.voxels.add(i as usize);
            if voxel.count > 0 {
                let entry = find_or_insert(a.map.keys, 1, a.map.mask, a.map.seed, key_of(voxel.cell));
                if entry != NONE {
                    *a.map.values.add(entry as usize) = i;
                }
            }
        }
        if i == 0 {
            let head = &mut *a.head;
            head.free += head.removed;
            head.removed = 0;
        }
    }
}
