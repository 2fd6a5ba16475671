//! The points of each box.

use super::block::THREADS;
use super::{WORDS_OF_TILE, expand};
use crate::prim::BLOCK;
use crate::simt::*;

/// Arguments of [`BoxTotals`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BoxTotalsArgs {
    /// `[boxes, tiles]`: points of each tile in each box.
    pub counts: *const u32,
    /// The number of boxes.
    pub boxes: u32,
    /// Tiles of points.
    pub tiles: u32,
    /// `[boxes]`: points in each box.
    pub totals: *mut u32,
}

kernel! {
    /// How many points each box holds. Any number of blocks; one warp a box at a time.
    BoxTotals = "roi_box_totals", block BLOCK, shared 0, cooperative true,
    fn(a: BoxTotalsArgs) {
        let mut b = global_index() / WARP;
        while b < a.boxes {
            let counts = a.counts.add(b as usize * a.tiles as usize);
            let mut own = 0;
            let mut tile = lane();
            while tile < a.tiles {
                own += *counts.add(tile as usize);
                tile += WARP;
            }
            let total = warp_sum(own);
            if lane() == 0 {
                *a.totals.add(b as usize) = total;
            }
            b += grid_size() * (BLOCK / WARP);
        }
    }
}

/// Arguments of [`Crop`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CropArgs {
    /// `[boxes, tiles]`: points of each tile in each box.
    pub counts: *const u32,
    /// See [`MarkArgs`](super::MarkArgs).
    pub marks: *const u32,
    /// Tiles of points.
    pub tiles: u32,
    /// `[boxes + 1]`: where each box's points start.
    pub row_splits: *const i64,
    /// The points of all boxes, ascending in each.
    pub indices: *mut i32,
}

kernel! {
    /// Lists the points of each box. One block a box.
    Crop = "roi_crop", block THREADS, shared expand::WORDS, cooperative true,
    fn(a: CropArgs) {
        let b = block_index() as usize;
        let indices = a.indices.add(*a.row_splits.add(b) as usize);
        let tiles = expand::Tiles {
            counts: a.counts.add(b * a.tiles as usize),
            marks: a.marks.add(b * a.tiles as usize * WORDS_OF_TILE as usize),
            len: a.tiles,
            shared: Shared::at(0),
        };
        tiles.count();
        tiles.each_point(|at, i| *indices.add(at as usize) = i as i32);
    }
}
