//! `pointmill convert`: the points of files in another format.

use crate::batch::{Cell, Command, Job, Ledger, Trouble};
use crate::failure::Failure;
use crate::flags::{BatchArgs, ReadArgs, ResumeArgs};
use crate::inputs::{Inputs, STDIN, Source, one_file};
use crate::interrupt::{self, undivided};
use crate::json::{Frame, Summary};
use crate::outputs::{Outputs, is_folder, plan_file};
use crate::printer::Printer;
use crate::stats::milliseconds;
use crate::text::{LINES, counted, grouped, shown};
use clap::Args;
use clap::builder::PossibleValuesParser;
use pointmill_io::{Format, WriteOptions, escape, write};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The name of the command.
const COMMAND: &str = "convert";
/// The extensions of the formats that are written.
const EXTENSIONS: [&str; 5] = ["npy", "npz", "ply", "pcd", "bin"];

/// `pointmill convert`
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Files, folders, quoted patterns, or - for the standard input (with --format)
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<String>,
    /// File to write; its extension decides the format: .npy f32 [N, C], .npz with the array points, .ply and .pcd binary, .bin raw f32 rows. With --to a folder that gets NAME.* for each input NAME.*
    #[arg(long, value_name = "OUT.npy|.npz|.ply|.pcd|.bin|DIR")]
    out: PathBuf,
    /// Format of the files of a folder
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
    let options = args.read.options();
    let (out, resume) = (args.out.as_path(), args.resume.resume);
    let alone = match (one_file(&args.inputs), &args.to) {
        (Some(input), None) if !is_folder(out) => Some(input),
        (_, Some(_)) => None,
        (_, None) => {
            let names = EXTENSIONS.map(|e| format!(".{e}")).join(", ");
            let expected = format!("expected a file's name ending in {names}, or --to with a folder");
            return Err(Failure::Usage(format!("--out {}: {expected}", out.display())));
        }
    };
    let mut inputs = Inputs::find(&args.inputs, options.clone())?;
    let sources = std::mem::take(&mut inputs.sources);
    let (to, outputs) = match (alone, args.to.as_deref()) {
        (Some(_), _) if resume => {
            return Err(Failure::Usage("--resume: expected a folder that outputs go to, got a file".into()));
        }
        (Some(input), _) => {
            let path = Path::new(input);
            let inputs = if input == STDIN { &[] } else { std::slice::from_ref(&path) };
            (plan_file("--out", out, &EXTENSIONS, inputs)?, Outputs::one(Some(out)))
        }
        (None, to) => {
            let to = to.expect("a folder has --to");
            (to, Outputs::folder("--out", out, to, &sources)?)
        }
    };
    let job = Job {
        name: COMMAND,
        device: None,
        sources: &sources,
        batch: args.batch,
        verbose: false,
        ledger: Ledger::of(&[&outputs], &format!("{COMMAND} {to} {options:?}"), resume)?,
        out: Some(out),
        picture: None,
        writes: true,
    };
    job.begin(Begin { to: to.into() }, printer)?;
    let to = to.parse().expect("a format that is written");
    job.run(&Convert { to, inputs, outputs, lines: sources.len() <= LINES }, printer)
}

impl Command for Convert {
    type Lane = ();
    type Row = Row;
    type Totals = Totals;
    const INPUT: &'static str = "input";

    fn lane(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn one(&self, (): &mut (), index: usize, source: &Source) -> Result<Frame<Row>, Trouble> {
        let start = Instant::now();
        let scan = self.inputs.scan(source)?;
        let read_ms = milliseconds(start.elapsed());
        interrupt::check()?;
        let start = Instant::now();
        let to = self.outputs.place(index).expect("an input that is read has an output");
        undivided(|| write(to, &scan, &WriteOptions { format: Some(self.to) })).map_err(Failure::from)?;
        let write_ms = milliseconds(start.elapsed());
        let (name, points, format) = (source.name(), scan.cloud.len(), scan.format.as_str());
        tracing::info!("{name}: {points} points, {format}; read {read_ms} ms, written {write_ms} ms");
        let warnings = scan.warnings_in(self.to).map(ToString::to_string).collect();
        let columns = scan.fields.iter().map(|f| f.name.clone()).collect();
        let frame = Frame::read(index, name, read_ms, warnings, Row { format, points, columns });
        Ok(Frame { write_ms: Some(write_ms), out: self.outputs.of(index).map(shown), ..frame })
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.points;
        // Files may differ in their columns; then no one number reads all.
        let n = frame.of.columns.len();
        totals.columns = Some(if totals.columns.is_none_or(|columns| columns == n) { n } else { 0 });
        Ok(())
    }

    fn cells(&self, _: &Frame<Row>) -> Vec<Cell> {
        Vec::new()
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
