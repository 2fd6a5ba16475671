//! Where an alignment ended, and how sure that is.

use pointmill_core::icp::pose::is_observable;
use pointmill_core::linear::{Square, eigen, inverse};

/// Why an alignment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No pair changed, so no further step can: the exact fixed point of point-to-point without weights.
    Fixed,
    /// A step was shorter than asked for.
    StepBelow,
    /// The same pairs came back again and again, with steps that are not short: it goes round in a circle.
    Cycle,
    /// There were as many steps as allowed.
    MaxIterations,
    /// There is no pair: a cloud is empty, or no point has a neighbour within the distance, or none with a normal.
    NoPairs,
    /// The pairs do not determine the pose: all of their weights are zero, or some directions kept the guess. See [`Observability`].
    Degenerate,
}

/// Points that were left out of a cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// With a coordinate that is not finite.
    pub nonfinite: usize,
    /// At exactly (0, 0, 0), where these were to be left out.
    pub zeros: usize,
}

/// Milliseconds by what they were spent on. These alone differ from run to run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    /// Transforming the source and finding neighbours.
    pub search_ms: f64,
    /// Adding up what pairs say.
    pub reduce_ms: f64,
    /// The next pose.
    pub solve_ms: f64,
}

/// One look at a pose: the pairs there, and the step from there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// The stage of the schedule.
    pub stage: usize,
    /// The pose that pairs were searched at, 4x4, rows first.
    pub target_from_source: [f64; 16],
    /// The number of pairs.
    pub pairs: usize,
    /// Source points whose pair is not that of the pose before; all of them at first.
    pub changed: usize,
    /// Source points whose neighbour had to be searched for; of the others it was proved that it is the same.
    pub searched: usize,
    /// Root mean square distance of the pairs in metres.
    pub rmse: f64,
    /// Root mean square motion in metres of the source points to the next pose; 0 for the last.
    pub step: f64,
    /// How long it took.
    pub timing: Timing,
}

/// Which directions of motion the pairs determine.
///
/// A motion is a translation and a turn about [`Registration::pivot`]; turns are told in metres, by the motion of a point that is as far from the pivot as source points are in
/// the root mean square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observability {
    /// How stiff the fit is in each direction, by the number of pairs; ascending.
    pub eigenvalues: [f64; 6],
    /// The direction of each: translation along x, y, z, then turns about them; of length one.
    pub directions: [[f64; 6]; 6],
    /// Whether it is determined. In those that are not the pose is that of the guess.
    pub observable: [bool; 6],
}

impl Observability {
    pub(super) fn of(hessian: &Square<6>, pairs: f64) -> Self {
        if pairs <= 0.0 {
            let directions = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
            return Self { eigenvalues: [0.0; 6], directions, observable: [false; 6] };
        }
        let (values, directions) = eigen(hessian);
        let observable = std::array::from_fn(|k| is_observable(&values, k));
        Self { eigenvalues: values.map(|v| v / pairs), directions, observable }
    }

    /// The number of directions that are determined.
    pub fn rank(&self) -> usize {
        self.observable.iter().filter(|o| **o).count()
    }
}

/// The pose that brings a source onto a target, and the doubt about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    /// The pose, 4x4, rows first; always finite and rigid.
    pub target_from_source: [f64; 16],
    /// Why it ended.
    pub status: Status,
    /// Steps that were made, in all stages.
    pub iterations: usize,
    /// Pairs by source points; of the points that were not left out, in the last stage.
    pub fitness: f64,
    /// Root mean square distance of the pairs in metres, at the pose; 0 without pairs.
    pub inlier_rmse: f64,
    /// Pairs at the pose.
    pub num_inliers: usize,
    /// Second derivatives of half the weighted sum of squared residuals by a translation in metres and a rotation vector in radians about the pivot, in the axes of the
    /// target. For point-to-plane and GICP products of first derivatives.
    pub hessian: [[f64; 6]; 6],
    /// The inverse of the Hessian times the mean of the squared residuals, where all directions are determined: how uncertain the pose is if all pairs are right and their
    /// errors independent. That they are not makes it larger.
    pub covariance: Option<[[f64; 6]; 6]>,
    /// Which directions the pairs determine.
    pub observability: Observability,
    /// The mean of the source points at the pose, in the frame of the target.
    pub pivot: [f64; 3],
    /// Source points that were left out.
    pub source_dropped: Dropped,
    /// Target points that were left out.
    pub target_dropped: Dropped,
    /// Every pose on the way.
    pub trace: Vec<Iteration>,
    /// Milliseconds for reading both clouds, sorting, trees and normals, in all stages.
    pub prepare_ms: f64,
}

impl Registration {
    /// Whether the pose is an answer: a step was short enough or no pair changed, and the pairs determine all directions.
    pub fn converged(&self) -> bool {
        matches!(self.status, Status::Fixed | Status::StepBelow)
    }
}

/// The covariance of a pose whose residuals have this sum of squares, with `freedom` more of them than the pose has numbers.
pub(super) fn covariance(hessian: &Square<6>, squares: f64, freedom: f64) -> Option<Square<6>> {
    let by = squares / freedom.max(1.0);
    let covariance = inverse(hessian)?.map(|row| row.map(|x| x * by));
    covariance.as_flattened().iter().all(|x| x.is_finite()).then_some(covariance)
}
