//! Kernels of `boxes`: overlaps of pairs, and suppression.
//!
//! [`Prepare`] makes rows ready for overlaps. Then, for pairs, [`Iou`] fills a table, [`IouOfPairs`]
//! a list, and [`Overlaps`] counts or lists the pairs above a threshold. Suppression:
//! [`Candidates`] gives each row a key, the sort of `prim` orders them, [`Gather`] puts boxes into
//! that order, [`Suppress`] finds which box suppresses which, one bit a pair, and [`Keep`] walks the
//! order once.
//!
#![doc = include_str!("README.md")]

use crate::simt::*;
use pointmill_core::BoxOrigin;
use pointmill_core::boxes::{BoxFault, BoxShape, COLUMNS, fault};

mod iou;
mod keep;
mod near;
mod overlaps;
mod suppress;

pub use iou::{Iou, IouArgs, IouOfPairs, TILE};
pub use keep::{Keep, KeepArgs, MAX_CANDIDATES};
pub use near::COLUMNS_OF_TILE;
pub use overlaps::{Overlaps, OverlapsArgs};
pub use suppress::{Candidates, CandidatesArgs, Gather, GatherArgs, Item, ROWS_OF_TILE, Suppress, SuppressArgs};

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] =
    properties![Prepare, Iou, IouOfPairs, Overlaps, Candidates, Gather, Suppress, Keep];

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
    /// `[n, 7]` of `f32` or `f64`.
    pub values: *const u8,
    /// The number of boxes.
    pub n: u32,
    /// Whether the values are `f64`.
    pub wide: u32,
    /// Added to each centre.
    pub shift: [f64; 3],
    /// How z is read.
    pub origin: BoxOrigin,
}

/// What is wrong with the rows of a call; [`NONE`] where nothing is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// The first row that is negative or beyond.
    pub row: u32,
    /// The first row with a class below 0.
    pub class: u32,
}

impl BoxRows {
    /// Row `i` in `f64`, shifted.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    unsafe fn get(&self, i: u32) -> [f64; COLUMNS] {
        let mut row = [0.0; COLUMNS];
        let at = i as usize * COLUMNS;
        for k in 0..COLUMNS {
            // SAFETY: the caller promises the row, of values of this type.
            let value = unsafe {
                if self.wide != 0 {
                    *self.values.cast::<f64>().add(at + k)
                } else {
                    *self.values.cast::<f32>().add(at + k) as f64
                }
            };
            row[k] = if k < 3 { value + self.shift[k] } else { value };
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
    /// Where the first row is noted that is negative or beyond.
    pub first_fault: *mut u32,
}

kernel! {
    /// Makes boxes ready for overlaps. One thread a box.
    Prepare = "boxes_prepare", block BLOCK, shared 0, cooperative false,
    fn(a: PrepareArgs) {
        let i = global_index();
        if i >= a.rows.n {
            return;
        }
        let row = a.rows.get(i);
        if is_refused(&row) {
            atomic_min(a.first_fault, i);
        }
        *a.shapes.add(i as usize) = BoxShape::new(row, a.rows.origin);
    }
}

/// Whether a row is an error of the caller, not only a box that is never kept.
#[inline(always)]
fn is_refused(row: &[f64; COLUMNS]) -> bool {
    matches!(fault(row), Some(BoxFault::Negative | BoxFault::Beyond))
}
