//! Points of a block, each warp with points that lie near each other, so that a warp can pass over
//! most boxes at a look.
//!
//! Clouds that were sampled come in random order: of any 32 points in a row one lies near almost
//! every box. So a block sorts its points by a coarse grid over their own bounds. The order within
//! a cell depends on timing; what is done with the points does not depend on their order.

use super::PointsArg;
use crate::prim::{BLOCK, WARPS};
use crate::simt::*;

/// Most points of a block.
pub(super) const MOST: u32 = 2048;
/// Cells along each axis, and in all: one a thread.
const CELLS: f32 = 16.0;
/// Points that a thread reads together.
const AHEAD: usize = 2;
/// Words of shared memory: bounds of the warps, counts of the cells, the cell of each point and its
/// rank there, the points in order.
pub(super) const WORDS: u32 = 4 * WARPS + BLOCK + 2 * MOST;

/// The points of a block in spatial order: a warp takes 32 that follow each other.
#[derive(Clone, Copy)]
pub(super) struct Sorted<'a> {
    points: &'a PointsArg,
    first_point: u32,
    places: Shared,
}

impl Sorted<'_> {
    /// Coordinates of the point at place `k` of the order, and which of the block's points it is;
    /// NaN past the end of the cloud.
    ///
    /// # Safety
    /// The points are valid, and the block has more than `k`.
    #[inline(always)]
    pub(super) unsafe fn get(&self, k: u32) -> ([f32; 3], u32) {
        let index = self.places.get(k);
        // SAFETY: the caller's promise. The points were just read, so this comes from the cache.
        (unsafe { self.points.xyz(self.first_point + index) }, index)
    }
}

/// Sorts `len` points from `first_point` on, a multiple of a block and two; `between` is done while
/// the first are on their way. All threads of the block call, and the order is known after the next
/// barrier.
///
/// # Safety
/// The points are valid; `shared` has [`WORDS`] words.
#[inline(always)]
pub(super) unsafe fn sort(
    points: &PointsArg,
    first_point: u32,
    len: u32,
    shared: Shared,
    between: impl FnOnce(),
) -> Sorted<'_> {
    let (bounds, cells) = (shared, Shared::at_offset(shared, 4 * WARPS));
    let slots = Shared::at_offset(cells, BLOCK);
    let places = Shared::at_offset(slots, MOST);
    let t = thread_index();
    let load = |first: u32| {
        let mut xyz = [[0.0; 3]; AHEAD];
        for j in 0..AHEAD {
            // SAFETY: the caller's promise.
            xyz[j] = unsafe { points.xyz(first_point + first + j as u32 * BLOCK) };
        }
        xyz
    };
    let mut first = t;
    let mut xyz = load(first);
    between();
    cells.set(t, 0);
    let (mut low, mut high) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
    while first < len {
        for j in 0..AHEAD {
            widen(&mut low, &mut high, xyz[j]);
        }
        first += AHEAD as u32 * BLOCK;
        if first < len {
            xyz = load(first);
        }
    }
    (low, high) = warp_bounds(low, high);
    if lane() == 0 {
        for axis in 0..2 {
            bounds.set(warp() * 4 + axis as u32, low[axis].to_bits());
            bounds.set(warp() * 4 + 2 + axis as u32, high[axis].to_bits());
        }
    }
    sync_block();
    let mut w = 0;
    while w < WARPS {
        let of_warp = bounds.get_x4(w * 4).map(f32::from_bits);
        for axis in 0..2 {
            low[axis] = if of_warp[axis] < low[axis] { of_warp[axis] } else { low[axis] };
            high[axis] = if of_warp[axis + 2] > high[axis] { of_warp[axis + 2] } else { high[axis] };
        }
        w += 1;
    }
    let scale = [CELLS / (high[0] - low[0]), CELLS / (high[1] - low[1])];
    let mut first = t;
    while first < len {
        let xyz = load(first);
        for j in 0..AHEAD {
            let along = |axis: usize| {
                // What is no number or lies outside goes to a cell at the edge.
                let c = ((xyz[j][axis] - low[axis]) * scale[axis]) as i32;
                if c < 0 {
                    0
                } else if c >= CELLS as i32 {
                    CELLS as u32 - 1
                } else {
                    c as u32
                }
            };
            // Cells along a Morton curve, so that a run of cells is compact too.
            let cell = spread(along(0)) | (spread(along(1)) << 1);
            slots.set(first + j as u32 * BLOCK, cell | (cells.add(cell, 1) << 8));
        }
        first += AHEAD as u32 * BLOCK;
    }
    sync_block();
    let count = cells.get(t);
    let inclusive = warp_inclusive_sum(count);
    if lane() == WARP - 1 {
        bounds.set(warp(), inclusive);
    }
    sync_block();
    let sums = if lane() < WARPS { bounds.get(lane()) } else { 0 };
    let before = warp_sum(if lane() < warp() { sums } else { 0 });
    cells.set(t, before + inclusive - count);
    sync_block();
    let mut k = t;
    while k < len {
        let slot = slots.get(k);
        places.set(cells.get(slot & 0xff) + (slot >> 8), k);
        k += BLOCK;
    }
    Sorted { points, first_point, places }
}

/// The lower four bits, each followed by a zero.
#[inline(always)]
fn spread(x: u32) -> u32 {
    let x = (x | (x << 2)) & 0x33;
    (x | (x << 1)) & 0x55
}

/// Takes a point into bounds along x and y. What is not finite does not count, and is inside no
/// box.
#[inline(always)]
fn widen(low: &mut [f32; 2], high: &mut [f32; 2], p: [f32; 3]) {
    for axis in 0..2 {
        let v = p[axis];
        low[axis] = if v < low[axis] && v > f32::NEG_INFINITY { v } else { low[axis] };
        high[axis] = if v > high[axis] && v < f32::INFINITY { v } else { high[axis] };
    }
}

/// Bounds of the lanes' points; without points nothing is met. All lanes call.
#[inline(always)]
pub(super) fn bounds_of_warp(p: [f32; 3]) -> ([f32; 2], [f32; 2]) {
    let (mut low, mut high) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
    widen(&mut low, &mut high, p);
    warp_bounds(low, high)
}

/// The bounds of all lanes' bounds. All lanes call.
#[inline(always)]
fn warp_bounds(mut low: [f32; 2], mut high: [f32; 2]) -> ([f32; 2], [f32; 2]) {
    let mut distance = WARP / 2;
    while distance > 0 {
        for axis in 0..2 {
            let other = f32::from_bits(shuffle(low[axis].to_bits(), lane() ^ distance));
            low[axis] = if other < low[axis] { other } else { low[axis] };
            let other = f32::from_bits(shuffle(high[axis].to_bits(), lane() ^ distance));
            high[axis] = if other > high[axis] { other } else { high[axis] };
        }
        distance /= 2;
    }
    (low, high)
}
