//! Points of detectors: furthest samples, balls and nearest neighbours.
//!
//! [`furthest_point_sample`] takes points that are far from each other, [`ball_query`] finds the
//! points of balls, and [`knn`] the nearest points. A [`FurthestSampler`], a [`BallQuery`] and a
//! [`Knn`] keep their memory between calls. The same input gives the same bits on every device, in
//! every run and with any number of threads.
//!
//! # Points
//! Rows of `f32` whose first columns are x, y, z. Of a batch, splits say where the rows of each item
//! start; those of different items never meet, and the rows of a result count from the first of all.
//! A point with a NaN or an infinity in x, y, z is never found, and of such a query nothing is near.
//!
//! # Arithmetic
//! `f32`: the squared distance is `dx * dx + dy * dy + dz * dz`, from left to right, without a fused
//! multiplication. Of equal distances the lower row comes first.
//!
//! # Waiting
//! On a GPU calls only queue work, and can be recorded in a graph.

mod buckets;
mod cpu;
pub(crate) mod gather;
mod gpu;
mod input;
mod params;
mod result;
#[cfg(test)]
mod tests;
mod workers;

pub use params::{BallParams, BallPick, Fill, FurthestParams, KnnParams, Start};
pub use result::{
    Balls, BallsArray, BallsArrays, FurthestArray, FurthestPoints, FurthestPointsArrays, Neighbours, NeighboursArray,
    NeighboursArrays,
};
pub use workers::{BallQuery, FurthestSampler, Knn};

use crate::{Device, Result, Rows};

/// Takes points one after the other, each the furthest from those before it.
///
/// **Shapes**: `points` `[N, C]` of `f32` with C >= 3; the result has the parameters' number of rows.
///
/// **Units and frames**: metres, in the frame of the points.
///
/// **Order and determinism**: in the order in which they are taken; see the [module](self).
///
/// **Limits**: N and the number of samples are below 2^30.
///
/// # Errors
/// A number of 0, points of another shape; out of memory, a lost device.
///
/// **Source**: Qi and others, `PointNet++`, 2017; with features Yang and others, 3DSSD, 2020. Boxes of
/// neighbours bound what a sample can change, as Han and others, `QuickFPS`, 2023.
///
/// ```
/// use pointmill::points::{FurthestParams, furthest_point_sample};
/// use pointmill::{Device, Rows};
/// let points = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [4.0, 0.0, 0.0], [2.5, 0.0, 0.0]];
/// let params = FurthestParams { number: 3, ..FurthestParams::default() };
/// assert_eq!(furthest_point_sample(&points, &params, &Device::cpu())?.read()?.rows, [0, 2, 3]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn furthest_point_sample<'a>(
    points: impl Into<Rows<'a>>,
    params: &FurthestParams,
    device: &Device,
) -> Result<FurthestPoints> {
    let mut sampler = FurthestSampler::new(&device.stream()?, params)?;
    let mut out = sampler.output()?;
    sampler.run(points, None, [None; 2], &mut out)?;
    Ok(out)
}

/// Finds the points of a ball around each centre.
///
/// A point is in the ball if its squared distance is at least `min_radius * min_radius` and below
/// `radius * radius`, or 0.
///
/// **Shapes**: `points` `[N, C]`, `centres` `[M, D]` of `f32`; the result has `[M, most]` rows.
///
/// **Units and frames**: metres, in one frame.
///
/// **Order and determinism**: rows of a ball ascend, or with [`BallPick::Nearest`] the nearest comes
/// first; see the [module](self).
///
/// **Limits**: N and M are below 2^30, M times `most` below 2^31, `most` at most 256.
///
/// # Errors
/// Parameters out of range, points of another shape; out of memory, a lost device.
///
/// **Source**: Qi and others, `PointNet++`, 2017.
///
/// ```
/// use pointmill::Device;
/// use pointmill::points::{BallParams, ball_query};
/// let points = [[0.0f32, 0.0, 0.0], [5.0, 0.0, 0.0], [0.9, 0.0, 0.0]];
/// let balls = ball_query(&points, &[[0.0f32; 3], [9.0; 3]], &BallParams { most: 3, ..BallParams::default() }, &Device::cpu())?;
/// let balls = balls.read()?;
/// assert_eq!(balls.rows, [0, 2, 0, /**/ -1, -1, -1]);
/// assert_eq!(balls.num_points, [2, 0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn ball_query<'a>(
    points: impl Into<Rows<'a>>,
    centres: impl Into<Rows<'a>>,
    params: &BallParams,
    device: &Device,
) -> Result<Balls> {
    let mut query = BallQuery::new(&device.stream()?, params)?;
    let mut out = query.output()?;
    query.run(points, centres, [None; 2], &mut out)?;
    Ok(out)
}

/// Finds the nearest points of each query.
///
/// **Shapes**: `points` `[N, C]`, `queries` `[M, D]` of `f32`; the result has `[M, k]` rows and squared
/// distances.
///
/// **Units and frames**: metres, in one frame; distances in square metres.
///
/// **Order and determinism**: the nearest first; see the [module](self).
///
/// **Limits**: N and M are below 2^30, M times `k` below 2^31, `k` at most 256.
///
/// # Errors
/// Parameters out of range, points of another shape; out of memory, a lost device.
///
/// ```
/// use pointmill::Device;
/// use pointmill::points::{KnnParams, knn};
/// let points = [[0.0f32, 0.0, 0.0], [5.0, 0.0, 0.0]];
/// let found = knn(&points, &[[4.0f32, 0.0, 0.0]], &KnnParams { k: 3 }, &Device::cpu())?.read()?;
/// assert_eq!(found.rows, [1, 0, -1]);
/// assert_eq!(found.squared_distances, [1.0, 16.0, f32::INFINITY]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn knn<'a>(
    points: impl Into<Rows<'a>>,
    queries: impl Into<Rows<'a>>,
    params: &KnnParams,
    device: &Device,
) -> Result<Neighbours> {
    let mut worker = Knn::new(&device.stream()?, params)?;
    let mut out = worker.output()?;
    worker.run(points, queries, [None; 2], &mut out)?;
    Ok(out)
}
