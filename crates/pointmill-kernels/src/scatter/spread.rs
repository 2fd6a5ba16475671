//! The gradient of the values from that of the rows.

use super::groups::row_and_group;
use super::rows::RowNumbers;
use super::values::{Bf16, F16, Stored, load, store};
use crate::prim::BLOCK;
use crate::simt::*;
use pointmill_core::reduction::{Number, Reduction};

/// Arguments of [`SpreadF32`] and its kin.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SpreadArgs<T> {
    /// `[rows, columns]`.
    pub grad: *const T,
    /// Values of a row, at least one.
    pub columns: u32,
    /// The number of rows.
    pub rows: u32,
    /// `[n]`: the row of each value, or -1.
    pub index: RowNumbers,
    /// The number of values.
    pub n: u32,
    /// What became of the values.
    pub how: Reduction,
    /// Whether values can be read several at a time.
    pub whole: u32,
    /// What the reduction left beside its result, see [`ReduceArgs`](super::ReduceArgs); null of a sum.
    pub aux: *const i64,
    /// `[n, columns]`.
    pub out: *mut T,
    /// Becomes 0 where a number is no row.
    pub ok: *mut u32,
}

impl<T: Stored> SpreadArgs<T> {
    /// # Safety
    /// Inside a launch with a thread for each group of columns of each value.
    #[inline(always)]
    unsafe fn all<const V: usize>(&self) {
        let (i, group) = row_and_group(self.columns / V as u32);
        if i >= self.n {
            return;
        }
        let (i, column) = (i as usize, group as usize * V);
        let zero = T::narrow(T::Wide::ZERO);
        // SAFETY: there is such a value; a row is looked at if it is one.
        unsafe {
            let to = self.out.add(i * self.columns as usize + column);
            let row = self.index.get(i);
            if (row < 0) | (row >= self.rows as i64) {
                if row != -1 {
                    atomic_min(self.ok, 0);
                }
                return store(to, [zero; V]);
            }
            let at = row as usize * self.columns as usize + column;
            let mut own = load::<T, V>(self.grad.add(at));
            match self.how {
                Reduction::Sum => {}
                Reduction::Mean => {
                    // A row of the value has one at least.
                    let count = if *self.aux.add(row as usize) < 1 { 1 } else { *self.aux.add(row as usize) as u32 };
                    for j in 0..V {
                        own[j] = T::narrow(own[j].widen().over(count));
                    }
                }
                Reduction::Min | Reduction::Max => {
                    for j in 0..V {
                        own[j] = if *self.aux.add(at + j) == i as i64 { own[j] } else { zero };
                    }
                }
            }
            store(to, own);
        }
    }
}

macro_rules! spreads {
    ($($Name:ident = $symbol:literal of $Type:ty, $at_once:literal at once;)+) => {$(
        kernel! {
            /// Gives each value its share of the gradient of its row. One thread a group of columns of
            /// a value: as many as are read at once, or one.
            $Name = $symbol, block BLOCK, shared 0, cooperative false,
            fn(a: SpreadArgs<$Type>) {
                if a.whole != 0 { a.all::<$at_once>() } else { a.all::<1>() }
            }
        }
    )+};
}

spreads! {
    SpreadF32 = "scatter_spread_f32" of f32, 4 at once;
    SpreadF64 = "scatter_spread_f64" of f64, 2 at once;
    SpreadF16 = "scatter_spread_f16" of F16, 4 at once;
    SpreadBf16 = "scatter_spread_bf16" of Bf16, 4 at once;
    SpreadI64 = "scatter_spread_i64" of i64, 2 at once;
}
