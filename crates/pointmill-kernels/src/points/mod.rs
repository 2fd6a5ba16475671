//! Kernels of `points`: points of items in buckets of neighbours, furthest points, nearest points and
//! points of balls.
//!
#![doc = include_str!("README.md")]

mod buckets;
mod furthest;
mod nearest;

pub use buckets::{BUCKET, BucketArgs, BucketBounds, Buckets, Extent, ItemPoints, Places, PlacesArgs};
pub use furthest::{FURTHEST_BLOCK, Furthest, FurthestArgs};
pub use nearest::{FewNearest, MOST_NEAREST, ManyNearest, NearestArgs, order};

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = properties![Extent, Places, BucketBounds, Furthest, FewNearest, ManyNearest];

/// Threads a block.
pub const BLOCK: u32 = 256;
/// No row.
pub const NONE: u32 = u32::MAX;
