//! The data of the JSON lines of `roi-pool`, field by field; [`printer`](crate::printer) says when each is printed.

use super::task::{Inside, Mode, Origin, Output};
use crate::args::RoiPoolArgs;
use crate::batch::Counts;
use crate::records::{Run, SummaryCpu};
use crate::stats::Times;
use pointmill::roi_pool::Report;
use pointmill_io::Array;
use serde::Serialize;

/// `begin`: what will be done.
#[derive(Debug, Serialize)]
pub(crate) struct Begin {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// Boxes, points and, if they are pooled, features: files, `-`, or `synthetic`.
    pub(crate) inputs: Vec<String>,
    /// The parameters in effect.
    pub(crate) params: ParamsRecord,
}

/// `begin` of several scenes: what will be done.
#[derive(Debug, Serialize)]
pub(crate) struct BatchBegin {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// Boxes, points and, if they are pooled, features, as they were given.
    pub(crate) inputs: Vec<String>,
    /// The number of scenes.
    pub(crate) scenes: usize,
    /// The parameters in effect.
    pub(crate) params: ParamsRecord,
}

/// The parameters; those of pooling are null where nothing is pooled.
#[derive(Debug, Serialize)]
pub(crate) struct ParamsRecord {
    /// `part`, `all`, `count` or `crop`; null if features are pooled.
    inside: Option<Inside>,
    /// Voxels of a box along its length, width and height.
    out_size: Option<[u32; 3]>,
    /// Most points of a voxel.
    max_points: Option<u32>,
    /// `max` or `mean`.
    mode: Option<Mode>,
    /// `dense`, `csr` or `sparse`.
    output: Option<Output>,
    /// Which point of a box its cz is: `bottom` or `center`.
    origin: Origin,
    /// Metres by which a box is longer and wider on each side.
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
            output: pools.then_some(args.output),
            origin: args.origin,
            margin: args.margin,
        }
    }
}

/// What was counted: [`PoolReport`], or [`InsideReport`] with `--inside`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum ReportRecord {
    Pool(PoolReport),
    Inside(InsideReport),
}

/// The field names of the library's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PoolReport {
    /// Boxes.
    pub(crate) boxes: usize,
    /// Boxes that hold nothing because a value is not finite or a size is not positive.
    pub(crate) empty_boxes: usize,
    /// Points.
    pub(crate) points: usize,
    /// Voxels with at least one kept point.
    pub(crate) voxels: usize,
    /// Pairs of a box and a point in it.
    pub(crate) inside: usize,
    /// Pairs whose voxel keeps the point.
    pub(crate) kept: usize,
    /// Pairs whose voxel was full.
    pub(crate) dropped: usize,
}

impl From<&Report> for PoolReport {
    fn from(&Report { boxes, empty_boxes, points, voxels, inside, kept, dropped, .. }: &Report) -> Self {
        Self { boxes, empty_boxes, points, voxels, inside, kept, dropped }
    }
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

/// What the answer to `--inside` tells about numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct InsideReport {
    /// Boxes.
    pub(crate) boxes: usize,
    /// Points.
    pub(crate) points: usize,
    /// Points that a box holds; null with `count` and `crop`, which do not tell.
    pub(crate) points_inside: Option<usize>,
    /// Pairs of a box and a point in it; null with `part`, which does not tell.
    pub(crate) pairs: Option<usize>,
}

/// `summary` of `roi-pool`.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// Values a feature has; null if nothing is pooled.
    pub(crate) channels: Option<usize>,
    /// The type of the features, `f32` or `f16`; null if nothing is pooled.
    pub(crate) element: Option<&'static str>,
    /// What was counted.
    pub(crate) report: ReportRecord,
    /// Upload, call, and waiting for its end. With `--cpu` there is a call before it that is not timed.
    pub(crate) ms: f64,
    /// Reading the inputs, or making the street.
    pub(crate) read_ms: f64,
    /// Reading the arrays back and writing them; null without `--out`.
    pub(crate) write_ms: Option<f64>,
    /// The file that was written; null without `--out`.
    pub(crate) out: Option<String>,
    /// The arrays in it, but for the report; null without `--out`.
    pub(crate) arrays: Option<Vec<ArrayRecord>>,
    /// What is odd about the inputs.
    pub(crate) warnings: Vec<String>,
    /// The CPU beside it; null without `--cpu`.
    pub(crate) cpu: Option<CpuRecord>,
    /// The picture that was written; null without `--visualize`.
    pub(crate) picture: Option<String>,
}

/// `frame` of several scenes: a scene that was done.
#[derive(Debug, Serialize)]
pub(crate) struct Frame {
    /// Its number, from 0, failed ones counted.
    pub(crate) index: usize,
    /// The file that names it: its points where there are several, else its boxes, else its features.
    pub(crate) input: String,
    /// The files of boxes, points and, if they are pooled, features.
    pub(crate) files: Vec<String>,
    /// The device it was done on: that of the command, or with `--on-oom cpu` the CPU.
    pub(crate) device: String,
    /// Values a feature has; null if nothing is pooled.
    pub(crate) channels: Option<usize>,
    /// The type of the features, `f32` or `f16`; null if nothing is pooled.
    pub(crate) element: Option<&'static str>,
    /// What was counted.
    pub(crate) report: ReportRecord,
    /// Upload, call, and waiting for its end.
    pub(crate) ms: f64,
    /// Reading the files.
    pub(crate) read_ms: f64,
    /// Reading the arrays back and writing them; null without `--out`.
    pub(crate) write_ms: Option<f64>,
    /// The file that was written; null without `--out`.
    pub(crate) out: Option<String>,
    /// The arrays in it, but for the report; null without `--out`.
    pub(crate) arrays: Option<Vec<ArrayRecord>>,
    /// What is odd about the files.
    pub(crate) warnings: Vec<String>,
    /// The CPU beside it; null without `--cpu`.
    pub(crate) cpu: Option<CpuRecord>,
}

/// `summary` of several scenes.
#[derive(Debug, Serialize)]
pub(crate) struct BatchSummary {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// What came of the inputs.
    #[serde(flatten)]
    pub(crate) counts: Counts,
    /// Boxes of all scenes done.
    pub(crate) boxes: usize,
    /// Points of all scenes done.
    pub(crate) points: usize,
    /// Times of the scenes' `ms`; null if none was done. With `--cpu` there is a call before the first one of each job that is not timed.
    pub(crate) ms: Option<Times>,
    /// The CPU beside it; null without `--cpu`.
    pub(crate) cpu: Option<SummaryCpu>,
}

/// An array that was written.
#[derive(Debug, Serialize)]
pub(crate) struct ArrayRecord {
    /// Its name.
    pub(crate) name: &'static str,
    /// The type of its values.
    pub(crate) r#type: &'static str,
    /// The number of values along each axis.
    pub(crate) shape: Vec<usize>,
}

impl ArrayRecord {
    pub(crate) fn new(name: &'static str, array: &Array) -> Self {
        Self { name, r#type: array.dtype().as_str(), shape: array.shape().to_vec() }
    }
}

/// The CPU beside the device.
#[derive(Debug, Serialize)]
pub(crate) struct CpuRecord {
    /// Threads it had.
    pub(crate) threads: usize,
    /// Its time.
    pub(crate) ms: f64,
    /// Its time by that of the device.
    pub(crate) ratio: f64,
    /// Whether all arrays and the report are the same, bit for bit.
    pub(crate) equal: bool,
    /// The names of the arrays that are not.
    pub(crate) differs: Vec<&'static str>,
}
