//! Argoverse 2's detection task, as `av2.evaluation.detection.eval` of av2 0.3.6 without a map.

use crate::curve::{cumulated, interpolate, mean, recalls};
use crate::memory::{Result, Watch, collect, filled, push};
use crate::protocol::{Protocol, Reason};
use crate::report::{AveragePrecision, ClassErrors, Counts, DetectionReport, Errors, Fate, Metric, RowFate};
use crate::rows::{ClassRows, Frames, hit};
use pointmill_io::detections::Detections;
use rayon::prelude::*;
use std::f64::consts::PI;

/// The classes that are evaluated.
pub(crate) const CLASSES: [&str; 26] = [
    "ARTICULATED_BUS",
    "BICYCLE",
    "BICYCLIST",
    "BOLLARD",
    "BOX_TRUCK",
    "BUS",
    "CONSTRUCTION_BARREL",
    "CONSTRUCTION_CONE",
    "DOG",
    "LARGE_VEHICLE",
    "MESSAGE_BOARD_TRAILER",
    "MOBILE_PEDESTRIAN_CROSSING_SIGN",
    "MOTORCYCLE",
    "MOTORCYCLIST",
    "PEDESTRIAN",
    "REGULAR_VEHICLE",
    "SCHOOL_BUS",
    "SIGN",
    "STOP_SIGN",
    "STROLLER",
    "TRUCK",
    "TRUCK_CAB",
    "VEHICULAR_TRAILER",
    "WHEELCHAIR",
    "WHEELED_DEVICE",
    "WHEELED_RIDER",
];
/// Largest distances of a match in metres.
const THRESHOLDS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// The place of the threshold at which errors are measured.
const OF_ERRORS: usize = 2;
/// Boxes farther from the vehicle, in metres, are ignored.
const MAX_RANGE: f64 = 150.0;
/// The most predictions of a class in a frame.
const MOST: usize = 100;
/// The errors of a class of which nothing was found: metres, overlap, radians.
const WORST: [f64; 3] = [2.0, 1.0, PI];

pub(crate) fn evaluate(sides: [&Detections; 2], frames: &Frames, watch: Watch<'_>) -> Result<DetectionReport> {
    let found = CLASSES.par_iter().map(|class| of_class(sides, frames, class, watch));
    let found = found.collect::<Result<Vec<_>>>()?;
    let (precisions, classes): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let over = |value: fn(&ClassErrors) -> Option<f64>| {
        Some(mean(&classes.iter().filter_map(value).collect::<Vec<_>>())).filter(|mean| !mean.is_nan())
    };
    Ok(DetectionReport {
        protocol: Protocol::Argoverse2,
        frames: frames.count,
        mean_ap: over(|class| Some(class.ap)),
        errors: Errors {
            translation: over(|class| class.errors.translation),
            scale: over(|class| class.errors.scale),
            orientation: over(|class| class.errors.orientation),
            ..Errors::default()
        },
        nds: None,
        cds: over(|class| class.cds),
        precisions: precisions.into_iter().flatten().collect(),
        classes,
        warnings: vec![],
    })
}

/// Why a row of a side does not count.
pub(crate) fn reason(sides: [&Detections; 2], side: usize, row: usize) -> Option<Reason> {
    let of = sides[side];
    if distance(&of.boxes[row], &[0.0; 7]) >= MAX_RANGE {
        Some("150 m or farther from the vehicle")
    } else if side == 1 && of.num_points[row] <= 0 {
        Some("without a point of the LiDAR")
    } else {
        None
    }
}

/// A prediction that is the best of those nearest to a box of the truth: their places, their distance.
type Pair = (usize, usize, f64);

fn of_class(
    [predictions, truth]: [&Detections; 2],
    frames: &Frames,
    class: &'static str,
    watch: Watch<'_>,
) -> Result<(Vec<AveragePrecision>, ClassErrors)> {
    let found = ClassRows::of_class(predictions, frames, 0, class)?;
    let wanted = ClassRows::of_class(truth, frames, 1, class)?;
    let order = found.by_score(&predictions.scores)?;
    let is_near = |row: &[f64; 7]| distance(row, &[0.0; 7]) < MAX_RANGE;
    let counts = |&row: &u32| is_near(&truth.boxes[row as usize]) && truth.num_points[row as usize] > 0;
    let wanted_counts: Vec<bool> = collect(wanted.rows.iter().map(counts))?;
    let (mut found_counts, mut of_frame) = (filled(false, found.rows.len())?, filled(0, frames.count)?);
    let mut is_taken = filled(false, wanted.rows.len())?;
    let mut pairs: Vec<Pair> = vec![];
    for &place in &order {
        watch();
        let (frame, row) = (found.frames[place], &predictions.boxes[found.rows[place] as usize]);
        if of_frame[frame] == MOST || !is_near(row) {
            continue;
        }
        of_frame[frame] += 1;
        found_counts[place] = true;
        let mut nearest: Option<(usize, f64)> = None;
        for other in wanted.frame(frame).filter(|&other| wanted_counts[other]) {
            let far = distance(row, &truth.boxes[wanted.rows[other] as usize]);
            if nearest.is_none_or(|(_, least)| far < least) {
                nearest = Some((other, far));
            }
        }
        // A box that is taken is not left for the second nearest.
        if let Some((other, far)) = nearest.filter(|&(other, _)| !is_taken[other]) {
            is_taken[other] = true;
            push(&mut pairs, (place, other, far))?;
        }
    }
    let fate = |rows: &ClassRows, counts: &[bool], fate| {
        let mut fates: Vec<RowFate> = rows.fates(fate)?;
        fates.iter_mut().zip(counts).filter(|(_, counts)| !**counts).for_each(|(row, _)| row.fate = Fate::Ignored);
        Ok::<_, pointmill_io::IoError>(fates)
    };
    let count = wanted_counts.iter().filter(|&&counts| counts).count() as f64;
    let of_threshold = |threshold: f64| -> Result<AveragePrecision> {
        watch();
        let mut found_fates = fate(&found, &found_counts, Fate::False)?;
        let mut wanted_fates = fate(&wanted, &wanted_counts, Fate::Missed)?;
        for &(place, other, _) in pairs.iter().filter(|(_, _, far)| *far < threshold) {
            hit(&mut found_fates[place], &mut wanted_fates[other]);
        }
        let counted = order.iter().filter(|&&place| found_counts[place]);
        let ap = average(counted.map(|&place| found_fates[place].fate == Fate::True), count)?;
        Ok(AveragePrecision {
            class,
            metric: Metric::Distance,
            threshold,
            level: None,
            ap: Some(ap),
            counts: Counts::of(&found_fates, &wanted_fates),
            predictions: found_fates,
            truth: wanted_fates,
        })
    };
    let precisions: Vec<_> = THRESHOLDS.iter().map(|&threshold| of_threshold(threshold)).collect::<Result<_>>()?;
    let ap = mean(&precisions.iter().filter_map(|precision| precision.ap).collect::<Vec<_>>());
    let mut sums = ([0.0; 3], 0.0);
    for &(place, other, far) in pairs.iter().filter(|(_, _, far)| *far < THRESHOLDS[OF_ERRORS]) {
        let rows = [&predictions.boxes[found.rows[place] as usize], &truth.boxes[wanted.rows[other] as usize]];
        let errors = [far, 1.0 - overlap_of_sizes(rows), wrapped(rows[0][6] - rows[1][6])];
        sums.0.iter_mut().zip(errors).for_each(|(sum, error)| *sum += error);
        sums.1 += 1.0;
    }
    let errors = if sums.1 > 0.0 { sums.0.map(|sum| sum / sums.1) } else { WORST };
    let goodness: [f64; 3] = std::array::from_fn(|i| 1.0 - errors[i] / WORST[i]);
    let [translation, scale, orientation] = errors.map(Some);
    let errors = Errors { translation, scale, orientation, ..Errors::default() };
    Ok((precisions, ClassErrors { class, ap, errors, cds: Some(ap * mean(&goodness)) }))
}

/// The average precision of predictions in the order of their scores.
fn average(is_true: impl Iterator<Item = bool>, count: f64) -> Result<f64> {
    let trues = cumulated(is_true)?;
    if trues.is_empty() || count == 0.0 {
        return Ok(0.0);
    }
    let recall: Vec<f64> = collect(trues.iter().map(|trues| trues / count))?;
    let ranks = (1..=trues.len()).map(|rank| rank as f64 + f64::EPSILON);
    let mut precision: Vec<f64> = collect(trues.iter().zip(ranks).map(|(trues, rank)| trues / rank))?;
    for i in (1..precision.len()).rev() {
        precision[i - 1] = precision[i - 1].max(precision[i]);
    }
    Ok(mean(&recalls().map(|x| interpolate(x, &recall, &precision, 0.0)).collect::<Vec<_>>()))
}

fn distance(a: &[f64; 7], b: &[f64; 7]) -> f64 {
    (0..3).map(|i| (a[i] - b[i]) * (a[i] - b[i])).sum::<f64>().sqrt()
}

/// The overlap of boxes as if they had one centre and yaw.
fn overlap_of_sizes([a, b]: [&[f64; 7]; 2]) -> f64 {
    let product = |of: fn(f64, f64) -> f64| (3..6).map(|i| of(a[i], b[i])).product::<f64>();
    let union = product(f64::max);
    if union > 0.0 { product(f64::min) / union } else { 0.0 }
}

/// An angle as av2 wraps it to 0 to pi.
fn wrapped(angle: f64) -> f64 {
    let angle = angle.abs();
    if angle >= PI { PI - angle % PI } else { angle }
}
