//! What a call counted.

use pointmill_core::record;
use pointmill_kernels::roi_pool::Totals;

record! {
    /// What a call counted.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
    #[non_exhaustive]
    pub struct Report {
        /// Boxes, B.
        pub boxes: usize,
        /// Boxes that hold nothing because a value is not finite or a size is not positive.
        pub empty_boxes: usize,
        /// Points, N.
        pub points: usize,
        /// Voxels with at least one kept point.
        pub voxels: usize,
        /// Pairs of a box and a point in it; a point in two boxes makes two.
        pub inside: usize,
        /// Pairs whose voxel keeps the point.
        pub kept: usize,
        /// Pairs whose voxel was full.
        pub dropped: usize,
    }
}

impl Report {
    pub(super) fn new(boxes: usize, points: usize, totals: &Totals) -> Self {
        let [voxels, inside, kept] = [totals.rows, totals.inside, totals.kept].map(|n| n as usize);
        let empty_boxes = totals.empty_boxes as usize;
        Self { boxes, empty_boxes, points, voxels, inside, kept, dropped: inside - kept }
    }
}
