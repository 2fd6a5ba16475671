//! `pointmill convert`: the points of files in another format.

use crate::args::ConvertArgs;
use crate::batch::Batch;
use crate::failure::Failure;
use crate::inputs::{Inputs, STDIN, Source, load_or_tell, one_file, require_format};
use crate::interrupt::{self, undivided};
use crate::outputs::{Outputs, is_folder, plan_file};
use crate::printer::Printer;
use crate::records::{BatchBegin, BatchSummary};
use crate::say;
use crate::stats::milliseconds;
use crate::table::{LINES, grouped};
use pointmill_io::{
    ArrayView, Destination, NamedPoints, Scan, Warning, escape, write_bin, write_npy, write_pcd, write_ply,
    write_points_npz,
};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// The command's name.
const COMMAND: &str = "convert";
/// The endings of the formats written.
pub(crate) const EXTENSIONS: [&str; 5] = ["npy", "npz", "ply", "pcd", "bin"];

/// `summary` of `convert` of one file, and with `index` a `frame` of many.
#[derive(Debug, Serialize)]
struct Converted {
    /// Its number, from 0, failed ones counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    /// The file, or `-`.
    input: String,
    /// Its format's name.
    format: &'static str,
    /// The file written.
    out: String,
    /// The number of points.
    points: usize,
    /// The names of the columns, in order.
    columns: Vec<String>,
    /// What is odd about the input, or lost.
    warnings: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &ConvertArgs, printer: &mut Printer) -> Result<(), Failure> {
    match (one_file(&args.inputs), &args.to) {
        (Some(input), None) if !is_folder(&args.out) => one(input, args, printer),
        (_, Some(to)) => many(args, to, printer),
        (_, None) => {
            let out = args.out.display();
            let names = EXTENSIONS.map(|e| format!(".{e}")).join(", ");
            Err(Failure::Usage(format!("--out {out}: expected a file's name ending in {names}, or --to with a folder")))
        }
    }
}

/// One file into one.
fn one(input: &str, args: &ConvertArgs, printer: &mut Printer) -> Result<(), Failure> {
    let (out, options) = (&args.out, args.read.options());
    let path = Path::new(input);
    if input == STDIN {
        require_format(&options)?;
    }
    if args.resume.resume {
        return Err(Failure::Usage("--resume: expected a folder that outputs go to, got a file".into()));
    }
    let extension = plan_file(out, &EXTENSIONS, if input == STDIN { &[] } else { std::slice::from_ref(&path) })?;
    let scan = load_or_tell(input, &options, printer)?;
    undivided(|| write(out, extension, &scan))?;
    let converted = Converted::new(None, input, out, extension, &scan);
    converted.warnings.iter().for_each(|warning| say::warning(format_args!("{input}: {warning}")));
    printer.record("summary", &converted)?;
    printer.text(&converted.told())?;
    hint(extension, converted.columns.len(), printer)
}

/// Files into a folder.
fn many(args: &ConvertArgs, to: &str, printer: &mut Printer) -> Result<(), Failure> {
    let mut inputs = Inputs::find(&args.inputs, args.read.options())?;
    let sources = std::mem::take(&mut inputs.sources);
    let outputs = Outputs::folder("--out", &args.out, to, &sources)?;
    let ledger = outputs.ledger(&format!("{COMMAND} {to} {:?}", args.read.options()), args.resume.resume)?;
    printer.record("begin", &BatchBegin::new(COMMAND, sources.len()))?;
    let batch = Batch { sources: &sources, args: args.batch, ledger, writes: true };
    let (mut points, mut columns) = (0, None);
    let lanes = vec![(); args.batch.lanes(sources.len())];
    let convert = |(): &mut (), index: usize, source: &Source| {
        let start = Instant::now();
        let scan = inputs.scan(source)?;
        let read_ms = milliseconds(start.elapsed());
        interrupt::check()?;
        let start = Instant::now();
        let place = outputs.place(index).expect("an input that is read has an output");
        undivided(|| write(place, to, &scan)).map_err(Failure::from)?;
        let write_ms = milliseconds(start.elapsed());
        let name = source.name();
        tracing::info!(
            "{name}: {} points, {}; read {read_ms} ms, written {write_ms} ms",
            scan.cloud.len(),
            scan.format
        );
        Ok(Converted::new(Some(index), &name, place.path, to, &scan))
    };
    let ran = batch.run(lanes, printer, convert, |printer, converted: Converted| {
        points += converted.points;
        // Files may differ in their columns; then no one number would read all.
        let n = converted.columns.len();
        columns = Some(if columns.is_none_or(|columns| columns == n) { n } else { 0 });
        converted.warnings.iter().for_each(|w| say::warning(format_args!("{}: {w}", converted.input)));
        printer.record("frame", &converted)?;
        if sources.len() <= LINES { printer.text(&converted.told()) } else { Ok(()) }
    })?;
    let Some((_, counts)) = ran else { return Ok(()) };
    BatchSummary::new(COMMAND, counts, points).tell(printer)?;
    if let Some(columns @ 1..) = columns {
        hint(to, columns, printer)?;
    }
    counts.verdict()
}

/// Says how raw rows are read back.
fn hint(extension: &str, columns: usize, printer: &mut Printer) -> Result<(), Failure> {
    if extension == "bin" { printer.text(&format!("read with --format bin --columns {columns}")) } else { Ok(()) }
}

impl Converted {
    fn new(index: Option<usize>, input: &str, out: &Path, extension: &str, scan: &Scan) -> Self {
        Self {
            index,
            input: input.into(),
            format: scan.format.as_str(),
            out: out.to_string_lossy().into_owned(),
            points: scan.cloud.len(),
            columns: scan.fields.iter().map(|f| f.name.clone()).collect(),
            warnings: warnings(scan, matches!(extension, "npz" | "ply" | "pcd")),
        }
    }

    /// For people.
    fn told(&self) -> String {
        format!("{}  {} points: {}", escape(&self.out), grouped(self.points), escape(&self.columns.join(", ")))
    }
}

/// Writes a cloud in the format of an ending.
pub(crate) fn write(out: impl Destination, extension: &str, scan: &Scan) -> Result<(), pointmill_io::IoError> {
    let points = scan.cloud.points();
    match extension {
        "ply" => write_ply(out, &scan.into()),
        "pcd" => write_pcd(out, &scan.into()),
        "npz" => write_points_npz(out, &NamedPoints::from(scan)),
        "npy" => write_npy(out, &ArrayView::f32(&[points.len(), points.columns()], points.data())),
        _ => write_bin(out, points),
    }
}

/// What to tell; where the output has the coordinates as `f64`, their cast is none of it.
fn warnings(scan: &Scan, keeps_f64: bool) -> Vec<String> {
    let lost = |warning: &&Warning| match warning {
        Warning::Rounded { .. } => !keeps_f64,
        Warning::Cast { from } => !keeps_f64 || scan.fields[3..].iter().any(|f| f.dtype == *from),
        _ => true,
    };
    scan.warnings.iter().filter(lost).map(ToString::to_string).collect()
}
