//! KITTI's curves for any class and overlap, as evaluators that are copied for detectors have them.

use crate::kitti::{is_class, thresholds};
use crate::matching::{Outcome, RECALLS};
use crate::memory::{self, Result, Watch};
use crate::protocol::{DetectionParams, Protocol};
use crate::report::Metric;
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
    let params = DetectionParams { protocol: Protocol::KittiR40, max_memory };
    evaluate::check(sides, &params)?;
    let frames = Frames::of(sides)?;
    memory::check(sides, frames.count, &params)?;
    let curves = of.par_iter().map(|&(class, metric, threshold)| {
        let neighbour = kitti::CLASSES.iter().find(|(known, ..)| is_class(class, known)).map_or("", |of| of.2);
        let case = kitti::case(sides, &frames, (class, threshold, neighbour), metric, watch)?;
        let leasts = case.scores()?.map(|(scores, count)| thresholds(scores, count, 1));
        let outcomes = case.outcomes(&leasts, Default::default())?;
        let mut curves = [KittiCurve { recall: [0.0; _], precision: [0.0; _], orientation: [0.0; _] }; 3];
        for ((curve, outcome), leasts) in curves.iter_mut().zip(&outcomes).zip(&leasts) {
            fill(curve, outcome, leasts.len());
        }
        Ok(curves)
    });
    curves.collect()
}

fn fill(curve: &mut KittiCurve, of: &Outcome, points: usize) {
    for at in 0..points {
        let [trues, falses, missed, similar] = [&of.trues, &of.falses, &of.missed, &of.similar].map(|of| of[at]);
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
}
