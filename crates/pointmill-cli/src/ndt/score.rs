//! `pointmill ndt score`: how well a scan fits a map at poses.

use super::args::ScoreArgs;
use super::map::{Asked, Ready};
use super::records::{MatchBegin, MatchSummary, ScoreFrame};
use super::scans::{self, Found, Scans};
use super::table::{match_line, score_head, score_row};
use super::{pose, shown};
use crate::batch::Refused;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::records::Run;
use crate::stats::milliseconds;
use crate::{interrupt, say};
use pointmill::ndt::NdtFit;
use pointmill::{Device, Pose};
use std::path::PathBuf;
use std::time::Instant;

/// The command's name.
const COMMAND: &str = "ndt score";

/// Runs the command.
pub(super) fn run(
    args: &ScoreArgs,
    open: impl FnOnce() -> Result<Device, Failure>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let asked = Asked::new(&args.matched)?;
    if scans::are_many(&args.matched) {
        return many(args, asked, &open()?, printer);
    }
    let device = open()?;
    printer.record(
        "begin",
        &MatchBegin {
            run: Run::new(COMMAND, &device),
            map: args.matched.map.clone(),
            scan: args.matched.scan.clone(),
            params: asked.params(),
            align: None,
        },
    )?;
    let start = Instant::now();
    let (poses, failed) = poses(&args.pose, printer)?;
    let Ready { grid, scan, zeros, warnings } = asked.load(&device, args.pose.len(), failed, printer)?;
    let read_ms = milliseconds(start.elapsed());
    interrupt::check()?;
    warnings.iter().for_each(say::warning);
    let start = Instant::now();
    let values: Vec<Pose> = poses.iter().map(|(_, pose)| *pose).collect();
    let fits = grid.score(scan.view()?, &values)?;
    let ms = milliseconds(start.elapsed());
    printer.text(&score_head("pose"))?;
    for (index, ((name, pose), fit)) in poses.iter().zip(&fits).enumerate() {
        let frame = frame(index, name, pose, fit);
        printer.record("frame", &frame)?;
        printer.text(&score_row(name, fit))?;
    }
    let summary = MatchSummary {
        run: Run::new(COMMAND, &device),
        voxels: grid.len(),
        resolution: grid.lattice().unit(),
        points: scan.len(),
        zeros,
        poses: fits.len(),
        converged: None,
        best: highest(fits.iter().map(|fit| Some(fit.score))),
        ms,
        read_ms,
        warnings,
        picture: None,
    };
    printer.record("summary", &summary)?;
    printer.text(&match_line(&summary))
}

/// Many scans, each at every pose.
fn many(args: &ScoreArgs, asked: Asked<'_>, device: &Device, printer: &mut Printer) -> Result<(), Failure> {
    let matched = &args.matched;
    let (batch, poses, head) = (matched.batch, &args.pose, score_head("scan"));
    let scans = Scans { command: COMMAND, args: matched, batch, asked, poses, head, align: None };
    scans.run(device, printer, |grid, scan, poses, name| {
        let values: Vec<Pose> = poses.iter().map(|(_, pose)| *pose).collect();
        let fits = grid.score(scan.view()?, &values)?;
        let best = highest(fits.iter().map(|fit| Some(fit.score)));
        let row = score_row(name, &fits[best.unwrap_or(0)]);
        let each = poses.iter().zip(&fits).enumerate();
        Ok(Found { poses: each.map(|(i, ((file, pose), fit))| frame(i, file, pose, fit)).collect(), best, row })
    })
}

fn frame(index: usize, file: &str, pose: &Pose, fit: &NdtFit) -> ScoreFrame {
    ScoreFrame { index, pose: file.into(), target_from_source: crate::pose::flat(pose), fit: fit.into() }
}

/// The poses of all files with their files' names, and how many files cannot be used, each of which is told.
pub(super) fn poses(files: &[PathBuf], printer: &mut Printer) -> Result<(Vec<(String, Pose)>, usize), Failure> {
    let (mut all, mut failed) = (Vec::new(), 0);
    for (index, path) in files.iter().enumerate() {
        match pose::read(path) {
            Ok(poses) => all.extend(poses.into_iter().map(|pose| (shown(path), pose))),
            Err(e) => {
                failed += 1;
                Refused::from(e).tell(printer, index, &shown(path))?;
            }
        }
    }
    Ok((all, failed))
}

/// The place of the highest score, the first of equal ones.
pub(super) fn highest(scores: impl Iterator<Item = Option<f64>>) -> Option<usize> {
    let known = scores.enumerate().filter_map(|(i, score)| Some((i, score?)));
    known.reduce(|best, other| if other.1 > best.1 { other } else { best }).map(|(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::highest;

    #[test]
    fn the_first_of_the_highest() {
        assert_eq!(highest([None, Some(1.0), Some(3.0), Some(3.0), None].into_iter()), Some(2));
        assert_eq!(highest([None, None].into_iter()), None);
    }
}
