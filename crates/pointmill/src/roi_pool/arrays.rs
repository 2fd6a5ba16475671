//! The result on the host.

use super::{FeatureArray, Report, RoiLayout};

/// The result as plain arrays on the host, row-major. See [`RoiLayout`] for the shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct RoiArrays {
    /// Boxes, B.
    pub boxes: usize,
    /// Voxels of a box.
    pub out_size: [u32; 3],
    /// Values a feature has, C.
    pub channels: usize,
    /// M: one more than the points that a voxel keeps.
    pub max_points: usize,
    /// The shape of the arrays.
    pub layout: RoiLayout,
    /// `[B, ox, oy, oz, C]` or `[R, C]`.
    pub pooled: FeatureArray,
    /// As `pooled`; for maxima.
    pub argmax: Option<Vec<i32>>,
    /// `[B, ox, oy, oz, M]`; dense layout.
    pub point_indices: Option<Vec<i32>>,
    /// `[B * ox * oy * oz + 1]` or `[R + 1]`; CSR and sparse layouts.
    pub row_splits: Option<Vec<i64>>,
    /// The kept points of all rows; CSR and sparse layouts.
    pub indices: Option<Vec<i32>>,
    /// `[R, 4]`: box, ix, iy, iz; sparse layout.
    pub coords: Option<Vec<i32>>,
    /// What was counted.
    pub report: Report,
}
