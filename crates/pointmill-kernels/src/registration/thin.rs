//! The means of the points of voxels.

use super::BLOCK;
use crate::cloud::Points;
use crate::icp;
use crate::prim::compact::rank_tile;
use crate::prim::scan::{SHARED_WORDS, Tiles, take_tile};
use crate::simt::*;
#[cfg(not(target_arch = "nvptx64"))]
use pointmill_core::float::from_ordered;
use pointmill_core::float::ordered;
use pointmill_core::registration::voxel::VoxelNumbers;

/// Points of a thread of [`Starts`].
const ITEMS: usize = 4;
/// Points of a tile of [`Starts`].
pub const STARTS_TILE: u32 = BLOCK * ITEMS as u32;
/// Voxels of a block of [`Means`].
pub const VOXELS_OF_BLOCK: u32 = BLOCK / WARP;

/// What is known of a cloud that is thinned.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct ThinHead {
    /// What the kernels of [`icp`] find: the points that stay, and where most of them are.
    pub cloud: icp::Head,
    /// The least coordinates and, with all bits turned, the largest, as numbers in the order of
    /// floats; all ones before.
    pub bounds: [u64; 6],
    /// Voxels that have points.
    pub voxels: u64,
}

#[cfg(not(target_arch = "nvptx64"))]
impl ThinHead {
    /// Before a cloud is looked at.
    pub fn of(points: Points) -> Self {
        Self { cloud: icp::Head::of(points), bounds: [u64::MAX; 6], voxels: 0 }
    }

    /// The corners of the box around the points that stay.
    pub fn corners(&self) -> [[f64; 3]; 2] {
        let [a, b, c, d, e, f] = self.bounds;
        [[a, b, c].map(from_ordered), [!d, !e, !f].map(from_ordered)]
    }
}

/// Arguments of [`Bounds`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BoundsArgs {
    /// The cloud, and where the bounds go.
    pub head: *mut ThinHead,
    /// The points that stay.
    pub kept: *const u32,
}

kernel! {
    /// Finds the bounds of the points that stay. One thread a point.
    Bounds = "registration_bounds", block BLOCK, shared 0, cooperative true,
    fn(a: BoundsArgs) {
        let i = global_index();
        let mut bounds = [u64::MAX; 6];
        if i < (*a.head).cloud.kept {
            let p = (*a.head).cloud.points.get().get(*a.kept.add(i as usize));
            for k in 0..3 {
                bounds[k] = ordered(p[k]);
                bounds[3 + k] = !ordered(p[k]);
            }
        }
        for k in 0..6 {
            let (least, of) = (warp_least_u64(bounds[k]), (&raw mut (*a.head).bounds).cast::<u64>().add(k));
            // A read is cheaper than an atomic, and most warps are inside.
            if lane() == 0 && least < load_relaxed_u64(of) {
                atomic_min_u64(of, least);
            }
        }
    }
}

/// Arguments of [`Numbers`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NumbersArgs {
    /// The cloud.
    pub points: Points,
    /// `[n]`: the points that stay.
    pub kept: *const u32,
    /// How many.
    pub n: u32,
    /// The voxels.
    pub voxels: VoxelNumbers,
    /// `[n]`: the voxel of each.
    pub numbers: *mut u64,
}

kernel! {
    /// The voxel of each point that stays. One thread a point.
    Numbers = "registration_numbers", block BLOCK, shared 0, cooperative false,
    fn(a: NumbersArgs) {
        let i = global_index();
        if i < a.n {
            *a.numbers.add(i as usize) = a.voxels.of(a.points.get(*a.kept.add(i as usize)));
        }
    }
}

/// Arguments of [`Starts`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StartsArgs {
    /// `[n]`: the voxels of points, ascending.
    pub numbers: *const u64,
    /// How many, at least one.
    pub n: u32,
    /// Where the number of voxels goes.
    pub head: *mut ThinHead,
    /// `[n + 1]`: where the points of each voxel start, and n.
    pub starts: *mut u32,
    /// State, zero before.
    pub tiles: Tiles,
}

kernel! {
    /// Finds where voxels start among sorted points. One block a tile of [`STARTS_TILE`].
    Starts = "registration_starts", block BLOCK, shared SHARED_WORDS, cooperative true,
    fn(a: StartsArgs) {
        let shared = Shared::at(0);
        let tile = take_tile(a.tiles, shared);
        let number = |i: u32| *a.numbers.add(i as usize);
        let r = rank_tile::<ITEMS>(a.tiles, tile, shared, |i| i < a.n && (i == 0 || number(i) != number(i - 1)));
        for j in 0..ITEMS {
            if r.flagged[j] {
                *a.starts.add(r.rank[j] as usize) = r.start + j as u32 * WARP;
            }
        }
        if thread_index() == 0 && a.n <= (tile + 1) * STARTS_TILE {
            *a.starts.add(r.end as usize) = a.n;
            (*a.head).voxels = r.end as u64;
        }
    }
}

/// Arguments of [`Means`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MeansArgs {
    /// The cloud.
    pub points: Points,
    /// Its points by voxel, those of a voxel ascending.
    pub sorted: *const u32,
    /// `[len + 1]`: where those of each voxel start in `sorted`.
    pub starts: *const u32,
    /// The number of voxels that have points.
    pub len: u32,
    /// The voxels.
    pub voxels: VoxelNumbers,
    /// `[len]`: the means about the centre.
    pub means: *mut [f32; 3],
}

kernel! {
    /// The mean of the points of each voxel, added up in their order. One warp a voxel: its lanes
    /// fetch points, and all of them add.
    Means = "registration_means", block BLOCK, shared 0, cooperative true,
    fn(a: MeansArgs) {
        let voxel = block_index() * VOXELS_OF_BLOCK + warp();
        let (mut first, mut end) = (0, 0);
        if voxel < a.len {
            (first, end) = (*a.starts.add(voxel as usize), *a.starts.add(voxel as usize + 1));
        }
        let (number, mut sum) = (end - first, [0.0; 3]);
        while first < end {
            let mut p = [0.0; 3];
            if first + lane() < end {
                p = a.voxels.about(a.points.get(*a.sorted.add((first + lane()) as usize)));
            }
            let together = if end - first < WARP { end - first } else { WARP };
            let mut from = 0;
            while from < together {
                for k in 0..3 {
                    sum[k] += f64::from_bits(shuffle_u64(p[k].to_bits(), from));
                }
                from += 1;
            }
            first += together;
        }
        if voxel < a.len && lane() == 0 {
            let number = number as f64;
            *a.means.add(voxel as usize) =
                [(sum[0] / number) as f32, (sum[1] / number) as f32, (sum[2] / number) as f32];
        }
    }
}
