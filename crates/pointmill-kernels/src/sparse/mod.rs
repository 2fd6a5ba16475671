//! Kernels of `sparse`: the order of cells along curves.
//!
#![doc = include_str!("README.md")]

mod serialize;

pub use serialize::{CellRows, Codes, CodesArgs, Faults, Inverse, InverseArgs, Largest, LargestArgs, packed};

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = properties![Largest, Codes, Inverse];

/// Threads a block.
pub const BLOCK: u32 = 256;
/// No row.
pub const NONE: u32 = u32::MAX;
