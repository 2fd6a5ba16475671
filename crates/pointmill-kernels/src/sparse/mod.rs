//! Kernels of `sparse`: one point of each cell, the order of cells along curves, larger cells; pairs
//! of a sparse convolution, sweeps in one frame, features of pillars.
//!
#![doc = include_str!("README.md")]

mod densify;
mod hierarchy;
mod pair_lists;
mod pairs;
mod pillars;
mod sample;
mod serialize;

pub use densify::{Densify, DensifyArgs, SWEEP_WORDS, Sweep};
pub use hierarchy::{Heads, NextOrders, Parents, STAGE_TILE, StageArgs, StageCounts};
pub use pair_lists::{PAIR_TILE, PairLists, PairListsArgs};
pub use pairs::{
    CellTable, ConvCells, ConvFaults, ENTRY, Insert, InsertArgs, OFFSETS_OF_BLOCK, Outputs, OutputsArgs, Pairs,
    PairsArgs,
};
pub use pillars::{PILLARS_OF_BLOCK, Pillars, PillarsArgs};
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
    NextOrders,
    Insert,
    Outputs,
    Pairs,
    PairLists,
    Densify,
    Pillars
];

/// Threads a block.
pub const BLOCK: u32 = 256;
/// No row.
pub const NONE: u32 = u32::MAX;
