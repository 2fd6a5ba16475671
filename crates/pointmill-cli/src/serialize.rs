//! `pointmill serialize`: one point of each cell, and the order of the cells along curves.

use crate::batch::prelude::*;
use crate::flags::{FrameArgs, ReadArgs, WorkArgs, names, parse_voxel_size};
use crate::inputs::may_be_many;
use clap::{Args, ValueEnum};
use pointmill::sparse::{
    GridSampleParams, GridSampleReport, GridSampler, Order, Pick, Sampled, SampledArrays, SerializeParams, Serialized,
    SerializedArrays, Serializer,
};
use pointmill::{ArrayView, Device, Error, NamedArrays};
use pointmill_data::write_result;
use pointmill_io::About;
use serde::Serialize;
use std::path::PathBuf;

/// The name of the command.
const COMMAND: &str = "serialize";

/// `pointmill serialize`
#[derive(Debug, Args)]
pub(crate) struct SerializeArgs {
    /// Files, folders, patterns in quotes such as 'sweeps/*.bin', or - for the standard input,
    /// which needs --format
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Edge of a cell in metres, one value or x,y,z
    #[arg(long, value_name = "A[,B,C]", default_value = "0.05", allow_hyphen_values = true, value_parser = parse_voxel_size)]
    grid_size: [f32; 3],
    /// Curves along which the cells are ordered, 1 to 4 separated by commas
    #[arg(long, value_name = "ORDERS", default_value = "z,z-trans,hilbert,hilbert-trans", value_delimiter = ',')]
    #[arg(value_parser = names::<Order>(Order::NAMES))]
    orders: Vec<Order>,
    /// Bits of a coordinate, 1 to 16 [default: as many as the largest coordinate plus 1 has]
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Point to take of each cell: the first, the one nearest to the centre, or one at random
    #[arg(long, value_enum, default_value = "first")]
    pick: PickName,
    /// Seed of --pick random. The same seed takes the same points on every machine
    #[arg(long, value_name = "N", default_value = "0")]
    seed: u64,
    /// Write the result arrays. One input: a file OUT.npz. Several inputs: a folder, in which each
    /// input NAME.* gets a file NAME.npz
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    #[command(flatten)]
    frames: FrameArgs,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// `--pick`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PickName {
    First,
    Nearest,
    Random,
}

/// `begin` of `serialize`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// How points are taken.
    sample: GridSampleParams,
    /// How cells are ordered.
    params: SerializeParams,
}

/// `frame` of `serialize`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the input.
    format: &'static str,
    /// Bits of a coordinate.
    depth: u32,
    /// What was counted.
    report: GridSampleReport,
}

/// `summary` of `serialize`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Points of all inputs that were done.
    points: usize,
    /// Cells of all inputs that were done.
    cells: usize,
}

struct Run<'a> {
    args: &'a SerializeArgs,
    sample: GridSampleParams,
    params: SerializeParams,
    device: Device,
    inputs: Inputs,
    outputs: Outputs,
}

/// The workers and their results.
struct Worker {
    sampler: GridSampler,
    sampled: Sampled,
    serializer: Serializer,
    serialized: Serialized,
}

impl Worker {
    fn new(device: &Device, sample: &GridSampleParams, params: &SerializeParams) -> Result<Self, Error> {
        let stream = device.stream()?;
        let (sampler, serializer) = (GridSampler::new(&stream, sample)?, Serializer::new(&stream, params)?);
        Ok(Self { sampled: sampler.output()?, serialized: serializer.output()?, sampler, serializer })
    }

    fn run(&mut self, cloud: &pointmill::PointCloud) -> Result<Cells, Error> {
        self.sampler.run(cloud, None, &mut self.sampled)?;
        self.serializer.run(self.sampled.cells()?, &mut self.serialized)?;
        Ok(Cells { sampled: self.sampled.read()?, ordered: self.serialized.read()? })
    }
}

/// The cells of a cloud and their orders, on the host.
struct Cells {
    sampled: SampledArrays,
    ordered: SerializedArrays,
}

impl NamedArrays for Cells {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        let of_sample = self.sampled.arrays().into_iter().filter(|(name, _)| *name != "batch");
        let renamed = |(name, array)| (if name == "inverse" { "point_to_cell" } else { name }, array);
        of_sample.map(renamed).chain(self.ordered.arrays()).collect()
    }
}

/// Runs the command.
pub(crate) fn run(args: &SerializeArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let pick = match args.pick {
        PickName::First => Pick::First,
        PickName::Nearest => Pick::Nearest,
        PickName::Random => Pick::Random { seed: args.seed },
    };
    let sample = GridSampleParams { pick, ..GridSampleParams::new(args.grid_size) };
    let params = SerializeParams { depth: args.depth, orders: args.orders.clone() };
    sample.validate()?;
    params.validate()?;
    let (sources, inputs) = Inputs::find_frames(&args.inputs, args.read.options()?, &args.frames.frames())?;
    tell_origin(&inputs);
    let device = device::open(device)?;
    let plan = if may_be_many(&args.inputs) { Outputs::of_many } else { Outputs::plan };
    let outputs = plan(args.out.as_deref(), &sources)?;
    let decides = format!("{COMMAND} {sample:?} {params:?} {:?}", inputs.options());
    let resume_log = ResumeLog::of(&[&outputs], &decides, args.work.resume.resume)?;
    let (out, origin) = (args.out.as_deref(), Some(inputs.origin()));
    let job = Job { resume_log, out, origin, ..Job::on(&device, COMMAND, &sources, &args.work) };
    job.begin(Begin { sample, params: params.clone() }, printer)?;
    job.run(&Run { args, sample, params, device: device.clone(), inputs, outputs }, printer)
}

impl Command for Run<'_> {
    type Worker = OperatorSlot<Worker>;
    type Row = Row;
    type Totals = Totals;

    fn inputs(&self) -> Option<&Inputs> {
        Some(&self.inputs)
    }

    fn worker(&self) -> Result<OperatorSlot<Worker>, Failure> {
        let make = |device: &Device| Worker::new(device, &self.sample, &self.params);
        OperatorSlot::new(&self.device, &self.args.work, false, make)
    }

    fn one(&self, slot: &mut OperatorSlot<Worker>, index: usize, source: &Source) -> Result<Frame<Row>, InputError> {
        let (scan, read_ms) = self.inputs.read(source)?;
        let (cloud, name) = (&scan.cloud, source.name());
        let blame = |e| InputError::blame("ShapeMismatch", e, &name);
        let make = |device: &Device| Worker::new(device, &self.sample, &self.params);
        let called = slot.call(&name, blame, make, |worker| worker.run(cloud))?;
        let cells = &called.found;
        let report = cells.sampled.report;
        let of = Row { format: source.format(&scan), depth: cells.ordered.depth, report };
        let mut notes = warnings(&scan);
        if report.outside > 0 {
            notes.warnings.push(format!(
                "{} lie more than 2^21 cells from the least coordinates and are in no cell; crop the cloud",
                counted(report.outside, "point")
            ));
        }
        let about = About { result: cells, origin: cloud.origin() };
        let place = self.outputs.place(index);
        let out = place.map(|to| shown(to.path));
        let write = |to| undivided(|| write_result(to, &about, &report));
        let ((), write_ms) = timed(|| place.map_or(Ok(()), write)).map_err(Failure::from)?;
        let compare = |cpu: &Called<'_, Worker, Cells>| {
            let report = (report != cpu.found.sampled.report).then_some("report");
            Ok(pointmill::differences(cells, &cpu.found).into_iter().chain(report).collect())
        };
        let mut frame = called.on(Frame::read(index, name.clone(), read_ms, notes, of));
        frame.cpu = called.compare(compare).map_err(blame)?;
        (frame.write_ms, frame.out) = (out.is_some().then_some(write_ms), out);
        Ok(frame)
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.report.points;
        totals.cells += frame.of.report.cells;
        Ok(())
    }

    fn cells(&self, Frame { of, .. }: &Frame<Row>) -> Vec<Cell> {
        let numbers = [of.report.points, of.report.non_finite, of.report.cells].map(grouped);
        let depth = ("depth", of.depth.to_string());
        ["points", "not finite", "cells"].into_iter().zip(numbers).chain([depth]).collect()
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        let (points, cells) = (grouped(summary.of.points), grouped(summary.of.cells));
        let (inputs, device) = (counted(summary.counts.done, "input"), summary.run.device_name());
        let line = format!("{inputs}, {points} points, {cells} cells on {device}{}", percentiles(summary.ms.as_ref()));
        std::iter::once(line).chain(written("arrays", summary.out.as_deref())).collect()
    }
}
