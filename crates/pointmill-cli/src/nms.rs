//! `pointmill nms`: the detections that no better one suppresses.

use crate::batch::prelude::*;
use crate::flags::{BatchArgs, Jobs, OnOom, ResumeArgs, WorkArgs, names};
use clap::Args;
use pointmill::boxes::{Candidates, Kept, KeptArrays, NmsMetric, NmsParams, NmsReport, Suppressor};
use pointmill::{BoxOrigin, Device, Error, Rows};
use pointmill_data::write_result;
use pointmill_io::{Array, ArrayData, Detail, Dtype, IoError, Limits, read_npy_within};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The name of the command.
const COMMAND: &str = "nms";

/// `pointmill nms`
#[derive(Debug, Args)]
pub(crate) struct NmsArgs {
    /// Boxes: an .npy array [N, 7] of f32 or f64 with x, y, z, dx, dy, dz in metres and the yaw about
    /// z in radians
    #[arg(value_name = "BOXES.npy")]
    boxes: PathBuf,
    /// Scores: an .npy array [N] of f32 or f64, which is rounded to f32
    #[arg(long, value_name = "S.npy")]
    scores: PathBuf,
    /// Classes: an .npy array [N] of whole numbers of 0 or more. Boxes of different classes do not
    /// suppress each other
    #[arg(long, value_name = "C.npy")]
    classes: Option<PathBuf>,
    /// What to compare: the overlap of the boxes seen from above, the overlap of their volumes, or
    /// the squared distance of their centres
    #[arg(long, default_value = "bev", value_parser = names::<NmsMetric>(NmsMetric::NAMES))]
    metric: NmsMetric,
    /// A box is dropped if its overlap with a better box is greater than this. With --metric circle:
    /// if the squared distance is at most this, in square metres
    #[arg(long, value_name = "T", default_value = "0.5", allow_negative_numbers = true)]
    threshold: f32,
    /// Drop boxes with a lower score
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    score_threshold: Option<f32>,
    /// Compare only the N boxes with the highest scores
    #[arg(long, value_name = "N")]
    pre_max: Option<u32>,
    /// Keep at most N boxes
    #[arg(long, value_name = "N")]
    post_max: Option<u32>,
    /// Point of a box that z refers to: the centre of its bottom face, as in mmcv, or its centre, as
    /// in OpenPCDet
    #[arg(long, default_value = "bottom", value_parser = names::<BoxOrigin>(BoxOrigin::NAMES))]
    origin: BoxOrigin,
    /// Write the rows that are kept, by score, the highest first, and the report
    #[arg(long, value_name = "OUT.npz")]
    out: Option<PathBuf>,
    /// Do it a second time on the CPU, check that both results are equal (exit code 6 if not), and
    /// compare the times. If the device is the CPU, the second run uses one thread
    #[arg(long)]
    compare_cpu: bool,
}

/// `begin` of `nms`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The files of boxes, scores and, if there are some, classes.
    files: Vec<String>,
    /// The parameters in effect.
    params: NmsParams,
}

/// `frame` of `nms`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// What was counted.
    report: NmsReport,
    /// The rows that are kept, by score, the highest first.
    rows: Vec<i32>,
}

/// `summary` of `nms`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Boxes.
    boxes: usize,
    /// Boxes that are kept.
    boxes_kept: usize,
}

struct Nms<'a> {
    args: &'a NmsArgs,
    params: NmsParams,
    work: WorkArgs,
    device: Device,
    outputs: Outputs,
}

/// What was read.
struct Loaded {
    boxes: ArrayData,
    scores: Vec<f32>,
    classes: Option<Vec<i32>>,
    notes: Notes,
}

/// A suppressor and its result.
struct Worker(Suppressor, Kept);

impl Worker {
    fn new(device: &Device, params: &NmsParams) -> Result<Self, Error> {
        let suppressor = Suppressor::new(&device.stream()?, params)?;
        let kept = suppressor.output()?;
        Ok(Self(suppressor, kept))
    }

    fn run(&mut self, input: &Loaded) -> Result<KeptArrays, Error> {
        let boxes = match &input.boxes {
            ArrayData::F64(values) => Rows::new(values, 7)?,
            ArrayData::F32(values) => Rows::new(values, 7)?,
            _ => Rows::new::<f32>(&[], 7)?,
        };
        let mut candidates = Candidates::new(boxes, Rows::new(&input.scores, 1)?);
        if let Some(classes) = &input.classes {
            candidates = candidates.classes(&classes[..]);
        }
        self.0.run(candidates, &mut self.1)?;
        self.1.read()
    }
}

/// Runs the command.
pub(crate) fn run(args: &NmsArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let &NmsArgs { metric, threshold, score_threshold, pre_max, post_max, origin, .. } = args;
    let params = NmsParams { metric, threshold, score_threshold, pre_max, post_max, origin };
    params.validate()?;
    let files: Vec<&Path> =
        [&args.boxes, &args.scores].into_iter().chain(&args.classes).map(PathBuf::as_path).collect();
    if let Some(out) = &args.out {
        plan_file("--out", out, &["npz"], &files)?;
    }
    let device = device::open(device)?;
    let sources = [Source::named(&args.boxes)];
    let work = WorkArgs {
        batch: BatchArgs { fail_fast: false, jobs: Jobs::Given(1) },
        resume: ResumeArgs::default(),
        on_oom: OnOom::Fail,
        cpu: args.compare_cpu,
        verbose: false,
    };
    let job = Job { out: args.out.as_deref(), ..Job::on(&device, COMMAND, &sources, &work) };
    job.begin(Begin { files: files.iter().map(|file| shown(file)).collect(), params }, printer)?;
    let outputs = Outputs::one(args.out.as_deref());
    job.run(&Nms { args, params, work: work.clone(), device: device.clone(), outputs }, printer)
}

impl Nms<'_> {
    fn load(&self) -> Result<Loaded, Vec<IoError>> {
        let (limits, mut notes, mut refused) = (Limits::default(), Notes::default(), Vec::new());
        let boxes = read_boxes(&self.args.boxes, &limits).map_err(|e| refused.push(e)).ok();
        let rows = boxes.as_ref().map(|boxes| boxes.len() / 7);
        let scores = read_scores(&self.args.scores, &limits, rows, &mut notes).map_err(|e| refused.push(e)).ok();
        let classes = self.args.classes.as_deref().map(|path| read_classes(path, &limits, rows)).transpose();
        let classes = classes.map_err(|e| refused.push(e)).ok();
        match (boxes, scores, classes) {
            (Some(boxes), Some(scores), Some(classes)) => Ok(Loaded { boxes, scores, classes, notes }),
            _ => Err(refused),
        }
    }
}

impl Command for Nms<'_> {
    type Worker = OperatorSlot<Worker>;
    type Row = Row;
    type Totals = Totals;

    fn worker(&self) -> Result<Self::Worker, Failure> {
        OperatorSlot::new(&self.device, &self.work, false, |device| Worker::new(device, &self.params))
    }

    fn one(&self, slot: &mut Self::Worker, index: usize, source: &Source) -> Result<Frame<Row>, InputError> {
        let (input, read_ms) = timed(|| self.load())
            .map_err(|refused| InputError::Input(refused.into_iter().map(Into::into).collect()))?;
        let name = source.name();
        let blame = |e| InputError::blame("BadValue", e, &name);
        let called =
            slot.call(&name, blame, |device| Worker::new(device, &self.params), |worker| worker.run(&input))?;
        let kept = &called.found;
        let place = self.outputs.place(index);
        let write = |to| undivided(|| write_result(to, kept, &kept.report));
        let ((), write_ms) = timed(|| place.map_or(Ok(()), write)).map_err(Failure::from)?;
        let cpu = called.compare(|cpu| Ok::<_, InputError>(pointmill::differences(kept, &cpu.found)))?;
        let of = Row { report: kept.report, rows: kept.rows.clone() };
        let frame = called.on(Frame::read(index, name.clone(), read_ms, input.notes, of));
        let out = self.args.out.as_deref().map(shown);
        Ok(Frame { write_ms: out.is_some().then_some(write_ms), out, cpu, ..frame })
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        (totals.boxes, totals.boxes_kept) = (frame.of.report.boxes, frame.of.report.kept);
        Ok(())
    }

    fn cells(&self, Frame { of, .. }: &Frame<Row>) -> Vec<Cell> {
        let numbers = [of.report.boxes, of.report.non_finite, of.report.kept].map(grouped);
        ["boxes", "not finite", "kept"].into_iter().zip(numbers).collect()
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        let (kept, boxes) = (grouped(summary.of.boxes_kept), grouped(summary.of.boxes));
        let line = format!("{kept} of {boxes} boxes kept on {}", summary.run.device_name());
        std::iter::once(line).chain(written("rows", self.args.out.as_deref().map(shown).as_deref())).collect()
    }
}

fn read_boxes(path: &Path, limits: &Limits) -> Result<ArrayData, IoError> {
    let array = read_npy_within(path, limits)?;
    array.expect_shape(&[None, Some(7)])?;
    match array.dtype() {
        Dtype::F32 | Dtype::F64 => Ok(array.into_parts().1),
        other => Err(IoError::DtypeMismatch(Detail::new(path, "element type", "f32 or f64", other.as_str()))),
    }
}

/// Reads values of so many boxes, if their number is known.
fn read_column(path: &Path, limits: &Limits, rows: Option<usize>) -> Result<Array, IoError> {
    let array = read_npy_within(path, limits)?;
    match array.shape()[..] {
        [n] if rows.is_none_or(|rows| rows == n) => Ok(array),
        _ => {
            let n = rows.map_or_else(|| "N".into(), |rows| rows.to_string());
            let expected = format!("[{n}], a value for each box");
            Err(IoError::ShapeMismatch(Detail::new(path, "shape", expected, format!("{:?}", array.shape()))))
        }
    }
}

fn read_scores(path: &Path, limits: &Limits, rows: Option<usize>, notes: &mut Notes) -> Result<Vec<f32>, IoError> {
    let array = read_column(path, limits, rows)?;
    match array.dtype() {
        Dtype::F32 | Dtype::F16 => {}
        Dtype::F64 => notes.warnings.push(format!("{}: scores of f64 were rounded to f32", path.display())),
        other => {
            return Err(IoError::DtypeMismatch(Detail::new(path, "element type", "f32 or f64", other.as_str())));
        }
    }
    array.to_f32()
}

fn read_classes(path: &Path, limits: &Limits, rows: Option<usize>) -> Result<Vec<i32>, IoError> {
    let array = read_column(path, limits, rows)?;
    let whole = |row: usize, value: i64| {
        i32::try_from(value).ok().filter(|&class| class >= 0).ok_or_else(|| {
            let expected = format!("a whole number of 0 to {}", i32::MAX);
            IoError::BadValue(Detail::new(path, format!("row {row}"), expected, value.to_string()))
        })
    };
    match array.data() {
        ArrayData::I32(v) => v.iter().enumerate().map(|(i, &v)| whole(i, v.into())).collect(),
        ArrayData::I64(v) => v.iter().enumerate().map(|(i, &v)| whole(i, v)).collect(),
        ArrayData::U8(v) => Ok(v.iter().map(|&v| v.into()).collect()),
        ArrayData::U32(v) => v.iter().enumerate().map(|(i, &v)| whole(i, v.into())).collect(),
        other => {
            let got = other.dtype().as_str();
            Err(IoError::DtypeMismatch(Detail::new(path, "element type", "i32, i64, u32 or u8", got)))
        }
    }
}
