//! Which candidate suppresses which.

use super::near::{COLUMNS_OF_TILE, Circles, QUEUES, WARPS, each_pair};
use super::{BLOCK, BoxRows, NmsMetric};
use crate::prim::last_where;
use crate::simt::*;
use pointmill_core::boxes::{BoxShape, IouKind, near, squared_distance};

/// Earlier candidates of a tile of pairs; the later ones are its columns.
pub const ROWS_OF_TILE: u32 = WARPS * ROWS_OF_WARP;
const ROWS_OF_WARP: u32 = 32;
/// Words of bits of a row of a tile.
const WORDS: u32 = COLUMNS_OF_TILE / 32;
/// Where the parts of shared memory start.
const OF_COLUMNS: u32 = Circles::words(ROWS_OF_TILE);
const BITS: u32 = OF_COLUMNS + Circles::words(COLUMNS_OF_TILE);
const QUEUE: u32 = BITS + ROWS_OF_TILE * WORDS;
/// The low word of the key of a row that is no candidate: it comes last in its item.
pub(super) const LAST: u32 = u32::MAX;

/// An item of a batch: rows that meet each other alone.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Item {
    /// Its first row.
    pub first: u32,
    /// Its candidates at most.
    pub len: u32,
    /// Its first tile of pairs.
    pub tile: u32,
    /// Where its bits start, in words.
    pub bits: u32,
}

/// Arguments of [`Candidates`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CandidatesArgs {
    /// The boxes.
    pub rows: BoxRows,
    /// `[n]`.
    pub scores: *const f32,
    /// `[n]`; null for one class.
    pub classes: *const i32,
    /// Rows with a lower score are no candidates.
    pub least_score: f32,
    /// `[items]`.
    pub items: *const Item,
    /// How many items there are.
    pub num_items: u32,
    /// `[n]`: the item, then the score, the highest first.
    pub keys: *mut u64,
    /// `[n]`.
    pub shapes: *mut BoxShape,
    /// The first row with a class below 0.
    pub bad_class: *mut u32,
    /// Counts rows that are no box, or have a score that is not finite.
    pub non_finite: *mut u32,
}

kernel! {
    /// Makes boxes ready, and gives each its key. One thread a row.
    Candidates = "boxes_candidates", block BLOCK, shared 0, cooperative false,
    fn(a: CandidatesArgs) {
        let i = global_index();
        if i >= a.rows.n {
            return;
        }
        let shape = BoxShape::new(a.rows.get(i), a.rows.origin);
        let score = *a.scores.add(i as usize);
        let usable = !shape.is_none() & score.is_finite();
        if !usable {
            atomic_add(a.non_finite, 1);
        }
        if !a.classes.is_null() && *a.classes.add(i as usize) < 0 {
            atomic_min(a.bad_class, i);
        }
        // The last item that starts at or before the row.
        let item = last_where(a.num_items, |item| (*a.items.add(item as usize)).first <= i);
        let candidate = usable & (score >= a.least_score);
        *a.keys.add(i as usize) = (item as u64) << 32 | if candidate { descending(score) } else { LAST } as u64;
        *a.shapes.add(i as usize) = shape;
    }
}

/// A number that falls as the score grows; -0 and 0 are equal.
#[inline(always)]
fn descending(score: f32) -> u32 {
    let bits = (score + 0.0).to_bits();
    if bits >> 31 != 0 { bits } else { !(bits | 1 << 31) }
}

/// Arguments of [`Gather`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GatherArgs {
    /// `[n]`: rows in order.
    pub order: *const u32,
    /// The number of rows.
    pub n: u32,
    /// `[n]`, by row.
    pub shapes: *const BoxShape,
    /// `[n]`, by row; null for one class.
    pub classes: *const i32,
    /// `[n]`, in order.
    pub sorted: *mut BoxShape,
    /// `[n]`, in order.
    pub sorted_classes: *mut i32,
}

kernel! {
    /// Boxes and classes in order. One thread a row.
    Gather = "boxes_gather", block BLOCK, shared 0, cooperative false,
    fn(a: GatherArgs) {
        let i = global_index() as usize;
        if i >= a.n as usize {
            return;
        }
        let row = *a.order.add(i) as usize;
        *a.sorted.add(i) = *a.shapes.add(row);
        *a.sorted_classes.add(i) = if a.classes.is_null() { 0 } else { *a.classes.add(row) };
    }
}

/// Arguments of [`Suppress`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SuppressArgs {
    /// `[n]`, in order.
    pub shapes: *const BoxShape,
    /// `[n]`, in order.
    pub classes: *const i32,
    /// `[items]`.
    pub items: *const Item,
    /// How many items there are.
    pub num_items: u32,
    /// What is compared.
    pub metric: NmsMetric,
    /// With what.
    pub threshold: f32,
    /// For each item `[len, ceil(len / 32)]`: bit `j % 32` of word `j / 32` says whether candidate
    /// `i` suppresses the later candidate `j`. Words before that of `i` are not written.
    pub bits: *mut u32,
}

kernel! {
    /// Compares the candidates of each item. A block for each tile of pairs.
    Suppress = "boxes_suppress", block BLOCK, shared QUEUE + QUEUES, cooperative true,
    fn(a: SuppressArgs) {
        let of_rows = Circles::at(Shared::at(0), ROWS_OF_TILE);
        let of_columns = Circles::at(Shared::at(OF_COLUMNS), COLUMNS_OF_TILE);
        let bits = Shared::at(BITS);
        let item = *a.items.add(last_where(a.num_items, |item| (*a.items.add(item as usize)).tile <= block_index()) as usize);
        let across = item.len.div_ceil(COLUMNS_OF_TILE);
        let tile = block_index() - item.tile;
        let (row, column) = (tile / across * ROWS_OF_TILE, tile % across * COLUMNS_OF_TILE);
        // No later candidate is in a tile before the diagonal.
        if column + COLUMNS_OF_TILE <= row {
            return;
        }
        let end = item.first + item.len;
        of_rows.load(ROWS_OF_TILE, a.shapes, item.first + row, end);
        of_columns.load(COLUMNS_OF_TILE, a.shapes, item.first + column, end);
        let mut word = thread_index();
        while word < ROWS_OF_TILE * WORDS {
            bits.set(word, 0);
            word += BLOCK;
        }
        sync_block();
        let circle = matches!(a.metric, NmsMetric::Circle);
        let first = warp() * ROWS_OF_WARP;
        let left = if row + first < item.len { item.len - row - first } else { 0 };
        let rows = if left < ROWS_OF_WARP { left } else { ROWS_OF_WARP };
        each_pair(
            (first, rows),
            Shared::at(QUEUE),
            |j| of_columns.get(j),
            |i, j, other| {
                let one = of_rows.get(i);
                let close =
                    if circle { squared_distance(one, other) <= a.threshold as f64 } else { near(one, other) };
                (row + i < column + j) & (column + j < item.len) & close
            },
            |i, j| {
                let (from, to) = ((item.first + row + i) as usize, (item.first + column + j) as usize);
                if *a.classes.add(from) == *a.classes.add(to) {
                    let overlap = |kind| {
                        let (one, other) = (*a.shapes.add(from), *a.shapes.add(to));
                        one.iou(&other, kind) as f32
                    };
                    let suppressed = match a.metric {
                        NmsMetric::Circle => true,
                        NmsMetric::Bev => overlap(IouKind::Bev) > a.threshold,
                        NmsMetric::Volume => overlap(IouKind::Volume) > a.threshold,
                    };
                    if suppressed {
                        bits.or(i * WORDS + j / 32, 1 << (j % 32));
                    }
                }
            },
        );
        sync_warp();
        let words = item.len.div_ceil(32);
        let mut k = lane();
        while k < rows * WORDS {
            let (i, word) = ((row + first + k / WORDS) as usize, column / 32 + k % WORDS);
            if word < words {
                *a.bits.add(item.bits as usize + i * words as usize + word as usize) = bits.get(first * WORDS + k);
            }
            k += WARP;
        }
    }
}
