//! Room for the result, and what makes it.

use super::NOTHING_TO_FILL;
use crate::arrays::Arrays;
use crate::roi_pool::arrays::Extent;
use crate::roi_pool::{PoolMode, RoiArray, RoiLayout, RoiPooled};
use crate::{Dtype, Result, Rows};
use pointmill_kernels::roi_pool as kernels;
use std::ptr::null_mut;

/// Rows of a sparse result that there is room for at first; in tests so few that they do not always
/// do.
const FIRST_ROWS: usize = if cfg!(test) { 50 } else { 1 << 18 };

/// The address of an array of any type.
fn address(arrays: &Arrays<RoiArray>, array: RoiArray) -> *mut u8 {
    arrays.get(array).map_or(null_mut(), |buffer| buffer.device_pointer() as *mut u8)
}

impl super::Workspace {
    /// Makes room for the result. Returns whether kernels can write empty rows beside others; where
    /// they cannot it queues writing them first.
    fn reserve_output(&self, extent: &Extent, out: &mut RoiPooled) -> Result<bool> {
        let rows = extent.rows(self.rows_capacity(extent, out));
        extent.check_values(rows)?;
        let values = rows * extent.channels;
        let arrays = &mut out.arrays;
        // Whole words, for halves too.
        arrays.reserve(RoiArray::Pooled, extent.dtype, values.next_multiple_of(2))?;
        let sparse = extent.layout == RoiLayout::Sparse;
        let mut regions = NOTHING_TO_FILL;
        let mut words_of_rows = [0; 3];
        let mut add = |k: usize, words: *mut u32, bytes_of_row: usize, value: u32| {
            regions[k] = kernels::Region { words, len: (rows * bytes_of_row).div_ceil(4) as u64, value };
            words_of_rows[k] = bytes_of_row;
        };
        add(0, address(arrays, RoiArray::Pooled).cast(), extent.channels * extent.dtype.bytes(), 0);
        if extent.mode == PoolMode::Max {
            arrays.reserve(RoiArray::Argmax, Dtype::I32, values)?;
            add(1, arrays.pointer::<i32>(RoiArray::Argmax).cast(), extent.channels * 4, u32::MAX);
        }
        if sparse {
            arrays.reserve(RoiArray::Coords, Dtype::I32, rows * 4)?;
        }
        if extent.lists && extent.layout == RoiLayout::Dense {
            arrays.reserve(RoiArray::PointIndices, Dtype::I32, rows * extent.slots())?;
            add(2, arrays.pointer::<i32>(RoiArray::PointIndices).cast(), extent.slots() * 4, 0);
        } else if extent.lists {
            arrays.reserve(RoiArray::RowSplits, Dtype::I64, rows + 1)?;
            arrays.reserve(RoiArray::Indices, Dtype::I32, self.capacity)?;
        }
        let voxels = self.located.voxels;
        let whole = voxels <= kernels::MAX_BITS
            && words_of_rows.iter().all(|bytes| bytes.is_multiple_of(16) && bytes / 16 * (voxels as usize) < 1 << 31);
        if !sparse && !whole && rows > 0 {
            // SAFETY: the regions are those of the output.
            unsafe {
                self.stream.launch::<kernels::Fill>(self.stream.enough_blocks(4), kernels::FillArgs { regions })
            }?;
        }
        Ok(!sparse && whole)
    }

    /// Rows that a sparse result has room for: all there can be, or what is likely, or what it has.
    fn rows_capacity(&self, extent: &Extent, out: &RoiPooled) -> usize {
        self.rows_bound(extent).min(FIRST_ROWS.max(out.arrays.room(RoiArray::Coords) / 4))
    }

    fn rows_bound(&self, extent: &Extent) -> usize {
        extent.voxels().min(usize::try_from(self.located.pairs_bound).unwrap_or(usize::MAX))
    }

    /// Where a sparse result may have had too little room, waits for how much was needed; makes
    /// room if it was not enough.
    pub(super) fn must_grow_rows(&self, extent: &Extent, out: &mut RoiPooled) -> Result<bool> {
        let room = self.rows_capacity(extent, out);
        if extent.layout != RoiLayout::Sparse || room >= self.rows_bound(extent) {
            return Ok(false);
        }
        let rows = out.rows_asked_for()?;
        if rows > room {
            out.arrays.reserve(RoiArray::Coords, Dtype::I32, rows * 4)?;
        }
        Ok(rows > room)
    }

    /// What makes the result, with room for it.
    pub(super) fn emit_args(
        &mut self,
        features: &Rows<'_>,
        extent: &Extent,
        out: &mut RoiPooled,
    ) -> Result<kernels::EmitArgs> {
        let whole = self.reserve_output(extent, out)?;
        let sparse = extent.layout == RoiLayout::Sparse;
        let arrays = &out.arrays;
        // An array that this call does not make may be there from another one.
        let made = |array, made: bool| if made { arrays.pointer::<i32>(array) } else { null_mut() };
        let element = features.element();
        let features = kernels::Values { data: features.address::<u8>(&mut self.features)?.cast_mut(), element };
        Ok(kernels::EmitArgs {
            boxes: self.located.boxes,
            parts: self.parts(),
            out: extent.out_size,
            lists: self.lists(),
            prepared: self.marks.prepared.pointer(),
            features,
            channels: extent.channels as u32,
            quads: u32::from(super::quads(&features, extent.channels)),
            mode: extent.mode,
            sparse: u32::from(sparse),
            whole: u32::from(whole),
            pooled: kernels::Values { data: address(arrays, RoiArray::Pooled), element },
            argmax: made(RoiArray::Argmax, extent.mode == PoolMode::Max),
            point_indices: made(RoiArray::PointIndices, extent.lists && !extent.csr()),
            slots: extent.slots() as u32,
            row_splits: if extent.csr() { arrays.pointer(RoiArray::RowSplits) } else { null_mut() },
            indices: made(RoiArray::Indices, extent.csr()),
            coords: made(RoiArray::Coords, sparse),
            rows_capacity: u32::try_from(self.rows_capacity(extent, out)).unwrap_or(u32::MAX),
            totals: out.totals.pointer(),
        })
    }

    /// Blocks that share a box: enough that all multiprocessors have work all the time, but not so
    /// many that they mostly start.
    pub(super) fn parts(&self) -> u32 {
        (self.stream.enough_blocks(16) / self.located.boxes.max(1)).clamp(1, 8)
    }
}
