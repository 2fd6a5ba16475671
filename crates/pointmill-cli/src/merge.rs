//! `pointmill merge`: the points of several clouds in one file.

use crate::batch::prelude::*;
use crate::clouds::{Clouds, ColumnArgs, Columns};
use crate::flags::{BatchArgs, FrameArgs, ReadArgs};
use clap::Args;
use pointmill_io::{IoError, Scan, merge, merge_common};
use serde::Serialize;
use std::path::PathBuf;

/// The name of the command.
const COMMAND: &str = "merge";

/// `pointmill merge`
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Files, folders, patterns in quotes such as 'tiles/*.laz', or - for the standard input, which
    /// needs --format
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// File to write, with the points of all inputs in their order; its extension decides the
    /// format, as that of `pointmill convert`
    #[arg(long, value_name = "OUT.npy|.npz|.ply|.pcd|.bin|...")]
    out: PathBuf,
    /// Keep the columns that all inputs have, and leave out the others; without it inputs whose
    /// columns differ are an error
    #[arg(long)]
    common_columns: bool,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    frames: FrameArgs,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// `frame` of `merge`: an input.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the input.
    format: &'static str,
    /// Points of the input.
    points: usize,
    #[serde(skip)]
    scan: Option<Scan>,
}

/// `summary` of `merge`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Points of all inputs.
    points: usize,
    /// The names of the columns that are written, in order.
    columns: Vec<String>,
    /// The inputs that were read, with their names.
    #[serde(skip)]
    scans: Vec<(PathBuf, Scan)>,
    #[serde(skip)]
    told: Columns,
}

/// Runs the command.
pub(crate) fn run(args: &MergeArgs, printer: &mut Printer) -> Result<(), Failure> {
    let (sources, inputs) = Inputs::find_frames(&args.inputs, args.read.options()?, &args.frames.frames())?;
    let out = args.out.as_path();
    let clouds = Clouds::of_one(inputs, &sources, out, args.columns)?;
    let origin = Some(clouds.inputs.origin());
    let job = Job { out: Some(out), origin, ..Job::new(COMMAND, &sources, args.batch) };
    job.begin(clouds.begin(), printer)?;
    job.run(&Merge { clouds, common_columns: args.common_columns }, printer)
}

struct Merge {
    clouds: Clouds,
    common_columns: bool,
}

impl Command for Merge {
    type Worker = ();
    type Row = Row;
    type Totals = Totals;
    const ON_DEVICE: bool = false;

    fn worker(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn one(&self, (): &mut (), index: usize, source: &Source) -> Result<Frame<Row>, InputError> {
        let (scan, read_ms) = self.clouds.inputs.read(source)?;
        let notes = Notes::of(&scan.warnings_in(self.clouds.to));
        let of = Row { format: source.format(&scan), points: scan.cloud.len(), scan: Some(scan) };
        Ok(Frame::read(index, source.name(), read_ms, notes, of))
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.points;
        totals.scans.extend(frame.of.scan.take().map(|scan| (PathBuf::from(&frame.input), scan)));
        Ok(())
    }

    fn cells(&self, frame: &Frame<Row>) -> Vec<Cell> {
        vec![("points", grouped(frame.of.points))]
    }

    fn finish(&self, totals: &mut Totals, _: Vec<()>, counts: Counts) -> Result<bool, Failure> {
        // A file that lacks an input is not what was asked for.
        if counts.done < counts.inputs {
            return Err(Failure::Inputs { failed: counts.failed, inputs: counts.inputs });
        }
        let scans = std::mem::take(&mut totals.scans).into_iter().map(Ok::<_, IoError>);
        let all = if self.common_columns { merge_common(scans) } else { merge(scans) }.map_err(|e| match e {
            IoError::InvalidArgument(at) if at.field == "columns" => {
                Failure::Usage(format!("{at}; --common-columns keeps those that all inputs have"))
            }
            e => e.into(),
        })?;
        let written = self.clouds.write(0, &all, &all)?;
        totals.told.add(&written.columns, written.left_out);
        totals.columns = written.columns;
        Ok(true)
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        let line = format!("{}, {} points", counted(summary.counts.done, "input"), grouped(summary.of.points));
        std::iter::once(line).chain(summary.of.told.lines(&self.clouds)).collect()
    }
}
