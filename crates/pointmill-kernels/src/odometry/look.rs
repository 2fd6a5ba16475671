//! Neighbours of keys in the map, and the normals there.

use super::*;
use crate::odometry::map::Map;
use pointmill_core::rigid::Rigid;
use pointmill_core::{
    icp::nearest::{distance_of, index_of, key},
    odometry::{
        cells::{AROUND, around, beside, cell_of, gap_to, offset_in, seen_from, squared},
        surface::Near,
    },
};

/// Arguments of [`Look`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LookArgs {
    /// The pose of the keys.
    pub pose: Rigid,
    /// Where the keys are at the moment of the sweep, each followed by a number that is not used.
    pub keys: *const [f64; 4],
    /// The number of keys.
    pub n: u32,
    /// Neighbours are no farther than these metres.
    pub within: f32,
    /// How many voxels beside its own a key may have its neighbour in, along each axis.
    pub reach: u32,
    /// The map.
    pub map: Map,
    /// The neighbour of each key, or [`NONE`].
    pub targets: *mut u32,
}

/// The lowest key of the points of a voxel, as one lane sees it that takes every `step`-th point.
#[inline(always)]
unsafe fn nearest_of(map: &Map, slot: u32, q: [f32; 3], from: u32, step: u32, mut best: u64) -> u64 {
    if slot != NONE {
        // SAFETY: the slot is that of a voxel, whose first points are there.
        unsafe {
            let (first, count) = (slot * map.cap, (*map.voxels.add(slot as usize)).count);
            let mut i = from;
            while i < count {
                let other = key(squared(map.offset(first + i), q), first + i);
                best = if other < best { other } else { best };
                i += step;
            }
        }
    }
    best
}

kernel! {
    /// The nearest point of the map for each key; of equally near ones that with the lowest index.
    /// One warp a key.
    Look = "odometry_look", block BLOCK, shared 0, cooperative true,
    fn(a: LookArgs) {
        let i = global_index() / WARP;
        if i >= a.n {
            return;
        }
        let [x, y, z, _] = *a.keys.add(i as usize);
        let place = a.pose.apply([x, y, z]);
        let Some(cell) = cell_of(place, a.map.size) else {
            if lane() == 0 {
                *a.targets.add(i as usize) = NONE;
            }
            return;
        };
        let size = a.map.size as f32;
        let at = offset_in(place, cell, a.map.size);
        // The lanes share the points of the own voxel, then the voxels around.
        let limit = key(a.within * a.within, NONE);
        let mut best = warp_least_u64(nearest_of(&a.map, a.map.find(cell), at, lane(), WARP, limit));
        let side = 2 * a.reach + 1;
        let all = side * side * side;
        let mut base = 0;
        while base < all {
            let d = base + lane();
            let by = [d % side, d / side % side, d / (side * side)];
            let by = [by[0] as i32 - a.reach as i32, by[1] as i32 - a.reach as i32, by[2] as i32 - a.reach as i32];
            let looks = d < all && d != all / 2 && gap_to(at, by, size) <= distance_of(best);
            if looks {
                best = nearest_of(&a.map, a.map.find(beside(cell, by)), seen_from(at, by, size), 0, 1, best);
            }
            if ballot(looks) != 0 {
                best = warp_least_u64(best);
            }
            base += WARP;
        }
        if lane() == 0 {
            *a.targets.add(i as usize) = index_of(best);
        }
    }
}

/// Arguments of [`Normals`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NormalsArgs {
    /// The neighbour of each key, or [`NONE`].
    pub targets: *const u32,
    /// The number of keys.
    pub n: u32,
    /// The map.
    pub map: Map,
}

kernel! {
    /// Makes normals of neighbours anew where points came near since they were made. One thread a
    /// key.
    Normals = "odometry_normals", block BLOCK, shared 0, cooperative false,
    fn(a: NormalsArgs) {
        let i = global_index();
        if i >= a.n {
            return;
        }
        let target = *a.targets.add(i as usize);
        if target == NONE {
            return;
        }
        let voxel = *a.map.voxels.add((target / a.map.cap) as usize);
        // Of keys with the same neighbour one makes the normal.
        let made = a.map.made.add(target as usize);
        if load_relaxed(made) >= voxel.changed || atomic_max(made, voxel.changed) >= voxel.changed {
            return;
        }
        let size = a.map.size as f32;
        let mut near = Near::new(a.map.offset(target), size);
        let mut d = 0;
        while d < AROUND {
            let by = around(d);
            if near.reaches(by, size) {
                let slot = a.map.find(beside(voxel.cell, by));
                let count = if slot == NONE { 0 } else { (*a.map.voxels.add(slot as usize)).count };
                let mut k = 0;
                while k < count {
                    near.offer(seen_from(a.map.offset(slot * a.map.cap + k), [-by[0], -by[1], -by[2]], size));
                    k += 1;
                }
            }
            d += 1;
        }
        let normal = near.surface();
        let [x, y, z] = normal.direction;
        *a.map.normals.add(target as usize) = [x, y, z, normal.tilt];
    }
}
