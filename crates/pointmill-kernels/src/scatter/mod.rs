//! Kernels of reductions by row, and of their gradients.
//!
//! [`Keys`] turns the row numbers of a caller into keys, the sort of `prim` lists the values by
//! row, [`SplitsOfKeys`] finds where each row starts. Where values lie row after row, [`Splits`]
//! checks where they start. [`ReduceF32`] and its kin reduce each row, and note the long ones for
//! [`ReduceLongF32`] and its kin. Gradients: [`RowOfEach`] finds the row of each value that lies row
//! after row, [`SpreadF32`] and its kin give each value its share.
//!
#![doc = include_str!("README.md")]

pub(crate) mod groups;
mod long;
mod reduce;
mod rows;
mod spread;
mod values;

pub use long::{PART, ReduceLongBf16, ReduceLongF16, ReduceLongF32, ReduceLongF64, ReduceLongI64};
pub use reduce::{LONG, ReduceArgs, ReduceBf16, ReduceF16, ReduceF32, ReduceF64, ReduceI64};
pub use rows::{
    Keys, KeysArgs, RowNumbers, RowOfEach, RowOfEachArgs, Splits, SplitsArgs, SplitsOfKeys, SplitsOfKeysArgs,
};
pub use spread::{SpreadArgs, SpreadBf16, SpreadF16, SpreadF32, SpreadF64, SpreadI64};
pub use values::{Bf16, F16, Stored};

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
