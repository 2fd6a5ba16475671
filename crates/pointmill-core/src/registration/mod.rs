//! Registration without a guess: features of surfaces, matches that keep their distances, and the
//! pose of matches some of which are wrong.

pub mod feature;
pub mod pose;
pub mod surface;
pub mod voxel;

use crate::float::sqrt_f32;
use crate::icp::nearest::squared_distance;

/// Most points of a cloud that have a feature.
pub const MOST_FEATURES: usize = 4500;
/// Neighbours of a match that a pose is made of, beside the match.
pub const PART: usize = 24;

/// A match's score is the number of neighbours that it has in common with this one of the best.
pub const RANK: usize = 6;

/// The order of a match's neighbours: the one with the most neighbours in common first, of equal ones
/// that of the lowest index.
#[inline(always)]
pub const fn common_key(common: u32, index: u32) -> u64 {
    ((u32::MAX - common) as u64) << 32 | index as u64
}

/// The number of common neighbours of a [`common_key`].
#[inline(always)]
pub const fn common_of(key: u64) -> u32 {
    u32::MAX - (key >> 32) as u32
}

/// Points of a source and a target that match.
pub type Match = [[f32; 3]; 2];

/// Whether two matches keep the distance of their points: in both clouds it is at least `shortest`,
/// and it differs by at most `tolerance`.
///
/// ```
/// use pointmill_core::registration::keep_distance;
/// let (a, b) = ([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]], [[3.0, 0.0, 0.0], [9.0, 5.9, 9.0]]);
/// assert!(keep_distance(&a, &b, 0.2, 1.0));
/// assert!(!keep_distance(&a, &b, 0.05, 1.0) && !keep_distance(&a, &b, 0.2, 3.05));
/// ```
#[inline(always)]
pub fn keep_distance(a: &Match, b: &Match, tolerance: f32, shortest: f32) -> bool {
    let s = sqrt_f32(squared_distance(a[0], b[0]));
    let t = sqrt_f32(squared_distance(a[1], b[1]));
    let (least, off) = if s < t { (s, t - s) } else { (t, s - t) };
    off <= tolerance && least >= shortest
}
