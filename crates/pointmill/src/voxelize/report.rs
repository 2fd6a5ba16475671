//! What a call counted.

use pointmill_core::record;
use pointmill_kernels::voxelize::Counters;

record! {
    /// What a call counted. Every input point is in exactly one of `points_kept`, the two
    /// `points_dropped_..`, `out_of_range` and `non_finite`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
    #[non_exhaustive]
    pub struct Report {
        /// Input points.
        pub points: usize,
        /// Rows of the result, V.
        pub voxels: usize,
        /// Cells with at least one point.
        pub voxels_found: usize,
        /// Cells that got no row because of `max_voxels`.
        pub voxels_dropped: usize,
        /// Points that a row keeps.
        pub points_kept: usize,
        /// Points of a row that was full.
        pub points_dropped_full_voxel: usize,
        /// Points of a cell that got no row.
        pub points_dropped_dropped_voxel: usize,
        /// Finite points outside the grid.
        pub out_of_range: usize,
        /// Points with a NaN or an infinity in x, y or z.
        pub non_finite: usize,
    }
}

impl Report {
    pub(super) fn new(points: usize, c: &Counters) -> Self {
        let [voxels, found, non_finite, out_of_range, dropped, kept] =
            [c.voxels, c.found, c.non_finite, c.out_of_range, c.dropped_voxel, c.kept].map(|v| v as usize);
        Self {
            points,
            voxels,
            voxels_found: found,
            voxels_dropped: found - voxels,
            points_kept: kept,
            points_dropped_full_voxel: points - non_finite - out_of_range - dropped - kept,
            points_dropped_dropped_voxel: dropped,
            out_of_range,
            non_finite,
        }
    }
}
