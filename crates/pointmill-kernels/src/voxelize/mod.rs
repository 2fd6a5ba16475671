//! Kernels of `voxelize`, in the order they run.
//!
//! First-seen rows of one cloud:
//!
//! 1. [`Insert`]: the cell of each point gets an entry of a hash table, and the entry the smallest
//!    index of its points.
//! 2. [`Rows`]: a point that is its cell's first opens a row; rows follow those points. Then every
//!    point learns its row and claims a slot in it. Entries are emptied on the way, so that the
//!    table is clean for the next call and never has to be filled.
//! 3. [`Lists`], on request: slots without padding.
//! 4. [`EmitFew`]: counts, means and padded points of rows with at most [`FEW_POINTS`] points;
//!    slots are emptied on the way. For longer rows these are [`EmitPoints`] and [`Emit`].
//!
//! Sorted rows, and first-seen rows of many points:
//!
//! 1. [`Mark`]: sets a bit for each cell that has a point.
//! 2. [`RankBits`]: counts the bits before each word; the row of a cell is the number of bits
//!    before its own. The set is empty then.
//! 3. [`Samples`], for batches: where the rows of each sample start.
//! 4. [`AssignCells`]: every point learns its row and claims a slot in it.
//! 5. For first-seen rows [`MarkFirsts`], [`RankBits`] and [`Order`]: the bits are those of the
//!    cells' first points, and rows follow these. [`FindRows`] gives points their rows.
//! 6. [`Lists`] and what emits, as above.
//!
//! Batches and sorted rows of more cells than bits are kept for move once all rows are known; there
//! step 2 is [`Rank`], [`Samples`], a sort, [`Place`] and [`Assign`].
//!
//! Where other points of a full row stay than the first, the rows are those of dynamic voxelization, and
//! [`Pick`] fills the slots from their lists.
//!
//! A row has M slots of `u32`, all ones when empty. A point enters by a cascade: it takes the
//! minimum with slot after slot and carries on what it pushed out. Whatever the interleaving, slot
//! k ends with the k-th smallest of the indices, so the M first points stay, in order, with no
//! sorting and no counting.
//!
#![doc = include_str!("README.md")]

use crate::prim::{BLOCK, Length, scan};
use crate::simt::*;
use pointmill_core::VoxelGrid;

mod assign;
mod batch;
mod bits;
mod cells;
mod counters;
mod emit;
mod entry;
mod few;
mod insert;
mod lists;
mod order;
mod pad;
mod pick;
mod place;
mod rank;
mod slots;

pub use assign::{Assign, AssignArgs, Members};
pub use batch::{Batch, Coords};
pub use bits::{Bits, QUADS_PER_TILE, RankBits, RankBitsArgs};
pub use cells::{AssignCells, AssignCellsArgs, Mark, MarkArgs};
use counters::{COUNT_WORDS, count_in_block, report_rows};
pub use counters::{COUNTER_WORDS, Counters, ForHost, LOST, Lost};
pub use emit::{Emit, EmitArgs, EmitPoints, EmitPointsArgs, Means, PADDED, rows_per_tile, slots_per_tile};
pub use entry::{Entry, Table};
pub use few::{EmitFew, FEW_POINTS};
pub use insert::{Begin, Cloud, Insert, InsertArgs};
pub use lists::{Lists, ListsArgs};
pub use order::{FindRows, FindRowsArgs, MarkFirsts, Order, OrderArgs};
pub use pad::Padded;
pub use pick::{Pick, PickArgs, Turns, TurnsArgs, ValuesOfRows, ValuesOfRowsArgs};
pub use place::{Place, PlaceArgs, Samples, SamplesArgs};
pub use rank::{Rank, RankArgs, Rows, RowsArgs};
use slots::Four;
pub use slots::Slots;

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = properties![
    Insert,
    Rank,
    Rows<FEW>,
    Rows<MANY>,
    Lists,
    Emit,
    EmitFew,
    EmitPoints,
    Mark<FEW>,
    Mark<MANY>,
    RankBits,
    AssignCells<FEW>,
    AssignCells<MANY>,
    MarkFirsts,
    Order,
    FindRows,
    Samples,
    Place,
    Assign,
    ValuesOfRows,
    Turns,
    Pick
];

/// Points a thread handles where they are few: one, because a sweep has too few to keep a large GPU
/// busy otherwise.
pub const FEW: usize = 1;
/// Points a thread handles where they are many: their waits for memory overlap.
pub const MANY: usize = 4;

/// Points that a block handles, of so many a thread.
pub const fn tile(items: usize) -> u32 {
    BLOCK * items as u32
}

/// An empty slot, and no row.
pub const NONE: u32 = u32::MAX;
/// A row that is not known yet.
pub const PENDING: u32 = u32::MAX - 1;
/// In place of a table slot: the point has a NaN or an infinity in x, y or z.
pub const NON_FINITE: u32 = u32::MAX - 1;
/// In place of a table slot: the point is outside the grid.
pub const OUT_OF_RANGE: u32 = u32::MAX;
