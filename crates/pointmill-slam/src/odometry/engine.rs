//! What an alignment asks of the side that holds sweep and map, the CPU or a GPU.

use crate::sampling::Sampled;
use pointmill::{Result, Rows};
use pointmill_core::icp::pairs::{Linearization, STEP_TERMS};
use pointmill_core::icp::spread::Spread;
use pointmill_core::linear::Square;
use pointmill_core::odometry::motion::Motion;
use pointmill_core::rigid::{Rigid, dot};
use std::fmt;

/// Holds the sweep and the map, and does what takes time. Each side gives the same bits.
pub(super) trait Engine: fmt::Debug + Send + Sync {
    /// Takes a sweep: its samples are for the map, its keypoints for the alignment; where these are
    /// few, the samples are the keypoints.
    fn sample(&mut self, points: &Rows<'_>, times: Option<&[f64]>) -> Result<Sampled>;
    /// Keeps the map points as those of the first sweep.
    fn keep_first(&mut self) -> Result<()>;
    /// Empties the map.
    fn clear(&mut self) -> Result<()>;
    /// Moves the keypoints to where they are at the moment of a motion. Returns the sums that
    /// [`spread_of`] takes.
    fn place(&mut self, motion: Option<Motion>) -> Result<[f64; SPREAD_TERMS]>;
    /// Pairs the keypoints with the nearest points of the map, and adds up the terms of the normal
    /// equations.
    fn linearize(&mut self, request: &Linearize) -> Result<[f64; STEP_TERMS]>;
    /// The support of six directions by the last correspondences, added up: as
    /// [`seen`](pointmill_core::odometry::pairs::seen).
    fn support(&mut self, request: &Linearize, directions: &Square<6>) -> Result<[f64; 12]>;
    /// Adds map points in their order, moved to where they are at the moment of a motion, at a
    /// pose.
    fn insert(&mut self, sweep: Which, motion: Option<Motion>, pose: &Rigid) -> Result<()>;
    /// Takes voxels away whose middle is farther than `max_range` from a place.
    fn trim(&mut self, middle: [f64; 3]) -> Result<()>;
    /// The number of points and of voxels of the map.
    fn sizes(&mut self) -> Result<[usize; 2]>;
    /// The points of the map that sweeps are aligned with, voxel by voxel.
    fn near(&self) -> Result<Vec<[f64; 3]>>;
    /// The points of the map: those that left it, if they are kept, then voxel by voxel.
    fn all(&self) -> Result<Vec<[f64; 3]>>;
}

/// A sweep with fewer keypoints is aligned with its samples.
const FEW: usize = 1000;

/// Whether a sweep is aligned with its samples instead of its keypoints.
pub(super) const fn takes_samples(sweep: &Sampled) -> bool {
    sweep.keypoints < FEW
}

/// The number of points that a sweep is aligned with.
pub(super) const fn taken(sweep: &Sampled) -> usize {
    if takes_samples(sweep) { sweep.samples } else { sweep.keypoints }
}

/// Map points of which sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The sweep that was sampled last.
    Last,
    /// The first one.
    First,
}

/// Where to linearize, and which correspondences to take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linearize {
    pub(super) at: Linearization,
    /// Width of the robust weight in metres.
    pub(super) width: f64,
    /// Pairs are no farther apart than these metres.
    pub(super) within: f32,
    /// So many keypoints, in the order of [`place_of`](pointmill_core::odometry::order::place_of).
    pub(super) first: usize,
}

impl Linearize {
    /// How many cells beside its own a keypoint may have its neighbour in, along each axis.
    pub(super) fn reach(&self, voxel_size: f64) -> i32 {
        (self.within / voxel_size as f32).ceil() as i32
    }
}

/// Sums that give the spread of keypoints.
pub(super) const SPREAD_TERMS: usize = 4;

/// The spread of so many keypoints: the mean, and a third of the mean square in each direction.
/// Only the size of the covariance is used.
pub(super) fn spread_of(sums: &[f64; SPREAD_TERMS], keypoints: usize) -> Spread {
    let n = keypoints as f64;
    let mean = [sums[0] / n, sums[1] / n, sums[2] / n];
    let third = (sums[3] / n - dot(mean, mean)) / 3.0;
    Spread { mean, covariance: std::array::from_fn(|i| std::array::from_fn(|j| if i == j { third } else { 0.0 })) }
}
