//! `pointmill info`: format, columns, bounds and number of points of files.

use crate::batch::prelude::*;
use crate::flags::{BatchArgs, ReadArgs};
use clap::Args;
use pointmill_io::{Scan, escape};
use serde::Serialize;
use std::path::PathBuf;

/// `pointmill info`
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Files, folders, patterns in quotes such as 'sweeps/*.bin', or - for the standard input, which needs --format
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// `begin` of `info`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {}

/// `frame` of `info`: a file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the file.
    format: &'static str,
    /// The number of points.
    points: usize,
    /// The columns, in order.
    columns: Vec<Column>,
    /// The smallest box around the finite points, in metres; null if there are none.
    bounds: Option<Bounds>,
    /// Points with a NaN or an infinity in x, y or z.
    nonfinite: usize,
}

/// A column.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Column {
    /// The name of the column.
    name: String,
    /// The type of its values in the file.
    r#type: &'static str,
}

/// A box, in the precision of the file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Bounds {
    F32(Corners<f32>),
    F64(Corners<f64>),
}

/// The corners of a box.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Corners<T> {
    /// Smallest x, y, z.
    min: [T; 3],
    /// Largest x, y, z.
    max: [T; 3],
}

impl Bounds {
    fn of(scan: &Scan) -> Option<Self> {
        match scan.bounds_f64() {
            Some((min, max)) => Some(Self::F64(Corners { min, max })),
            None => scan.cloud.bounds().map(|b| Self::F32(Corners { min: b.min, max: b.max })),
        }
    }

    /// A line for each axis.
    fn lines(&self) -> [String; 3] {
        fn axes<T: std::fmt::Display>(Corners { min, max }: &Corners<T>) -> [String; 3] {
            std::array::from_fn(|axis| format!("{}          {} .. {} m", ["x", "y", "z"][axis], min[axis], max[axis]))
        }
        match self {
            Self::F32(corners) => axes(corners),
            Self::F64(corners) => axes(corners),
        }
    }
}

/// `summary` of `info`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Points of all inputs that were done.
    points: usize,
}

struct Info {
    inputs: Inputs,
}

/// Runs the command.
pub(crate) fn run(args: &InfoArgs, printer: &mut Printer) -> Result<(), Failure> {
    let (sources, inputs) = Inputs::find(&args.inputs, args.read.options())?;
    let job = Job { verbose: true, ..Job::new("info", &sources, args.batch) };
    job.begin(Begin {}, printer)?;
    job.run(&Info { inputs }, printer)
}

impl Command for Info {
    type Lane = ();
    type Row = Row;
    type Totals = Totals;
    const ON_DEVICE: bool = false;

    fn lane(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn one(&self, (): &mut (), index: usize, source: &Source) -> Result<Frame<Row>, Trouble> {
        let (scan, read_ms) = timed(|| self.inputs.read(source))?;
        let columns = scan.fields.iter().map(|f| Column { name: f.name.clone(), r#type: f.dtype.as_str() }).collect();
        let (points, nonfinite) = (scan.cloud.len(), scan.cloud.points().non_finite());
        let of = Row { format: scan.format.as_str(), points, columns, bounds: Bounds::of(&scan), nonfinite };
        Ok(Frame::read(index, source.name(), read_ms, warnings(&scan), of))
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.points;
        Ok(())
    }

    fn cells(&self, frame: &Frame<Row>) -> Vec<Cell> {
        vec![("points", grouped(frame.of.points))]
    }

    fn detail(&self, frame: &Frame<Row>, alone: bool) -> Option<Vec<String>> {
        let lines = frame.of.lines();
        if alone {
            return Some(lines);
        }
        let name = escape(&frame.input);
        Some(std::iter::once(name).chain(lines.iter().map(|line| format!("  {line}"))).collect())
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        if summary.counts.inputs == 1 {
            return Vec::new();
        }
        vec![format!("{}, {} points", counted(summary.counts.done, "input"), grouped(summary.of.points))]
    }
}

impl Row {
    /// For people.
    fn lines(&self) -> Vec<String> {
        let columns: Vec<_> = self.columns.iter().map(|c| format!("{} {}", escape(&c.name), c.r#type)).collect();
        let mut lines = vec![
            format!("format     {}", self.format),
            format!("points     {}", grouped(self.points)),
            format!("columns    {}: {}", self.columns.len(), columns.join(", ")),
        ];
        lines.extend(self.bounds.iter().flat_map(Bounds::lines));
        lines.push(format!("nonfinite  {}", grouped(self.nonfinite)));
        lines
    }
}
