//! Which points rows keep, and where they lie.

use super::emit::Lists;
use super::*;
use crate::prim::partition_point;

impl EmitArgs {
    /// The list of a row beside lists of other lengths.
    #[inline(always)]
    pub(super) unsafe fn write_list(&self, row: usize, list: *const u32, count: u32, at: u32, (l, lanes): (u32, u32)) {
        let mut k = l;
        while k < count {
            // SAFETY: the list has `count` points, and the result room for them at `at`.
            unsafe { *self.indices.add((at + k) as usize) = *list.add(k as usize) as i32 };
            k += lanes;
        }
        if l == 0 && self.sparse != 0 {
            // SAFETY: the result has such a row.
            unsafe { *self.row_splits.add(row) = at as i64 };
        }
    }

    /// The rows of `point_indices` that hold points: half a warp a row, four slots a lane.
    #[inline(always)]
    pub(super) unsafe fn write_slots(&self, b: u32, part: u32, own: &Lists) {
        const LANES: u32 = WARP / 2;
        // SAFETY: the box's records begin there.
        let records = unsafe { self.lists.records.add(own.start as usize) };
        let voxels = self.out[0] * self.out[1] * self.out[2];
        let mut r = (part * block_size() + thread_index()) / LANES;
        while r < own.rows {
            // SAFETY: `r` is below the box's number of rows.
            let record = unsafe { *records.add(r as usize) };
            // SAFETY: the points of a row lie within its box's pairs.
            let list = unsafe { self.lists.points.add((own.start + record.start) as usize) };
            let row = b as usize * voxels as usize + record.voxel as usize;
            // SAFETY: a dense result has a row for each voxel of each box.
            let slots = unsafe { self.point_indices.add(row * self.slots as usize).cast::<u32>() };
            let mut first = thread_index() % LANES * 4;
            // Where rows are no whole quads zeros are there already.
            let end = if self.whole != 0 { self.slots } else { record.count + 1 };
            while first < end {
                let mut words = [0; 4];
                for j in 0..4 {
                    let k = first + j as u32;
                    if k == 0 {
                        words[j] = record.count;
                    } else if k <= record.count {
                        // SAFETY: `k` is from 1 to the count of the row.
                        words[j] = unsafe { *list.add(k as usize - 1) };
                    }
                }
                if self.whole != 0 {
                    // SAFETY: rows are made of whole quads, and one starts at `first`.
                    unsafe { *slots.add(first as usize).cast::<Four>() = Four(words) };
                } else {
                    for j in 0..4 {
                        if first + (j as u32) < end {
                            // SAFETY: a row has more slots than it keeps points.
                            unsafe { *slots.add(first as usize + j) = words[j] };
                        }
                    }
                }
                first += LANES * 4;
            }
            r += self.parts * block_size() / LANES;
        }
    }

    #[inline(always)]
    pub(super) unsafe fn write_coords(&self, v: u32, row: usize, b: u32) {
        let [_, oy, oz] = self.out;
        let coords = [b, v / oz / oy, v / oz % oy, v % oz];
        for i in 0..4 {
            // SAFETY: the caller promises that the result has such a row, of four coordinates.
            unsafe { *self.coords.add(row * 4 + i) = coords[i] as i32 };
        }
    }

    /// Where the points of this block's voxels start: those of the first row that is not before the
    /// voxel.
    #[inline(always)]
    pub(super) unsafe fn write_splits(&self, b: u32, part: u32, own: &Lists, kept_before: u32) {
        // SAFETY: the box's records begin there.
        let records = unsafe { self.lists.records.add(own.start as usize) };
        let voxels = self.out[0] * self.out[1] * self.out[2];
        let (rows, kept) = (own.rows, own.kept);
        let mut v = part as u64 * block_size() as u64 + thread_index() as u64;
        while v < voxels as u64 {
            // SAFETY: below the box's number of rows.
            let row = partition_point(0, rows, |row| unsafe { (*records.add(row as usize)).voxel } < v as u32);
            // SAFETY: as above.
            let own = if row < rows { unsafe { (*records.add(row as usize)).kept_start } } else { kept };
            // SAFETY: there is a split for each voxel of each box.
            unsafe { *self.row_splits.add(b as usize * voxels as usize + v as usize) = (kept_before + own) as i64 };
            v += self.parts as u64 * block_size() as u64;
        }
    }
}
