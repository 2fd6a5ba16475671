//! KITTI's object benchmark, as `evaluate_object.cpp` of its devkit, with 11 or 40 recalls.

use crate::curve::mean;
use crate::image::height_of;
use crate::matching::{Case, Outcome, RECALLS};
use crate::memory::{Result, Watch, collect};
use crate::protocol::{Protocol, Reason};
use crate::report::{AveragePrecision, Counts, DetectionReport, Errors, Fate, Level, Metric, RowFate};
use crate::rows::{ClassRows, Frames};
use pointmill_io::detections::Detections;
use rayon::prelude::*;

/// The classes, the least overlap of a match, and the class whose boxes count neither way.
pub(crate) const CLASSES: [Class; 3] =
    [("Car", 0.7, "Van"), ("Pedestrian", 0.5, "Person_sitting"), ("Cyclist", 0.5, "")];
/// Regions of the image in which labels are not complete.
const DONT_CARE: &str = "DontCare";
/// Whether a name is that of a class.
pub(crate) fn is_class(name: &str, class: &str) -> bool {
    name.eq_ignore_ascii_case(class)
}

/// Why a row of a side does not count at the moderate level.
pub(crate) fn reason(sides: [&Detections; 2], side: usize, row: usize) -> Option<Reason> {
    let image = &sides[side].image[row];
    let [height, occlusion, truncation] = Level::Moderate.bounds();
    if (side == 0 && Level::Moderate.is_small(image)) || (side == 1 && height_of(image) <= height) {
        Some("lower than 25 pixels in the image")
    } else if side == 1 && image.occlusion > occlusion {
        Some("largely occluded")
    } else if side == 1 && image.truncation > truncation {
        Some("truncated by more than 30 %")
    } else {
        None
    }
}

pub(crate) fn evaluate(
    sides: [&Detections; 2],
    frames: &Frames,
    protocol: Protocol,
    watch: Watch<'_>,
) -> Result<DetectionReport> {
    let cases: Vec<_> =
        CLASSES.into_iter().flat_map(|class| Metric::ALL[..3].iter().map(move |&metric| (class, metric))).collect();
    let found = cases.par_iter().map(|&case| of_class(sides, frames, protocol, case, watch));
    let precisions: Vec<AveragePrecision> = found.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let moderate = |of: &&AveragePrecision| of.metric == Metric::Volume && of.level == Some(Level::Moderate);
    let aps: Vec<f64> = precisions.iter().filter(moderate).filter_map(|of| of.ap).collect();
    Ok(DetectionReport {
        protocol,
        frames: frames.count,
        precisions,
        classes: vec![],
        mean_ap: (!aps.is_empty()).then(|| mean(&aps)),
        errors: Errors::default(),
        nds: None,
        cds: None,
        warnings: vec![],
    })
}

/// A class: its name, the least overlap of a match, and the class whose boxes count neither way.
pub(crate) type Class<'c> = (&'c str, f64, &'c str);

/// The rows of a side that are of a class.
fn is_one(of: &Detections, row: usize, class: &str) -> bool {
    is_class(&of.classes[of.class[row] as usize], class)
}

/// The rows that matter for a class and a metric.
pub(crate) fn case<'d>(
    [predictions, truth]: [&'d Detections; 2],
    frames: &Frames,
    (class, threshold, neighbour): Class<'_>,
    metric: Metric,
    watch: Watch<'d>,
) -> Result<Case<'d>> {
    let is_found = |row| is_one(predictions, row, class) || Level::Easy.is_small(&predictions.image[row]);
    let found = ClassRows::of(predictions, frames, 0, is_found)?;
    let wanted = ClassRows::of(truth, frames, 1, |row| is_one(truth, row, class) || is_one(truth, row, neighbour))?;
    let of_regions = ClassRows::of(truth, frames, 1, |row| is_one(truth, row, DONT_CARE))?;
    let mut case = Case::new([predictions, truth], (metric, threshold), watch, frames.count)?;
    for frame in 0..frames.count {
        watch();
        let rows_of = |rows: &ClassRows, of: &Detections| {
            let row = |place: usize| rows.rows[place];
            collect(rows.frame(frame).map(|place| (row(place), is_one(of, row(place) as usize, class))))
        };
        let regions = of_regions.frame(frame).filter(|_| metric == Metric::Bbox);
        let regions = collect(regions.map(|place| truth.image[of_regions.rows[place] as usize]))?;
        case.add([rows_of(&found, predictions)?, rows_of(&wanted, truth)?], &regions)?;
    }
    Ok(case)
}

fn of_class(
    sides: [&Detections; 2],
    frames: &Frames,
    protocol: Protocol,
    (of, metric): (Class<'static>, Metric),
    watch: Watch<'_>,
) -> Result<Vec<AveragePrecision>> {
    let case = case(sides, frames, of, metric, watch)?;
    let ([predictions, truth], (class, threshold, _)) = (sides, of);
    let all = [
        ClassRows::of(predictions, frames, 0, |row| is_one(predictions, row, class))?,
        ClassRows::of(truth, frames, 1, |row| is_one(truth, row, class))?,
    ];
    let found = case.scores()?;
    let counts = [0, 1, 2].map(|level: usize| found[level].1);
    let leasts = found.map(|(scores, count)| thresholds(scores, count, RECALLS));
    let fates = || -> Result<[Vec<RowFate>; 2]> { Ok([all[0].fates(Fate::Ignored)?, all[1].fates(Fate::Ignored)?]) };
    let outcomes = case.outcomes(&leasts, [fates()?, fates()?, fates()?])?;
    let of_level = |(((level, count), leasts), Outcome { trues, falses, fates: [found, wanted], .. })| {
        let leasts: &Vec<f64> = leasts;
        let precision = |at: usize| if trues[at] > 0.0 { trues[at] / (trues[at] + falses[at]) } else { 0.0 };
        AveragePrecision {
            class,
            metric,
            threshold,
            level: Some(level),
            ap: (count > 0).then(|| average((0..leasts.len()).map(precision).collect(), protocol)),
            counts: Counts::of(&found, &wanted),
            predictions: found,
            truth: wanted,
        }
    };
    let levels = Level::ALL.iter().copied().zip(counts).zip(&leasts);
    Ok(levels.zip(outcomes).map(of_level).collect())
}

/// The scores at which the recalls 0, 1/40, .. are reached, of true predictions among `count` objects:
/// each recall takes the prediction whose recall is nearest. Where objects are few, a prediction has
/// several recalls, at most `most`; the devkit has 1.
pub(crate) fn thresholds(mut scores: Vec<f64>, count: usize, most: usize) -> Vec<f64> {
    let count = count as f64;
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut found, mut recall) = (vec![], 0.0);
    for (i, &score) in scores.iter().enumerate() {
        let (here, end) = ((i + 1) as f64 / count, RECALLS.min(found.len() + most));
        if i + 1 < scores.len() {
            let next = (i + 2) as f64 / count;
            while found.len() < end && next - recall >= recall - here {
                found.push(score);
                recall += 1.0 / 40.0;
            }
        } else {
            // The last prediction has one recall at least, as in the devkit, and all that it reaches;
            // a sum of fortieths may be a little above.
            loop {
                found.push(score);
                recall += 1.0 / 40.0;
                if found.len() >= end || recall > here + 1e-9 {
                    break;
                }
            }
        }
    }
    found
}

/// The mean of the precisions, each the best at its recall or a higher one.
fn average(mut curve: Vec<f64>, protocol: Protocol) -> f64 {
    curve.resize(RECALLS, 0.0);
    for i in (1..RECALLS).rev() {
        curve[i - 1] = curve[i - 1].max(curve[i]);
    }
    let sampled: Vec<f64> = match protocol {
        Protocol::KittiR11 => curve.into_iter().step_by(4).collect(),
        _ => curve.split_off(1),
    };
    mean(&sampled)
}
