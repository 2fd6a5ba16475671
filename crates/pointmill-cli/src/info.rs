//! `pointmill info`: what is in files.

use crate::args::InfoArgs;
use crate::batch::Batch;
use crate::failure::Failure;
use crate::inputs::{Inputs, Source, load_or_tell, one_file};
use crate::printer::Printer;
use crate::records::{BatchBegin, BatchSummary};
use crate::say;
use crate::stats::milliseconds;
use crate::table::grouped;
use pointmill_io::{Scan, escape};
use serde::Serialize;
use std::time::Instant;

/// The command's name.
const COMMAND: &str = "info";

/// `summary` of `info` of one file, and with `index` a `frame` of many.
#[derive(Debug, Serialize)]
struct Info {
    /// Its number, from 0, failed ones counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    /// The file, or `-`.
    input: String,
    /// The format's name.
    format: &'static str,
    /// The number of points.
    points: usize,
    /// The columns, in order.
    columns: Vec<Column>,
    /// The smallest box around the finite points, in metres; null if there are none.
    bounds: Option<Bounds>,
    /// Points with a NaN or an infinity in x, y or z.
    nonfinite: usize,
    /// What is odd about it.
    warnings: Vec<String>,
}

/// A column.
#[derive(Debug, Serialize)]
struct Column {
    /// Its name.
    name: String,
    /// The type of its values in the file.
    r#type: &'static str,
}

/// A box, of numbers as wide as the file's.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Bounds {
    F32(Corners<f32>),
    F64(Corners<f64>),
}

/// The corners of a box.
#[derive(Debug, Serialize)]
struct Corners<T> {
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
    fn told(&self) -> [String; 3] {
        fn lines<T: std::fmt::Display>(Corners { min, max }: &Corners<T>) -> [String; 3] {
            std::array::from_fn(|axis| format!("{}          {} .. {} m", ["x", "y", "z"][axis], min[axis], max[axis]))
        }
        match self {
            Self::F32(corners) => lines(corners),
            Self::F64(corners) => lines(corners),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &InfoArgs, printer: &mut Printer) -> Result<(), Failure> {
    let Some(input) = one_file(&args.inputs) else { return many(args, printer) };
    let scan = load_or_tell(input, &args.read.options(), printer)?;
    let info = Info::new(None, input, &scan);
    info.warnings.iter().for_each(|warning| say::warning(format_args!("{input}: {warning}")));
    printer.record("summary", &info)?;
    info.told().iter().try_for_each(|line| printer.text(line))
}

/// Files one after the other, or several at a time.
fn many(args: &InfoArgs, printer: &mut Printer) -> Result<(), Failure> {
    let mut inputs = Inputs::find(&args.inputs, args.read.options())?;
    let sources = std::mem::take(&mut inputs.sources);
    printer.record("begin", &BatchBegin::new(COMMAND, sources.len()))?;
    let batch = Batch { sources: &sources, args: args.batch, ledger: None, writes: false };
    let mut points = 0;
    let lanes = vec![(); args.batch.lanes(sources.len())];
    let look = |(): &mut (), index: usize, source: &Source| {
        let start = Instant::now();
        let info = Info::new(Some(index), &source.name(), &inputs.scan(source)?);
        let ms = milliseconds(start.elapsed());
        tracing::info!("{}: {} points, {}; read {ms} ms", info.input, info.points, info.format);
        Ok(info)
    };
    let ran = batch.run(lanes, printer, look, |printer, info: Info| {
        points += info.points;
        info.warnings.iter().for_each(|w| say::warning(format_args!("{}: {w}", info.input)));
        printer.record("frame", &info)?;
        printer.text(&escape(&info.input))?;
        info.told().iter().try_for_each(|line| printer.text(&format!("  {line}")))
    })?;
    let Some((_, counts)) = ran else { return Ok(()) };
    BatchSummary::new(COMMAND, counts, points).tell(printer)?;
    counts.verdict()
}

impl Info {
    fn new(index: Option<usize>, input: &str, scan: &Scan) -> Self {
        let columns = scan.fields.iter().map(|f| Column { name: f.name.clone(), r#type: f.dtype.as_str() });
        Self {
            index,
            input: input.into(),
            format: scan.format.as_str(),
            points: scan.cloud.len(),
            columns: columns.collect(),
            bounds: Bounds::of(scan),
            nonfinite: scan.cloud.points().nonfinite(),
            warnings: scan.warnings.iter().map(ToString::to_string).collect(),
        }
    }

    /// For people.
    fn told(&self) -> Vec<String> {
        let columns: Vec<_> = self.columns.iter().map(|c| format!("{} {}", escape(&c.name), c.r#type)).collect();
        let mut lines = vec![
            format!("format     {}", self.format),
            format!("points     {}", grouped(self.points)),
            format!("columns    {}: {}", self.columns.len(), columns.join(", ")),
        ];
        lines.extend(self.bounds.iter().flat_map(Bounds::told));
        lines.push(format!("nonfinite  {}", grouped(self.nonfinite)));
        lines
    }
}
