//! The data of the JSON lines of `icp`, field by field; [`printer`](crate::printer) says when each is printed.

use super::args::{IcpArgs, MetricName, SearchName};
use crate::batch::Counts;
use crate::records::Run;
use crate::stats::Times;
use pointmill::icp::{Dropped, IcpParams, Iteration, Observability, Registration};
use serde::Serialize;

/// `begin` of `icp`: what will be done.
#[derive(Debug, Serialize)]
pub(crate) struct Begin {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// The cloud that is moved.
    pub(crate) source: String,
    /// The cloud that it is brought onto.
    pub(crate) target: String,
    /// The parameters in effect.
    pub(crate) params: ParamsRecord,
}

/// `begin` of `icp` of many sources: what will be done.
#[derive(Debug, Serialize)]
pub(crate) struct BatchBegin {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// The folder or the pattern of the sources.
    pub(crate) source: String,
    /// The cloud that they are brought onto.
    pub(crate) target: String,
    /// The number of sources.
    pub(crate) inputs: usize,
    /// The parameters in effect.
    pub(crate) params: ParamsRecord,
}

/// `frame` of `icp` of many sources: where one ended.
#[derive(Debug, Serialize)]
pub(crate) struct Frame {
    /// Its number, from 0, failed ones counted.
    pub(crate) index: usize,
    /// Its file.
    pub(crate) input: String,
    /// The pose and what is known of it.
    #[serde(flatten)]
    pub(crate) found: FoundRecord,
    /// Points of the source, those that were left out among them.
    pub(crate) source_points: usize,
    /// The alignment, the target being ready.
    pub(crate) ms: f64,
    /// Reading the file.
    pub(crate) read_ms: f64,
    /// Moving and writing it; null without `--out`.
    pub(crate) write_ms: Option<f64>,
    /// What is odd about it.
    pub(crate) warnings: Vec<String>,
    /// The aligned source that was written; null without `--out`.
    pub(crate) out: Option<String>,
}

/// `summary` of `icp` of many sources.
#[derive(Debug, Serialize)]
pub(crate) struct BatchSummary {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// What came of the inputs.
    #[serde(flatten)]
    pub(crate) counts: Counts,
    /// Of those that were done, sources that converged.
    pub(crate) converged: usize,
    /// Points of all sources done.
    pub(crate) points: usize,
    /// Points of the target, those that were left out among them.
    pub(crate) target_points: usize,
    /// Times of the sources' `ms`; null if none was done.
    pub(crate) ms: Option<Times>,
    /// Making the target ready: on the CPU its index and its normals, which a GPU makes with the first source.
    pub(crate) target_ms: f64,
    /// Reading target and guess.
    pub(crate) read_ms: f64,
    /// What is odd about the target.
    pub(crate) warnings: Vec<String>,
    /// The folder of aligned sources; null without `--out`.
    pub(crate) out: Option<String>,
}

/// Parameters of the alignment.
#[derive(Debug, Serialize)]
pub(crate) struct ParamsRecord {
    metric: MetricName,
    search: SearchName,
    /// Metres; null without one, or where stages have their own.
    max_distance: Option<f64>,
    /// The file of the pose to begin at; null for the identity.
    guess: Option<String>,
    /// `none`, `huber`, `cauchy`, `geman-mcclure` or `tukey`.
    robust: &'static str,
    /// Its width in metres; null for `none`.
    robust_width: Option<f64>,
    max_iterations: usize,
    step_tolerance: f64,
    /// Points that a normal is made from.
    neighbours: usize,
    drop_zeros: bool,
    /// Empty for one stage of all points.
    schedule: Vec<StageRecord>,
}

/// A stage.
#[derive(Debug, Serialize)]
struct StageRecord {
    /// Metres; 0 for all points.
    voxel_size: f64,
    /// Metres; null without one.
    max_distance: Option<f64>,
}

impl ParamsRecord {
    pub(super) fn new(args: &IcpArgs, params: &IcpParams) -> Self {
        Self {
            metric: args.metric,
            search: args.search,
            max_distance: params.max_distance,
            guess: args.guess.as_deref().map(|path| path.to_string_lossy().into_owned()),
            robust: params.robust.name(),
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

/// `summary` of `icp`: where it ended.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// The pose and what is known of it.
    #[serde(flatten)]
    pub(crate) found: FoundRecord,
    /// Points of the source, those that were left out among them.
    pub(crate) source_points: usize,
    /// Points of the target, likewise.
    pub(crate) target_points: usize,
    /// The whole alignment.
    pub(crate) ms: f64,
    /// Reading the files.
    pub(crate) read_ms: f64,
    /// What is odd about the clouds.
    pub(crate) warnings: Vec<String>,
    /// The aligned source that was written; null without `--out`.
    pub(crate) out: Option<String>,
    /// The picture that was written; null without `--visualize`.
    pub(crate) picture: Option<String>,
    /// The plot that was written; null without `--plot`.
    pub(crate) plot: Option<String>,
}

/// An alignment, in the field names of the library.
#[derive(Debug, Serialize)]
pub(crate) struct FoundRecord {
    /// The pose as a 4x4 matrix, rows first.
    target_from_source: [f64; 16],
    /// Why it ended: `fixed`, `step-below`, `cycle`, `max-iterations`, `no-pairs` or `degenerate`.
    pub(super) status: &'static str,
    /// Whether the pose is an answer.
    pub(super) converged: bool,
    /// Steps that were made.
    pub(super) iterations: usize,
    /// Pairs by source points.
    pub(super) fitness: f64,
    /// Root mean square distance of the pairs in metres.
    pub(super) inlier_rmse: f64,
    /// Pairs at the pose.
    pub(super) num_inliers: usize,
    /// By a translation in metres and a rotation vector in radians about the pivot.
    hessian: [[f64; 6]; 6],
    /// Of the same six; null where a direction is not determined.
    covariance: Option<[[f64; 6]; 6]>,
    /// Which directions the pairs determine.
    observability: ObservabilityRecord,
    /// The mean of the source points at the pose.
    pivot: [f64; 3],
    /// Source points that were left out.
    source_dropped: DroppedRecord,
    /// Target points that were left out.
    target_dropped: DroppedRecord,
    /// Reading both clouds, sorting, trees and normals.
    prepare_ms: f64,
    /// Every pose on the way.
    trace: Vec<IterationRecord>,
}

#[derive(Debug, Serialize)]
struct ObservabilityRecord {
    /// How many directions are determined.
    rank: usize,
    /// How stiff the fit is in each direction, ascending.
    eigenvalues: [f64; 6],
    /// Translation along x, y, z, then turns about them in metres.
    directions: [[f64; 6]; 6],
    /// Whether each is determined.
    observable: [bool; 6],
}

#[derive(Debug, Serialize)]
struct DroppedRecord {
    /// With a coordinate that is not finite.
    nonfinite: usize,
    /// At (0, 0, 0); 0 without `--drop-zeros`.
    zeros: usize,
}

/// One look at a pose, and the step from there.
#[derive(Debug, Serialize)]
struct IterationRecord {
    /// The stage of the schedule.
    stage: usize,
    /// The pose that pairs were searched at.
    target_from_source: [f64; 16],
    /// The number of pairs.
    pairs: usize,
    /// Source points with another pair than before.
    changed: usize,
    /// Source points whose neighbour had to be searched for.
    searched: usize,
    /// Root mean square distance of the pairs in metres.
    rmse: f64,
    /// Root mean square motion of the source points to the next pose, in metres.
    step: f64,
    /// Transforming the source and finding neighbours.
    search_ms: f64,
    /// Adding up what pairs say.
    reduce_ms: f64,
    /// The next pose.
    solve_ms: f64,
}

impl From<&Registration> for FoundRecord {
    fn from(found: &Registration) -> Self {
        Self {
            target_from_source: crate::pose::flat(&found.target_from_source),
            status: found.status.as_str(),
            converged: found.converged(),
            iterations: found.iterations,
            fitness: found.fit.fitness,
            inlier_rmse: found.fit.inlier_rmse,
            num_inliers: found.fit.num_inliers,
            hessian: found.hessian,
            covariance: found.covariance,
            observability: (&found.fit.observability).into(),
            pivot: found.fit.pivot,
            source_dropped: found.fit.source_dropped.into(),
            target_dropped: found.fit.target_dropped.into(),
            prepare_ms: found.fit.prepare_ms,
            trace: found.fit.trace.iter().map(IterationRecord::from).collect(),
        }
    }
}

impl From<&Observability> for ObservabilityRecord {
    fn from(seen: &Observability) -> Self {
        let &Observability { eigenvalues, directions, observable, .. } = seen;
        Self { rank: seen.rank(), eigenvalues, directions, observable }
    }
}

impl From<Dropped> for DroppedRecord {
    fn from(dropped: Dropped) -> Self {
        Self { nonfinite: dropped.non_finite, zeros: dropped.zeros }
    }
}

impl From<&Iteration> for IterationRecord {
    fn from(look: &Iteration) -> Self {
        let &Iteration { stage, target_from_source, pairs, changed, searched, rmse, step, timing, .. } = look;
        let pointmill::icp::Timing { search_ms, reduce_ms, solve_ms, .. } = timing;
        let target_from_source = crate::pose::flat(&target_from_source);
        Self { stage, target_from_source, pairs, changed, searched, rmse, step, search_ms, reduce_ms, solve_ms }
    }
}
