//! KITTI's curves for any class and overlap, as evaluators that are copied for detectors have them.

use crate::kitti::{Budget, Matcher, RECALLS, frames_of, is_class, thresholds};
use crate::memory::{Result, Watch};
use crate::protocol::{DetectionParams, Protocol};
use crate::report::{Fate, Level, Metric};
use crate::rows::Frames;
use crate::{evaluate, kitti};
use pointmill_io::detections::Detections;
use rayon::prelude::*;

/// A curve at the recalls 0, 1/40, .. 1: each value is the best at its recall or a higher one, and 0 where
/// no prediction reaches it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KittiCurve {
    /// The part of the objects that was found.
    pub recall: [f64; RECALLS],
    /// The part of the predictions that are objects.
    pub precision: [f64; RECALLS],
    /// The same, where each prediction counts by how near its angle of observation is to the truth.
    pub orientation: [f64; RECALLS],
}

/// KITTI's curves at its three levels, for each class, metric and least overlap of a match.
///
/// Names of classes ignore case. Vans count neither way for cars, nor sitting persons for pedestrians.
/// Each object has one recall at most, as in KITTI's own program: [`evaluate`](crate::evaluate()) differs.
///
/// # Errors
/// As [`evaluate`](crate::evaluate()) for KITTI.
pub fn kitti_curves(
    predictions: &Detections,
    truth: &Detections,
    of: &[(&str, Metric, f64)],
    max_memory: Option<u64>,
    watch: Watch<'_>,
) -> Result<Vec<[KittiCurve; 3]>> {
    let sides = [predictions, truth];
    evaluate::check(sides, &DetectionParams { protocol: Protocol::KittiR40, max_memory })?;
    let (frames, budget) = (Frames::of(sides)?, Budget::new(max_memory));
    let curves = of.par_iter().map(|&(class, metric, threshold)| {
        let neighbour = kitti::CLASSES.iter().find(|(known, ..)| is_class(class, known)).map_or("", |of| of.2);
        let rows = frames_of(sides, &frames, (class, threshold, neighbour), metric, (&budget, watch))?;
        let mut curves = [KittiCurve { recall: [0.0; _], precision: [0.0; _], orientation: [0.0; _] }; 3];
        for (&level, curve) in Level::ALL.iter().zip(&mut curves) {
            fill(curve, &Matcher { predictions, truth, level }, &rows, watch)?;
        }
        Ok(curves)
    });
    curves.collect()
}

fn fill(curve: &mut KittiCurve, matcher: &Matcher<'_>, rows: &[kitti::Frame], watch: Watch<'_>) -> Result<()> {
    let (scores, count) = matcher.scores(rows)?;
    for (at, least) in thresholds(scores, count, 1).into_iter().enumerate() {
        let (mut trues, mut falses, mut missed, mut similar) = (0.0, 0.0, 0.0, 0.0);
        for frame in rows {
            watch();
            let [found, wanted] = matcher.fates(frame, least)?;
            for (&(row, _), (fate, other)) in frame.found.iter().zip(&found) {
                match (fate, other) {
                    (Fate::True, Some(other)) => {
                        trues += 1.0;
                        let turn = matcher.truth.image[*other].alpha - matcher.predictions.image[row].alpha;
                        similar += 0.5 * (1.0 + turn.cos());
                    }
                    (Fate::False, _) => falses += 1.0,
                    _ => {}
                }
            }
            missed += wanted.iter().filter(|(fate, _)| *fate == Fate::Missed).count() as f64;
        }
        let part = |some: f64, all: f64| if some > 0.0 { some / all } else { 0.0 };
        curve.recall[at] = part(trues, trues + missed);
        curve.precision[at] = part(trues, trues + falses);
        curve.orientation[at] = part(similar, trues + falses);
    }
    for values in [&mut curve.recall, &mut curve.precision, &mut curve.orientation] {
        for i in (1..RECALLS).rev() {
            values[i - 1] = values[i - 1].max(values[i]);
        }
    }
    Ok(())
}
