//! The empty part of a dense result, beside the rows that hold points.

use super::emit::Lists;
use super::*;

impl EmitArgs {
    /// The empty rows of the block's part of a box. What lies in other rows is not touched, so
    /// nothing waits for anything.
    #[inline(always)]
    pub(super) unsafe fn write_empty(&self, b: u32, part: u32, own: &Lists) {
        // SAFETY: the box's records begin there.
        let records = unsafe { self.lists.records.add(own.start as usize) };
        let voxels = self.out[0] * self.out[1] * self.out[2];
        let taken = Shared::at(0);
        let mut word = thread_index();
        sync_block();
        while word < voxels.div_ceil(32) {
            taken.set(word, 0);
            word += block_size();
        }
        sync_block();
        let mut r = thread_index();
        while r < own.rows {
            // SAFETY: `r` is below the box's number of rows.
            let voxel = unsafe { (*records.add(r as usize)).voxel };
            taken.or(voxel / 32, 1 << (voxel % 32));
            r += block_size();
        }
        sync_block();
        let first = part * voxels / self.parts;
        let end = (part + 1) * voxels / self.parts;
        let rows = Rows { taken, first, end, before: b as usize * voxels as usize };
        // SAFETY: arrays have a row of whole quads for each voxel of each box.
        unsafe {
            if !self.point_indices.is_null() {
                rows.write(self.point_indices.cast(), quads_of_row(self.slots, 4), 0);
            }
            let quads = quads_of_row(self.channels, self.pooled.element.bytes() as u32);
            rows.write(self.pooled.data.cast(), quads, 0);
            if self.mode == PoolMode::Max {
                rows.write(self.argmax.cast(), quads_of_row(self.channels, 4), NONE);
            }
        }
    }
}

/// Rows of a box, some of them empty.
#[derive(Clone, Copy)]
struct Rows {
    /// A bit for each that is not.
    taken: Shared,
    first: u32,
    end: u32,
    /// Rows of the boxes before.
    before: usize,
}

impl Rows {
    /// Sets the empty rows to `value`, each of them so many quads of words. All threads call.
    ///
    /// # Safety
    /// `words` has room for all rows, and is aligned to 16 bytes.
    #[inline(always)]
    unsafe fn write(&self, words: *mut u32, quads: u32, value: u32) {
        let (mut row, mut quad) = (self.first + thread_index() / quads, thread_index() % quads);
        while row < self.end {
            if (self.taken.get(row / 32) >> (row % 32)) & 1 == 0 {
                let at = (self.before + row as usize) * quads as usize + quad as usize;
                // SAFETY: the caller's promise.
                unsafe { store_streaming_x4(words.add(at * 4), [value; 4]) };
            }
            // As far as all threads have come, without a division.
            row += block_size() / quads;
            quad += block_size() % quads;
            if quad >= quads {
                (row, quad) = (row + 1, quad - quads);
            }
        }
    }
}
