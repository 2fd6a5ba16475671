//! The fields of `icp` in its JSON lines.

use super::args::{IcpArgs, MetricName, SearchName};
use crate::text::shown;
use pointmill::icp::{Dropped, IcpParams, Iteration, Observability, Registration, Robust, Status};
use serde::Serialize;

/// `begin` of `icp`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The source: a file, a folder or a pattern.
    pub(super) source: String,
    /// The target.
    pub(super) target: String,
    /// The parameters in effect.
    pub(super) params: ParamsRecord,
}

/// `frame` of `icp`: a source.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The pose and how well it fits.
    #[serde(flatten)]
    pub(super) found: FoundRecord,
    /// Points of the source, those that were left out included.
    pub(super) source_points: usize,
    /// Points of the target, those that were left out included.
    pub(super) target_points: usize,
}

/// `summary` of `icp`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Sources that converged.
    pub(super) converged: usize,
    /// Points of all sources that were done.
    pub(super) points: usize,
    /// Points of the target, those that were left out included.
    pub(super) target_points: usize,
    /// Time to prepare the target. On the CPU these are its index and its normals; a GPU makes them with the first source.
    pub(super) target_ms: f64,
    /// Time to read target and guess.
    pub(super) target_read_ms: f64,
    /// What is unusual about the target.
    pub(super) target_warnings: Vec<String>,
    /// The plot that was written; null without `--plot`.
    pub(super) plot: Option<String>,
    /// Why the last source ended.
    #[serde(skip)]
    pub(super) status: &'static str,
}

/// Parameters of the alignment.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ParamsRecord {
    /// Error metric.
    metric: MetricName,
    /// Search for neighbours.
    search: SearchName,
    /// The largest distance of a pair in metres; null without one, or if stages have their own.
    max_distance: Option<f64>,
    /// The file of the pose to start from; null for the identity.
    guess: Option<String>,
    /// `none`, `huber`, `cauchy`, `geman-mcclure` or `tukey`.
    robust: &'static str,
    /// The width of the robust kernel in metres; null for `none`.
    robust_width: Option<f64>,
    /// Most iterations of a stage.
    max_iterations: usize,
    /// A shorter step ends a stage.
    step_tolerance: f64,
    /// Points that a normal is estimated from.
    neighbours: usize,
    /// Whether points at (0, 0, 0) are left out.
    drop_zeros: bool,
    /// The stages; empty for one stage of all points.
    schedule: Vec<StageRecord>,
}

/// A stage.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StageRecord {
    /// Edge of the cells whose points are merged, in metres; 0 for all points.
    voxel_size: f64,
    /// The largest distance of a pair in metres; null without one.
    max_distance: Option<f64>,
}

impl ParamsRecord {
    pub(super) fn new(args: &IcpArgs, params: &IcpParams) -> Self {
        Self {
            metric: args.metric,
            search: args.search,
            max_distance: params.max_distance,
            guess: args.guess.as_deref().map(shown),
            robust: match params.robust {
                Robust::None => "none",
                Robust::Huber(_) => "huber",
                Robust::Cauchy(_) => "cauchy",
                Robust::GemanMcClure(_) => "geman-mcclure",
                Robust::Tukey(_) => "tukey",
            },
            robust_width: params.robust.width(),
            max_iterations: params.max_iterations,
            step_tolerance: params.step_tolerance,
            neighbours: params.neighbours,
            drop_zeros: params.drop_zeros,
            schedule: params
                .schedule
                .iter()
                .map(|s| StageRecord { voxel_size: s.voxel_size, max_distance: s.max_distance })
                .collect(),
        }
    }
}

/// A pose and how well it fits.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FoundRecord {
    /// The pose as a 4x4 matrix, rows first.
    pub(super) target_from_source: [f64; 16],
    /// Why it ended: `fixed`, `step-below`, `cycle`, `max-iterations`, `no-pairs` or `degenerate`.
    pub(super) status: &'static str,
    /// Whether the alignment converged.
    pub(super) converged: bool,
    /// Iterations that were made.
    pub(super) iterations: usize,
    /// Pairs divided by source points.
    pub(super) fitness: f64,
    /// Root mean square distance of the pairs in metres.
    pub(super) inlier_rmse: f64,
    /// Pairs at the pose.
    pub(super) num_inliers: usize,
    /// The Hessian of the error by a translation in metres and a rotation vector in radians about the pivot.
    hessian: [[f64; 6]; 6],
    /// The covariance of the same six numbers; null if a direction is not determined.
    covariance: Option<[[f64; 6]; 6]>,
    /// Which directions the pairs determine.
    pub(super) observability: ObservabilityRecord,
    /// The mean of the source points at the pose.
    pivot: [f64; 3],
    /// Source points that were left out.
    pub(super) source_dropped: DroppedRecord,
    /// Target points that were left out.
    pub(super) target_dropped: DroppedRecord,
    /// Time for sorting, trees and normals.
    pub(super) prepare_ms: f64,
    /// The iterations.
    pub(super) trace: Vec<IterationRecord>,
}

/// Which directions the pairs determine.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ObservabilityRecord {
    /// How many directions are determined.
    pub(super) rank: usize,
    /// Stiffness of the fit in each direction, ascending.
    eigenvalues: [f64; 6],
    /// The directions: translation along x, y, z, then rotation about them, in metres.
    directions: [[f64; 6]; 6],
    /// Whether each direction is determined.
    observable: [bool; 6],
}

/// Points that were left out.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DroppedRecord {
    /// Points with a coordinate that is not finite.
    pub(super) nonfinite: usize,
    /// Points at (0, 0, 0); 0 without `--drop-zeros`.
    pub(super) zeros: usize,
}

/// One iteration: the pairs at a pose, and the step from there.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct IterationRecord {
    /// The stage of the schedule.
    pub(super) stage: usize,
    /// The pose that pairs were searched at.
    pub(super) target_from_source: [f64; 16],
    /// The number of pairs.
    pub(super) pairs: usize,
    /// Source points with another pair than before.
    pub(super) changed: usize,
    /// Source points whose neighbour had to be searched for.
    pub(super) searched: usize,
    /// Root mean square distance of the pairs in metres.
    pub(super) rmse: f64,
    /// Root mean square motion of the source points to the next pose, in metres.
    pub(super) step: f64,
    /// Time to transform the source and to find neighbours.
    pub(super) search_ms: f64,
    /// Time to sum up the equations of the pairs.
    pub(super) reduce_ms: f64,
    /// Time to solve for the next pose.
    pub(super) solve_ms: f64,
}

/// The name of a status.
pub(super) const fn status(status: Status) -> &'static str {
    match status {
        Status::Fixed => "fixed",
        Status::StepBelow => "step-below",
        Status::Cycle => "cycle",
        Status::MaxIterations => "max-iterations",
        Status::NoPairs => "no-pairs",
        Status::Degenerate => "degenerate",
    }
}

impl From<&Registration> for FoundRecord {
    fn from(found: &Registration) -> Self {
        Self {
            target_from_source: found.target_from_source,
            status: status(found.status),
            converged: found.converged(),
            iterations: found.iterations,
            fitness: found.fitness,
            inlier_rmse: found.inlier_rmse,
            num_inliers: found.num_inliers,
            hessian: found.hessian,
            covariance: found.covariance,
            observability: (&found.observability).into(),
            pivot: found.pivot,
            source_dropped: found.source_dropped.into(),
            target_dropped: found.target_dropped.into(),
            prepare_ms: found.prepare_ms,
            trace: found.trace.iter().map(IterationRecord::from).collect(),
        }
    }
}

impl From<&Observability> for ObservabilityRecord {
    fn from(seen: &Observability) -> Self {
        let &Observability { eigenvalues, directions, observable } = seen;
        Self { rank: seen.rank(), eigenvalues, directions, observable }
    }
}

impl From<Dropped> for DroppedRecord {
    fn from(Dropped { nonfinite, zeros }: Dropped) -> Self {
        Self { nonfinite, zeros }
    }
}

impl From<&Iteration> for IterationRecord {
    fn from(look: &Iteration) -> Self {
        let &Iteration { stage, target_from_source, pairs, changed, searched, rmse, step, timing } = look;
        let pointmill::icp::Timing { search_ms, reduce_ms, solve_ms } = timing;
        Self { stage, target_from_source, pairs, changed, searched, rmse, step, search_ms, reduce_ms, solve_ms }
    }
}
