//! Gradients of the features: for each point the rows that keep it, in the order of the boxes, then their sum.

use super::*;
use crate::prim::BLOCK;

/// Threads that share a row of [`Transpose`].
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
const LANES: u32 = 4;
/// Terms that are read together.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
const AHEAD: usize = 4;

/// A row that holds a point.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The row of the result.
    pub row: u64,
    /// How many points it keeps; zero if not this one.
    pub count: u32,
    _unused: u32,
}

/// Arguments of [`Transpose`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TransposeArgs {
    /// The number of boxes.
    pub boxes: u32,
    /// Blocks that share a box.
    pub parts: u32,
    /// Voxels of a box.
    pub voxels: u32,
    /// Nonzero: the result has non-empty voxels only.
    pub sparse: u32,
    /// See [`PointBoxesArgs`].
    pub words: *const u32,
    /// See [`PointBoxesArgs`].
    pub offsets: *const u32,
    /// The lists.
    pub lists: BoxLists,
    /// For each pair, by point and then by box, its row.
    pub entries: *mut Entry,
}

kernel! {
    /// Puts the rows of each point in the order of the boxes. `boxes * parts` blocks.
    Transpose = "roi_transpose", block BLOCK, shared 0, cooperative false,
    fn(a: TransposeArgs) {
        let (b, part) = (block_index() / a.parts, block_index() % a.parts);
        let groups = a.boxes.div_ceil(BOXES) as usize;
        let start = *a.lists.start.add(b as usize) as usize;
        let (rows, inside) = (*a.lists.rows.add(b as usize), *a.lists.inside.add(b as usize));
        let records = a.lists.records.add(start);
        let mut r = (part * BLOCK + thread_index()) / LANES;
        while r < rows {
            let record = *records.add(r as usize);
            let end = if r + 1 < rows { (*records.add(r as usize + 1)).start } else { inside };
            let row = if a.sparse != 0 {
                (*a.lists.first_row.add(b as usize) + r) as u64
            } else {
                b as u64 * a.voxels as u64 + record.voxel as u64
            };
            let mut k = thread_index() % LANES;
            while record.start + k < end {
                let i = *a.lists.points.add(start + (record.start + k) as usize) as usize;
                // The pair's place among those of the point: how many lower boxes hold it.
                let words = a.words.add(i * groups);
                let mut at = *a.offsets.add(i);
                let mut group = 0;
                while group < b / BOXES {
                    at += (*words.add(group as usize)).count_ones();
                    group += 1;
                }
                at += (*words.add(group as usize) & ((1 << (b % BOXES)) - 1)).count_ones();
                let count = if k < record.count { record.count } else { 0 };
                *a.entries.add(at as usize) = Entry { row, count, _unused: 0 };
                k += LANES;
            }
            r += a.parts * (BLOCK / LANES);
        }
    }
}

/// Arguments of [`Gradient`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GradientArgs {
    /// The number of points.
    pub n: u32,
    /// Values of a feature, C.
    pub channels: u32,
    /// How features were reduced.
    pub mode: PoolMode,
    /// See [`TransposeArgs`]; null if no row keeps a point.
    pub entries: *const Entry,
    /// See [`PointBoxesArgs`].
    pub offsets: *const u32,
    /// `[rows, channels]`.
    pub grad_pooled: Values,
    /// As `grad_pooled`; for the maximum.
    pub argmax: *const i32,
    /// `[n, channels]`.
    pub grad_features: Values,
}

kernel! {
    /// Adds the terms of each point. Any number of blocks.
    Gradient = "roi_gradient", block BLOCK, shared 0, cooperative false,
    fn(a: GradientArgs) {
        // Threads that share a point: a power of two.
        let mut lanes = 1;
        while lanes < a.channels && lanes < WARP {
            lanes *= 2;
        }
        let mut i = global_index() as u64 / lanes as u64;
        while i < a.n as u64 {
            let (mut first, mut end) = (0, 0);
            if !a.entries.is_null() {
                (first, end) = (*a.offsets.add(i as usize), *a.offsets.add(i as usize + 1));
            }
            let mut c = thread_index() % lanes;
            while c < a.channels {
                let mut sum = 0.0;
                let mut at = first;
                while at < end {
                    let mut terms = [None; AHEAD];
                    for j in 0..AHEAD {
                        if at + (j as u32) < end {
                            terms[j] = a.term(at + j as u32, i as u32, c);
                        }
                    }
                    for j in 0..AHEAD {
                        if let Some(term) = terms[j] {
                            sum += term;
                        }
                    }
                    at += AHEAD as u32;
                }
                a.grad_features.set(i as usize * a.channels as usize + c as usize, sum);
                c += lanes;
            }
            i += grid_size() as u64 * (BLOCK / lanes) as u64;
        }
    }
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
impl GradientArgs {
    /// What entry `at` gives to channel `c` of point `i`, if anything.
    #[inline(always)]
    unsafe fn term(&self, at: u32, i: u32, c: u32) -> Option<f32> {
        // SAFETY: the launcher's promise: entries are those of the point, and their rows are rows of the result.
        unsafe {
            let entry = *self.entries.add(at as usize);
            let value = entry.row as usize * self.channels as usize + c as usize;
            let gives = entry.count > 0
                && match self.mode {
                    PoolMode::Max => *self.argmax.add(value) == i as i32,
                    PoolMode::Mean => true,
                };
            if !gives {
                return None;
            }
            let grad = self.grad_pooled.get(value);
            Some(match self.mode {
                PoolMode::Max => grad,
                PoolMode::Mean => grad / entry.count as f32,
            })
        }
    }
}
