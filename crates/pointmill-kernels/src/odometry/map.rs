//! The local map in memory of a device.

use super::*;
use pointmill_core::hash::Seed;
use pointmill_core::{
    hash::first_slot,
    odometry::cells::{NO_CELL, key_of, place_in},
};

/// A voxel of the map.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Voxel {
    /// Its cell.
    pub cell: [i32; 3],
    /// Points in it; none where it was taken away.
    pub count: u32,
    /// When points were last added to it or to a neighbour.
    pub changed: u32,
}

/// What is known of the map.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
pub struct MapHead {
    /// Places of voxels that were ever taken.
    pub slots: u32,
    /// Those that are free again.
    pub free: u32,
    /// Points.
    pub points: u32,
    /// Voxels that [`AllocateVoxels`] made, until [`AssignSlots`] counts them.
    pub allocated: u32,
    /// Voxels that [`RemoveFarVoxels`] took away, until [`RebuildIndex`] counts them.
    pub removed: u32,
}

/// The map as kernels take it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Map {
    /// Edge of a voxel in metres.
    pub size: f64,
    /// `mask + 1` keys of cells, all ones where there is none; at most half of them are taken.
    pub keys: *mut u64,
    /// The voxel of each entry; [`NONE`] where it is not known yet.
    pub values: *mut u32,
    /// Entries minus one; entries are a power of two, at least 4.
    pub mask: u32,
    /// By which keys are spread.
    pub seed: Seed,
    /// Points that a voxel holds.
    pub cap: u32,
    /// Voxels.
    pub voxels: *mut Voxel,
    /// `cap` for each voxel: offsets from the corner of the voxel.
    pub points: *mut Place4,
    /// `cap` for each voxel: directions, and the variance of the tilt.
    pub normals: *mut Place4,
    /// `cap` for each voxel: as of which change the normal is; zero where there is none yet.
    pub made: *mut u32,
}

impl Map {
    /// The voxel of a cell, or [`NONE`]. Nothing is added to the table meanwhile.
    ///
    /// # Safety
    /// The map is valid.
    #[inline(always)]
    pub(super) unsafe fn find(&self, cell: [i32; 3]) -> u32 {
        let key = key_of(cell);
        let mut entry = first_slot(key, self.mask, self.seed);
        loop {
            // SAFETY: entry <= mask.
            let found = unsafe { *self.keys.add(entry as usize) };
            if found == key {
                // SAFETY: as above.
                return unsafe { *self.values.add(entry as usize) };
            }
            // Half of the entries are empty, so the search ends.
            if found == NO_CELL {
                return NONE;
            }
            entry = (entry + 1) & self.mask;
        }
    }

    /// The offset of a point, and its fourth number.
    ///
    /// # Safety
    /// The index is that of a point.
    #[inline(always)]
    pub(super) unsafe fn offset(&self, i: u32) -> [f32; 3] {
        // SAFETY: the caller's promise.
        let [x, y, z, _] = unsafe { load4(self.points.add(i as usize)) };
        [x, y, z]
    }

    /// A point in the world.
    ///
    /// # Safety
    /// The index is that of a point.
    #[inline(always)]
    pub(super) unsafe fn point(&self, i: u32) -> [f64; 3] {
        // SAFETY: the caller's promise.
        unsafe { place_in(self.offset(i), (*self.voxels.add((i / self.cap) as usize)).cell, self.size) }
    }
}

#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Aligned(Place4);

/// Reads four numbers at once.
///
/// # Safety
/// `p` is valid and aligned to 16 bytes.
#[inline(always)]
pub(super) unsafe fn load4(p: *const Place4) -> Place4 {
    // SAFETY: the caller's promise; the type is as wide as its alignment here.
    unsafe { *p.cast::<Aligned>() }.0
}
