//! The data of the JSON lines of `ndt`, field by field; [`printer`](crate::printer) says when each is printed.

use super::args::{CellArgs, Model};
use crate::batch::Counts;
use crate::records::Run;
use crate::stats::Times;
use pointmill::ndt::{NdtFit, NdtRegistration, NdtReport};
use serde::{Deserialize, Serialize};

/// `begin` of `build`: what will be done.
#[derive(Debug, Serialize)]
pub(crate) struct BuildBegin {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// The number of inputs.
    pub(crate) inputs: usize,
    /// Whether each input becomes a grid of its own.
    pub(crate) tiles: bool,
    /// The parameters in effect.
    pub(crate) params: ParamsRecord,
}

/// `begin` of `merge`: what will be done.
#[derive(Debug, Serialize)]
pub(crate) struct MergeBegin {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// What is added up.
    pub(crate) inputs: Vec<String>,
    /// What is taken away.
    pub(crate) minus: Vec<String>,
    /// The parameters in effect.
    pub(crate) params: ParamsRecord,
}

/// `begin` of `score` and `align`: what will be done.
#[derive(Debug, Serialize)]
pub(crate) struct MatchBegin {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// The map.
    pub(crate) map: String,
    /// The scan.
    pub(crate) scan: String,
    /// Parameters of a map that is made of clouds or moments.
    pub(crate) params: ParamsRecord,
    /// Those of the alignment; null for `score`.
    pub(crate) align: Option<AlignRecord>,
}

/// How cells are made.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ParamsRecord {
    /// Edge of a cell in metres as it was asked for; null where files tell it.
    resolution: Option<f64>,
    /// `unbiased`, `autoware` or `population`.
    covariance: Model,
    /// Cells of fewer points are left out.
    min_points: u32,
    /// Eigenvalues below this part of a cell's largest are raised to it.
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
pub(crate) struct AlignRecord {
    /// Most steps.
    pub(crate) max_iterations: usize,
    /// Longest step.
    pub(crate) step_size: f64,
    /// A shorter step ends it.
    pub(crate) epsilon: f64,
}

/// The field names of the library's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReportRecord {
    /// Points that were added.
    points: u64,
    /// Of these, points with a NaN or an infinity in x, y or z.
    nonfinite: u64,
    /// Occupied cells.
    cells: usize,
    /// Of these, cells of fewer points than asked for.
    sparse: usize,
    /// Cells without extent, or with too few points for their covariance.
    degenerate: usize,
    /// Cells that are left, the rows of the grid.
    voxels: usize,
    /// Of these, cells with a raised eigenvalue.
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

/// `frame` of `build`: an input that was done.
#[derive(Debug, Serialize)]
pub(crate) struct BuildFrame {
    /// Its number, from 0, failed ones counted.
    pub(crate) index: usize,
    /// Its name.
    pub(crate) input: String,
    /// Its format, or `synthetic`.
    pub(crate) format: String,
    /// The device it was done on: that of the command, or with `--on-oom cpu` the CPU.
    pub(crate) device: String,
    /// The type of the coordinates that went in, `f32` or `f64`.
    pub(crate) element: &'static str,
    /// Its points.
    pub(crate) points: usize,
    /// Of these, points at (0, 0, 0) that were left out; 0 without `--drop-zeros`.
    pub(crate) zeros: usize,
    /// What was counted; null where all inputs become one grid.
    pub(crate) report: Option<ReportRecord>,
    /// Upload and sums, and the grid where each input has one.
    pub(crate) ms: f64,
    /// Reading the input, or making the sweep.
    pub(crate) read_ms: f64,
    /// The grid that was written; null where none was.
    pub(crate) out: Option<String>,
    /// The moments that were written; null where none were.
    pub(crate) moments: Option<String>,
    /// What is odd about the input.
    pub(crate) warnings: Vec<String>,
}

/// `summary` of `build`.
#[derive(Debug, Serialize)]
pub(crate) struct BuildSummary {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// What came of the inputs.
    #[serde(flatten)]
    pub(crate) counts: Counts,
    /// Points of all inputs done that were added, those that are not finite among them.
    pub(crate) points: usize,
    /// Edge of a cell in metres, as the lattice has it.
    pub(crate) resolution: f64,
    /// Rows of all grids.
    pub(crate) voxels: usize,
    /// What was counted; null where each input has a grid of its own, or none was done.
    pub(crate) report: Option<ReportRecord>,
    /// Times of the inputs' `ms`; null if none was done.
    pub(crate) ms: Option<Times>,
    /// Making the grid of all sums; null where each input has a grid of its own, or none was done.
    pub(crate) finish_ms: Option<f64>,
    /// The grid, or the folder of grids, that was written; null where none was.
    pub(crate) out: Option<String>,
    /// The moments that were written; null where none were.
    pub(crate) moments: Option<String>,
    /// The picture that was written; null without `--visualize`.
    pub(crate) picture: Option<String>,
}

/// `summary` of `merge`.
#[derive(Debug, Serialize)]
pub(crate) struct MergeSummary {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// Edge of a cell in metres.
    pub(crate) resolution: f64,
    /// What was counted.
    pub(crate) report: ReportRecord,
    /// Reading, adding and subtracting.
    pub(crate) read_ms: f64,
    /// Making the grid.
    pub(crate) ms: f64,
    /// The grid that was written; null without `--out`.
    pub(crate) out: Option<String>,
    /// The moments that were written; null without `--moments`.
    pub(crate) moments: Option<String>,
}

/// How well a scan fits at a pose.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct FitRecord {
    /// The sum of all terms by the number of points.
    transform_probability: f64,
    /// The mean of the largest term of each point that has one.
    nvtl: f64,
    /// The sum of all terms.
    score: f64,
    /// Points with a cell within reach.
    hits: usize,
}

impl From<&NdtFit> for FitRecord {
    fn from(&NdtFit { score, transform_probability, nvtl, hits, .. }: &NdtFit) -> Self {
        Self { transform_probability, nvtl, score, hits }
    }
}

/// `begin` of `score` and `align` of many scans.
#[derive(Debug, Serialize)]
pub(crate) struct MatchBatchBegin {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// The map.
    pub(crate) map: String,
    /// The folder or the pattern of the scans.
    pub(crate) scan: String,
    /// The number of scans.
    pub(crate) inputs: usize,
    /// Parameters of a map that is made of clouds or moments.
    pub(crate) params: ParamsRecord,
    /// Those of the alignment; null for `score`.
    pub(crate) align: Option<AlignRecord>,
}

/// `frame` of `score` and `align` of many scans: a scan.
#[derive(Debug, Serialize)]
pub(crate) struct ScanFrame<T> {
    /// Its number, from 0, failed ones counted.
    pub(crate) index: usize,
    /// Its file.
    pub(crate) input: String,
    /// Its format.
    pub(crate) format: String,
    /// Its points.
    pub(crate) points: usize,
    /// Points at (0, 0, 0) that were left out; 0 without `--drop-zeros`.
    pub(crate) zeros: usize,
    /// What came of each pose or guess.
    pub(crate) poses: Vec<T>,
    /// Whether it converged from a guess; null for `score`.
    pub(crate) converged: Option<bool>,
    /// The pose of the highest score, of `align` among those that converged; null if there is none.
    pub(crate) best: Option<usize>,
    /// All poses or guesses.
    pub(crate) ms: f64,
    /// Reading the file.
    pub(crate) read_ms: f64,
    /// What is odd about it.
    pub(crate) warnings: Vec<String>,
}

/// `summary` of `score` and `align` of many scans.
#[derive(Debug, Serialize)]
pub(crate) struct MatchBatchSummary {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// Cells of the map.
    pub(crate) voxels: usize,
    /// Edge of a cell in metres.
    pub(crate) resolution: f64,
    /// What came of the inputs.
    #[serde(flatten)]
    pub(crate) counts: Counts,
    /// Points of all scans done.
    pub(crate) points: usize,
    /// Poses or guesses of each scan.
    pub(crate) poses: usize,
    /// Scans that converged from a guess; null for `score`.
    pub(crate) converged: Option<usize>,
    /// Times of the scans' `ms`; null if none was done.
    pub(crate) ms: Option<Times>,
    /// Reading poses and map, and making the map.
    pub(crate) read_ms: f64,
    /// What is odd about the map.
    pub(crate) warnings: Vec<String>,
}

/// `frame` of `score`: a pose.
#[derive(Debug, Serialize)]
pub(crate) struct ScoreFrame {
    /// Its number, from 0.
    pub(crate) index: usize,
    /// Its file.
    pub(crate) pose: String,
    /// The pose as a 4x4 matrix, rows first.
    pub(crate) target_from_source: [f64; 16],
    /// How well the scan fits.
    #[serde(flatten)]
    pub(crate) fit: FitRecord,
}

/// `frame` of `align`: a guess.
#[derive(Debug, Serialize)]
pub(crate) struct AlignFrame {
    /// Its number, from 0.
    pub(crate) index: usize,
    /// Its file, or `identity`.
    pub(crate) guess: String,
    /// The pose that was found as a 4x4 matrix, rows first.
    pub(crate) target_from_source: [f64; 16],
    /// Whether the last step was shorter than asked for.
    pub(crate) converged: bool,
    /// Why it ended: `converged`, `max-iterations`, `no-pairs` or `singular`.
    pub(crate) stop: &'static str,
    /// Steps that were made.
    pub(crate) iterations: usize,
    /// How well the scan fits at the pose.
    #[serde(flatten)]
    pub(crate) fit: FitRecord,
    /// How uncertain x, y, z, roll, pitch, yaw are by this map and scan alone; null where the Hessian says nothing.
    pub(crate) covariance: Option<[[f64; 6]; 6]>,
}

impl AlignFrame {
    pub(crate) fn new(index: usize, guess: &str, found: &NdtRegistration) -> Self {
        Self {
            index,
            guess: guess.into(),
            target_from_source: crate::pose::flat(&found.target_from_source),
            converged: found.converged(),
            stop: found.status.as_str(),
            iterations: found.iterations,
            fit: (&found.fit).into(),
            covariance: found.covariance,
        }
    }
}

/// `summary` of `score` and `align`.
#[derive(Debug, Serialize)]
pub(crate) struct MatchSummary {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// Cells of the map.
    pub(crate) voxels: usize,
    /// Edge of a cell in metres.
    pub(crate) resolution: f64,
    /// Points of the scan.
    pub(crate) points: usize,
    /// Points of the scan at (0, 0, 0) that were left out; 0 without `--drop-zeros`.
    pub(crate) zeros: usize,
    /// Poses or guesses.
    pub(crate) poses: usize,
    /// Guesses from which it converged; null for `score`.
    pub(crate) converged: Option<usize>,
    /// The pose of the highest score, of `align` among those that converged; null if there is none.
    pub(crate) best: Option<usize>,
    /// All poses or guesses.
    pub(crate) ms: f64,
    /// Reading the files, and making the map.
    pub(crate) read_ms: f64,
    /// What is odd about map and scan.
    pub(crate) warnings: Vec<String>,
    /// The picture that was written; null without `--visualize`.
    pub(crate) picture: Option<String>,
}
