//! What an evaluation finds.

use super::align::Similarity;
use super::params::Delta;
use pointmill_core::record;

record! {
    /// What errors are like, of which there is at least one.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Statistics {
        /// Root of the mean square.
        pub rmse: f64,
        /// Mean.
        pub mean: f64,
        /// The middle of the sorted errors; of an even number the mean of the middle two.
        pub median: f64,
        /// Standard deviation, by their number.
        pub std: f64,
        /// Least.
        pub min: f64,
        /// Largest.
        pub max: f64,
    }
}

impl Statistics {
    /// Of errors; zeros if there are none.
    pub(super) fn of(mut errors: Vec<f64>) -> Self {
        if errors.is_empty() {
            return Self::default();
        }
        let n = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / n;
        let rmse = (errors.iter().map(|e| e * e).sum::<f64>() / n).sqrt();
        let std = (errors.iter().map(|e| (e - mean) * (e - mean)).sum::<f64>() / n).sqrt();
        errors.sort_unstable_by(f64::total_cmp);
        let half = errors.len() / 2;
        let median = if errors.len() % 2 == 1 { errors[half] } else { 0.5 * (errors[half - 1] + errors[half]) };
        Self { rmse, mean, median, std, min: errors[0], max: errors[errors.len() - 1] }
    }
}

record! {
    /// Errors of poses.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct PoseErrors {
        /// Distances in metres.
        pub translation: Statistics,
        /// Angles in radians; none where a side has positions alone.
        pub rotation: Option<Statistics>,
    }
}

record! {
    /// Relative errors over one [`Delta`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Relative {
        /// How far apart the poses of a pair are.
        pub delta: Delta,
        /// The number of pairs; without any the errors are zeros.
        pub pairs: usize,
        /// How far the motion of the estimate is from the motion of the truth.
        pub errors: PoseErrors,
    }
}

record! {
    /// Segments of one length.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Segments {
        /// Length in metres.
        pub length: f64,
        /// The number of segments; there is at least one.
        pub segments: usize,
        /// Mean error of the translation by the length: 0.01 is one percent.
        pub translation: f64,
        /// Mean error of the rotation by the length, in radians a metre.
        pub rotation: f64,
    }
}

record! {
    /// The drift as the KITTI benchmark defines it: errors of segments by their length, a mean over
    /// all segments.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Drift {
        /// By length; lengths that are longer than the way are left out.
        pub by_length: Vec<Segments>,
        /// The number of all segments.
        pub segments: usize,
        /// Mean error of the translation by the length over all segments: 0.01 is one percent. None
        /// if the way is shorter than every segment.
        pub translation: Option<f64>,
        /// Mean error of the rotation by the length over all segments, in radians a metre.
        pub rotation: Option<f64>,
    }
}

record! {
    /// One pose of the estimate beside the truth.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Frame {
        /// Which pose of the estimate.
        pub estimate: usize,
        /// Which pose of the truth.
        pub truth: usize,
        /// The time of the truth in seconds, where there is one.
        pub time: Option<f64>,
        /// Metres along the truth from the first pose.
        pub length: f64,
        /// Error of the position in metres.
        pub translation: f64,
        /// Error of the rotation in radians; none where a side has positions alone, as the next two.
        pub rotation: Option<f64>,
        /// Error in metres of the motion from the frame before; 0 for the first.
        pub step_translation: Option<f64>,
        /// Error in radians of the motion from the frame before; 0 for the first.
        pub step_rotation: Option<f64>,
    }
}

record! {
    /// How far an estimate is from the truth.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Evaluation {
        /// What moved the estimate onto the truth; the identity without alignment.
        pub alignment: Similarity,
        /// Metres along the truth, over the poses that were compared.
        pub length: f64,
        /// Errors of the poses. The absolute trajectory error (ATE) is the root of the mean square
        /// of the translation.
        pub absolute: PoseErrors,
        /// Relative pose errors (RPE), in the order of the parameters. Where a side has positions alone
        /// there are none, and no drift: both are errors of motions in the frame of the sensor.
        pub relative: Vec<Relative>,
        /// The drift.
        pub drift: Drift,
        /// Each pair of poses, in the order of time.
        pub frames: Vec<Frame>,
        /// Poses of the estimate, with a partner or without.
        pub estimate_poses: usize,
        /// Poses of the truth, with a partner or without.
        pub truth_poses: usize,
        /// What is odd: turns that the positions do not determine, rotations that are not known, poses
        /// without a partner, times that are equal or do not ascend.
        pub warnings: Vec<String>,
    }
}
