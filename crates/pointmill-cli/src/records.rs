//! The data of the JSON lines of `voxelize`, field by field; [`printer`](crate::printer) says when each is printed.

use crate::batch::Counts;
use crate::config::{Mean, Order};
use crate::device;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::stats::{Times, ratio};
use crate::table::grouped;
use pointmill::Device;
use pointmill::voxelize::Report;
use serde::Serialize;

/// The version, as JSON lines tell it.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What runs, and where: the first fields of every `begin` and `summary`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Run {
    /// The command, such as `voxelize`.
    command: &'static str,
    /// The version of this program.
    version: &'static str,
    /// The device: `cpu`, `cuda:0`, ...
    device: String,
    /// The device with its product's name or number of threads.
    pub(crate) device_name: String,
}

impl Run {
    pub(crate) fn new(command: &'static str, on: &Device) -> Self {
        Self { command, version: VERSION, device: on.to_string(), device_name: device::describe(on) }
    }
}

/// `begin`: what will be done.
#[derive(Debug, Serialize)]
pub(crate) struct Begin {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// The number of inputs.
    pub(crate) inputs: usize,
    /// The parameters in effect.
    pub(crate) params: ParamsRecord,
}

/// The parameters of voxelization.
#[derive(Debug, Serialize)]
pub(crate) struct ParamsRecord {
    /// Edges of a voxel along x, y, z in metres.
    pub(crate) voxel_size: [f32; 3],
    /// x0, y0, z0, x1, y1, z1 in metres.
    pub(crate) range: [f32; 6],
    /// Cells along x, y, z.
    pub(crate) grid: [u32; 3],
    /// Most voxels of an input.
    pub(crate) max_voxels: u32,
    /// Most points of a voxel; null for dynamic voxelization.
    pub(crate) max_points: Option<u32>,
    /// `first-seen` or `sorted`.
    pub(crate) order: Order,
    /// Whether points must also lie in min <= p < max.
    pub(crate) strict_range: bool,
    /// `f32` or `f16`.
    pub(crate) mean: Mean,
    /// Whether the array `voxels` is made.
    pub(crate) voxels: bool,
}

/// `frame`: an input that was done.
#[derive(Debug, Serialize)]
pub(crate) struct Frame {
    /// Its number, from 0, failed ones counted.
    pub(crate) index: usize,
    /// Its name.
    pub(crate) input: String,
    /// Its format, or `synthetic`.
    pub(crate) format: String,
    /// The device it was done on: that of the command, or with `--on-oom cpu` the CPU.
    pub(crate) device: String,
    /// Its points.
    pub(crate) points: usize,
    /// Values a point has.
    pub(crate) columns: usize,
    /// Points inside the range.
    pub(crate) in_range: usize,
    /// Voxels it gave.
    pub(crate) voxels: usize,
    /// What was counted.
    pub(crate) report: ReportRecord,
    /// Upload, call, and waiting for the number of voxels.
    pub(crate) ms: f64,
    /// Reading the input, or making the sweep.
    pub(crate) read_ms: f64,
    /// Reading the arrays back and writing them; null without `--out`.
    pub(crate) write_ms: Option<f64>,
    /// The file that was written; null without `--out`.
    pub(crate) out: Option<String>,
    /// What is odd about the input.
    pub(crate) warnings: Vec<String>,
    /// The CPU beside it; null without `--cpu`.
    pub(crate) cpu: Option<FrameCpu>,
}

/// The CPU beside the device, for one input.
#[derive(Debug, Serialize)]
pub(crate) struct FrameCpu {
    /// Threads it had.
    pub(crate) threads: usize,
    /// Its time.
    pub(crate) ms: f64,
    /// Whether all arrays and the report are the same, bit for bit.
    pub(crate) equal: bool,
    /// The names of the arrays that are not.
    pub(crate) differs: Vec<&'static str>,
}

/// The field names of the library's report.
#[derive(Debug, Serialize)]
pub(crate) struct ReportRecord {
    /// Input points.
    points: usize,
    /// Rows of the result.
    voxels: usize,
    /// Cells with at least one point.
    voxels_found: usize,
    /// Cells without a row because of the limit.
    voxels_dropped: usize,
    /// Points that a row keeps.
    points_kept: usize,
    /// Points of a row that was full.
    points_dropped_full_voxel: usize,
    /// Points of a cell that got no row.
    points_dropped_dropped_voxel: usize,
    /// Finite points outside the grid.
    out_of_range: usize,
    /// Points with a NaN or an infinity in x, y or z.
    non_finite: usize,
}

impl From<&Report> for ReportRecord {
    fn from(report: &Report) -> Self {
        let &Report {
            points,
            voxels,
            voxels_found,
            voxels_dropped,
            points_kept,
            points_dropped_full_voxel,
            points_dropped_dropped_voxel,
            out_of_range,
            non_finite,
            ..
        } = report;
        Self {
            points,
            voxels,
            voxels_found,
            voxels_dropped,
            points_kept,
            points_dropped_full_voxel,
            points_dropped_dropped_voxel,
            out_of_range,
            non_finite,
        }
    }
}

/// `error`: an input that failed, or the end of the command.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorRecord {
    /// The input's number; null if it is not about one.
    pub(crate) index: Option<usize>,
    /// The input's name; null if it is not about one.
    pub(crate) input: Option<String>,
    /// The file it is about; null if it is about none.
    pub(crate) file: Option<String>,
    /// How many bytes of the file had been read when it was found; null if that is not known.
    pub(crate) offset: Option<u64>,
    /// The kind of error, a word.
    pub(crate) class: &'static str,
    /// What went wrong, control bytes escaped.
    pub(crate) message: String,
    /// The exit code, if the command ends with it; else null.
    pub(crate) exit_code: Option<u8>,
}

impl ErrorRecord {
    /// What ends the command.
    pub(crate) fn end(failure: &Failure) -> Self {
        Self {
            index: None,
            input: None,
            file: failure.file().map(|file| file.to_string_lossy().into_owned()),
            offset: None,
            class: failure.class(),
            message: pointmill_io::escape(&failure.to_string()),
            exit_code: Some(failure.exit_code()),
        }
    }
}

/// `summary` of `voxelize`.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// What runs, and where.
    #[serde(flatten)]
    pub(crate) run: Run,
    /// What came of the inputs.
    #[serde(flatten)]
    pub(crate) counts: Counts,
    /// Points of all inputs done.
    pub(crate) points: usize,
    /// Voxels of all inputs done.
    pub(crate) voxels: usize,
    /// Times of the inputs' `ms`; null if none was done. With `--cpu` there is a call before the first one that is not timed.
    pub(crate) ms: Option<Times>,
    /// The CPU beside it; null without `--cpu`.
    pub(crate) cpu: Option<SummaryCpu>,
    /// The picture that was written; null without `--visualize`.
    pub(crate) picture: Option<String>,
}

/// The CPU beside the device, for all inputs.
#[derive(Debug, Serialize)]
pub(crate) struct SummaryCpu {
    /// Threads it had.
    pub(crate) threads: usize,
    /// Its times.
    pub(crate) ms: Times,
    /// Its mean time by that of the device.
    pub(crate) ratio: f64,
    /// Whether everything was the same, bit for bit.
    pub(crate) equal: bool,
}

impl SummaryCpu {
    /// The CPU of so many threads beside a device with these times.
    pub(crate) fn new(threads: usize, ms: Times, device: &Times, equal: bool) -> Self {
        Self { threads, ms, ratio: ratio(ms.mean, device.mean), equal }
    }
}

/// `begin` of `info` and `convert` of many files.
#[derive(Debug, Serialize)]
pub(crate) struct BatchBegin {
    /// The command.
    command: &'static str,
    /// The version of this program.
    version: &'static str,
    /// The number of inputs.
    inputs: usize,
}

impl BatchBegin {
    pub(crate) const fn new(command: &'static str, inputs: usize) -> Self {
        Self { command, version: VERSION, inputs }
    }
}

/// `summary` of `info` and `convert` of many files.
#[derive(Debug, Serialize)]
pub(crate) struct BatchSummary {
    /// The command.
    command: &'static str,
    /// The version of this program.
    version: &'static str,
    /// What came of the inputs.
    #[serde(flatten)]
    counts: Counts,
    /// Points of all inputs done.
    points: usize,
}

impl BatchSummary {
    pub(crate) const fn new(command: &'static str, counts: Counts, points: usize) -> Self {
        Self { command, version: VERSION, counts, points }
    }

    /// For machines and for people.
    pub(crate) fn tell(&self, printer: &mut Printer) -> Result<(), Failure> {
        printer.record("summary", self)?;
        let done = self.counts.done;
        let s = if done == 1 { "" } else { "s" };
        printer.text(&format!("{done} input{s}, {} points", grouped(self.points)))
    }
}
