//! `pointmill ndt align`: the pose at which a scan fits a map best.

use super::args::AlignArgs;
use super::map::{Asked, Ready};
use super::picture::{self, Before};
use super::records::{AlignFrame, AlignRecord, MatchBegin, MatchSummary};
use super::scans::{self, Found, Scans};
use super::score::{highest, poses};
use super::shown;
use super::table::{align_head, align_row, match_line};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::records::Run;
use crate::stats::milliseconds;
use crate::table::matrix_lines;
use crate::{interrupt, say};
use pointmill::ndt::NdtAlignParams;
use pointmill::{Device, Pose};
use std::time::Instant;

/// The command's name.
const COMMAND: &str = "ndt align";

/// Runs the command.
pub(super) fn run(
    args: &AlignArgs,
    open: impl FnOnce() -> Result<Device, Failure>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let asked = Asked::new(&args.matched)?;
    let &AlignArgs { max_iterations, step_size, epsilon, .. } = args;
    let params = NdtAlignParams { step_size, epsilon, max_iterations };
    params.validate()?;
    args.visualize.as_deref().map(|path| picture::plan(path, &["png", "gif"])).transpose()?;
    let record = AlignRecord { max_iterations, step_size, epsilon };
    if scans::are_many(&args.matched) {
        return many(args, asked, &params, record, open, printer);
    }
    let device = open()?;
    printer.record(
        "begin",
        &MatchBegin {
            run: Run::new(COMMAND, &device),
            map: args.matched.map.clone(),
            scan: args.matched.scan.clone(),
            params: asked.params(),
            align: Some(record),
        },
    )?;
    let start = Instant::now();
    let (mut guesses, failed) = poses(&args.guess, printer)?;
    if args.guess.is_empty() {
        guesses.push(("identity".into(), Pose::default()));
    }
    let Ready { grid, scan, zeros, warnings } = asked.load(&device, args.guess.len(), failed, printer)?;
    let read_ms = milliseconds(start.elapsed());
    interrupt::check()?;
    warnings.iter().for_each(say::warning);
    let start = Instant::now();
    let values: Vec<Pose> = guesses.iter().map(|(_, pose)| *pose).collect();
    let found = grid.align(scan.view()?, &values, &params)?;
    let ms = milliseconds(start.elapsed());
    interrupt::check()?;
    let mut stops = Vec::new();
    printer.text(&align_head("guess"))?;
    for (index, ((name, _), one)) in guesses.iter().zip(&found).enumerate() {
        let frame = AlignFrame::new(index, name, one);
        printer.record("frame", &frame)?;
        printer.text(&align_row(&frame.guess, &frame, one))?;
        stops.push(frame.stop);
    }
    let best = highest(found.iter().map(|one| one.converged().then_some(one.fit.score)));
    if let Some(path) = &args.visualize {
        let i = best.unwrap_or(0);
        let fit = grid.score(scan.view()?, &values[i..=i])?[0];
        picture::write_alignment(path, &grid, &scan, Before { pose: values[i], fit }, &found[i])?;
    }
    let summary = MatchSummary {
        run: Run::new(COMMAND, &device),
        voxels: grid.len(),
        resolution: grid.lattice().unit(),
        points: scan.len(),
        zeros,
        poses: found.len(),
        converged: Some(found.iter().filter(|one| one.converged()).count()),
        best,
        ms,
        read_ms,
        warnings,
        picture: args.visualize.as_deref().map(shown),
    };
    printer.record("summary", &summary)?;
    if let Some(best) = best {
        matrix_lines(&crate::pose::flat(&found[best].target_from_source))
            .iter()
            .try_for_each(|line| printer.text(line))?;
    }
    printer.text(&match_line(&summary))?;
    if let Some(picture) = &summary.picture {
        printer.text(&format!("picture: {}", pointmill_io::escape(picture)))?;
    }
    if best.is_none() {
        stops.dedup();
        return Err(Failure::No(format!("not converged: {}", stops.join(", "))));
    }
    Ok(())
}

/// Many scans, each from every guess.
fn many(
    args: &AlignArgs,
    asked: Asked<'_>,
    params: &NdtAlignParams,
    record: AlignRecord,
    open: impl FnOnce() -> Result<Device, Failure>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    if let Some(path) = &args.visualize {
        let told = format!("--visualize {}: expected one scan, got a folder or a pattern", path.display());
        return Err(Failure::Usage(told));
    }
    let matched = &args.matched;
    let (batch, poses, head) = (matched.batch, &args.guess, align_head("scan"));
    let scans = Scans { command: COMMAND, args: matched, batch, asked, poses, head, align: Some(record) };
    scans.run(&open()?, printer, |grid, scan, guesses, name| {
        let values: Vec<Pose> = guesses.iter().map(|(_, pose)| *pose).collect();
        let found = grid.align(scan.view()?, &values, params)?;
        let best = highest(found.iter().map(|one| one.converged().then_some(one.fit.score)));
        let each = guesses.iter().zip(&found).enumerate();
        let poses: Vec<AlignFrame> = each.map(|(i, ((guess, _), one))| AlignFrame::new(i, guess, one)).collect();
        // Where none converged the first one says why.
        let shown = best.unwrap_or(0);
        Ok(Found { row: align_row(name, &poses[shown], &found[shown]), poses, best })
    })
}
