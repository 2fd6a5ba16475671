//! nuScenes' detection task, as nuscenes-devkit 1.2.0 with the configuration `detection_cvpr_2019`.

use crate::curve::{cumulated, interpolate, mean, recalls};
use crate::memory::{Result, Watch, collect, filled, room};
use crate::protocol::{Protocol, Reason};
use crate::report::{AveragePrecision, ClassErrors, Counts, DetectionReport, Errors, Fate, Metric};
use crate::rows::{ClassRows, Frames, hit};
use pointmill_io::detections::Detections;
use pointmill_io::{Detail, IoError};
use rayon::prelude::*;
use std::f64::consts::PI;

/// The classes and how far from the vehicle, in metres, their boxes count.
pub(crate) const CLASSES: [(&str, f64); 10] = [
    ("car", 50.0),
    ("truck", 50.0),
    ("bus", 50.0),
    ("trailer", 50.0),
    ("construction_vehicle", 50.0),
    ("pedestrian", 40.0),
    ("motorcycle", 40.0),
    ("bicycle", 40.0),
    ("traffic_cone", 30.0),
    ("barrier", 30.0),
];
/// Largest distances of a match in metres.
const THRESHOLDS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// The place of the threshold at which errors are measured.
const OF_ERRORS: usize = 2;
/// The first recall that counts, of 0, 0.01, .. 1.
const FIRST: usize = 11;
/// The least precision that counts.
const MIN_PRECISION: f64 = 0.1;
/// The most predictions of a frame.
const MOST: usize = 500;
/// The weight of the average precision in the detection score, whose five errors have 1 each.
const WEIGHT: f64 = 5.0;

pub(crate) fn evaluate(
    sides: [&Detections; 2],
    frames: &Frames,
    far: &[Vec<f64>; 2],
    watch: Watch<'_>,
) -> Result<DetectionReport> {
    check(sides, frames)?;
    let found = CLASSES.par_iter().map(|&class| of_class(sides, frames, far, class, watch));
    let found = found.collect::<Result<Vec<_>>>()?;
    let (precisions, classes): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let over = |value: fn(&Errors) -> Option<f64>| {
        Some(mean(&classes.iter().filter_map(|class: &ClassErrors| value(&class.errors)).collect::<Vec<_>>()))
    };
    let errors = Errors {
        translation: over(|errors| errors.translation),
        scale: over(|errors| errors.scale),
        orientation: over(|errors| errors.orientation),
        velocity: over(|errors| errors.velocity),
        attribute: over(|errors| errors.attribute),
    };
    let mean_ap = mean(&classes.iter().map(|class| class.ap).collect::<Vec<_>>());
    let all = [errors.translation, errors.scale, errors.orientation, errors.velocity, errors.attribute];
    let scores = all.into_iter().flatten().map(|error| (1.0 - error).max(0.0));
    let nds = (WEIGHT * mean_ap + scores.sum::<f64>()) / (WEIGHT + all.len() as f64);
    Ok(DetectionReport {
        protocol: Protocol::NuScenes,
        frames: frames.count,
        precisions: precisions.into_iter().flatten().collect(),
        classes,
        mean_ap: Some(mean_ap),
        errors,
        nds: Some(nds),
        cds: None,
        warnings: vec![],
    })
}

/// Why a row of a side does not count.
pub(crate) fn reason(sides: [&Detections; 2], far: &[Vec<f64>; 2], side: usize, row: usize) -> Option<Reason> {
    let of = sides[side];
    let range = CLASSES.iter().find(|(class, _)| of.classes[of.class[row] as usize] == *class)?.1;
    if far[side][row] >= range {
        Some("beyond the range of their class from the vehicle")
    } else if side == 1 && of.num_points.get(row) == Some(&0) {
        Some("without a point of LiDAR or radar")
    } else {
        None
    }
}

/// Checks what the devkit requires.
fn check([predictions, truth]: [&Detections; 2], frames: &Frames) -> Result<()> {
    let bad = |name: &str, field: String, expected: String, got: String| {
        Err(IoError::InvalidArgument(Detail::new(name, field, expected, got)))
    };
    for (name, here, there) in [("predictions", predictions, truth), ("truth", truth, predictions)] {
        if here.frames.len() < frames.count
            && let Some(missing) = there.frames.iter().find(|frame| here.frames.binary_search(frame).is_err())
        {
            let expected = format!("`{missing}`, as the other side has; an empty list has no boxes");
            return bad(name, "samples".into(), expected, "none".into());
        }
    }
    for (rows, frame) in predictions.splits.windows(2).zip(&predictions.frames) {
        if rows[1] - rows[0] > MOST {
            let got = format!("{} boxes", rows[1] - rows[0]);
            return bad("predictions", format!("sample `{frame}`"), format!("at most {MOST} boxes"), got);
        }
    }
    Ok(())
}

/// How far each row is from the vehicle. Where a row does not say it, the place of the vehicle comes
/// from the frame's first box of the truth that does; without any the row is at 0.
pub(crate) fn distances(sides: [&Detections; 2], side: usize, frames: &Frames) -> Result<Vec<f64>> {
    let [boxes, truth] = [sides[side], sides[1]];
    let mut vehicle = filled(None, frames.count)?;
    for (rows, &frame) in truth.splits.windows(2).zip(&frames.numbers[1]) {
        let place = |row: usize| truth.states[row].from_ego.map(|ego| [0, 1].map(|i| truth.boxes[row][i] - ego[i]));
        vehicle[frame] = (rows[0]..rows[1]).find_map(place);
    }
    let mut far = filled(0.0, boxes.len())?;
    for (rows, &frame) in boxes.splits.windows(2).zip(&frames.numbers[side]) {
        for row in rows[0]..rows[1] {
            let seen = |vehicle: [f64; 2]| [0, 1].map(|i| boxes.boxes[row][i] - vehicle[i]);
            let ego = boxes.states[row].from_ego.or_else(|| vehicle[frame].map(seen));
            far[row] = ego.map_or(0.0, |[x, y]| (x * x + y * y).sqrt());
        }
    }
    Ok(far)
}

fn of_class(
    [predictions, truth]: [&Detections; 2],
    frames: &Frames,
    far: &[Vec<f64>; 2],
    (class, range): (&'static str, f64),
    watch: Watch<'_>,
) -> Result<(Vec<AveragePrecision>, ClassErrors)> {
    let found = ClassRows::of_class(predictions, frames, 0, class)?;
    let wanted = ClassRows::of_class(truth, frames, 1, class)?;
    let found_counts: Vec<bool> = collect(found.rows.iter().map(|&row| far[0][row as usize] < range))?;
    let has_points = |row: u32| truth.num_points.get(row as usize) != Some(&0);
    let counts = |&row: &u32| far[1][row as usize] < range && has_points(row);
    let wanted_counts: Vec<bool> = collect(wanted.rows.iter().map(counts))?;
    let count = wanted_counts.iter().filter(|&&counts| counts).count() as f64;
    let mut order = found.by_score(&predictions.scores)?;
    order.retain(|&place| found_counts[place]);
    let mut of_errors = None;
    let mut precisions = vec![];
    for (i, threshold) in THRESHOLDS.into_iter().enumerate() {
        let mut found_fates = found.fates(Fate::Ignored)?;
        let mut wanted_fates = wanted.fates(Fate::Missed)?;
        for (row, _) in wanted_fates.iter_mut().zip(&wanted_counts).filter(|(_, counts)| !**counts) {
            row.fate = Fate::Ignored;
        }
        for &place in &order {
            watch();
            let row = &predictions.boxes[found.rows[place] as usize];
            let mut nearest = (f64::INFINITY, None);
            for other in wanted.frame(found.frames[place]) {
                if wanted_fates[other].fate == Fate::Missed {
                    let far = distance(row, &truth.boxes[wanted.rows[other] as usize]);
                    if far < nearest.0 {
                        nearest = (far, Some(other));
                    }
                }
            }
            match nearest {
                (far, Some(other)) if far < threshold => hit(&mut found_fates[place], &mut wanted_fates[other]),
                _ => found_fates[place].fate = Fate::False,
            }
        }
        let ranked = collect(order.iter().map(|&place| (found_fates[place].row, found_fates[place].other)))?;
        let curve = Curve::new(predictions, &ranked, count)?;
        if i == OF_ERRORS {
            of_errors = Some(errors([predictions, truth], class, &ranked, &curve)?);
        }
        precisions.push(AveragePrecision {
            class,
            metric: Metric::Distance,
            threshold,
            level: None,
            ap: Some(curve.average()),
            counts: Counts::of(&found_fates, &wanted_fates),
            predictions: found_fates,
            truth: wanted_fates,
        });
    }
    let ap = mean(&precisions.iter().filter_map(|precision| precision.ap).collect::<Vec<_>>());
    Ok((precisions, ClassErrors { class, ap, errors: of_errors.unwrap_or_default(), cds: None }))
}

/// A row of the predictions and what it was matched with.
type Ranked = (u32, Option<u32>);

/// Precision and score at the recalls; nothing where nothing was found.
struct Curve(Option<[Vec<f64>; 2]>);

impl Curve {
    fn new(predictions: &Detections, ranked: &[Ranked], count: f64) -> Result<Self> {
        let trues = cumulated(ranked.iter().map(|(_, other)| other.is_some()))?;
        if trues.last().is_none_or(|&trues| trues == 0.0) {
            return Ok(Self(None));
        }
        let recall: Vec<f64> = collect(trues.iter().map(|trues| trues / count))?;
        let precision: Vec<f64> = collect(trues.iter().enumerate().map(|(i, trues)| trues / (i + 1) as f64))?;
        let scores: Vec<f64> = collect(ranked.iter().map(|&(row, _)| predictions.scores[row as usize]))?;
        Ok(Self(Some([precision, scores].map(|ys| recalls().map(|x| interpolate(x, &recall, &ys, 0.0)).collect()))))
    }

    fn average(&self) -> f64 {
        let clipped = |[precision, _]: &[Vec<f64>; 2]| {
            let above: Vec<f64> = precision[FIRST..].iter().map(|p| (p - MIN_PRECISION).max(0.0)).collect();
            mean(&above) / (1.0 - MIN_PRECISION)
        };
        self.0.as_ref().map_or(0.0, clipped)
    }
}

/// The errors of what was found, each averaged up to the score of each recall, then over recalls.
fn errors([predictions, truth]: [&Detections; 2], class: &str, ranked: &[Ranked], curve: &Curve) -> Result<Errors> {
    let Curve(Some([_, scores])) = curve else {
        return Ok(of_kinds(class, [1.0; 5]));
    };
    let last = scores.iter().rposition(|&score| score != 0.0).unwrap_or(0);
    if last < FIRST {
        return Ok(of_kinds(class, [1.0; 5]));
    }
    let hits = ranked.iter().filter_map(|&(row, other)| Some((row as usize, other? as usize)));
    let hits: Vec<(usize, usize)> = collect(hits)?;
    // Ascending, as the interpolation needs them.
    let known: Vec<f64> = collect(hits.iter().rev().map(|&(row, _)| predictions.scores[row]))?;
    let averaged = |error: &dyn Fn(usize, usize) -> f64| -> Result<f64> {
        let (mut sum, mut count) = (0.0, 0.0);
        let mut means: Vec<f64> = room(hits.len())?;
        for error in hits.iter().map(|&(row, other)| error(row, other)) {
            if !error.is_nan() {
                sum += error;
                count += 1.0;
            }
            means.push(if count > 0.0 { sum / count } else { 0.0 });
        }
        if count == 0.0 {
            means.fill(1.0);
        }
        means.reverse();
        let right = means.last().copied().unwrap_or(1.0);
        let at_recalls = scores[FIRST..=last].iter().map(|&score| interpolate(score, &known, &means, right));
        Ok(mean(&at_recalls.collect::<Vec<_>>()))
    };
    let period = if class == "barrier" { PI } else { 2.0 * PI };
    let values = [
        averaged(&|row, other| distance(&predictions.boxes[row], &truth.boxes[other]))?,
        averaged(&|row, other| 1.0 - overlap_of_sizes(&truth.boxes[other], &predictions.boxes[row]))?,
        averaged(&|row, other| angle(truth.boxes[other][6], predictions.boxes[row][6], period))?,
        averaged(&|row, other| {
            let [a, b] = [predictions.states[row].velocity, truth.states[other].velocity];
            length(a[0] - b[0], a[1] - b[1])
        })?,
        averaged(&|row, other| match truth.states[other].attribute {
            None => f64::NAN,
            wanted => f64::from(u8::from(wanted != predictions.states[row].attribute)),
        })?,
    ];
    Ok(of_kinds(class, values))
}

/// The errors that a class has: cones have no heading, and neither cones nor barriers move.
fn of_kinds(class: &str, [translation, scale, orientation, velocity, attribute]: [f64; 5]) -> Errors {
    let moves = !matches!(class, "traffic_cone" | "barrier");
    Errors {
        translation: Some(translation),
        scale: Some(scale),
        orientation: Some(orientation).filter(|_| class != "traffic_cone"),
        velocity: Some(velocity).filter(|_| moves),
        attribute: Some(attribute).filter(|_| moves),
    }
}

fn length(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

fn distance(a: &[f64; 7], b: &[f64; 7]) -> f64 {
    length(a[0] - b[0], a[1] - b[1])
}

/// The overlap of boxes as if they had one centre and yaw.
fn overlap_of_sizes(a: &[f64; 7], b: &[f64; 7]) -> f64 {
    let volume = |row: &[f64; 7]| row[3] * row[4] * row[5];
    let inside: f64 = (3..6).map(|i| a[i].min(b[i])).product();
    let union = volume(a) + volume(b) - inside;
    if union > 0.0 { inside / union } else { 0.0 }
}

/// The smallest angle between two yaws.
fn angle(a: f64, b: f64, period: f64) -> f64 {
    let difference = (a - b + period / 2.0).rem_euclid(period) - period / 2.0;
    (if difference > PI { difference - 2.0 * PI } else { difference }).abs()
}
