//! The pairs that overlap more than a threshold.

use super::BLOCK;
use crate::simt::*;
use pointmill_core::boxes::{BoxShape, IouKind};

/// Arguments of [`Overlaps`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OverlapsArgs {
    /// `[n]`.
    pub a: *const BoxShape,
    /// `[m]`.
    pub b: *const BoxShape,
    /// Boxes in `a`.
    pub n: u32,
    /// Boxes in `b`.
    pub m: u32,
    /// What is measured.
    pub kind: IouKind,
    /// Listed are overlaps greater than this.
    pub threshold: f32,
    /// `[n]`: how many pairs each box of `a` has; written where `i` is null.
    pub counts: *mut u32,
    /// `[n + 1]`: where the pairs of each box of `a` start.
    pub starts: *const u32,
    /// Rows of `a`, of `b`, and their overlaps; null to count.
    pub i: *mut i32,
    /// See `i`.
    pub j: *mut i32,
    /// See `i`.
    pub iou: *mut f32,
}

kernel! {
    /// Counts or lists the pairs of each box of `a`, by ascending box of `b`. Any number of blocks;
    /// one warp a box at a time.
    Overlaps = "boxes_overlaps", block BLOCK, shared 0, cooperative true,
    fn(a: OverlapsArgs) {
        let listing = !a.i.is_null();
        let mut row = global_index() / WARP;
        while row < a.n {
            let own = *a.a.add(row as usize);
            let mut at = if listing { *a.starts.add(row as usize) } else { 0 };
            let mut first = 0;
            while first < a.m {
                let column = first + lane();
                let other = if column < a.m { *a.b.add(column as usize) } else { BoxShape::NONE };
                let iou = own.iou(&other, a.kind) as f32;
                let found = (iou > a.threshold) & !own.is_none() & !other.is_none();
                let all = ballot(found);
                if found & listing {
                    let to = (at + (all & lanes_before()).count_ones()) as usize;
                    *a.i.add(to) = row as i32;
                    *a.j.add(to) = column as i32;
                    *a.iou.add(to) = iou;
                }
                at += all.count_ones();
                first += WARP;
            }
            if !listing & (lane() == 0) {
                *a.counts.add(row as usize) = at;
            }
            row += grid_size() * (BLOCK / WARP);
        }
    }
}
