//! Lists of all points of each voxel, and what is reduced over them.

use super::super::{Reduction, VoxelArray, Voxels};
use super::{Call, Workspace};
use crate::device::Buffer;
use crate::prim::{Pairs, passes_for};
use crate::scatter::reduce_on_gpu;
use crate::{Result, Rows};
use pointmill_kernels::prim::scan::{self, Tiles};
use pointmill_kernels::prim::{BLOCK, Length};
use pointmill_kernels::scatter as kernels;
use std::ptr::null_mut;

impl Workspace {
    /// Lists of all points: sorts the points by row.
    ///
    /// # Safety
    /// There is room for what the plan says, and rows and counts are known.
    pub(super) unsafe fn list_all(
        &mut self,
        call: &Call<'_>,
        point_to_voxel: *const i32,
        counts: *const u32,
        tiles: Tiles,
        [row_splits, indices]: [*mut u32; 2],
    ) -> Result<()> {
        let plan = &call.plan;
        let last = plan.rows as u32;
        let keys = self.row_keys_u32.pointer();
        let index = kernels::RowNumbers { data: point_to_voxel.cast(), wide: 0 };
        let (values_of_item, rows_of_item, ok) = (plan.n, last, null_mut());
        let row_keys = kernels::KeysArgs { index, keys, rows: last, n: plan.n, values_of_item, rows_of_item, ok };
        let scan = scan::ScanArgs { input: counts, output: row_splits, n: call.rows(), tiles };
        let passes = passes_for(u64::from(last));
        let input = Pairs { keys, values: null_mut() };
        // Entries of points have done their work by now; their memory takes the sorted keys, which
        // nobody needs.
        let output = Pairs { keys: self.slot_of_point.pointer(), values: indices };
        // SAFETY: the caller's promise about the sizes.
        unsafe {
            self.stream.launch::<kernels::Keys>(plan.n.div_ceil(BLOCK).max(1), row_keys)?;
            self.stream.launch::<scan::Scan>(plan.rows as u32 / scan::TILE + 1, scan)?;
            self.sorter_u32.enqueue(input, output, Length::known(plan.n), passes)
        }
    }
}

/// Reduces features over the lists of a result.
pub(in super::super) fn scatter(voxels: &Voxels, features: Rows<'_>, how: Reduction) -> Result<Buffer<f32>> {
    let stream = voxels.stream();
    let (rows, columns) = (voxels.extent.rows_bound, features.columns());
    let (mut staging, mut long) = (stream.alloc(0)?, stream.alloc(0)?);
    let output = stream.alloc(rows.saturating_mul(columns))?;
    if output.is_empty() {
        return Ok(output);
    }
    let args = kernels::ReduceArgs {
        values: features.address(&mut staging)?,
        columns: columns as u32,
        rows: Length { bound: rows as u32, exact: voxels.counters.pointer().cast() },
        splits: voxels.arrays.pointer(VoxelArray::RowSplits),
        lists: voxels.arrays.pointer(VoxelArray::Indices),
        how,
        whole: 0,
        out: output.pointer(),
        aux: null_mut(),
        num_long: null_mut(),
        long: null_mut(),
        long_room: 0,
    };
    // SAFETY: the lists belong to this result; features and output have the sizes that the kernel
    // asks for.
    unsafe { reduce_on_gpu::<f32>(stream, &mut long, features.len() as u32, args) }?;
    Ok(output)
}
