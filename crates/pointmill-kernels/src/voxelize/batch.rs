//! Samples, and the rows of their cells.

use super::NONE;
use crate::prim::last_where;
use pointmill_core::VoxelGrid;

/// The coordinates of rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Coords {
    /// `[rows, 3]` z, y, x, or `[rows, 4]` sample, z, y, x for batches.
    pub coords: *mut i32,
    /// The grid.
    pub grid: VoxelGrid,
    /// Nonzero for batches.
    pub batched: u32,
}

impl Coords {
    /// Writes the coordinates of a row, given the key of its cell.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    pub(super) unsafe fn write(&self, row: u32, key: u64) {
        let cells = self.grid.num_cells();
        let sample = if self.batched != 0 { key / cells } else { 0 };
        let [x, y, z] = self.grid.cell_of_id(key - sample * cells);
        // SAFETY: the caller's promise.
        unsafe {
            let mut coords = self.coords.add(row as usize * if self.batched != 0 { 4 } else { 3 });
            if self.batched != 0 {
                *coords = sample as i32;
                coords = coords.add(1);
            }
            *coords = z as i32;
            *coords.add(1) = y as i32;
            *coords.add(2) = x as i32;
        }
    }
}

/// The batch: which points belong to which sample.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// Where each sample's points start, and the number of points: `samples + 1` ascending indices.
    /// Null for one sample.
    pub row_splits: *const u32,
    /// The number of samples.
    pub samples: u32,
    /// Most rows of one sample.
    pub max_voxels: u32,
}

impl Batch {
    /// The row of the cell that is number `found` of all, in sample `sample`, or [`NONE`] past the
    /// sample's cap. `sample_found` has the cells found before each sample, `voxel_splits` the
    /// rows; both count for batches only, where `sample_found` is not null.
    ///
    /// # Safety
    /// The pointers are null or valid.
    #[inline(always)]
    pub(super) unsafe fn row_of(
        &self,
        found: u32,
        sample: u32,
        sample_found: *const u32,
        voxel_splits: *const u32,
    ) -> u32 {
        let (mut before, mut start) = (0, 0);
        if !sample_found.is_null() {
            // SAFETY: the caller's promise.
            unsafe { (before, start) = (*sample_found.add(sample as usize), *voxel_splits.add(sample as usize)) };
        }
        if found - before < self.max_voxels { start + (found - before) } else { NONE }
    }

    /// The sample that point `i` belongs to.
    ///
    /// # Safety
    /// `row_splits` is null or valid.
    #[inline(always)]
    pub(super) unsafe fn sample_of(&self, i: u32) -> u32 {
        if self.row_splits.is_null() {
            return 0;
        }
        // SAFETY: below the number of samples.
        last_where(self.samples, |sample| unsafe { *self.row_splits.add(sample as usize) } <= i)
    }
}
