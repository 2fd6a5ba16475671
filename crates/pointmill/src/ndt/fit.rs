//! How well a scan fits.

use pointmill_core::record;

record! {
    /// How well a scan fits a map at a pose.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
    #[non_exhaustive]
    pub struct NdtFit {
        /// The score divided by the number of points.
        pub transform_probability: f64,
        /// Nearest voxel transformation likelihood: the mean of the largest term of each point that
        /// has one.
        pub nvtl: f64,
        /// The sum of all terms.
        pub score: f64,
        /// The number of points with a cell within reach.
        pub hits: usize,
        /// The largest number of steps in succession that turned back, each on the one before; 0
        /// where nothing was aligned.
        pub oscillations: usize,
    }
}

impl NdtFit {
    /// The fit of sums over so many points.
    pub(super) fn new(points: usize, [score, largest, hits]: [f64; 3]) -> Self {
        let by = |n: f64, sum: f64| if n > 0.0 { sum / n } else { 0.0 };
        Self {
            transform_probability: by(points as f64, score),
            nvtl: by(hits, largest),
            score,
            hits: hits as usize,
            oscillations: 0,
        }
    }
}
