//! Kernels of registration without a guess: voxel means, normals and features of a cloud, nearest features, the
//! graph of matches, poses of its cores, how clouds fit at poses, and sums of an upright search.
//!
#![doc = include_str!("README.md")]

mod evidence;
mod field;
mod graph;
mod level;
mod matches;
mod pose;
mod surface;
mod thin;

pub use evidence::{OVERLAPS_BLOCK, Overlaps, OverlapsArgs};
pub use field::{
    CELL_BLOCK, FieldBlocks, FieldBlocksArgs, FieldFill, FieldFillArgs, FieldWiden, FieldWidenArgs, StoredLevelCell,
};
pub use graph::{Best, BestArgs, Join, JoinArgs};
pub use level::{
    LevelBlock, LevelBounds, LevelBoundsArgs, LevelField, LevelSums, LevelSumsArgs, LevelTurn, LevelTurnArgs, PARTS,
    SIDE, THREADS_OF_BLOCK, WIDE,
};
pub use matches::{NearestFeature, NearestFeatureArgs, QUERIES_OF_BLOCK};
pub use pose::{Agree, AgreeArgs, StoredAgreement};
pub use surface::{FEATURES_OF_BLOCK, Features, FeaturesArgs, Places, PlacesArgs, SURFACE_BLOCK, Simple, SimpleArgs};
pub use thin::{
    Bounds, BoundsArgs, Means, MeansArgs, Numbers, NumbersArgs, STARTS_TILE, Starts, StartsArgs, ThinHead,
    VOXELS_OF_BLOCK,
};

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = properties![
    Bounds,
    Numbers,
    Starts,
    Means,
    Places,
    Simple,
    Features,
    NearestFeature,
    Join,
    Best,
    Agree,
    Overlaps,
    FieldFill,
    FieldWiden,
    FieldBlocks,
    LevelTurn,
    LevelBounds,
    LevelSums,
];

/// Threads a block.
pub const BLOCK: u32 = 256;
/// No row.
pub const NONE: u32 = u32::MAX;
