//! Kernels of registration without a guess: voxel means, normals and features of a cloud, nearest features, the
//! graph of matches, poses of its cores, and how clouds fit at poses.
//!
#![doc = include_str!("README.md")]

mod evidence;
mod graph;
mod matches;
mod pose;
mod surface;
mod thin;

pub use evidence::{OVERLAPS_BLOCK, Overlaps, OverlapsArgs};
pub use graph::{Best, BestArgs, Join, JoinArgs};
pub use matches::{NearestFeature, NearestFeatureArgs, QUERIES_OF_BLOCK};
pub use pose::{Agree, AgreeArgs, StoredAgreement};
pub use surface::{FEATURES_OF_BLOCK, Features, FeaturesArgs, Places, PlacesArgs, SURFACE_BLOCK, Simple, SimpleArgs};
pub use thin::{
    Bounds, BoundsArgs, Means, MeansArgs, Numbers, NumbersArgs, STARTS_TILE, Starts, StartsArgs, ThinHead,
    VOXELS_OF_BLOCK,
};

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] =
    properties![Bounds, Numbers, Starts, Means, Places, Simple, Features, NearestFeature, Join, Best, Agree, Overlaps];

/// Threads a block.
pub const BLOCK: u32 = 256;
/// No row.
pub const NONE: u32 = u32::MAX;
