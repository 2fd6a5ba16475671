//! The result on the host.

use super::Report;

/// The result as plain arrays on the host, row-major, exactly V rows (with [`Outputs::padded`](super::Outputs::padded): all rows).
#[derive(Clone, Debug, PartialEq)]
pub struct VoxelArrays {
    /// Rows, V.
    pub num_voxels: usize,
    /// Values a row of `coords` has: 3, or 4 with the sample in front.
    pub coord_columns: usize,
    /// Values a point has, C.
    pub columns: usize,
    /// Most points of a voxel, M; 0 for dynamic voxelization.
    pub max_points: usize,
    /// `[V, 3]` z, y, x, or `[V, 4]` sample, z, y, x.
    pub coords: Vec<i32>,
    /// `[V]`: kept points.
    pub num_points: Vec<i32>,
    /// `[V, M, C]`.
    pub voxels: Option<Vec<f32>>,
    /// `[V, C]`.
    pub mean: Option<MeanArray>,
    /// `[N]`: the row of each point, or -1.
    pub point_to_voxel: Option<Vec<i32>>,
    /// `[V + 1]` starts in the second array, and the points of all rows.
    pub lists: Option<(Vec<u32>, Vec<u32>)>,
    /// For batches, `[B + 1]`: where each sample's rows start.
    pub voxel_splits: Option<Vec<u32>>,
    /// What was counted.
    pub report: Report,
}

/// Means in either element type.
#[derive(Clone, Debug, PartialEq)]
pub enum MeanArray {
    /// `f32`.
    F32(Vec<f32>),
    /// The bits of `f16`.
    F16(Vec<u16>),
}
