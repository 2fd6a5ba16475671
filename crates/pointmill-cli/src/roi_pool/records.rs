//! The fields of `roi-pool` in its JSON lines.

use super::args::RoiPoolArgs;
use pointmill::roi_pool::{BoxQuery, BoxReport, PoolMode, Report, RoiLayout};
use pointmill::{ArrayView, BoxOrigin, NamedArrays};
use serde::Serialize;

/// `begin` of `roi-pool`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// Boxes, points and, if they are pooled, features, as they were given: files, folders,
    /// patterns, `-`, or `synthetic`.
    pub(super) files: Vec<String>,
    /// The parameters in effect.
    pub(super) params: ParamsRecord,
}

/// `frame` of `roi-pool`: a scene.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The files of boxes, points and, if they are pooled, features.
    pub(super) files: Vec<String>,
    /// Values per feature; null with `--inside`.
    pub(super) channels: Option<usize>,
    /// Type of the features, `f32` or `f16`; null with `--inside`.
    pub(super) element: Option<&'static str>,
    /// What was counted.
    pub(super) report: ReportRecord,
    /// The arrays that were written, without the report; null without `--out`.
    pub(super) arrays: Option<Vec<ArrayRecord>>,
}

/// `summary` of `roi-pool`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Boxes of all scenes that were done.
    pub(super) boxes: usize,
    /// Points of all scenes that were done.
    pub(super) points: usize,
    /// What people read about a scene alone.
    #[serde(skip)]
    pub(super) scene: Vec<String>,
}

/// The parameters in effect. The parameters of pooling are null with `--inside`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ParamsRecord {
    /// What is asked about points in boxes; null if features are pooled.
    inside: Option<BoxQuery>,
    /// Voxels of a box along its length, width and height.
    out_size: Option<[u32; 3]>,
    /// Most points of a voxel.
    max_points: Option<u32>,
    /// How the features of a voxel's points are combined.
    mode: Option<PoolMode>,
    /// Layout of the result.
    layout: Option<RoiLayout>,
    /// Point of a box that cz refers to.
    origin: BoxOrigin,
    /// Metres by which a box is made longer and wider on each side.
    margin: f32,
}

impl From<&RoiPoolArgs> for ParamsRecord {
    fn from(args: &RoiPoolArgs) -> Self {
        let pools = args.inside.is_none();
        Self {
            inside: args.inside,
            out_size: pools.then_some(args.out_size),
            max_points: pools.then_some(args.max_points),
            mode: pools.then_some(args.mode),
            layout: pools.then_some(args.layout),
            origin: args.origin,
            margin: args.margin,
        }
    }
}

/// What was counted: [`Report`], or [`BoxReport`] with `--inside`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum ReportRecord {
    Pool(Report),
    Inside(BoxReport),
}

impl ReportRecord {
    /// Boxes and points.
    pub(crate) const fn sizes(&self) -> [usize; 2] {
        match self {
            Self::Pool(report) => [report.boxes, report.points],
            Self::Inside(report) => [report.boxes, report.points],
        }
    }
}

/// An array that was written.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ArrayRecord {
    /// Its name.
    pub(crate) name: &'static str,
    /// The type of its values.
    pub(crate) r#type: &'static str,
    /// The number of values along each axis.
    pub(crate) shape: Vec<usize>,
}

impl ArrayRecord {
    /// The records of all arrays.
    pub(super) fn all(arrays: &impl NamedArrays) -> Vec<Self> {
        let one = |(name, view): (_, ArrayView<'_>)| Self {
            name,
            r#type: view.dtype().as_str(),
            shape: view.shape().to_vec(),
        };
        arrays.arrays().into_iter().map(one).collect()
    }
}
