//! `pointmill convert`: the points of files in another format.

use crate::batch::prelude::*;
use crate::flags::{BatchArgs, ReadArgs, ResumeArgs};
use crate::outputs::is_folder;
use crate::text::LINES;
use clap::Args;
use clap::builder::PossibleValuesParser;
use pointmill::{Error, Points};
use pointmill_io::{Format, IoError, NamedPoints, Scan, Warning, WriteOptions, escape, write};
use serde::Serialize;
use std::path::PathBuf;

/// The name of the command.
const COMMAND: &str = "convert";
/// The extensions of the formats that are written.
const EXTENSIONS: [&str; 11] = ["npy", "npz", "ply", "pcd", "las", "laz", "bin", "feather", "arrow", "csv", "xyz"];

/// `pointmill convert`
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Files, folders, patterns in quotes such as 'sweeps/*.bin', or - for the standard input,
    /// which needs --format
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// File to write; its extension decides the format: .npy (f32 [N, C]), .npz (one array
    /// `points`), .ply and .pcd (binary), .las and .laz (1.4), .bin (raw f32 rows of x, y, z,
    /// intensity), .feather, .arrow, .csv and .xyz. With --to: a folder, in which each input NAME.* gets one file
    /// NAME.FORMAT
    #[arg(long, value_name = "OUT.npy|.npz|.ply|.pcd|.las|...|DIR")]
    out: PathBuf,
    /// Format of the files to write into the folder --out; needed for several inputs
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(EXTENSIONS))]
    to: Option<String>,
    /// Write all columns to .bin files, which have no names of columns, and not only x, y, z,
    /// intensity, which every command reads by default. A name ending in .pcd.bin has all columns
    /// always
    #[arg(long)]
    all_columns: bool,
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
    /// The names of columns that are not written.
    #[serde(skip)]
    left_out: Vec<String>,
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
    /// The names of columns that are not written.
    #[serde(skip)]
    left_out: Vec<String>,
}

struct Convert {
    to: Format,
    inputs: Inputs,
    outputs: Outputs,
    /// Whether `.bin` has all columns.
    all_columns: bool,
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
            let message = format!(
                "to convert several inputs or into a folder, add --to with one of {formats}, and give a folder"
            );
            return Err(Failure::Usage(format!("--out {}: {message}", out.display())));
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
    if args.all_columns && to != "bin" {
        return Err(Failure::Usage("--all-columns: can be used with .bin only; other formats have all columns".into()));
    }
    let resume_log =
        ResumeLog::of(&[&outputs], &format!("{COMMAND} {to} {} {:?}", args.all_columns, inputs.options()), resume)?;
    let job =
        Job { resume_log, out: Some(out), origin: Some(inputs.origin()), ..Job::new(COMMAND, &sources, args.batch) };
    job.begin(Begin { to: to.into() }, printer)?;
    let to = Format::for_writing(PathBuf::from("a").with_extension(to)).expect("an extension that is written");
    if !to.keeps_f64() {
        tell_origin(&inputs);
    }
    let all_columns = args.all_columns || Format::from_name(out) == Some(Format::Nuscenes);
    job.run(&Convert { to, inputs, outputs, all_columns, lines: sources.len() <= LINES }, printer)
}

/// The columns of `.bin` files.
const KITTI: [&str; 4] = ["x", "y", "z", "intensity"];

/// The rows of a `.bin` file, and the names of the columns that it does not have. The intensity is
/// the column of its name, else the fourth if that has no name of its own, else zero.
fn kitti(scan: &Scan) -> (Vec<f32>, Vec<String>) {
    let width = scan.cloud.columns();
    let unnamed = |name: &str| matches!(name, "column3" | "c3");
    let fourth = || (width == 4 || scan.fields.get(3).is_some_and(|field| unnamed(&field.name))).then_some(3);
    let intensity = scan.intensity().filter(|&j| j >= 3).or_else(fourth);
    let row = |row: &[f32]| [row[0], row[1], row[2], intensity.map_or(0.0, |j| row[j])];
    let left_out = (3..width).filter(|j| Some(*j) != intensity).map(|j| scan.fields[j].name.clone());
    (scan.cloud.data().chunks_exact(width).flat_map(row).collect(), left_out.collect())
}

impl Command for Convert {
    type Worker = ();
    type Row = Row;
    type Totals = Totals;
    const ON_DEVICE: bool = false;

    fn worker(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn one(&self, (): &mut (), index: usize, source: &Source) -> Result<Frame<Row>, InputError> {
        let (scan, read_ms) = self.inputs.read(source)?;
        interrupt::check()?;
        let to = self.outputs.place(index).expect("an input that is read has an output");
        let options = WriteOptions { format: Some(self.to) };
        let mut warnings = scan.warnings_in(self.to);
        let mut columns: Vec<_> = scan.fields.iter().map(|f| f.name.clone()).collect();
        let (left_out, rows);
        let mut cloud = NamedPoints::from(&scan);
        if self.to == Format::Bin && !self.all_columns {
            (rows, left_out) = kitti(&scan);
            cloud = Points::new(&rows, KITTI.len()).map_err(Error::from)?.into();
            columns = KITTI.map(String::from).to_vec();
            // What is not written loses nothing.
            warnings.retain(
                |w| !matches!(w, Warning::Cast { columns, .. } if columns.iter().all(|c| left_out.contains(c))),
            );
        } else {
            left_out = vec![];
        }
        let ((), write_ms) = timed(|| undivided(|| write(to, cloud, &options))).map_err(|e| match e {
            // The cloud is at fault, not the arguments.
            IoError::InvalidArgument(_) => InputError::from(e),
            e => Failure::from(e).into(),
        })?;
        let notes = Notes::of(&warnings);
        let of = Row { format: scan.format.as_str(), points: scan.cloud.len(), columns, left_out };
        let frame = Frame::read(index, source.name(), read_ms, notes, of);
        Ok(Frame { write_ms: Some(write_ms), out: Some(shown(to.path)), ..frame })
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.points;
        for name in std::mem::take(&mut frame.of.left_out) {
            if !totals.left_out.contains(&name) {
                totals.left_out.push(name);
            }
        }
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
        if let (Format::Bin, true, Some(columns @ 1..)) = (self.to, self.all_columns, summary.of.columns) {
            lines.push(format!("read with --format bin --columns {columns}"));
        }
        if !summary.of.left_out.is_empty() {
            let names = escape(&summary.of.left_out.join(", "));
            lines.push(format!("left out: {names}; --all-columns keeps them"));
        }
        lines
    }
}
