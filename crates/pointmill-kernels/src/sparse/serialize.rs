//! Codes of cells along curves.

use super::BLOCK;
use crate::prim::Length;
use crate::simt::*;
use pointmill_core::sparse::{Order, code};

/// Bits of an order in [`packed`] ones.
const ORDER_BITS: u32 = 8;

/// Some orders in one word.
pub fn packed(orders: &[Order]) -> u32 {
    orders.iter().rev().fold(0, |word, &order| word << ORDER_BITS | order as u32)
}

/// Cells in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CellRows {
    /// `[n, 3]`: x, y, z.
    pub coords: *const i32,
    /// `[n]`: the item of a batch; null for one item.
    pub batch: *const i32,
    /// The number of cells.
    pub n: Length,
}

/// What is wrong with the rows of a call; [`NONE`](super::NONE) where nothing is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// The first row with a coordinate below 0 or beyond the depth.
    pub coord: u32,
    /// The first row of an item that is not of the batch.
    pub item: u32,
}

impl CellRows {
    /// The coordinates of row `i`; those below 0 are beyond every depth.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    pub(super) unsafe fn cell(&self, i: u32) -> [u32; 3] {
        // SAFETY: the caller promises the row.
        unsafe {
            let row = self.coords.add(3 * i as usize);
            [*row as u32, *row.add(1) as u32, *row.add(2) as u32]
        }
    }

    /// The item of row `i`; one below 0 is beyond every batch.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    pub(super) unsafe fn item(&self, i: u32) -> u32 {
        // SAFETY: the caller promises the row.
        if self.batch.is_null() { 0 } else { unsafe { *self.batch.add(i as usize) as u32 } }
    }
}

/// Arguments of [`Largest`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LargestArgs {
    /// The cells.
    pub rows: CellRows,
    /// The largest coordinate that is not below 0; 0 before.
    pub largest: *mut u32,
}

kernel! {
    /// Finds the largest coordinate. One thread a row.
    Largest = "sparse_largest", block BLOCK, shared 0, cooperative false,
    fn(a: LargestArgs) {
        let i = global_index();
        if i >= a.rows.n.get() {
            return;
        }
        let row = a.rows.cell(i);
        let mut most = 0;
        for k in 0..3 {
            most = if (row[k] as i32) > most { row[k] as i32 } else { most };
        }
        if most as u32 > load_relaxed(a.largest) {
            atomic_max(a.largest, most as u32);
        }
    }
}

/// Arguments of [`Codes`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CodesArgs {
    /// The cells.
    pub rows: CellRows,
    /// How many items the batch has.
    pub items: u32,
    /// Bits of a coordinate.
    pub depth: u32,
    /// The orders, [`packed`].
    pub orders: u32,
    /// `[orders, bound]`.
    pub codes: *mut u64,
    /// What is wrong with the rows.
    pub faults: *mut Faults,
    /// How many rows there are.
    pub count: *mut u32,
}

kernel! {
    /// The codes of cells; 0 for a row that is no cell. One thread a row and order: the blocks of
    /// the first order, then those of the next.
    Codes = "sparse_codes", block BLOCK, shared 0, cooperative false,
    fn(a: CodesArgs) {
        let blocks = a.rows.n.bound.div_ceil(BLOCK);
        let k = block_index() / blocks;
        let i = (block_index() - k * blocks) * BLOCK + thread_index();
        let n = a.rows.n.get();
        if (i == 0) & (k == 0) {
            *a.count = n;
        }
        if i >= n {
            return;
        }
        let (cell, item) = (a.rows.cell(i), a.rows.item(i));
        let fits = (cell[0] | cell[1] | cell[2]) >> a.depth == 0;
        if !fits {
            atomic_min(&raw mut (*a.faults).coord, i);
        }
        if item >= a.items {
            atomic_min(&raw mut (*a.faults).item, i);
        }
        let order = Order::of_number(a.orders >> (ORDER_BITS * k) & ((1 << ORDER_BITS) - 1));
        let code = if fits & (item < a.items) { code(item, cell, a.depth, order) } else { 0 };
        *a.codes.add(k as usize * a.rows.n.bound as usize + i as usize) = code;
    }
}

/// Arguments of [`Inverse`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InverseArgs {
    /// `[orders, bound]`: rows in order.
    pub order: *const u32,
    /// The number of rows.
    pub n: Length,
    /// `[orders, bound]`: the place of each row.
    pub inverse: *mut u32,
}

kernel! {
    /// The place of each row in each order. Blocks as [`Codes`].
    Inverse = "sparse_inverse", block BLOCK, shared 0, cooperative false,
    fn(a: InverseArgs) {
        let blocks = a.n.bound.div_ceil(BLOCK);
        let k = block_index() / blocks;
        let i = (block_index() - k * blocks) * BLOCK + thread_index();
        if i < a.n.get() {
            let first = k as usize * a.n.bound as usize;
            let row = *a.order.add(first + i as usize) as usize;
            *a.inverse.add(first + row) = i;
        }
    }
}
