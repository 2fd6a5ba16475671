//! Room for the result, and what makes it.

use super::NOTHING_TO_FILL;
use crate::roi_pool::result::{Shape, values_of};
use crate::roi_pool::{PoolMode, RoiLayout, RoiPooled};
use crate::{Result, Rows};
use pointmill_kernels::roi_pool as kernels;
use std::ptr::null_mut;

/// Rows of a sparse result that there is room for at first; in tests so few that they do not always do.
const FIRST_ROWS: usize = if cfg!(test) { 50 } else { 1 << 18 };

impl super::Workspace {
    /// Makes room for the result. Returns whether kernels can write empty rows beside others; where they cannot it queues writing them first.
    fn reserve_output(&self, features: &Rows<'_>, shape: &Shape, out: &mut RoiPooled) -> Result<bool> {
        let rows = shape.rows(self.rows_capacity(shape, out));
        let values = values_of(rows, shape.channels)?;
        // Whole words, for halves too.
        out.pooled.reserve(features.element(), values.next_multiple_of(2))?;
        let sparse = shape.layout == RoiLayout::Sparse;
        let mut regions = NOTHING_TO_FILL;
        let mut words_of_rows = [0; 3];
        let mut add = |k: usize, words: *mut u32, bytes_of_row: usize, value: u32| {
            regions[k] = kernels::Region { words, len: (rows * bytes_of_row).div_ceil(4) as u64, value };
            words_of_rows[k] = bytes_of_row;
        };
        add(0, out.pooled.device_pointer() as *mut u32, shape.channels * features.element().bytes(), 0);
        if shape.mode == PoolMode::Max {
            out.argmax.reserve(values)?;
            add(1, out.argmax.pointer().cast(), shape.channels * 4, u32::MAX);
        }
        if sparse {
            out.coords.reserve(rows * 4)?;
        }
        if shape.lists && shape.layout == RoiLayout::Dense {
            let slots = values_of(rows, shape.max_points)?;
            out.point_indices.reserve(slots)?;
            add(2, out.point_indices.pointer().cast(), shape.max_points * 4, 0);
        } else if shape.lists {
            out.row_splits.reserve(rows + 1)?;
            out.indices.reserve(self.capacity)?;
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
    fn rows_capacity(&self, shape: &Shape, out: &RoiPooled) -> usize {
        self.rows_bound(shape).min(FIRST_ROWS.max(out.coords.len() / 4))
    }

    fn rows_bound(&self, shape: &Shape) -> usize {
        shape.voxels().min(usize::try_from(self.located.pairs_bound).unwrap_or(usize::MAX))
    }

    /// Where a sparse result may have had too little room, waits for how much was needed; makes room if it was not enough.
    pub(super) fn must_grow_rows(&self, shape: &Shape, out: &mut RoiPooled) -> Result<bool> {
        let room = self.rows_capacity(shape, out);
        if shape.layout != RoiLayout::Sparse || room >= self.rows_bound(shape) {
            return Ok(false);
        }
        let rows = out.rows_asked_for()?;
        if rows > room {
            out.coords.reserve(rows * 4)?;
        }
        Ok(rows > room)
    }

    /// What makes the result, with room for it.
    pub(super) fn emit_args(
        &mut self,
        features: &Rows<'_>,
        shape: &Shape,
        out: &mut RoiPooled,
    ) -> Result<kernels::EmitArgs> {
        let whole = self.reserve_output(features, shape, out)?;
        let (sparse, lists) = (shape.layout == RoiLayout::Sparse, shape.lists);
        let dense_lists = lists && shape.layout == RoiLayout::Dense;
        let csr_lists = lists && shape.layout != RoiLayout::Dense;
        let element = features.element();
        let features = kernels::Values { data: features.address::<u8>(&mut self.features)?.cast_mut(), element };
        Ok(kernels::EmitArgs {
            boxes: self.located.boxes,
            parts: self.parts(),
            out: shape.out_size,
            lists: self.lists(),
            prepared: self.marks.prepared(),
            features,
            channels: shape.channels as u32,
            quads: u32::from(super::quads(&features, shape.channels)),
            mode: shape.mode,
            sparse: u32::from(sparse),
            whole: u32::from(whole),
            pooled: kernels::Values { data: out.pooled.device_pointer() as *mut u8, element },
            argmax: out.argmax.pointer(),
            point_indices: if dense_lists { out.point_indices.pointer() } else { null_mut() },
            slots: shape.max_points as u32,
            row_splits: if csr_lists { out.row_splits.pointer() } else { null_mut() },
            indices: if csr_lists { out.indices.pointer() } else { null_mut() },
            coords: out.coords.pointer(),
            rows_capacity: u32::try_from(self.rows_capacity(shape, out)).unwrap_or(u32::MAX),
            totals: out.totals.pointer(),
        })
    }

    /// Blocks that share a box: enough that all multiprocessors have work all the time, but not so many that they mostly start.
    pub(super) fn parts(&self) -> u32 {
        (self.stream.enough_blocks(16) / self.located.boxes.max(1)).clamp(1, 8)
    }
}
