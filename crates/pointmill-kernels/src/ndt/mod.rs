//! Grids of normal distributions: points into sums by cell, sums into statistics, and scans against
//! them.
//!
//! [`AccumulateF32`] and its like add points to [`Records`], a hash table of cells; [`Order`], or [`SortKeysShort`] and a radix sort, put the cells in order; [`Finish`] makes rows of them and
//! enters each into [`Lines`], the table by which all searches find rows: [`List`] lists rows near
//! points, [`Score`] and [`Derive`] add up how well scans fit, and
//! [`Advance`] makes the next step of an alignment of it. The sums are integers, and those of scores are added in one tree, so that every run gives the same bits.
//!
#![doc = include_str!("README.md")]

mod accumulate;
mod align;
mod finish;
mod lines;
mod near;
mod order;
mod records;
mod score;
mod search;

pub use accumulate::{AccumulateAbout, AccumulateArgs, AccumulateF32, AccumulateF64, TILE};
pub use align::{Advance, AdvanceArgs, Derive, DeriveArgs, DeriveMany, StoredAlignment};
pub use finish::{CellArrays, Finish, FinishArgs, FinishTotals, SortKeysArgs, SortKeysLong, SortKeysShort};
pub use lines::{Lines, LinesEntry, Map};
pub use order::{Order, OrderArgs};
pub use records::{
    AddRecords, AddRecordsArgs, Clear, ClearArgs, CopyRecords, CopyRecordsArgs, Full, FullArgs, Record, Records, SUMS,
    Totals,
};
pub use score::{Fold, FoldArgs, PointScores, PointScoresArgs, SCORES, Score, ScoreArgs, ScoreMany, StoredPose};
pub use search::{Count, Fill, List, ListArgs, Lookup, LookupArgs, Near, SearchArgs};

use crate::cloud::Points;
use crate::prim::sum::{TREE, TREE_ROW, fold, tree_words, write_shared_tree, write_tree};
use crate::prim::{BLOCK, scan};
use crate::simt::*;
use pointmill_core::ndt::{NdtLattice, NdtScore};
use records::coordinate;

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = properties![
    AccumulateF32,
    AccumulateF64,
    AccumulateAbout,
    AddRecords,
    Clear,
    CopyRecords,
    Full,
    SortKeysShort,
    SortKeysLong,
    Order,
    Finish,
    Lookup,
    Count,
    Fill,
    List,
    Score,
    ScoreMany,
    PointScores,
    Fold,
    Derive,
    DeriveMany,
    Advance,
];
