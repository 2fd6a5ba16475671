//! `pointmill convert`: the points of files in another format.

use crate::batch::prelude::*;
use crate::flags::{BatchArgs, ReadArgs, ResumeArgs};
use crate::outputs::is_folder;
use crate::text::LINES;
use clap::Args;
use clap::builder::PossibleValuesParser;
use pointmill_io::{Format, WriteOptions, escape, write};
use serde::Serialize;
use std::path::PathBuf;

/// The name of the command.
const COMMAND: &str = "convert";
/// The extensions of the formats that are written.
const EXTENSIONS: [&str; 9] = ["npy", "npz", "ply", "pcd", "bin", "feather", "arrow", "csv", "xyz"];

/// `pointmill convert`
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Files, folders, patterns in quotes such as 'sweeps/*.bin', or - for the standard input, which needs --format
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// File to write; its extension decides the format: .npy (f32 [N, C]), .npz (one array `points`), .ply and .pcd (binary), .bin (raw f32 rows), .feather, .arrow, .csv and .xyz. With --to: a folder, in which each input NAME.* gets one file NAME.FORMAT
    #[arg(long, value_name = "OUT.npy|.npz|.ply|.pcd|.bin|...|DIR")]
    out: PathBuf,
    /// Format of the files to write into the folder --out; needed for several inputs
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(EXTENSIONS))]
    to: Option<String>,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    resume: ResumeArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// `begin` of `convert`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The extension of the files that are written.
    to: String,
}

/// `frame` of `convert`: a file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the input.
    format: &'static str,
    /// The number of points.
    points: usize,
    /// The names of the columns, in order.
    columns: Vec<String>,
}

/// `summary` of `convert`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Points of all inputs that were done.
    points: usize,
    /// The number of columns, or 0 where files differ in it.
    #[serde(skip)]
    columns: Option<usize>,
}

struct Convert {
    to: Format,
    inputs: Inputs,
    outputs: Outputs,
    /// Whether each input has a line.
    lines: bool,
}

/// Runs the command.
pub(crate) fn run(args: &ConvertArgs, printer: &mut Printer) -> Result<(), Failure> {
    let (out, resume) = (args.out.as_path(), args.resume.resume);
    let alone = match (&args.inputs[..], &args.to) {
        ([input], None) if is_one_file(input) && !is_folder(out) => Some(input.as_path()),
        (_, Some(_)) => None,
        (_, None) => {
            let formats = EXTENSIONS.join(", ");
            let told = format!(
                "to convert several inputs or into a folder, add --to with one of {formats}, and give a folder"
            );
            return Err(Failure::Usage(format!("--out {}: {told}", out.display())));
        }
    };
    let (sources, inputs) = Inputs::find(&args.inputs, args.read.options()?)?;
    let (to, outputs) = match (alone, args.to.as_deref()) {
        (Some(_), _) if resume => {
            return Err(Failure::Usage("--resume: needs --out with a folder, got a file".into()));
        }
        (Some(input), _) => {
            let inputs = if is_stdin(input) { &[] } else { std::slice::from_ref(&input) };
            (plan_file("--out", out, &EXTENSIONS, inputs)?, Outputs::one(Some(out)))
        }
        (None, to) => {
            let to = to.expect("a folder has --to");
            (to, Outputs::folder("--out", out, to, &sources)?)
        }
    };
    let ledger = Ledger::of(&[&outputs], &format!("{COMMAND} {to} {:?}", inputs.options()), resume)?;
    let job = Job { ledger, out: Some(out), origin: Some(inputs.origin()), ..Job::new(COMMAND, &sources, args.batch) };
    job.begin(Begin { to: to.into() }, printer)?;
    let to = to.parse().expect("a format that is written");
    job.run(&Convert { to, inputs, outputs, lines: sources.len() <= LINES }, printer)
}

impl Command for Convert {
    type Lane = ();
    type Row = Row;
    type Totals = Totals;
    const ON_DEVICE: bool = false;

    fn lane(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn one(&self, (): &mut (), index: usize, source: &Source) -> Result<Frame<Row>, Trouble> {
        let (scan, read_ms) = self.inputs.read(source)?;
        interrupt::check()?;
        let to = self.outputs.place(index).expect("an input that is read has an output");
        let options = WriteOptions { format: Some(self.to) };
        let ((), write_ms) = timed(|| undivided(|| write(to, &scan, &options))).map_err(Failure::from)?;
        let notes = Notes::of(scan.warnings_in(self.to));
        let columns = scan.fields.iter().map(|f| f.name.clone()).collect();
        let of = Row { format: scan.format.as_str(), points: scan.cloud.len(), columns };
        let frame = Frame::read(index, source.name(), read_ms, notes, of);
        Ok(Frame { write_ms: Some(write_ms), out: Some(shown(to.path)), ..frame })
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.points;
        // Files may differ in their columns; then no one number reads all.
        let n = frame.of.columns.len();
        totals.columns = Some(if totals.columns.is_none_or(|columns| columns == n) { n } else { 0 });
        Ok(())
    }

    fn cells(&self, frame: &Frame<Row>) -> Vec<Cell> {
        vec![("points", grouped(frame.of.points))]
    }

    fn detail(&self, frame: &Frame<Row>, _: bool) -> Option<Vec<String>> {
        let line = || {
            let out = escape(frame.out.as_deref().unwrap_or_default());
            format!("{out}  {} points: {}", grouped(frame.of.points), escape(&frame.of.columns.join(", ")))
        };
        Some(self.lines.then(line).into_iter().collect())
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        let mut lines = Vec::new();
        if summary.counts.inputs > 1 {
            lines.push(format!("{}, {} points", counted(summary.counts.done, "input"), grouped(summary.of.points)));
        }
        if let (Format::Bin, Some(columns @ 1..)) = (self.to, summary.of.columns) {
            lines.push(format!("read with --format bin --columns {columns}"));
        }
        lines
    }
}
