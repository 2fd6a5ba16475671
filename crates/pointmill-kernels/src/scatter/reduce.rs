//! Rows of few values: each group of columns by a thread.

use super::groups::row_and_group;
use super::values::{Bf16, F16, Stored, load, store};
use crate::prim::{BLOCK, Length};
use crate::simt::*;
use pointmill_core::reduction::{NONE, Number, Reduction};

/// Rows of more values are left to a block.
pub const LONG: u32 = 128;
/// Values that are on their way at once.
const AHEAD: usize = 4;

/// Arguments of [`ReduceF32`] and [`ReduceLongF32`](super::ReduceLongF32) and their kin.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ReduceArgs<T> {
    /// `[n, columns]`.
    pub values: *const T,
    /// Values of a row of the array, at least one.
    pub columns: u32,
    /// The number of rows.
    pub rows: Length,
    /// `[rows + 1]`: where the list of each row starts.
    pub splits: *const u32,
    /// The values row after row, ascending in each; null where they lie so.
    pub lists: *const u32,
    /// What becomes of them.
    pub how: Reduction,
    /// Whether values can be read several at a time.
    pub whole: u32,
    /// `[rows, columns]`.
    pub out: *mut T,
    /// Which value each is, or -1: `[rows, columns]`; of means `[rows]`: how many values there are.
    /// Null if nobody asks.
    pub aux: *mut i64,
    /// How many rows are long, 0 before; null where a row of any length is reduced here.
    pub num_long: *mut u32,
    /// Rows that are long, in any order.
    pub long: *mut u32,
    /// Rows that there is room for: no more are long where rows share no values.
    pub long_room: u32,
}

impl<T: Stored> ReduceArgs<T> {
    /// The value that comes at place `k` of all lists.
    ///
    /// # Safety
    /// There is such a place.
    #[inline(always)]
    pub(super) unsafe fn value(&self, k: u32) -> u32 {
        // SAFETY: the caller's promise.
        if self.lists.is_null() { k } else { unsafe { *self.lists.add(k as usize) } }
    }

    /// Writes what became of columns of a row.
    ///
    /// # Safety
    /// There are such columns of such a row.
    #[inline(always)]
    pub(super) unsafe fn write<const V: usize>(
        &self,
        (row, column): (u32, u32),
        value: [T::Wide; V],
        from: [u32; V],
        (start, end): (u32, u32),
    ) {
        let at = row as usize * self.columns as usize + column as usize;
        // SAFETY: the caller's promise; a value that is known by its place is there.
        unsafe {
            let mut out = [T::narrow(T::Wide::ZERO); V];
            for j in 0..V {
                out[j] = T::narrow(self.how.of(value[j], from[j], end - start));
            }
            store(self.out.add(at), out);
            if self.aux.is_null() {
                return;
            }
            if self.how.picks() {
                for j in 0..V {
                    *self.aux.add(at + j) = if from[j] == NONE { -1 } else { self.value(from[j]) as i64 };
                }
            } else if matches!(self.how, Reduction::Mean) && column == 0 {
                *self.aux.add(row as usize) = (end - start) as i64;
            }
        }
    }

    /// # Safety
    /// There are such columns of such a row, aligned where they are more than one.
    #[inline(always)]
    unsafe fn reduce<const V: usize, const PICKS: bool>(&self, row: u32, column: u32) {
        // SAFETY: the caller's promise; the lists lie within the values.
        unsafe {
            let (start, end) = (*self.splits.add(row as usize), *self.splits.add(row as usize + 1));
            // Splits that were refused need not ascend.
            let end = if end < start { start } else { end };
            if (end - start > LONG) & !self.num_long.is_null() {
                if column == 0 {
                    let k = atomic_add(self.num_long, 1);
                    if k < self.long_room {
                        *self.long.add(k as usize) = row;
                    }
                }
                return;
            }
            let (mut value, mut from) = ([T::Wide::ZERO; V], [NONE; V]);
            let mut k = start;
            while k < end {
                let mut next = [[T::narrow(T::Wide::ZERO); V]; AHEAD];
                for j in 0..AHEAD {
                    // Past the end comes the last value again, which does not count.
                    let place = if k + (j as u32) < end { k + j as u32 } else { end - 1 };
                    let at = self.value(place) as usize * self.columns as usize + column as usize;
                    next[j] = load(self.values.add(at));
                }
                for j in 0..AHEAD {
                    let live = k + (j as u32) < end;
                    for x in 0..V {
                        let wide = next[j][x].widen();
                        if PICKS {
                            let takes = live & self.how.takes(wide, value[x], from[x]);
                            value[x] = if takes { wide } else { value[x] };
                            from[x] = if takes { k + j as u32 } else { from[x] };
                        } else {
                            value[x] = if live { value[x].plus(wide) } else { value[x] };
                        }
                    }
                }
                k += AHEAD as u32;
            }
            self.write((row, column), value, from, (start, end));
        }
    }

    /// # Safety
    /// Inside a launch with a thread for each group of columns of each row.
    #[inline(always)]
    unsafe fn all<const V: usize>(&self) {
        let (row, group) = row_and_group(self.columns / V as u32);
        let column = group * V as u32;
        // SAFETY: the launcher's promise.
        unsafe {
            if row < self.rows.get() {
                if self.how.picks() {
                    self.reduce::<V, true>(row, column);
                } else {
                    self.reduce::<V, false>(row, column);
                }
            }
        }
    }
}

macro_rules! reduces {
    ($($Name:ident = $symbol:literal of $Type:ty, $at_once:literal at once;)+) => {$(
        kernel! {
            /// Reduces the values of each row. One thread a group of columns of a row: as many as are
            /// read at once, or one.
            $Name = $symbol, block BLOCK, shared 0, cooperative false,
            fn(a: ReduceArgs<$Type>) {
                if a.whole != 0 { a.all::<$at_once>() } else { a.all::<1>() }
            }
        }
    )+};
}

reduces! {
    ReduceF32 = "scatter_reduce_f32" of f32, 4 at once;
    ReduceF64 = "scatter_reduce_f64" of f64, 2 at once;
    ReduceF16 = "scatter_reduce_f16" of F16, 4 at once;
    ReduceBf16 = "scatter_reduce_bf16" of Bf16, 4 at once;
    ReduceI64 = "scatter_reduce_i64" of i64, 2 at once;
}
