//! Kernels of `points`: points of items in buckets of neighbours, furthest points, nearest points,
//! points of balls, and features of rows.
//!
#![doc = include_str!("README.md")]

mod buckets;
mod furthest;
mod gather;
mod gradient;
mod nearest;

pub use buckets::{BUCKET, BucketArgs, BucketBounds, Buckets, Extent, ItemPoints, Places, PlacesArgs};
pub use furthest::{FURTHEST_BLOCK, Furthest, FurthestArgs};
pub use gather::{CHANNELS, GatherArgs, GatherBf16, GatherF16, GatherF32, GatherF64};
pub use gradient::{
    GradientBf16, GradientF16, GradientF32, GradientF64, LONG, LongBf16, LongF16, LongF32, LongF64, WeightsBf16,
    WeightsF16, WeightsF32, WeightsF64,
};
pub use nearest::{FewNearest, MOST_NEAREST, ManyNearest, NearestArgs, order};

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = properties![
    Extent,
    Places,
    BucketBounds,
    Furthest,
    FewNearest,
    ManyNearest,
    GatherF32,
    GatherF64,
    GatherF16,
    GatherBf16,
    GradientF32,
    GradientF64,
    GradientF16,
    GradientBf16,
    LongF32,
    LongF64,
    LongF16,
    LongBf16,
    WeightsF32,
    WeightsF64,
    WeightsF16,
    WeightsBf16,
];

/// Threads a block.
pub const BLOCK: u32 = 256;
/// No row.
pub const NONE: u32 = u32::MAX;
