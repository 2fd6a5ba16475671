//! Kernels of `sparse`: one point of each cell, the order of cells along curves, and larger cells.
//!
#![doc = include_str!("README.md")]

mod hierarchy;
mod sample;
mod serialize;

pub use hierarchy::{Heads, NextOrders, Parents, STAGE_TILE, StageArgs, StageCounts};
pub use sample::{
    AssignCells, ChoosePoints, Corner, CornerArgs, InsertCells, NearestPoints, RankCells, SAMPLE_TILE, SampleArgs,
    SampleCounts, SamplePoints, pick,
};
pub use serialize::{CellRows, Codes, CodesArgs, Faults, Inverse, InverseArgs, Largest, LargestArgs, packed};

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = properties![
    Corner,
    InsertCells,
    RankCells,
    AssignCells,
    NearestPoints,
    ChoosePoints,
    Largest,
    Codes,
    Inverse,
    Parents,
    Heads,
    NextOrders
];

/// Threads a block.
pub const BLOCK: u32 = 256;
/// No row.
pub const NONE: u32 = u32::MAX;
