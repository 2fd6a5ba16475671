//! Runs `pointmill ndt merge`. A file of moments is an input; they are added and subtracted in their order.

use super::args::{MergeArgs, RESOLUTION};
use super::files::{Files, read_moments};
use super::grid::{check, finish, warn_if_empty};
use super::records::{CellsRecord, GridTotals, MergeBegin, MergeRow};
use super::report;
use crate::batch::{Cell, Command, Job, Trouble};
use crate::failure::Failure;
use crate::inputs::{Source, again};
use crate::json::{Counts, Frame, Summary};
use crate::printer::Printer;
use crate::stats::milliseconds;
use crate::text::grouped;
use crate::{device, interrupt};
use pointmill::ndt::{NdtBuilder, NdtParams};
use pointmill::{Argument, Device, Error};
use pointmill_io::{IoError, escape, find_inputs};
use std::path::Path;
use std::time::Instant;

/// The name of the command.
const COMMAND: &str = "ndt merge";

/// Everything that is decided before the work.
struct Merge<'a> {
    args: &'a MergeArgs,
    params: NdtParams,
    /// How many inputs are added; the rest is subtracted.
    plus: usize,
    files: Files,
    device: Device,
}

/// Runs the command.
pub(super) fn run(args: &MergeArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let params = args.cells.params();
    check(RESOLUTION, &params)?;
    if args.work.resume.resume {
        return Err(Failure::Usage(
            "--resume: expected a folder that outputs go to, got one grid of all inputs".into(),
        ));
    }
    let mut sources = find(&args.inputs)?;
    let plus = sources.len();
    sources.extend(find(&args.minus)?);
    let files = Files { of_folder: false, grid: args.out.clone(), moments: args.moments.clone() };
    let paths = sources.iter().filter_map(|s| if let Source::File(path) = s { Some(path.as_path()) } else { None });
    files.check(&paths.collect::<Vec<_>>())?;
    let device = device::open(device)?;
    let job = Job {
        name: COMMAND,
        device: Some(&device),
        sources: &sources,
        batch: args.work.batch,
        verbose: args.work.verbose,
        ledger: None,
        out: args.out.as_deref(),
        picture: None,
        writes: args.moments.is_some(),
    };
    let minus = sources.len() - plus;
    job.begin(MergeBegin { minus, params: CellsRecord { resolution: None, params } }, printer)?;
    job.run(&Merge { args, params, plus, files, device: device.clone() }, printer)
}

/// The files that arguments name. A pattern without a match fails in its turn.
fn find(args: &[String]) -> Result<Vec<Source>, Failure> {
    let mut all = Vec::new();
    for arg in args {
        // Folders are searched for clouds; here a folder is a file that does not open.
        if Path::new(arg).is_dir() {
            all.push(Source::File(arg.into()));
            continue;
        }
        match find_inputs(std::slice::from_ref(arg)) {
            Ok(found) => all.extend(found.into_iter().map(|f| f.map_or_else(Source::Nothing, Source::File))),
            Err(e @ IoError::InvalidArgument(_)) => return Err(e.into()),
            Err(e) => all.push(Source::Nothing(e)),
        }
    }
    Ok(all)
}

impl Command for Merge<'_> {
    type Lane = ();
    type Row = MergeRow;
    type Totals = GridTotals;
    const INPUT: &'static str = "input";

    fn lane(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn one(&self, (): &mut (), index: usize, source: &Source) -> Result<Frame<MergeRow>, Trouble> {
        let start = Instant::now();
        let moments = match source {
            Source::File(path) => read_moments(path, &self.args.limits())?,
            Source::Nothing(e) => return Err(again(e).into()),
            Source::Stdin | Source::Cloud(_) | Source::Sweep(_) | Source::Street => unreachable!("moments are files"),
        };
        let read_ms = milliseconds(start.elapsed());
        let (input, points, cells) = (source.name(), moments.points(), moments.len());
        tracing::info!(
            "{input}: {points} points in {cells} cells of {} m; read {read_ms} ms",
            moments.lattice().unit()
        );
        let of = MergeRow { points, cells, minus: index >= self.plus, moments: Some(moments) };
        Ok(Frame::read(index, input, read_ms, vec![], of))
    }

    fn add(&self, totals: &mut GridTotals, frame: &mut Frame<MergeRow>) -> Result<(), Failure> {
        let Some(moments) = frame.of.moments.take() else { return Ok(()) };
        // Without one of the inputs there is no answer, and what is missing could not be subtracted.
        let whole = totals.added == frame.index;
        totals.added += usize::from(whole);
        let Some((sum, first)) = &mut totals.sum else {
            totals.sum = Some((moments, frame.input.clone()));
            return Ok(());
        };
        let done = match frame.of.minus {
            _ if !whole => Ok(()),
            true => sum.subtract(&moments),
            false => sum.merge(&moments),
        };
        done.map_err(|e| refuse(e, first, &frame.input))
    }

    fn cells(&self, frame: &Frame<MergeRow>) -> Vec<Cell> {
        let MergeRow { points, cells, minus, .. } = frame.of;
        let sign = if minus { "-" } else { "" };
        vec![("points", format!("{sign}{}", grouped(points as usize))), ("cells", grouped(cells))]
    }

    fn finish(&self, totals: &mut GridTotals, _: Vec<()>, counts: Counts) -> Result<bool, Failure> {
        let (Some((moments, _)), true) = (totals.sum.take(), counts.done == counts.inputs) else {
            return Err(Failure::Inputs { failed: counts.failed, inputs: counts.inputs });
        };
        interrupt::check()?;
        let mut builder = NdtBuilder::new(&self.device.stream()?, moments.lattice().unit(), &self.params)?;
        builder.merge(&moments)?;
        let made = finish(&mut builder, None, &self.params, &self.device, &self.args.work)?;
        interrupt::check()?;
        warn_if_empty("all moments", &made.grid);
        self.files.write(&mut builder, &made.grid)?;
        let report = made.grid.report();
        totals.points = report.points as usize;
        totals.resolution = made.grid.lattice().unit();
        totals.voxels = made.grid.len();
        totals.report = Some(*report);
        totals.finish_ms = Some(made.ms);
        totals.finish_cpu = made.cpu;
        totals.moments = self.files.names()[1].take();
        Ok(totals.finish_cpu.as_ref().is_none_or(|cpu| cpu.equal == Some(true)))
    }

    fn lines(&self, summary: &Summary<GridTotals>) -> Vec<String> {
        report::grid_lines(summary)
    }
}

/// Moments that do not go together.
fn refuse(e: Error, first: &str, name: &str) -> Failure {
    match e {
        Error::Argument { argument: Argument::Resolution, .. } => {
            Failure::Usage(escape(&format!("{name}: {e}, beside {first}")))
        }
        Error::Argument { .. } => Failure::Usage(escape(&format!("{name}: {e}"))),
        e => e.into(),
    }
}
