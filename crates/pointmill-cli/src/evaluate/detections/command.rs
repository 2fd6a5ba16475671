//! Runs `pointmill evaluate detections`. The inputs are predictions, the truth, and perhaps the
//! predictions of another run.

use super::points::Clouds;
use super::records::{Begin, Precision, Totals};
use super::{picture, report};
use crate::batch::prelude::*;
use crate::flags::{MemoryArgs, names};
use crate::json::{self, Run};
use crate::text::label;
use clap::Args;
use pointmill_detection::{Change, DetectionParams, DetectionReport, Detections, Protocol, Verdict, compare, evaluate};
use std::path::{Path, PathBuf};

/// The name of the command.
const COMMAND: &str = "evaluate detections";

/// `pointmill evaluate detections`
#[derive(Debug, Args)]
pub(crate) struct DetectionsArgs {
    /// Predictions: a file or folder of KITTI's text, a JSON submission of nuScenes, or a Feather
    /// table or folder of Argoverse 2
    #[arg(value_name = "PRED")]
    predictions: PathBuf,
    /// The truth, in the same format; of nuScenes as `EvalBoxes.serialize()` of its devkit has it
    #[arg(value_name = "TRUTH")]
    truth: PathBuf,
    /// Whose rules are followed: KITTI with 40 or 11 recalls, nuScenes, Argoverse 2
    #[arg(long, value_parser = names::<Protocol>(Protocol::NAMES))]
    protocol: Protocol,
    /// Predictions of another run. Lists the boxes that became better or worse since then; exits
    /// with 6 if any became worse
    #[arg(long, value_name = "OTHER")]
    compare: Option<PathBuf>,
    /// Draw the boxes from above: missed, false and hit. .html shows them frame by frame
    #[arg(long, value_name = "OUT.html|.png|.gif")]
    visualize: Option<PathBuf>,
    /// Folder of the clouds behind the boxes, files named after the frames: KITTI's `velodyne` with
    /// `calib` beside it, Argoverse 2's logs, of nuScenes TOKEN.npy and others in the global frame.
    /// The page has the 100 worst frames then, and 1,000,000 points in all
    #[arg(long, value_name = "FOLDER", requires = "visualize")]
    points: Option<PathBuf>,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// Runs the command.
pub(crate) fn run(args: &DetectionsArgs, printer: &mut Printer) -> Result<(), Failure> {
    let params = DetectionParams { protocol: args.protocol, max_memory: args.memory.limits().max_memory };
    let files: Vec<&Path> = [&args.predictions, &args.truth].into_iter().chain(&args.compare).map(|f| &**f).collect();
    let drawn = args.visualize.as_deref();
    drawn.map_or(Ok(()), |path| plan_file("--visualize", path, &["html", "png", "gif"], &files).map(drop))?;
    let points = args.points.as_deref();
    let clouds = points.map(|folder| Clouds::new(folder, args.protocol, args.memory.limits())).transpose()?;
    let run = || Run::new(COMMAND, None);
    let begin = Begin {
        predictions: shown(files[0]),
        truth: shown(files[1]),
        compare: args.compare.as_deref().map(shown),
        protocol: args.protocol,
    };
    printer.record("begin", &json::Begin { run: run(), inputs: files.len(), origin: None, of: begin })?;
    let measure = || measured(args, &files, &params, clouds.as_ref(), printer);
    let Measured { found, changes, boxes: [predictions, truth] } = interrupt::at_once(measure)?;
    let with =
        |verdict| changes.as_ref().map(|changes| changes.iter().filter(|change| change.verdict == verdict).count());
    let counts = Counts { inputs: files.len(), done: files.len(), ..Counts::default() };
    let of = Totals {
        protocol: found.protocol,
        frames: found.frames,
        predictions,
        truth,
        mean_ap: found.mean_ap,
        errors: found.errors,
        nds: found.nds,
        cds: found.cds,
        better: with(Verdict::Better),
        worse: with(Verdict::Worse),
        classes: found.classes.clone(),
        warnings: found.warnings.clone(),
        changes,
    };
    let summary = Summary { run: run(), counts, ms: None, cpu: None, out: None, picture: drawn.map(shown), of };
    printer.record("summary", &summary)?;
    let lines = report::lines(&found, &summary.of).into_iter().chain(written("picture", summary.picture.as_deref()));
    lines.into_iter().try_for_each(|line| printer.text(&line))?;
    match summary.of.worse {
        Some(worse) if worse > 0 => Err(Failure::No(format!("--compare: {worse} of the boxes became worse"))),
        _ => Ok(()),
    }
}

/// What was found.
struct Measured {
    found: DetectionReport,
    /// Since the other run.
    changes: Option<Vec<Change>>,
    /// The numbers of predictions and of true boxes.
    boxes: [usize; 2],
}

/// Reads and compares boxes; draws them if asked to.
fn measured(
    args: &DetectionsArgs,
    files: &[&Path],
    params: &DetectionParams,
    clouds: Option<&Clouds<'_>>,
    printer: &mut Printer,
) -> Result<Measured, Failure> {
    let limits = args.memory.limits();
    let mut read = vec![];
    for (index, file) in files.iter().enumerate() {
        let against = (index != 1).then_some(files[1]);
        match pointmill_detection::read(file, against, args.protocol, &limits) {
            Ok(boxes) => read.push(boxes),
            Err(e) => InputError::from(e).tell(printer, index, &shown(file))?,
        }
    }
    if read.len() < files.len() {
        return Err(Failure::Inputs { failed: files.len() - read.len(), inputs: files.len() });
    }
    let [predictions, truth] = [&read[0], &read[1]];
    let found = evaluate(predictions, truth, params)?;
    for precision in &found.precisions {
        printer.record("frame", &Precision::from(precision))?;
    }
    found.warnings.iter().for_each(stderr::warning);
    let changes = match read.get(2) {
        None => None,
        Some(other) => {
            let before = evaluate(other, truth, params)?;
            // What is odd about the truth was said.
            let told = before.warnings.iter().filter_map(|told| told.strip_prefix("predictions: "));
            told.for_each(|told| stderr::warning(format_args!("--compare: {told}")));
            Some(compare([&before, &found], [other, predictions], truth)?)
        }
    };
    if let Some(path) = args.visualize.as_deref() {
        let names = [0, 1].map(|k| label(&shown(files[k])));
        let mean = report::mean_ap(&found).map_or_else(String::new, |mean| format!(", {mean}"));
        let title = format!("{} against {}, {}{mean}", names[0], names[1], found.protocol);
        picture::write(path, &title, &found, [predictions, truth], clouds)?;
    }
    let boxes = [predictions, truth].map(Detections::len);
    Ok(Measured { found, changes, boxes })
}
