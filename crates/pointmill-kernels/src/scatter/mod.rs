//! Kernels of reductions by row, and of their gradients.
//!
//! [`Keys`] turns the row numbers of a caller into keys, the sort of `prim` lists the values by
//! row, [`SplitsOfKeys`] finds where each row starts. Where values lie row after row, [`Splits`]
//! checks where they start. [`ReduceF32`] and its kin reduce each row, and note the long ones for
//! [`ReduceLongF32`] and its kin. Gradients: [`RowOfEach`] finds the row of each value that lies row
//! after row, [`SpreadF32`] and its kin give each value its share.
//!
#![doc = include_str!("README.md")]

use crate::prim::{BLOCK, Length};
use crate::simt::*;
use pointmill_core::reduction::{NONE, Number, Reduction};

mod long;
mod reduce;
mod rows;
mod spread;
mod values;

pub use long::*;
pub use reduce::*;
pub use rows::{
    Keys, KeysArgs, RowNumbers, RowOfEach, RowOfEachArgs, Splits, SplitsArgs, SplitsOfKeys, SplitsOfKeysArgs,
};
pub use spread::*;
pub use values::{Bf16, F16, Stored};

/// The row of this thread and its group of columns, where each row has so many groups. The division
/// of 64 bits is of the block: it takes long.
#[inline(always)]
fn row_and_group(groups: u32) -> (u32, u32) {
    let first = block_index() as u64 * BLOCK as u64;
    let (row, rest) = if first <= u32::MAX as u64 {
        (first as u32 / groups, first as u32 % groups)
    } else {
        ((first / groups as u64) as u32, (first % groups as u64) as u32)
    };
    let at = rest as u64 + thread_index() as u64;
    if at <= u32::MAX as u64 {
        (row + at as u32 / groups, at as u32 % groups)
    } else {
        (row + (at / groups as u64) as u32, (at % groups as u64) as u32)
    }
}

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = properties![
    Keys,
    SplitsOfKeys,
    Splits,
    RowOfEach,
    ReduceF32,
    ReduceF64,
    ReduceF16,
    ReduceBf16,
    ReduceI64,
    ReduceLongF32,
    ReduceLongF64,
    ReduceLongF16,
    ReduceLongBf16,
    ReduceLongI64,
    SpreadF32,
    SpreadF64,
    SpreadF16,
    SpreadBf16,
    SpreadI64,
];
