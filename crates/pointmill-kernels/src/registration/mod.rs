//! Kernels of registration without a guess: normals and features of a cloud, nearest features, the
//! graph of matches, poses of its cores, and how clouds fit at poses.
//!
#![doc = include_str!("README.md")]

mod evidence;
mod graph;
mod matches;
mod pose;
mod surface;

pub use evidence::{OVERLAPS_BLOCK, Overlaps, OverlapsArgs};
pub use graph::{Best, BestArgs, Join, JoinArgs};
pub use matches::{NearestFeature, NearestFeatureArgs, QUERIES_OF_BLOCK};
pub use pose::{AGREE_BLOCK, Agree, AgreeArgs, StoredAgreement};
pub use surface::{Features, FeaturesArgs, Places, PlacesArgs, SURFACE_BLOCK, Simple, SimpleArgs};

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] =
    properties![Places, Simple, Features, NearestFeature, Join, Best, Agree, Overlaps];

/// Threads a block.
pub const BLOCK: u32 = 256;
/// No row.
pub const NONE: u32 = u32::MAX;
