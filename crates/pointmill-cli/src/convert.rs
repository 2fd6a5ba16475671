//! `pointmill convert`: the points of files in another format.

use crate::batch::prelude::*;
use crate::clouds::{CloudArgs, Clouds, Columns, Plan};
use crate::flags::{BatchArgs, ResumeArgs};
use crate::text::LINES;
use clap::Args;
use pointmill_io::escape;
use serde::Serialize;

/// The name of the command.
const COMMAND: &str = "convert";

/// `pointmill convert`
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    clouds: CloudArgs,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    resume: ResumeArgs,
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
    #[serde(skip)]
    columns: Columns,
}

struct Convert {
    clouds: Clouds,
    /// Whether each input has a line.
    lines: bool,
}

/// Runs the command.
pub(crate) fn run(args: &ConvertArgs, printer: &mut Printer) -> Result<(), Failure> {
    let Plan { sources, clouds, resume_log } = args.clouds.plan(COMMAND, args.resume.resume)?;
    let (out, origin) = (Some(args.clouds.out.as_path()), Some(clouds.inputs.origin()));
    let picture = args.clouds.see.visualize.as_deref();
    let job = Job { resume_log, out, picture, origin, ..Job::new(COMMAND, &sources, args.batch) };
    job.begin(clouds.begin(), printer)?;
    job.run(&Convert { clouds, lines: sources.len() <= LINES }, printer)
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
        let (scan, read_ms) = self.clouds.read(source)?;
        let written = self.clouds.write(index, &scan, &scan)?;
        let (columns, left_out) = (written.columns, written.left_out);
        let of = Row { format: scan.format.as_str(), points: scan.cloud.len(), columns, left_out };
        let frame = Frame::read(index, source.name(), read_ms, Notes::of(&written.warnings), of);
        Ok(Frame { write_ms: Some(written.ms), out: Some(written.out), ..frame })
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.points;
        totals.columns.add(&frame.of.columns, std::mem::take(&mut frame.of.left_out));
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
        let inputs = (summary.counts.inputs > 1)
            .then(|| format!("{}, {} points", counted(summary.counts.done, "input"), grouped(summary.of.points)));
        inputs.into_iter().chain(summary.of.columns.lines(&self.clouds)).collect()
    }
}
