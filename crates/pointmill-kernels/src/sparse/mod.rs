//! Kernels of `sparse`: pairs of a sparse convolution, sweeps in one frame, features of pillars.
//!
//! [`Insert`] puts the input cells into a table, [`Outputs`] lists the cells that a layer has, each
//! once, the sort of `prim` orders them, and [`Pairs`] looks up, for each output and offset, the row
//! of the input. [`Densify`] moves points of several sweeps, and [`Pillars`] makes features.
//!
#![doc = include_str!("README.md")]

mod densify;
mod pairs;
mod pillars;

pub use densify::{Densify, DensifyArgs, SWEEP_WORDS, Sweep};
pub use pairs::{
    CellRows, CellTable, ConvFaults, ENTRY, Insert, InsertArgs, OFFSETS_OF_BLOCK, Outputs, OutputsArgs, Pairs,
    PairsArgs,
};
pub use pillars::{PILLARS_OF_BLOCK, Pillars, PillarsArgs};

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = properties![Insert, Outputs, Pairs, Densify, Pillars];

/// Threads a block.
pub const BLOCK: u32 = 256;
/// No row.
pub const NONE: u32 = u32::MAX;
