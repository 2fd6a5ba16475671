//! What an evaluation returns.

use crate::protocol::Protocol;
use pointmill_core::names;

/// How far apart, in metres, two boxes may be and count as one where there is one distance.
pub(crate) const SAME: f64 = 2.0;

/// The result of [`evaluate`](crate::evaluate).
#[derive(Clone, Debug, PartialEq)]
pub struct DetectionReport {
    /// The protocol that was followed.
    pub protocol: Protocol,
    /// Frames of both sides together.
    pub frames: usize,
    /// An average precision for each class, metric and level or threshold, in this order.
    pub precisions: Vec<AveragePrecision>,
    /// What the boxes of each class that were found lack; empty for KITTI.
    pub classes: Vec<ClassErrors>,
    /// The mean of the classes' average precisions, from 0 to 1. For KITTI that of 3D boxes at the
    /// moderate level over the classes that have truth; `None` without any.
    pub mean_ap: Option<f64>,
    /// The means of the classes' errors.
    pub errors: Errors,
    /// The nuScenes detection score.
    pub nds: Option<f64>,
    /// The mean composite detection score of Argoverse 2.
    pub cds: Option<f64>,
    /// What is odd: boxes of classes that the protocol does not have, classes of which a rule leaves
    /// out all boxes, predictions without scores.
    pub warnings: Vec<String>,
}

impl DetectionReport {
    /// The precision that says of the boxes of each class what became of them: of KITTI that of 3D
    /// boxes at the moderate level, of others that of centres within 2 m.
    pub fn chosen(&self) -> impl Iterator<Item = &AveragePrecision> {
        self.precisions.iter().filter(|of| match of.metric {
            Metric::Volume => of.level == Some(Level::Moderate),
            Metric::Distance => of.threshold.total_cmp(&SAME).is_eq(),
            _ => false,
        })
    }
}

/// What decides whether two boxes are one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Overlap in the image.
    Bbox,
    /// Overlap from above.
    Bev,
    /// Overlap of volumes.
    Volume,
    /// Distance of centres in metres.
    Distance,
}
names!(Metric { Bbox = "bbox", Bev = "bev", Volume = "3d", Distance = "distance" });

/// KITTI's levels of difficulty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// At least 40 pixels high, not occluded, at most 15 % truncated.
    Easy,
    /// At least 25 pixels high, at most partly occluded, at most 30 % truncated.
    Moderate,
    /// At least 25 pixels high, at most largely occluded, at most 50 % truncated.
    Hard,
}
names!(Level { Easy = "easy", Moderate = "moderate", Hard = "hard" });

/// What became of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A prediction that is an object, or an object that was found.
    True,
    /// A prediction that is no object, or one that another prediction has found.
    False,
    /// An object that was not found.
    Missed,
    /// A box that the protocol does not count.
    Ignored,
}
names!(Fate { True = "true", False = "false", Missed = "missed", Ignored = "ignored" });

/// The fate of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowFate {
    /// The row in the predictions, or in the truth.
    pub row: u32,
    /// What became of it.
    pub fate: Fate,
    /// The row on the other side that it was matched with.
    pub other: Option<u32>,
}

/// How precise predictions of a class are, averaged over recalls.
///
/// **Order**: rows ascend. There is a row for each box of the class.
#[derive(Clone, Debug, PartialEq)]
pub struct AveragePrecision {
    /// The class.
    pub class: &'static str,
    /// What decides about a match.
    pub metric: Metric,
    /// The least overlap, or the largest distance in metres.
    pub threshold: f64,
    /// The level of KITTI.
    pub level: Option<Level>,
    /// The average precision, from 0 to 1; of KITTI `None` where no truth counts.
    pub ap: Option<f64>,
    /// How many boxes had which fate, whatever their score.
    pub counts: Counts,
    /// The fate of each prediction.
    pub predictions: Vec<RowFate>,
    /// The fate of each box of the truth.
    pub truth: Vec<RowFate>,
}

/// How many boxes had which fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Predictions that are objects.
    pub true_positives: usize,
    /// Predictions that are none.
    pub false_positives: usize,
    /// Objects that were not found.
    pub missed: usize,
    /// Predictions that do not count.
    pub ignored_predictions: usize,
    /// Boxes of the truth that do not count.
    pub ignored_truth: usize,
}

impl Counts {
    /// Counts rows.
    pub(crate) fn of(predictions: &[RowFate], truth: &[RowFate]) -> Self {
        let count = |rows: &[RowFate], fate| rows.iter().filter(|row| row.fate == fate).count();
        Self {
            true_positives: count(predictions, Fate::True),
            false_positives: count(predictions, Fate::False),
            missed: count(truth, Fate::Missed),
            ignored_predictions: count(predictions, Fate::Ignored),
            ignored_truth: count(truth, Fate::Ignored),
        }
    }
}

/// The errors of boxes that were found; `None` where a protocol has no such error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Errors {
    /// ATE: the distance of centres in metres; of nuScenes in the plane.
    pub translation: Option<f64>,
    /// ASE: 1 less the overlap of the boxes as if they had one centre and yaw.
    pub scale: Option<f64>,
    /// AOE: the angle between the headings in radians.
    pub orientation: Option<f64>,
    /// AVE: the difference of velocities in m/s.
    pub velocity: Option<f64>,
    /// AAE: the part of the attributes that are wrong.
    pub attribute: Option<f64>,
}

/// The scores of a class over all thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClassErrors {
    /// The class.
    pub class: &'static str,
    /// The mean of the average precisions of all thresholds.
    pub ap: f64,
    /// The errors of boxes that were found.
    pub errors: Errors,
    /// The composite detection score of Argoverse 2.
    pub cds: Option<f64>,
}
