//! The fields of `ndt` in its JSON lines.

use super::args::{CellArgs, Model};
use crate::json::FrameCpu;
use pointmill::ndt::{AlignParams, NdtFit, NdtMoments, NdtRegistration, NdtReport, Pose, Stop, matrix_of};
use serde::{Deserialize, Serialize};

/// `begin` of `ndt build`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BuildBegin {
    /// Whether each input becomes a grid of its own.
    pub(super) tiles: bool,
    /// The parameters in effect.
    pub(super) params: ParamsRecord,
}

/// `frame` of `ndt build`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BuildRow {
    /// The format of the input, or `synthetic`.
    pub(super) format: String,
    /// The type of the coordinates, `f32` or `f64`.
    pub(super) element: &'static str,
    /// Points of the input.
    pub(super) points: usize,
    /// Points among them at (0, 0, 0) that were left out; 0 without `--drop-zeros`.
    pub(super) zeros: usize,
    /// What was counted; null if all inputs become one grid.
    pub(super) report: Option<ReportRecord>,
    /// The moments that were written; null if none were.
    pub(super) moments: Option<String>,
}

/// `summary` of `ndt build` and of `ndt merge`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GridTotals {
    /// Points of all inputs that were added, those that are not finite included.
    pub(super) points: usize,
    /// Edge of a cell in metres, as the lattice has it.
    pub(super) resolution: f64,
    /// Cells of all grids.
    pub(super) voxels: usize,
    /// What was counted; null if each input has a grid of its own, or none was done.
    pub(super) report: Option<ReportRecord>,
    /// Time to make the grid of all moments; null if each input has a grid of its own, or none was done.
    pub(super) finish_ms: Option<f64>,
    /// The grid of all moments made on the CPU; null without `--cpu`.
    pub(super) finish_cpu: Option<FrameCpu>,
    /// The moments that were written; null if none were.
    pub(super) moments: Option<String>,
    /// The sums so far of `ndt merge`, and the name of the first input.
    #[serde(skip)]
    pub(super) sum: Option<(NdtMoments, String)>,
    /// Inputs in the sums.
    #[serde(skip)]
    pub(super) added: usize,
}

/// `begin` of `ndt merge`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MergeBegin {
    /// The last inputs, which are subtracted.
    pub(super) minus: usize,
    /// The parameters in effect.
    pub(super) params: ParamsRecord,
}

/// `frame` of `ndt merge`: a file of moments.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MergeRow {
    /// Points of the moments.
    pub(super) points: u64,
    /// Cells of the moments.
    pub(super) cells: usize,
    /// Whether they are subtracted.
    pub(super) minus: bool,
    /// The moments, until they are added.
    #[serde(skip)]
    pub(super) moments: Option<NdtMoments>,
}

/// `begin` of `ndt score` and `ndt align`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MatchBegin {
    /// The map.
    pub(super) map: String,
    /// The scan: a file, a folder or a pattern.
    pub(super) scan: String,
    /// The parameters of a map that is made of clouds or moments.
    pub(super) params: ParamsRecord,
    /// The parameters of the alignment; null for `ndt score`.
    pub(super) align: Option<AlignRecord>,
}

/// `frame` of `ndt score` and `ndt align`: a scan.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MatchRow {
    /// The format of the scan.
    pub(super) format: String,
    /// Points of the scan that were matched.
    pub(super) points: usize,
    /// Points of the scan at (0, 0, 0) that were left out; 0 without `--drop-zeros`.
    pub(super) zeros: usize,
    /// The result for each pose or guess.
    pub(super) poses: Vec<PoseRecord>,
    /// Whether the alignment converged from a guess; null for `ndt score`.
    pub(super) converged: Option<bool>,
    /// The pose with the highest score, for `ndt align` among those that converged; null if there is none.
    pub(super) best: Option<usize>,
}

/// The result for a pose: [`ScorePose`] of `ndt score`, [`AlignPose`] of `ndt align`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum PoseRecord {
    Score(ScorePose),
    Align(AlignPose),
}

/// `summary` of `ndt score` and `ndt align`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MatchTotals {
    /// Cells of the map.
    pub(super) voxels: usize,
    /// Edge of a cell in metres.
    pub(super) resolution: f64,
    /// Points of all scans that were done.
    pub(super) points: usize,
    /// Poses or guesses for each scan.
    pub(super) poses: usize,
    /// Scans that converged from a guess; null for `ndt score`.
    pub(super) converged: Option<usize>,
    /// Time to read poses and map, and to make the map.
    pub(super) map_ms: f64,
    /// What is unusual about the map.
    pub(super) map_warnings: Vec<String>,
    /// Why the alignments of the last scan ended.
    #[serde(skip)]
    pub(super) stops: Vec<&'static str>,
}

/// The parameters of the cells.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ParamsRecord {
    /// Edge of a cell in metres, as given; null if the files define it.
    resolution: Option<f64>,
    /// Model of the covariance of a cell.
    covariance: Model,
    /// Cells with fewer points are left out.
    min_points: u32,
    /// Eigenvalues are raised to at least this part of the largest one of their cell.
    eigen_ratio: f64,
}

impl ParamsRecord {
    pub(crate) fn new(resolution: Option<f64>, covariance: Model, cells: &CellArgs) -> Self {
        let params = cells.params(covariance);
        Self { resolution, covariance, min_points: params.min_points, eigen_ratio: params.eigen_ratio }
    }
}

/// Parameters of alignment.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AlignRecord {
    /// Most iterations.
    pub(crate) max_iterations: usize,
    /// Longest step.
    pub(crate) step_size: f64,
    /// A shorter step ends the alignment.
    pub(crate) epsilon: f64,
}

impl From<&AlignParams> for AlignRecord {
    fn from(&AlignParams { max_iterations, step_size, epsilon }: &AlignParams) -> Self {
        Self { max_iterations, step_size, epsilon }
    }
}

/// What was counted in the cells of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReportRecord {
    /// Points that were added.
    points: u64,
    /// Points among them with a NaN or an infinity in x, y or z.
    nonfinite: u64,
    /// Occupied cells.
    cells: usize,
    /// Occupied cells with fewer points than `min_points`.
    sparse: usize,
    /// Cells without extent, or with too few points for their covariance.
    degenerate: usize,
    /// Cells of the grid.
    voxels: usize,
    /// Cells of the grid with a raised eigenvalue.
    clamped: usize,
}

impl From<&NdtReport> for ReportRecord {
    fn from(&NdtReport { points, nonfinite, cells, sparse, degenerate, voxels, clamped }: &NdtReport) -> Self {
        Self { points, nonfinite, cells, sparse, degenerate, voxels, clamped }
    }
}

impl From<ReportRecord> for NdtReport {
    fn from(record: ReportRecord) -> Self {
        let ReportRecord { points, nonfinite, cells, sparse, degenerate, voxels, clamped } = record;
        Self { points, nonfinite, cells, sparse, degenerate, voxels, clamped }
    }
}

/// How well a scan fits at a pose.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FitRecord {
    /// The score divided by the number of points.
    pub(super) transform_probability: f64,
    /// Nearest-voxel transformation likelihood: the mean of the largest term of each point that has one.
    pub(super) nvtl: f64,
    /// The score: the sum of the terms of all points and cells.
    pub(super) score: f64,
    /// Points with a cell within reach.
    pub(super) hits: usize,
}

impl From<&NdtFit> for FitRecord {
    fn from(&NdtFit { score, transform_probability, nvtl, hits }: &NdtFit) -> Self {
        Self { transform_probability, nvtl, score, hits }
    }
}

/// The score of a scan at a pose.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ScorePose {
    /// The number of the pose, from 0.
    pub(crate) index: usize,
    /// The file of the pose.
    pub(crate) pose: String,
    /// The pose as a 4x4 matrix, rows first.
    pub(crate) target_from_source: [f64; 16],
    /// How well the scan fits.
    #[serde(flatten)]
    pub(crate) fit: FitRecord,
}

/// The alignment of a scan from a guess.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AlignPose {
    /// The number of the pose, from 0.
    pub(crate) index: usize,
    /// The file of the guess, or `identity`.
    pub(crate) guess: String,
    /// The pose that was found as a 4x4 matrix, rows first.
    pub(crate) target_from_source: [f64; 16],
    /// Whether the last step was shorter than `epsilon`.
    pub(crate) converged: bool,
    /// Why it ended: `converged`, `max-iterations`, `no-pairs` or `singular`.
    pub(crate) stop: &'static str,
    /// Iterations that were made.
    pub(crate) iterations: usize,
    /// How well the scan fits at the pose.
    #[serde(flatten)]
    pub(crate) fit: FitRecord,
    /// The covariance of x, y, z, roll, pitch, yaw from this map and scan alone; null if the Hessian has no inverse.
    pub(crate) covariance: Option<[[f64; 6]; 6]>,
}

impl ScorePose {
    pub(super) fn new(index: usize, file: &str, pose: &Pose, fit: &NdtFit) -> Self {
        Self { index, pose: file.into(), target_from_source: matrix_of(pose), fit: fit.into() }
    }
}

impl AlignPose {
    pub(crate) fn new(index: usize, guess: &str, found: &NdtRegistration) -> Self {
        Self {
            index,
            guess: guess.into(),
            target_from_source: found.target_from_source,
            converged: found.converged(),
            stop: match found.stop {
                Stop::Converged => "converged",
                Stop::MaxIterations => "max-iterations",
                Stop::NoPairs => "no-pairs",
                Stop::Singular => "singular",
            },
            iterations: found.iterations,
            fit: (&found.fit).into(),
            covariance: found.covariance,
        }
    }
}
