//! The fields of `ndt` in its JSON lines.

use crate::json::FrameCpu;
use pointmill::Pose;
use pointmill::ndt::{NdtAlignParams, NdtFit, NdtMoments, NdtParams, NdtRegistration, NdtReport};
use pointmill::registration::Status;
use pointmill_data::poses::Deskew;
use pointmill_data::runs::PoseNote;
use serde::Serialize;
use std::collections::BTreeMap;

/// `begin` of `ndt build`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BuildBegin {
    /// Whether each input becomes a grid of its own.
    pub(super) tiles: bool,
    /// Edge of a block in metres; null if the map is not by blocks.
    pub(super) block: Option<f64>,
    /// Whether the motion of the sensor within a sweep is taken out, as it is in effect: `off`
    /// without poses and for poses without times.
    pub(super) deskew: Deskew,
    /// The parameters in effect.
    pub(super) params: CellsRecord,
}

/// `frame` of `ndt build`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BuildRow {
    /// The format of the input, or `synthetic`.
    pub(super) format: &'static str,
    /// The type of the coordinates, `f32` or `f64`.
    pub(super) element: &'static str,
    /// Points of the input.
    pub(super) points: usize,
    /// Points among them at (0, 0, 0) that were left out; 0 without `--drop-zeros`.
    pub(super) zeros: usize,
    /// What was counted; null if all inputs become one grid.
    pub(super) report: Option<NdtReport>,
    /// The moments that were written; null if none were.
    pub(super) moments: Option<String>,
    /// Blocks that have points of the input; null if the map is not by blocks.
    pub(super) blocks: Option<usize>,
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
    pub(super) report: Option<NdtReport>,
    /// Time to make the grid of all moments, or to merge all blocks; null if each input has a grid
    /// of its own, or none was done.
    pub(super) finish_ms: Option<f64>,
    /// The grid of all moments made on the CPU; null without `--compare-cpu`.
    pub(super) finish_cpu: Option<FrameCpu>,
    /// The moments that were written; null if none were.
    pub(super) moments: Option<String>,
    /// Blocks that were merged; null if the map is not by blocks.
    pub(super) blocks: Option<usize>,
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
    pub(super) params: CellsRecord,
}

/// `frame` of `ndt merge`: a file of moments, or a block.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MergeRow {
    /// Points of the moments.
    pub(super) points: u64,
    /// Cells of the moments.
    pub(super) cells: usize,
    /// Whether they are subtracted.
    pub(super) minus: bool,
    /// Cells of the merged block that have a distribution; null for a file.
    pub(super) voxels: Option<usize>,
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
    pub(super) params: CellsRecord,
    /// The parameters of the alignment; null for `ndt score`.
    pub(super) align: Option<NdtAlignParams>,
}

/// `frame` of `ndt score` and `ndt align`: a scan.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MatchRow {
    /// The format of the scan.
    pub(super) format: &'static str,
    /// Points of the scan that were matched.
    pub(super) points: usize,
    /// Points of the scan at (0, 0, 0) that were left out; 0 without `--drop-zeros`.
    pub(super) zeros: usize,
    /// The result for each pose or guess.
    pub(super) poses: Vec<PoseRecord>,
    /// Whether the alignment converged from a guess; null for `ndt score`.
    pub(super) converged: Option<bool>,
    /// The pose with the highest score, for `ndt align` among those that converged; null if there
    /// is none.
    pub(super) best: Option<usize>,
    /// The nanoseconds of the scan's stamp.
    #[serde(skip)]
    pub(super) stamp_ns: Option<i64>,
}

/// The result for a pose: [`ScorePose`] of `ndt score`, [`AlignPose`] of `ndt align`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum PoseRecord {
    Score(ScorePose),
    Align(Box<AlignPose>),
}

/// `summary` of `ndt score` and `ndt align`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MatchTotals {
    /// Cells of the map.
    pub(super) voxels: usize,
    /// Edge of a cell in metres.
    pub(super) resolution: f64,
    /// What cells of the map are relative to: x, y, z in metres; absent if it is zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<[f64; 3]>,
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
    pub(super) stops: Vec<Status>,
    /// The pose and the stamp of each scan that was aligned, by the scan's number.
    #[serde(skip)]
    pub(super) found: BTreeMap<usize, (Pose, PoseNote, Option<i64>)>,
}

impl GridTotals {
    /// Whether the CPU made the same grid of all moments, if it made one.
    pub(super) fn equal(&self) -> bool {
        self.finish_cpu.as_ref().is_none_or(|cpu| cpu.equal == Some(true))
    }
}

/// The parameters of the cells.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CellsRecord {
    /// Edge of a cell in metres, as given; null if the files define it.
    pub(super) resolution: Option<f64>,
    /// Covariance, fewest points and eigenvalues of a cell.
    #[serde(flatten)]
    pub(super) params: NdtParams,
}

/// The score of a scan at a pose.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ScorePose {
    /// The number of the pose, from 0.
    pub(super) index: usize,
    /// The file of the pose.
    pub(super) pose: String,
    /// The pose as the rows of a 4x4 matrix.
    pub(super) target_from_source: Pose,
    /// How well the scan fits.
    #[serde(flatten)]
    pub(super) fit: NdtFit,
}

/// The alignment of a scan from a guess.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AlignPose {
    /// The number of the guess, from 0.
    pub(super) index: usize,
    /// The file of the guess, or `identity`.
    pub(super) guess: String,
    /// The pose and how well the scan fits.
    #[serde(flatten)]
    pub(super) found: NdtRegistration,
}
