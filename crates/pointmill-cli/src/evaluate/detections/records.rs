//! The fields of `evaluate detections` in its JSON lines.

use pointmill_detection::{AveragePrecision, Change, ClassErrors, Counts, Errors, Level, Metric, Protocol};
use serde::Serialize;

/// `begin` of `evaluate detections`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Begin {
    /// The predictions.
    pub(super) predictions: String,
    /// The truth.
    pub(super) truth: String,
    /// The predictions of another run; null without `--compare`.
    pub(super) compare: Option<String>,
    /// Whose rules are followed.
    pub(super) protocol: Protocol,
}

/// `frame` of `evaluate detections`: an average precision.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Precision {
    /// The class.
    class: &'static str,
    /// What decides whether two boxes are one object.
    metric: Metric,
    /// The least overlap, or the largest distance in metres.
    threshold: f64,
    /// The level of KITTI; null for other protocols.
    level: Option<Level>,
    /// The average precision, from 0 to 1; of KITTI null where no truth counts.
    ap: Option<f64>,
    /// How many boxes had which fate, whatever their score.
    #[serde(flatten)]
    counts: Counts,
}

impl From<&AveragePrecision> for Precision {
    fn from(of: &AveragePrecision) -> Self {
        let AveragePrecision { class, metric, threshold, level, ap, counts, .. } = *of;
        Self { class, metric, threshold, level, ap, counts }
    }
}

/// `summary` of `evaluate detections`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Whose rules were followed.
    pub(super) protocol: Protocol,
    /// Frames of both sides together.
    pub(super) frames: usize,
    /// Boxes of the predictions, of all classes.
    pub(super) predictions: usize,
    /// Boxes of the truth, of all classes.
    pub(super) truth: usize,
    /// The mean of the classes' average precisions, from 0 to 1. For KITTI that of 3D boxes at the
    /// moderate level over the classes that have truth; null without any.
    pub(super) mean_ap: Option<f64>,
    /// The means of the classes' errors.
    pub(super) errors: Errors,
    /// The nuScenes detection score; null for other protocols.
    pub(super) nds: Option<f64>,
    /// The mean composite detection score of Argoverse 2; null for other protocols.
    pub(super) cds: Option<f64>,
    /// Boxes that became better than in the other run; null without `--compare`.
    pub(super) better: Option<usize>,
    /// Boxes that became worse than in the other run; null without `--compare`.
    pub(super) worse: Option<usize>,
    /// The scores of each class; empty for KITTI.
    pub(super) classes: Vec<ClassErrors>,
    /// What is odd: boxes that were left out or are of classes that the protocol does not have, classes
    /// of which a rule leaves out all boxes.
    pub(super) warnings: Vec<String>,
    /// The boxes whose fate changed since the other run: of KITTI 3D boxes at the moderate level, of
    /// others those within 2 m. Null without `--compare`.
    pub(super) changes: Option<Vec<Change>>,
}
