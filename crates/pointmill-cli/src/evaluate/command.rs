//! Runs `pointmill evaluate` without a subcommand. The inputs are two files of poses.

use super::records::{Begin, Params, Totals};
use super::report;
use crate::batch::prelude::*;
use crate::flags::names;
use crate::json::{self, Run};
use crate::picture::{save, save_scene};
use crate::text::label;
use clap::Args;
use pointmill::Pose;
use pointmill_io::{Detail, IoError, Place, PoseFormat, PoseOptions, PoseWarning, read_poses};
use pointmill_slam::trajectory::{Alignment, Evaluation, EvaluationParams, Trajectory, evaluate};
use pointmill_view::{require_memory, trajectory_plot, trajectory_scene};
use std::path::{Path, PathBuf};

/// The name of the command.
const COMMAND: &str = "evaluate";

/// `pointmill evaluate` of trajectories
#[derive(Debug, Args)]
pub(super) struct TrajectoryArgs {
    /// File of the estimated poses
    #[arg(value_name = "ESTIMATE")]
    estimate: PathBuf,
    /// File of the true poses
    #[arg(value_name = "TRUTH")]
    truth: PathBuf,
    /// Format of both files [default: the one whose lines have as many numbers; EuRoC by its
    /// header, Argoverse 2 by its first bytes]
    #[arg(long, value_parser = names::<PoseFormat>(PoseFormat::NAMES))]
    format: Option<PoseFormat>,
    /// How the estimate is moved onto the truth first: not at all, by a rotation and a translation,
    /// or by these and a scale
    #[arg(long, default_value = "none", value_parser = names::<Alignment>(Alignment::NAMES))]
    align: Alignment,
    /// Largest time difference of two matching poses, in seconds
    #[arg(long, value_name = "S", default_value_t = EvaluationParams::default().max_time_difference)]
    #[arg(allow_negative_numbers = true)]
    max_time_difference: f64,
    /// Plot both trajectories from above, and the error of each position. .html shows them pose by
    /// pose
    #[arg(long, value_name = "OUT.svg|.png|.html")]
    plot: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(args: &TrajectoryArgs, printer: &mut Printer) -> Result<(), Failure> {
    let params = EvaluationParams {
        alignment: args.align,
        max_time_difference: args.max_time_difference,
        ..EvaluationParams::default()
    };
    params.validate()?;
    let files = [args.estimate.as_path(), args.truth.as_path()];
    let plot = match args.plot.as_deref() {
        Some(path) => Some((path, plan_file("--plot", path, &["svg", "png", "html"], &files)?)),
        None => None,
    };
    if let Some(folder) = files.into_iter().find(|path| path.is_dir()) {
        let way = "3D boxes are compared by pointmill evaluate detections PRED TRUTH --protocol P";
        let message = format!("evaluate: expected two files of poses, got the folder {}; {way}", shown(folder));
        return Err(Failure::Usage(message));
    }
    let run = || Run::new(COMMAND, None);
    let [estimate, truth] = files.map(shown);
    let begin = Begin {
        estimate: estimate.clone(),
        truth,
        params: Params { alignment: args.align, max_time_difference: args.max_time_difference },
    };
    printer.record("begin", &json::Begin { run: run(), inputs: files.len(), origin: None, of: begin })?;

    let (mut read, mut warnings) = (Vec::new(), Vec::new());
    for (index, file) in files.into_iter().enumerate() {
        match trajectory(file, args.format) {
            Ok((trajectory, told)) => {
                read.push(trajectory);
                warnings.extend(told);
            }
            Err(e) => InputError::from(e).tell(printer, index, &shown(file))?,
        }
    }
    let [estimated, truth] = &read[..] else {
        return Err(Failure::Inputs { failed: files.len() - read.len(), inputs: files.len() });
    };
    interrupt::check()?;
    let found = evaluate(estimated, truth, &params)?;
    found.warnings.iter().for_each(stderr::warning);
    warnings.extend(found.warnings.iter().cloned());
    for frame in &found.frames {
        interrupt::check()?;
        printer.record("frame", frame)?;
    }
    if let Some((path, extension)) = plot {
        draw(path, extension, &estimate, [estimated, truth], &found)?;
    }
    let counts = Counts { inputs: files.len(), done: files.len(), ..Counts::default() };
    let of = Totals {
        poses: found.frames.len(),
        estimate_poses: found.estimate_poses,
        truth_poses: found.truth_poses,
        alignment: found.alignment,
        length: found.length,
        absolute: found.absolute,
        relative: found.relative.iter().map(Into::into).collect(),
        drift: found.drift,
        plot: args.plot.as_deref().map(shown),
        warnings,
    };
    let summary = Summary { run: run(), counts, ms: None, cpu: None, out: None, picture: None, of };
    printer.record("summary", &summary)?;
    let lines = report::lines(&summary.of).into_iter().chain(written("plot", summary.of.plot.as_deref()));
    lines.into_iter().try_for_each(|line| printer.text(&line))
}

/// Reads the poses of a file, of which there is at least one.
fn trajectory(path: &Path, format: Option<PoseFormat>) -> Result<(Trajectory, Vec<String>), IoError> {
    let read = read_poses(path, &PoseOptions { format, positions: true, ..PoseOptions::default() })?;
    // Of positions the evaluation says what it does not know.
    let told = read.warnings.iter().filter(|warning| **warning != PoseWarning::PositionsOnly);
    let warnings: Vec<_> = told.map(|warning| format!("{}: {warning}", shown(path))).collect();
    warnings.iter().for_each(stderr::warning);
    if read.poses.is_empty() {
        return Err(IoError::BadValue(Detail::new(path, "text", "one pose or more", "none")));
    }
    let made = match read.times {
        Some(times) => Trajectory::with_times(read.poses, times),
        None => Trajectory::new(read.poses),
    };
    let made = made.map_err(|e| IoError::BadValue(Detail::new(path, "poses", "a trajectory", e.to_string())))?;
    Ok((if read.positions_only { made.of_positions() } else { made }, warnings))
}

/// Draws the poses that belong together, the estimate as it was moved.
fn draw(
    path: &Path,
    extension: &str,
    name: &str,
    [estimate, truth]: [&Trajectory; 2],
    found: &Evaluation,
) -> Result<(), Failure> {
    require_memory(1, found.frames.len())?;
    let moved =
        |pose: &Pose| found.alignment.truth_from_estimate.apply(pose.translation().map(|x| found.alignment.scale * x));
    let estimate: Vec<_> = found.frames.iter().map(|frame| moved(&estimate.poses()[frame.estimate])).collect();
    let truth: Vec<_> = found.frames.iter().map(|frame| truth.poses()[frame.truth].translation()).collect();
    let errors: Vec<f64> = found.frames.iter().map(|frame| frame.translation).collect();
    let title = format!("{}: rmse {:.4} m over {:.1} m", label(name), found.absolute.translation.rmse, found.length);
    if extension == "html" {
        return save_scene(Place::named(path), &trajectory_scene(&title, &estimate, &truth, &errors));
    }
    let plot = trajectory_plot(&title, &estimate, &truth, &errors);
    save(&Place::named(path), 1, || {
        Ok(if extension == "svg" { plot.encode_svg().into_bytes() } else { plot.image().encode_png() })
    })
}
