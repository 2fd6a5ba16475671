//! Runs `pointmill ndt merge`. A file of moments is an input; they are added and subtracted in
//! their order.

use super::args::{MergeArgs, RESOLUTION};
use super::files::Targets;
use super::grid::{builder_of, check, finish, warn_if_empty};
use super::merge_blocks;
use super::records::{CellsRecord, GridTotals, MergeBegin, MergeRow};
use super::report;
use crate::batch::prelude::*;
use crate::inputs::files;
use pointmill::ndt::NdtParams;
use pointmill::{Argument, Device, Error};
use pointmill_data::read_moments;
use pointmill_io::escape;
use std::path::PathBuf;

/// The name of the command.
const COMMAND: &str = "ndt merge";

/// Everything that is decided before the work.
struct Merge<'a> {
    args: &'a MergeArgs,
    params: NdtParams,
    /// How many inputs are added; the rest is subtracted.
    plus: usize,
    targets: Targets,
    device: Device,
}

/// Runs the command.
pub(super) fn run(args: &MergeArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let params = args.cells.params();
    check(RESOLUTION, &params)?;
    if merge_blocks::merge(args, printer)?.is_some() {
        return Ok(());
    }
    if args.work.resume.resume {
        return Err(Failure::Usage(
            "--resume: cannot be used with `ndt merge`, which builds one map of all inputs".into(),
        ));
    }
    let mut sources = find(&args.inputs)?;
    let plus = sources.len();
    sources.extend(find(&args.minus)?);
    let (out, moments) = (args.out.as_deref(), args.moments.as_deref());
    let targets = Targets::one(out, moments, &sources, None)?;
    let device = device::open(device, &sources)?;
    let job = Job { out, writes: moments.is_some(), ..Job::on(&device, COMMAND, &sources, &args.work) };
    let minus = sources.len() - plus;
    job.begin(MergeBegin { minus, params: CellsRecord { resolution: None, params } }, printer)?;
    job.run(&Merge { args, params, plus, targets, device: device.clone() }, printer)
}

/// The files that arguments name. Folders are searched for clouds elsewhere; here a folder is a
/// file that does not open.
fn find(args: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    let found = args.iter().map(|arg| if arg.is_dir() { Ok(vec![Source::File(arg.clone())]) } else { files(arg) });
    Ok(found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

impl Command for Merge<'_> {
    type Worker = ();
    type Row = MergeRow;
    type Totals = GridTotals;
    const ON_DEVICE: bool = false;

    fn worker(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn one(&self, (): &mut (), index: usize, source: &Source) -> Result<Frame<MergeRow>, InputError> {
        let (moments, read_ms) = timed(|| match source {
            Source::File(path) => read_moments(path, &self.args.memory.limits()),
            Source::Nothing(e) => Err(e.again()),
            Source::Held(..) | Source::Stdin | Source::Cloud(_) | Source::Sweep(_) | Source::Street => {
                unreachable!("moments are files")
            }
        })?;
        let (points, cells, minus) = (moments.points(), moments.len(), index >= self.plus);
        let of = MergeRow { points, cells, minus, voxels: None, moments: Some(moments) };
        Ok(Frame::read(index, source.name(), read_ms, Notes::default(), of))
    }

    fn add(&self, totals: &mut GridTotals, frame: &mut Frame<MergeRow>) -> Result<(), Failure> {
        let Some(moments) = frame.of.moments.take() else { return Ok(()) };
        // Without one of the inputs there is no answer, and what is missing could not be
        // subtracted.
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
        let mut builder = builder_of(&self.device, &moments, &self.params)?;
        let grid = finish(&mut builder, None, &self.params, &self.device, &self.args.work, totals)?;
        warn_if_empty("all moments", &grid);
        totals.points = grid.report().points as usize;
        [_, totals.moments] = self.targets.write(0, &mut builder, &grid)?;
        Ok(totals.equal())
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
        Error::Argument { argument: Argument::Origin, .. } => {
            let cure = "build all maps with the same --local-origin X,Y,Z";
            Failure::Usage(escape(&format!("{name}: {e}, beside {first}; {cure}")))
        }
        Error::Argument { .. } => Failure::Usage(escape(&format!("{name}: {e}"))),
        e => e.into(),
    }
}
