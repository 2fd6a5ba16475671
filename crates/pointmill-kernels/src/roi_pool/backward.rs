//! Gradients of the features: for each point the rows that keep it, in the order of the boxes, then
//! their sum.

use super::*;
use crate::prim::BLOCK;

/// Threads that share a row of [`Transpose`].
const LANES: u32 = 4;

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
    /// See [`PointBoxesArgs`], ranked.
    pub words: *const u32,
    /// See [`PointBoxesArgs`].
    pub offsets: *const u32,
    /// See [`PointBoxesArgs`]; zero again afterwards.
    pub scan: ScanState,
    /// The lists.
    pub lists: BoxLists,
    /// How features were reduced.
    pub mode: PoolMode,
    /// For each pair, by point and then by box, its row: of means an [`Entry`], of maxima, which
    /// name their points themselves, a `u64`.
    pub entries: *mut Entry,
}

kernel! {
    /// Puts the rows of each point in the order of the boxes. `boxes * parts` blocks.
    Transpose = "roi_transpose", block BLOCK, shared 0, cooperative false, min_blocks 8,
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
                let words = a.words.cast::<[u32; 2]>().add(i * groups + (b / BOXES) as usize);
                let [word, rank] = *words;
                let lower = word & ((1 << (b % BOXES)) - 1);
                let at = (*a.offsets.add(i) + rank + lower.count_ones()) as usize;
                if a.mode == PoolMode::Max {
                    *a.entries.cast::<u64>().add(at) = row;
                } else {
                    let count = if k < record.count { record.count } else { 0 };
                    *a.entries.add(at) = Entry { row, count, _unused: 0 };
                }
                k += LANES;
            }
            r += a.parts * (BLOCK / LANES);
        }
        a.scan.clear();
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
    /// Nonzero: rows of gradients are aligned so that four values can be read at once.
    pub quads: u32,
    /// How features were reduced.
    pub mode: PoolMode,
    /// See [`TransposeArgs`], of the same `mode`; null if no row keeps a point.
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
    Gradient = "roi_gradient", block BLOCK, shared 0, cooperative false, min_blocks 5,
    fn(a: GradientArgs) {
        if a.quads != 0 {
            a.run::<4, 2>();
        } else {
            a.run::<1, 4>();
        }
    }
}

impl GradientArgs {
    /// The gradient of the block's points, `V` channels at a time, `AHEAD` terms in flight.
    #[inline(always)]
    unsafe fn run<const V: usize, const AHEAD: usize>(&self) {
        // Threads that share a point: a power of two.
        let mut lanes = 1;
        while lanes * (V as u32) < self.channels && lanes < WARP {
            lanes *= 2;
        }
        let mut i = global_index() as u64 / lanes as u64;
        while i < self.n as u64 {
            let (mut first, mut end) = (0, 0);
            if !self.entries.is_null() {
                // SAFETY: offsets of `n` points and an end.
                (first, end) = unsafe { (*self.offsets.add(i as usize), *self.offsets.add(i as usize + 1)) };
            }
            let mut c = thread_index() % lanes * V as u32;
            while c < self.channels {
                let mut sum = [0.0; V];
                let mut at = first;
                while at < end {
                    let mut terms = [[None; V]; AHEAD];
                    for j in 0..AHEAD {
                        if at + (j as u32) < end {
                            // SAFETY: `at` is an entry of the point, and `c` a channel.
                            terms[j] = unsafe { self.terms(at + j as u32, i as u32, c) };
                        }
                    }
                    for j in 0..AHEAD {
                        for x in 0..V {
                            if let Some(term) = terms[j][x] {
                                sum[x] += term;
                            }
                        }
                    }
                    at += AHEAD as u32;
                }
                // SAFETY: `i` is a point, and `c` a channel of it.
                unsafe { self.grad_features.set_all(i as usize * self.channels as usize + c as usize, sum) };
                c += lanes * V as u32;
            }
            i += grid_size() as u64 * (BLOCK / lanes) as u64;
        }
    }

    /// What entry `at` gives to the channels from `c` on of point `i`, if anything.
    #[inline(always)]
    unsafe fn terms<const V: usize>(&self, at: u32, i: u32, c: u32) -> [Option<f32>; V] {
        let mut terms = [None; V];
        if self.mode == PoolMode::Max {
            // SAFETY: the caller promises that `at` is an entry.
            let row = unsafe { *self.entries.cast::<u64>().add(at as usize) };
            let value = row as usize * self.channels as usize + c as usize;
            // Both are read at once, wanted or not: one wait instead of two.
            // SAFETY: the entry is a row of the result, and `c` a channel.
            let grad = unsafe { self.grad_pooled.get_all::<V>(value) };
            // SAFETY: as above.
            let from = unsafe { get_all_i32::<V>(self.argmax, value) };
            for x in 0..V {
                terms[x] = if from[x] == i as i32 { Some(grad[x]) } else { None };
            }
        } else {
            // SAFETY: as above, of an entry with a count.
            let entry = unsafe { *self.entries.add(at as usize) };
            let grad =
                // SAFETY: the entry's row is one of the result, and `c` a channel.
                unsafe { self.grad_pooled.get_all::<V>(entry.row as usize * self.channels as usize + c as usize) };
            for x in 0..V {
                terms[x] = if entry.count > 0 { Some(grad[x] / entry.count as f32) } else { None };
            }
        }
        terms
    }
}
