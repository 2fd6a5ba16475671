//! Which values a row has.

use crate::prim::BLOCK;
use crate::prim::partition_point;
use crate::simt::*;

/// Row numbers as a caller has them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RowNumbers {
    /// The numbers.
    pub data: *const u8,
    /// Whether they are `i64`, not `i32`.
    pub wide: u32,
}

impl RowNumbers {
    /// # Safety
    /// There is such a number.
    #[inline(always)]
    pub(crate) unsafe fn get(&self, i: usize) -> i64 {
        // SAFETY: the caller's promise.
        unsafe { if self.wide != 0 { *self.data.cast::<i64>().add(i) } else { *self.data.cast::<i32>().add(i) as i64 } }
    }
}

/// Arguments of [`Keys`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KeysArgs {
    /// `[n]`: the row of each value, or -1.
    pub index: RowNumbers,
    /// `[n]` keys: the row, or `rows` for none.
    pub keys: *mut u32,
    /// The number of rows of all items.
    pub rows: u32,
    /// The number of values.
    pub n: u32,
    /// Values of an item, whose rows count from its first; at least one.
    pub values_of_item: u32,
    /// Rows of an item.
    pub rows_of_item: u32,
    /// Becomes 0 where a number is no row; null if nobody asks.
    pub ok: *mut u32,
}

kernel! {
    /// Turns row numbers into sort keys, with the values that are of no row at the end. One thread a
    /// value.
    Keys = "scatter_keys", block BLOCK, shared 0, cooperative false,
    fn(a: KeysArgs) {
        let i = global_index();
        if i < a.n {
            let row = a.index.get(i as usize);
            let is_row = (row >= 0) & (row < a.rows_of_item as i64);
            let first = i / a.values_of_item * a.rows_of_item;
            *a.keys.add(i as usize) = if is_row { first + row as u32 } else { a.rows };
            if !is_row & (row != -1) & !a.ok.is_null() {
                atomic_min(a.ok, 0);
            }
        }
    }
}

/// Arguments of [`SplitsOfKeys`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SplitsOfKeysArgs {
    /// `[n]`, ascending.
    pub keys: *const u32,
    /// The number of keys.
    pub n: u32,
    /// The number of rows.
    pub rows: u32,
    /// `[rows + 1]`: where the keys of each row start.
    pub splits: *mut u32,
}

kernel! {
    /// Finds where the keys of each row start. One thread a row and one more.
    SplitsOfKeys = "scatter_splits_of_keys", block BLOCK, shared 0, cooperative false,
    fn(a: SplitsOfKeysArgs) {
        let row = global_index();
        if row <= a.rows {
            *a.splits.add(row as usize) = partition_point(0, a.n, |k| *a.keys.add(k as usize) < row);
        }
    }
}

/// Arguments of [`Splits`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SplitsArgs {
    /// `[rows + 1]`: where the values of each row start.
    pub given: RowNumbers,
    /// The number of rows.
    pub rows: u32,
    /// The number of values.
    pub n: u32,
    /// `[rows + 1]`: the same in 32 bits. Where one is refused, no row has a value that is not there.
    pub splits: *mut u32,
    /// Becomes 0 where the numbers do not ascend from 0 to `n`.
    pub ok: *mut u32,
}

kernel! {
    /// Checks where rows start. One thread a row and one more.
    Splits = "scatter_splits", block BLOCK, shared 0, cooperative false,
    fn(a: SplitsArgs) {
        let row = global_index();
        if row <= a.rows {
            let start = a.given.get(row as usize);
            let next = if row < a.rows { a.given.get(row as usize + 1) } else { a.n as i64 };
            if (start < 0) | (start > next) | (next > a.n as i64) {
                atomic_min(a.ok, 0);
            }
            let inside = if start < 0 { 0 } else if start > a.n as i64 { a.n as i64 } else { start };
            *a.splits.add(row as usize) = inside as u32;
        }
    }
}

/// Arguments of [`RowOfEach`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RowOfEachArgs {
    /// `[rows + 1]`: where the values of each row start.
    pub splits: *const u32,
    /// The number of rows.
    pub rows: u32,
    /// The number of values.
    pub n: u32,
    /// `[n]`: the row of each value, or -1.
    pub index: *mut i32,
}

kernel! {
    /// Finds the row of each of the values that lie row after row. One thread a value.
    RowOfEach = "scatter_row_of_each", block BLOCK, shared 0, cooperative false,
    fn(a: RowOfEachArgs) {
        let i = global_index();
        if i < a.n {
            // How many rows start at or before the value; of those that start there the last has it.
            let started = partition_point(0, a.rows + 1, |row| *a.splits.add(row as usize) <= i);
            *a.index.add(i as usize) = if started > a.rows { -1 } else { started as i32 - 1 };
        }
    }
}
