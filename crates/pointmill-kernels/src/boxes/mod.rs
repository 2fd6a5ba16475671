//! Kernels of `boxes`: overlaps of pairs, and suppression.
//!
//! [`Prepare`] makes rows ready for overlaps. Then, for pairs, [`Iou`] fills a table, [`IouOfPairs`]
//! a list, and [`Overlaps`] counts or lists the pairs above a threshold. Suppression:
//! [`Candidates`] gives each row a key, the sort of `prim` orders them, [`Gather`] puts boxes into
//! that order, [`Suppress`] finds which box suppresses which, one bit a pair, and [`Keep`] walks along
//! the order, [`ROUND`] candidates a launch. Between two launches [`Spread`] notes what the kept ones
//! mean for all later candidates.
//!
#![doc = include_str!("README.md")]

use crate::simt::*;
use pointmill_core::BoxOrigin;
use pointmill_core::boxes::{BoxLayout, BoxShape, COLUMNS};

mod iou;
mod keep;
mod near;
mod overlaps;
mod suppress;

pub use iou::{Iou, IouArgs, IouOfPairs, TILE};
pub use keep::{Keep, KeepArgs, MAX_CANDIDATES, PARTS, ROUND, Spread, removed_words, spread_places};
pub use near::COLUMNS_OF_TILE;
pub use overlaps::{Overlaps, OverlapsArgs};
pub use suppress::{Candidates, CandidatesArgs, Gather, GatherArgs, Item, ROWS_OF_TILE, Suppress, SuppressArgs};

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] =
    properties![Prepare, Iou, IouOfPairs, Overlaps, Candidates, Gather, Suppress, Keep, Spread];

/// Threads a block.
pub const BLOCK: u32 = 256;
/// No row.
pub const NONE: u32 = u32::MAX;

/// What suppression compares.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NmsMetric {
    /// The overlap of footprints, seen from above; greater than the threshold suppresses.
    #[default]
    Bev,
    /// The overlap of volumes; greater than the threshold suppresses.
    Volume,
    /// The squared distance of centres in square metres; at most the threshold suppresses.
    Circle,
}

pointmill_core::names!(NmsMetric { Bev = "bev", Volume = "volume", Circle = "circle" });

/// Boxes in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BoxRows {
    /// `[n, columns]` of `f32` or `f64`.
    pub values: *const u8,
    /// The number of boxes.
    pub n: u32,
    /// The number of columns.
    pub columns: u32,
    /// What they are.
    pub layout: BoxLayout,
    /// Whether the values are `f64`.
    pub wide: u32,
    /// Added to each centre.
    pub shift: [f64; 3],
    /// How z is read.
    pub origin: BoxOrigin,
}

impl BoxRows {
    /// Row `i` in `f64`, shifted.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    unsafe fn get(&self, i: u32) -> [f64; COLUMNS] {
        let at = i as usize * self.columns as usize;
        // SAFETY: the caller promises the row, of values of this type.
        let value = |k: usize| unsafe {
            if self.wide != 0 {
                *self.values.cast::<f64>().add(at + k)
            } else {
                *self.values.cast::<f32>().add(at + k) as f64
            }
        };
        let mut row = self.layout.row(value);
        for k in 0..3 {
            row[k] += self.shift[k];
        }
        row
    }
}

/// Arguments of [`Prepare`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PrepareArgs {
    /// The boxes.
    pub rows: BoxRows,
    /// `[n]`.
    pub shapes: *mut BoxShape,
}

kernel! {
    /// Makes boxes ready for overlaps. One thread a box.
    Prepare = "boxes_prepare", block BLOCK, shared 0, cooperative false,
    fn(a: PrepareArgs) {
        let i = global_index();
        if i < a.rows.n {
            *a.shapes.add(i as usize) = BoxShape::new(a.rows.get(i), a.rows.origin);
        }
    }
}
