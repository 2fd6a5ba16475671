//! First-seen rows of a sweep whose cells keep their points in records: two kernels.

use super::super::{VoxelArray, Voxels};
use super::{Call, Workspace};
use crate::Result;
use pointmill_kernels::prim::BLOCK;
use pointmill_kernels::voxelize as kernels;
use std::ptr::null_mut;

impl Workspace {
    fn records(&self, call: &Call<'_>) -> kernels::Records {
        kernels::Records { records: self.records.pointer(), mask: call.plan.mask, seed: self.seed }
    }

    /// Queues the first kernel, which needs nothing of the result but its counters.
    ///
    /// # Safety
    /// There is room for what the plan says.
    pub(super) unsafe fn collect(&self, call: &Call<'_>) -> Result<()> {
        let args = kernels::CollectArgs {
            cloud: call.cloud,
            begin: Self::begin(call),
            records: self.records(call),
            max_points: call.plan.max_points,
            slot_of_point: self.slot_of_point.pointer(),
        };
        // SAFETY: the caller's promise.
        unsafe { self.stream.launch::<kernels::Collect>(call.plan.n.div_ceil(BLOCK).max(1), args) }
    }

    /// Queues the second, which writes the result.
    ///
    /// # Safety
    /// As [`Workspace::collect`], which was called before.
    pub(super) unsafe fn write(&self, call: &Call<'_>, for_host: kernels::ForHost, out: &Voxels) -> Result<()> {
        let (arrays, outputs) = (&out.arrays, &call.extent.outputs);
        let args = kernels::WriteArgs {
            cloud: call.cloud,
            slot_of_point: self.slot_of_point.pointer(),
            records: self.records(call),
            max_points: call.plan.max_points,
            tiles: call.tiles,
            coords: arrays.pointer(VoxelArray::Coords),
            num_points: arrays.pointer::<i32>(VoxelArray::NumPoints).cast(),
            means: call.means(arrays),
            voxels: if outputs.voxels { arrays.pointer::<f32>(VoxelArray::Voxels).cast() } else { null_mut() },
            point_to_voxel: if outputs.point_to_voxel { arrays.pointer(VoxelArray::PointToVoxel) } else { null_mut() },
            counters: call.counters,
            lost: call.lost,
            for_host,
        };
        // SAFETY: the caller's promise.
        unsafe { self.stream.launch::<kernels::Write>(call.plan.rank_tiles, args) }
    }
}
