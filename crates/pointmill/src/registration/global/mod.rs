//! Registration without a guess: the pose that brings one cloud onto another, and a verdict.
//!
//! [`register`] compares the shapes around points; [`Target`] keeps what it makes of one cloud for
//! many sources. The result [`Registered`] says whether its pose is an answer: a pose is
//! [`Verdict::Found`] only where both clouds fit and no other pose fits nearly as well.
//!
//! # Method
//! 1. Points are joined to the means of voxels. Those whose surroundings are no plane get a
//!    histogram of the shapes around them.
//! 2. Two points match where each has the other's nearest histogram.
//! 3. Matches that keep their distances to each other are joined in a graph. Each match, with those
//!    that have the most neighbours in common with it, makes a pose.
//! 4. Poses that many matches agree with are held against both clouds: of the points of one that lie
//!    in the other's part of the scene, how many meet a point there?
//! 5. ICP refines the best.
//!
//! Where these end without an answer, and both clouds have a ground, they are turned upright by it,
//! and the search below adds candidates to step 4.
//!
//! With [`level`](RegisterParams::level), candidates come from the search of
//! [`registration::level`](super::level) instead of steps 1 to 3: points of the source above its
//! ground are placed among normal distributions of the target, at the height of its ground, at each
//! x, y and yaw.
//!
//! **Determinism**: there is no random number. The same bits on every
//! device, for any number of threads.
//!
//! **Source**: Rusu, Blodow and Beetz, Fast Point Feature Histograms (FPFH) for 3D Registration,
//! 2009; Chen, Sun, Yang and Tao, SC2-PCR: A Second Order Spatial Compatibility for Efficient and
//! Robust Point Cloud Registration, 2022; Yang, Antonante, Tzoumas and Carlone, Graduated
//! Non-Convexity for Robust Spatial Perception, 2020.

mod candidates;
mod cpu;
mod evidence;
#[cfg(test)]
mod fixtures;
mod gpu;
mod ground;
mod judge;
mod params;
mod ready;
mod result;
mod surface;
mod target;
#[cfg(test)]
mod tests;
mod thin;
mod tilt;
mod types;
mod upright;

pub use params::{Refine, RegisterParams};
pub use result::{Overlap, Registered, Timing, Verdict};
pub use target::Target;

use crate::{Device, Result, Rows};

/// The pose that brings `source` onto `target`, without a guess, and a verdict.
///
/// **Shapes, units and frames**: rows of which the first three columns are x, y, z in metres.
/// `target_from_source` takes points of the source's frame to the target's. Points that are not
/// finite, and those at the origin, are left out. Each cloud is worked on about its own middle, so
/// large coordinates of `f64` keep their digits.
///
/// **Limits**: clouds of fewer than 50 points or voxels have no answer.
///
/// # Errors
/// Parameters out of range, too many points, memory of another device; out of memory, a lost device.
///
/// ```
/// use pointmill::registration::global::{RegisterParams, Verdict, register};
/// use pointmill::Device;
/// let few = [[0.0f32, 1.0, 2.0], [3.0, 4.0, 5.0]];
/// let none = register(&few, &few, &RegisterParams::default(), &Device::cpu())?;
/// assert_eq!(none.verdict, Verdict::TooFewMatches);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn register<'a>(
    source: impl Into<Rows<'a>>,
    target: impl Into<Rows<'a>>,
    params: &RegisterParams,
    device: &Device,
) -> Result<Registered> {
    Target::new(target, params, device)?.register(source)
}
