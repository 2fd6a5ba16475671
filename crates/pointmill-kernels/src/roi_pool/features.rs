//! Features of rows, reduced.

use super::emit::Lists;
use super::*;

/// Points of a row whose features are on their way at once.
const AHEAD: usize = 2;

impl EmitArgs {
    /// Features of the block's rows, `V` channels at a time, read as `R` reads them; and their
    /// lists beside lists of other lengths.
    #[inline(always)]
    pub(super) unsafe fn write_rows<const V: usize, R: Read>(&self, b: u32, part: u32, own: &Lists, before: &Lists) {
        // SAFETY: the box's records begin there.
        let records = unsafe { self.lists.records.add(own.start as usize) };
        let voxels = self.out[0] * self.out[1] * self.out[2];
        // Lanes that share a row: a power of two.
        let mut lanes = 1;
        while lanes * (V as u32) < self.channels && lanes < WARP {
            lanes *= 2;
        }
        let l = thread_index() % lanes;
        let mut r = (part * block_size() + thread_index()) / lanes;
        while r < own.rows {
            // SAFETY: `r` is below the box's number of rows.
            let record = unsafe { *records.add(r as usize) };
            // SAFETY: the points of a row lie within its box's pairs.
            let list = unsafe { self.lists.points.add((own.start + record.start) as usize) };
            let row = if self.sparse != 0 {
                (before.rows + r) as usize
            } else {
                b as usize * voxels as usize + record.voxel as usize
            };
            if self.sparse == 0 || row < self.rows_capacity as usize {
                let mut c = l * V as u32;
                while c < self.channels {
                    // SAFETY: the result has this row, the list a point, and `c` is a channel.
                    unsafe { self.write_features::<V, R>(row, list, record.count, c) };
                    c += lanes * V as u32;
                }
                if !self.indices.is_null() {
                    let at = before.kept + record.kept_start;
                    // SAFETY: the result has room for the kept points of its rows.
                    unsafe { self.write_list(row, list, record.count, at, (l, lanes)) };
                }
                if self.sparse != 0 && l == 0 {
                    // SAFETY: the result has such a row.
                    unsafe { self.write_coords(record.voxel, row, b) };
                }
            }
            r += self.parts * block_size() / lanes;
        }
    }

    /// The channels of a row from `c` on, over `count` points, which are more than none.
    #[inline(always)]
    unsafe fn write_features<const V: usize, R: Read>(&self, row: usize, list: *const u32, count: u32, c: u32) {
        // The greatest value, or the sum.
        let start = if self.mode == PoolMode::Max { f32::NEG_INFINITY } else { 0.0 };
        let (mut value, mut arg) = ([start; V], [NONE as i32; V]);
        // Past the end comes the last point again: it is not greater than itself, and it is not
        // added. SAFETY: below `count`, which is at least one.
        let index = |k: u32| unsafe { *list.add(if k < count { k } else { count - 1 } as usize) };
        // Several points are on their way, though taken in order, and the next indices are known by
        // then.
        let mut next = [0; AHEAD];
        for j in 0..AHEAD {
            next[j] = index(j as u32);
        }
        let mut k = 0;
        while k < count {
            let i = next;
            let mut v = [[0.0; V]; AHEAD];
            for j in 0..AHEAD {
                // SAFETY: the list holds points, and `c` is a channel.
                v[j] = unsafe { R::get::<V>(&self.features, i[j] as usize * self.channels as usize + c as usize) };
            }
            for j in 0..AHEAD {
                next[j] = index(k + (AHEAD + j) as u32);
            }
            for j in 0..AHEAD {
                let live = k + (j as u32) < count;
                for x in 0..V {
                    if self.mode == PoolMode::Mean {
                        value[x] = if live { value[x] + v[j][x] } else { value[x] };
                    } else {
                        let greater = v[j][x] > value[x];
                        arg[x] = if greater { i[j] as i32 } else { arg[x] };
                        value[x] = if greater { v[j][x] } else { value[x] };
                    }
                }
            }
            k += AHEAD as u32;
        }
        let at = row * self.channels as usize + c as usize;
        for x in 0..V {
            value[x] = match self.mode {
                PoolMode::Max if arg[x] == NONE as i32 => 0.0,
                PoolMode::Max => value[x],
                PoolMode::Mean => value[x] / count as f32,
            };
        }
        // SAFETY: the result has such a row, and `c` is a channel.
        unsafe {
            self.pooled.set_all(at, value);
            if self.mode == PoolMode::Max {
                set_all_i32(self.argmax, at, arg);
            }
        }
    }
}
