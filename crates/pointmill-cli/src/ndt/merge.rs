//! `pointmill ndt merge`: sums that were made apart, added up and taken away.

use super::args::MergeArgs;
use super::records::{MergeBegin, MergeSummary, ParamsRecord};
use super::table::merge_lines;
use super::targets::Files;
use super::{args, check, moments_file, warn_if_empty};
use crate::batch::Refused;
use crate::failure::Failure;
use crate::interrupt;
use crate::printer::Printer;
use crate::records::Run;
use crate::stats::milliseconds;
use pointmill::ndt::{NdtBuilder, NdtMoments};
use pointmill::{Argument, Device, Error};
use pointmill_io::{IoError, Limits, escape, find_inputs};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The command's name.
const COMMAND: &str = "ndt merge";

/// Files, or why there are none.
type Found = Result<PathBuf, (String, Refused)>;

/// Runs the command.
pub(super) fn run(
    args: &MergeArgs,
    open: impl FnOnce() -> Result<Device, Failure>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let model = args.covariance.unwrap_or_default();
    let params = args.cells.params(model);
    check(args::RESOLUTION, &params)?;
    let (plus, minus) = (find(&args.inputs)?, find(&args.minus)?);
    let files = Files { of_folder: false, grid: args.out.clone(), moments: args.moments.clone() };
    let all: Vec<&Path> = plus.iter().chain(&minus).filter_map(|found| found.as_deref().ok()).collect();
    files.check(&all)?;
    let device = open()?;
    let names = |all: &[Found]| all.iter().map(|found| name(found).into_owned()).collect::<Vec<_>>();
    printer.record(
        "begin",
        &MergeBegin {
            run: Run::new(COMMAND, &device),
            inputs: names(&plus),
            minus: names(&minus),
            params: ParamsRecord::new(None, model, &args.cells),
        },
    )?;
    let start = Instant::now();
    let moments = sum(plus, minus, &args.limits(), printer)?;
    let read_ms = milliseconds(start.elapsed());
    interrupt::check()?;
    let start = Instant::now();
    let mut builder = NdtBuilder::new(&device.stream()?, moments.lattice().unit(), &params)?;
    builder.merge(&moments)?;
    let grid = builder.finish()?;
    let ms = milliseconds(start.elapsed());
    interrupt::check()?;
    warn_if_empty("all moments", &grid);
    files.write(&mut builder, &grid)?;
    let [out, moments] = files.names();
    let summary = MergeSummary {
        run: Run::new(COMMAND, &device),
        resolution: grid.lattice().unit(),
        report: grid.report().into(),
        read_ms,
        ms,
        out,
        moments,
    };
    printer.record("summary", &summary)?;
    merge_lines(&summary).iter().try_for_each(|line| printer.text(line))
}

/// The files that arguments mean; a pattern without a match fails in its turn.
fn find(args: &[String]) -> Result<Vec<Found>, Failure> {
    let mut all = Vec::new();
    for arg in args {
        // Folders are searched for clouds; here it is a file that will not open.
        if Path::new(arg).is_dir() {
            all.push(Ok(PathBuf::from(arg)));
            continue;
        }
        match find_inputs(std::slice::from_ref(arg)) {
            Ok(found) => all
                .extend(found.into_iter().map(|f| f.map_err(|e| (e.path().to_string_lossy().into_owned(), e.into())))),
            Err(e @ IoError::InvalidArgument(_)) => return Err(e.into()),
            Err(e) => all.push(Err((arg.clone(), e.into()))),
        }
    }
    Ok(all)
}

fn name(found: &Found) -> std::borrow::Cow<'_, str> {
    match found {
        Ok(path) => path.to_string_lossy(),
        Err((name, _)) => name.as_str().into(),
    }
}

/// Adds all and takes away all. Without one of them the rest would look like a whole map: then there is no answer.
fn sum(plus: Vec<Found>, minus: Vec<Found>, limits: &Limits, printer: &mut Printer) -> Result<NdtMoments, Failure> {
    let (inputs, added) = (plus.len() + minus.len(), plus.len());
    let mut total: Option<(NdtMoments, String)> = None;
    let mut failed = 0;
    for (index, found) in plus.into_iter().chain(minus).enumerate() {
        interrupt::check()?;
        let name = name(&found).into_owned();
        let read = found.map_err(|(_, refused)| refused).and_then(|path| Ok(moments_file::read(&path, limits)?));
        let moments = match read {
            Ok(moments) => moments,
            Err(refused) => {
                failed += 1;
                refused.tell(printer, index, &name)?;
                continue;
            }
        };
        tracing::info!(
            "{name}: {} points in {} cells of {} m",
            moments.points(),
            moments.len(),
            moments.lattice().unit()
        );
        let Some((all, first)) = &mut total else {
            total = Some((moments, name));
            continue;
        };
        // What is missing would be told as what cannot be taken away.
        if failed == 0 {
            let done = if index < added { all.merge(&moments) } else { all.subtract(&moments) };
            done.map_err(|e| refuse(e, first, &name))?;
        }
    }
    match total {
        Some((all, _)) if failed == 0 => Ok(all),
        _ => Err(Failure::Inputs { failed, inputs }),
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
