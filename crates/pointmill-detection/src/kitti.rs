//! KITTI's object benchmark, as `evaluate_object.cpp` of its devkit, with 11 or 40 recalls.

use crate::curve::mean;
use crate::memory::{Result, Watch, collect, filled, push, room};
use crate::protocol::{DetectionParams, Protocol, Reason};
use crate::rectangles::{Rectangle, Rectangles};
use crate::report::{AveragePrecision, Counts, DetectionReport, Errors, Fate, Level, Metric, RowFate};
use crate::rows::{ClassRows, Frames};
use pointmill_core::boxes::{iou_bev, iou_volume};
use pointmill_io::detections::{Detections, ImageBox};
use pointmill_io::{Detail, IoError};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// The classes, the least overlap of a match, and the class whose boxes count neither way.
pub(crate) const CLASSES: [Class; 3] =
    [("Car", 0.7, "Van"), ("Pedestrian", 0.5, "Person_sitting"), ("Cyclist", 0.5, "")];
/// Regions of the image in which labels are not complete.
const DONT_CARE: &str = "DontCare";
/// Whether a name is that of a class.
pub(crate) fn is_class(name: &str, class: &str) -> bool {
    name.eq_ignore_ascii_case(class)
}

/// The recalls of a curve: 0, 1/40, .. 1.
pub(crate) const RECALLS: usize = 41;

impl Level {
    /// The least height in pixels, the largest occlusion and truncation.
    const fn bounds(self) -> [f64; 3] {
        match self {
            Self::Easy => [40.0, 0.0, 0.15],
            Self::Moderate => [25.0, 1.0, 0.3],
            Self::Hard => [25.0, 2.0, 0.5],
        }
    }

    /// Whether a box of the truth counts.
    fn counts(self, image: &ImageBox) -> bool {
        let [height, occlusion, truncation] = self.bounds();
        // The devkit requires more than the least height of the truth, and of predictions as much.
        height_of(image) > height && image.occlusion <= occlusion && image.truncation <= truncation
    }

    /// Whether a prediction is too small to count.
    fn is_small(self, image: &ImageBox) -> bool {
        height_of(image) < self.bounds()[0]
    }
}

fn height_of(image: &ImageBox) -> f64 {
    image.corners[3] - image.corners[1]
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
    params: &DetectionParams,
    watch: Watch<'_>,
) -> Result<DetectionReport> {
    let protocol = params.protocol;
    let budget = Budget::new(params.max_memory);
    let cases: Vec<_> =
        CLASSES.into_iter().flat_map(|class| Metric::ALL[..3].iter().map(move |&metric| (class, metric))).collect();
    let found = cases.par_iter().map(|&case| of_class(sides, frames, protocol, case, (&budget, watch)));
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

/// The most pairs of boxes of a frame that overlap, of one class: as many as 1,024 boxes that all
/// overlap as many.
const MOST_PAIRS: usize = 1 << 20;

/// The rows of a frame that matter for a class, and their overlaps by one metric.
pub(crate) struct Frame {
    /// The rows of the truth and whether they are of the class, not of its neighbour.
    pub(crate) truth: Vec<(usize, bool)>,
    /// The rows of the predictions and whether they are of the class. The devkit lets small
    /// predictions of any class take a box of the truth.
    pub(crate) found: Vec<(usize, bool)>,
    /// The predictions that overlap a row of the truth by more than the threshold: their places,
    /// ascending, and by how much.
    pairs: Vec<(u32, f64)>,
    /// The first pair of each row of the truth, then the number of pairs.
    firsts: Vec<usize>,
    /// Whether a prediction lies in a region that is not labelled.
    in_region: Vec<bool>,
}

/// The fates of a frame's rows, each with what it was matched with.
pub(crate) type Fates = Vec<(Fate, Option<usize>)>;

/// Memory for pairs that may still be taken.
pub(crate) struct Budget {
    most: u64,
    left: AtomicU64,
}

impl Budget {
    pub(crate) fn new(most: Option<u64>) -> Self {
        let most = most.unwrap_or(u64::MAX);
        Self { most, left: AtomicU64::new(most) }
    }

    fn take(&self, bytes: usize) -> Result<()> {
        let less = |left: u64| left.checked_sub(bytes as u64);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return Ok(());
        }
        let wanted = format!("at most {} bytes (the limit `max_memory`, --max-memory)", self.most);
        Err(IoError::LimitExceeded(Detail::new("detections", "memory", wanted, "more for boxes that overlap")))
    }
}

/// What a frame is made of.
struct Sides<'d> {
    sides: [&'d Detections; 2],
    metric: Metric,
    threshold: f64,
    budget: &'d Budget,
    watch: Watch<'d>,
}

impl Sides<'_> {
    /// How much a prediction overlaps a box of the truth.
    fn overlap(&self, row: usize, other: usize) -> f64 {
        let [predictions, truth] = self.sides;
        match self.metric {
            Metric::Bev => iou_bev(&predictions.boxes[row], &truth.boxes[other]),
            Metric::Volume => iou_volume(&predictions.boxes[row], &truth.boxes[other]),
            Metric::Bbox | Metric::Distance => overlap_of_images(&predictions.image[row], &truth.image[other]),
        }
    }

    /// A rectangle in which a box lies, in the plane or in the image.
    fn rectangle(&self, side: usize, row: usize) -> Rectangle {
        if self.metric == Metric::Bbox {
            return self.sides[side].image[row].corners;
        }
        let [x, y, _, dx, dy, ..] = self.sides[side].boxes[row];
        // A little more than half the diagonal, so that no rounding parts boxes that touch.
        let reach = 0.5 * (dx * dx + dy * dy).sqrt() * (1.0 + 1e-6) + 1e-6 * (1.0 + x.abs() + y.abs());
        [x - reach, y - reach, x + reach, y + reach]
    }

    fn frame(
        &self,
        name: &dyn Fn() -> String,
        [found, truth]: [Vec<(usize, bool)>; 2],
        in_region: Vec<bool>,
    ) -> Result<Frame> {
        let rectangles = collect(found.iter().map(|&(row, _)| self.rectangle(0, row)))?;
        let tree = Rectangles::new(&rectangles)?;
        let (mut pairs, mut firsts): (Vec<(u32, f64)>, _) = (vec![], room(truth.len() + 1)?);
        for &(other, _) in &truth {
            (self.watch)();
            firsts.push(pairs.len());
            let first = pairs.len();
            let mut meet = |place: usize| {
                let overlap = self.overlap(found[place].0, other);
                if overlap > self.threshold {
                    if pairs.len() == MOST_PAIRS {
                        let wanted = format!("at most {MOST_PAIRS} pairs of boxes that overlap by {}", self.threshold);
                        let way = "more; suppress double boxes first (boxes.nms of Python), or split the frame";
                        return Err(IoError::LimitExceeded(Detail::new("predictions", name(), wanted, way)));
                    }
                    push(&mut pairs, (place as u32, overlap))?;
                }
                Ok(())
            };
            tree.meeting(&self.rectangle(1, other), &mut meet)?;
            pairs[first..].sort_unstable_by_key(|&(place, _)| place);
        }
        firsts.push(pairs.len());
        self.budget.take(pairs.capacity() * size_of::<(u32, f64)>())?;
        Ok(Frame { truth, found, pairs, firsts, in_region })
    }
}

/// A class: its name, the least overlap of a match, and the class whose boxes count neither way.
type Class<'c> = (&'c str, f64, &'c str);

/// The rows of a side that are of a class.
fn is_one(of: &Detections, row: usize, class: &str) -> bool {
    is_class(&of.classes[of.class[row] as usize], class)
}

/// The rows that matter for a class, and their overlaps by a metric.
pub(crate) fn frames_of(
    [predictions, truth]: [&Detections; 2],
    frames: &Frames,
    (class, threshold, neighbour): Class<'_>,
    metric: Metric,
    (budget, watch): (&Budget, Watch<'_>),
) -> Result<Vec<Frame>> {
    let is_found = |row| is_one(predictions, row, class) || Level::Easy.is_small(&predictions.image[row]);
    let found = ClassRows::of(predictions, frames, 0, is_found)?;
    let wanted = ClassRows::of(truth, frames, 1, |row| is_one(truth, row, class) || is_one(truth, row, neighbour))?;
    let of_regions = ClassRows::of(truth, frames, 1, |row| is_one(truth, row, DONT_CARE))?;
    let all_sides = Sides { sides: [predictions, truth], metric, threshold, budget, watch };
    let mut rows: Vec<Frame> = room(frames.count)?;
    for frame in 0..frames.count {
        watch();
        let rows_of = |rows: &ClassRows, of: &Detections| {
            let row = |place: usize| rows.rows[place] as usize;
            collect(rows.frame(frame).map(|place| (row(place), is_one(of, row(place), class))))
        };
        let sides = [rows_of(&found, predictions)?, rows_of(&wanted, truth)?];
        let regions = of_regions.frame(frame).filter(|_| metric == Metric::Bbox);
        let regions = collect(regions.map(|place| truth.image[of_regions.rows[place] as usize]))?;
        let in_region = in_regions(&sides[0], &regions, predictions, threshold, watch)?;
        let name = || {
            let of = frames.numbers[0].iter().position(|&number| number == frame);
            format!("frame `{}`", of.map_or("", |of| &predictions.frames[of]))
        };
        rows.push(all_sides.frame(&name, sides, in_region)?);
    }
    Ok(rows)
}

fn of_class(
    sides: [&Detections; 2],
    frames: &Frames,
    protocol: Protocol,
    (of, metric): (Class<'static>, Metric),
    (budget, watch): (&Budget, Watch<'_>),
) -> Result<Vec<AveragePrecision>> {
    let rows = frames_of(sides, frames, of, metric, (budget, watch))?;
    let ([predictions, truth], (class, threshold, _)) = (sides, of);
    let all = [
        ClassRows::of(predictions, frames, 0, |row| is_one(predictions, row, class))?,
        ClassRows::of(truth, frames, 1, |row| is_one(truth, row, class))?,
    ];
    let of_level = |&level: &Level| -> Result<AveragePrecision> {
        let matcher = Matcher { predictions, truth, level };
        let (scores, count) = matcher.scores(&rows)?;
        let precision = |least: f64| -> Result<f64> {
            let (mut trues, mut falses) = (0, 0);
            for frame in &rows {
                watch();
                for (fate, _) in &matcher.fates(frame, least)?[0] {
                    trues += usize::from(*fate == Fate::True);
                    falses += usize::from(*fate == Fate::False);
                }
            }
            Ok(if trues > 0 { f64::from(trues as u32) / f64::from((trues + falses) as u32) } else { 0.0 })
        };
        let curve = thresholds(scores, count, RECALLS).into_iter().map(precision).collect::<Result<Vec<f64>>>()?;
        let mut fates = [all[0].fates(Fate::Ignored)?, all[1].fates(Fate::Ignored)?];
        for frame in &rows {
            let sides = matcher.fates(frame, f64::NEG_INFINITY)?;
            for ((fates, of_frame), rows) in fates.iter_mut().zip(sides).zip([&frame.found, &frame.truth]) {
                for (&(row, _), (fate, other)) in rows.iter().zip(of_frame) {
                    if let Ok(place) = fates.binary_search_by_key(&(row as u32), |fate| fate.row) {
                        fates[place] = RowFate { row: row as u32, fate, other: other.map(|row| row as u32) };
                    }
                }
            }
        }
        let [found, wanted] = fates;
        Ok(AveragePrecision {
            class,
            metric,
            threshold,
            level: Some(level),
            ap: (count > 0).then(|| average(curve, protocol)),
            counts: Counts::of(&found, &wanted),
            predictions: found,
            truth: wanted,
        })
    };
    Level::ALL.iter().map(of_level).collect()
}

/// Whether each prediction lies in one of the regions by more than the threshold.
fn in_regions(
    found: &[(usize, bool)],
    regions: &[ImageBox],
    predictions: &Detections,
    threshold: f64,
    watch: Watch<'_>,
) -> Result<Vec<bool>> {
    let rectangles = collect(regions.iter().map(|region| region.corners))?;
    let tree = Rectangles::new(&rectangles)?;
    let mut inside = filled(false, found.len())?;
    for (&(row, _), inside) in found.iter().zip(&mut inside) {
        watch();
        let image = &predictions.image[row];
        let mut meet = |at: usize| {
            *inside |= intersection(image, &regions[at]) / area(image) > threshold;
            Ok(())
        };
        tree.meeting(&image.corners, &mut meet)?;
    }
    Ok(inside)
}

/// Matches the rows of frames at a level.
pub(crate) struct Matcher<'d> {
    pub(crate) predictions: &'d Detections,
    pub(crate) truth: &'d Detections,
    pub(crate) level: Level,
}

impl Matcher<'_> {
    /// Whether a row of the truth counts.
    fn counts(&self, &(row, is_one): &(usize, bool)) -> bool {
        is_one && self.level.counts(&self.truth.image[row])
    }

    /// The predictions that may be matched with a row of the truth: their places and overlaps.
    fn candidates(&self, frame: &Frame, other: usize) -> impl Iterator<Item = (usize, f64)> {
        let pairs = frame.pairs[frame.firsts[other]..frame.firsts[other + 1]].iter();
        let is_one = |&(place, _): &(usize, f64)| frame.found[place].1 || self.is_small(frame, place);
        pairs.map(|&(place, overlap)| (place as usize, overlap)).filter(is_one)
    }

    /// Whether a prediction is too small to count.
    fn is_small(&self, frame: &Frame, place: usize) -> bool {
        self.level.is_small(&self.predictions.image[frame.found[place].0])
    }

    /// The scores of predictions that are objects, and how many objects count.
    pub(crate) fn scores(&self, frames: &[Frame]) -> Result<(Vec<f64>, usize)> {
        let (mut scores, mut count) = (vec![], 0);
        for frame in frames {
            self.take_scores(frame, &mut scores)?;
            count += frame.truth.iter().filter(|row| self.counts(row)).count();
        }
        Ok((scores, count))
    }

    /// Adds the scores of predictions that are objects, if each object takes the prediction of the
    /// highest score.
    fn take_scores(&self, frame: &Frame, scores: &mut Vec<f64>) -> Result<()> {
        let score = |place: usize| self.predictions.scores[frame.found[place].0];
        let mut is_taken = filled(false, frame.found.len())?;
        for (other, row) in frame.truth.iter().enumerate() {
            let mut best: Option<usize> = None;
            for (place, _) in self.candidates(frame, other).filter(|&(place, _)| !is_taken[place]) {
                if best.is_none_or(|best| score(place) > score(best)) {
                    best = Some(place);
                }
            }
            if let Some(best) = best {
                is_taken[best] = true;
                if self.counts(row) && !self.is_small(frame, best) {
                    push(scores, score(best))?;
                }
            }
        }
        Ok(())
    }

    /// The fates of predictions of at least this score, if each object takes the one of the largest
    /// overlap, and of the truth. A small prediction is taken only if no other is there.
    pub(crate) fn fates(&self, frame: &Frame, least: f64) -> Result<[Fates; 2]> {
        let fate = |place: usize| {
            let (row, is_one) = frame.found[place];
            let counts = is_one && !self.is_small(frame, place) && !frame.in_region[place];
            (if counts && self.predictions.scores[row] >= least { Fate::False } else { Fate::Ignored }, None)
        };
        let mut found: Fates = collect((0..frame.found.len()).map(fate))?;
        let (mut truth, mut is_taken): (Fates, _) = (room(frame.truth.len())?, filled(false, frame.found.len())?);
        for (other, row) in frame.truth.iter().enumerate() {
            let mut best: Option<(usize, f64, bool)> = None;
            for (place, overlap) in self.candidates(frame, other) {
                if is_taken[place] || self.predictions.scores[frame.found[place].0] < least {
                    continue;
                }
                let is_small = self.is_small(frame, place);
                let is_better = |(_, most, was_small)| !is_small && (was_small || overlap > most);
                if best.is_none_or(is_better) {
                    best = Some((place, overlap, is_small));
                }
            }
            let counts = self.counts(row);
            truth.push(match best {
                None => (if counts { Fate::Missed } else { Fate::Ignored }, None),
                Some((place, _, is_small)) => {
                    is_taken[place] = true;
                    let fate = if counts && !is_small { Fate::True } else { Fate::Ignored };
                    found[place] = (fate, Some(row.0));
                    (fate, Some(frame.found[place].0))
                }
            });
        }
        Ok([found, truth])
    }
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

fn intersection(a: &ImageBox, b: &ImageBox) -> f64 {
    let side = |i: usize| a.corners[i + 2].min(b.corners[i + 2]) - a.corners[i].max(b.corners[i]);
    if side(0) > 0.0 && side(1) > 0.0 { side(0) * side(1) } else { 0.0 }
}

fn area(image: &ImageBox) -> f64 {
    (image.corners[2] - image.corners[0]) * height_of(image)
}

fn overlap_of_images(a: &ImageBox, b: &ImageBox) -> f64 {
    let inside = intersection(a, b);
    if inside > 0.0 { inside / (area(a) + area(b) - inside) } else { 0.0 }
}
