//! What an alignment asks of the side that holds sweep and map, the CPU or a GPU.

use pointmill::{Result, Rows};
use pointmill_core::icp::pairs::{Linearization, STEP_TERMS};
use pointmill_core::icp::spread::Spread;
use pointmill_core::linear::Square;
use pointmill_core::odometry::motion::Motion;
use pointmill_core::rigid::{Rigid, dot};
use std::fmt;

/// Holds the sweep and the map, and does what takes time. Each side gives the same bits.
pub(super) trait Engine: fmt::Debug + Send + Sync {
    /// Takes a sweep: of each cell of half a voxel the first point is a sample for the map, of each cell of a voxel the first sample is a key for the alignment, in the order of the sweep.
    fn sample(&mut self, points: &Rows<'_>, times: Option<&[f64]>) -> Result<Sampled>;
    /// Keeps the samples as those of the first sweep.
    fn keep_first(&mut self) -> Result<()>;
    /// Empties the map.
    fn clear(&mut self) -> Result<()>;
    /// Moves the keys to where they are at the moment of a motion. Returns the sums of [`spread_terms`].
    fn place(&mut self, motion: Option<Motion>) -> Result<[f64; SPREAD_TERMS]>;
    /// Pairs the keys with the nearest points of the map, and adds up what the pairs say.
    fn look(&mut self, look: &Look) -> Result<[f64; STEP_TERMS]>;
    /// What the pairs of the last look see of six directions, added up: as [`seen`](pointmill_core::odometry::pairs::seen).
    fn support(&mut self, look: &Look, directions: &Square<6>) -> Result<[f64; 12]>;
    /// Adds samples to the map in their order, moved to where they are at the moment of a motion, at a pose.
    fn insert(&mut self, sweep: Which, motion: Option<Motion>, pose: &Rigid) -> Result<()>;
    /// Takes voxels away whose middle is farther than `max_range` from a place.
    fn trim(&mut self, middle: [f64; 3]) -> Result<()>;
    /// The number of points and of voxels of the map.
    fn sizes(&mut self) -> Result<[usize; 2]>;
    /// The points of the map: those that left it, if they are kept, then voxel by voxel.
    fn all(&self) -> Result<Vec<[f64; 3]>>;
}

/// What is known of a sweep that was sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sampled {
    /// Keys.
    pub(super) keys: usize,
    /// Points that are finite, in range and have a finite time, if any has.
    pub(super) usable: usize,
    /// Least and largest time of these.
    pub(super) times: Option<[f64; 2]>,
    /// A number that the samples make.
    pub(super) mark: u64,
}

/// Samples of which sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The sweep that was sampled last.
    Last,
    /// The first one.
    First,
}

/// A look at the pairs of a pose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) at: Linearization,
    /// Width of the robust weight in metres.
    pub(super) width: f64,
    /// Pairs are no farther apart than these metres.
    pub(super) within: f32,
}

impl Look {
    /// How many cells beside its own a key may have its neighbour in, along each axis.
    pub(super) fn reach(&self, voxel_size: f64) -> i32 {
        (self.within / voxel_size as f32).ceil() as i32
    }
}

/// Sums that give the spread of keys.
pub(super) const SPREAD_TERMS: usize = 4;

/// The spread of so many keys: the mean, and a third of the mean square a direction. The size of the covariance alone is used.
pub(super) fn spread_of(sums: &[f64; SPREAD_TERMS], keys: usize) -> Spread {
    let n = keys as f64;
    let mean = [sums[0] / n, sums[1] / n, sums[2] / n];
    let third = (sums[3] / n - dot(mean, mean)) / 3.0;
    Spread { mean, covariance: std::array::from_fn(|i| std::array::from_fn(|j| if i == j { third } else { 0.0 })) }
}
