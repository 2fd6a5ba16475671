//! The arrays of a result: their names, types and shapes, and what they are on the host.

use super::{Job, MeanType, Outputs, Report};
use crate::arrays::{AnyArray, ArraySpec, HostArrays, Shape, array_names};
use pointmill_core::array::{ArrayView, Dtype, NamedArrays};

array_names! {
    /// An array of a result, with V rows, M points a voxel, C columns, N points and B samples.
    pub enum VoxelArray {
        /// `[V, 3]` `i32`: the cell z, y, x; `[V, 4]` with the sample in front for batches.
        Coords = "coords",
        /// `[V]` `i32`: kept points.
        NumPoints = "num_points",
        /// `[V, M, C]` `f32`: the kept points, zeros behind them.
        Voxels = "voxels",
        /// `[V, C]` `f32` or `f16`: means of the kept points.
        Mean = "mean",
        /// `[N]` `i32`: the row of each point, or -1.
        PointToVoxel = "point_to_voxel",
        /// `[V + 1]` `u32`: where each row's points start in `indices`.
        RowSplits = "row_splits",
        /// `[K]` `u32`: the kept points of all rows, ascending in each row.
        Indices = "indices",
        /// `[B + 1]` `u32`: where the rows of each sample start; for batches.
        VoxelSplits = "voxel_splits",
    }
}

/// The sizes of a result, as far as they are known before the call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    pub(super) points: usize,
    pub(super) columns: usize,
    /// M, or 0 for dynamic voxelization.
    pub(super) max_points: usize,
    pub(super) coord_columns: usize,
    pub(super) samples: usize,
    /// No call can have more rows than this.
    pub(super) rows_bound: usize,
    pub(super) outputs: Outputs,
    /// Whether lists are made, for the caller or for means.
    pub(super) lists: bool,
}

/// The sizes of a result that a call counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    /// V.
    pub(super) voxels: usize,
    /// Points in the lists of all rows.
    pub(super) kept: usize,
}

impl Extent {
    pub(super) fn new(job: &Job<'_>) -> Self {
        Self {
            points: job.input.len(),
            columns: job.input.columns(),
            max_points: job.params.max_points_per_voxel.unwrap_or(0) as usize,
            coord_columns: job.coord_columns(),
            samples: job.samples(),
            rows_bound: job.rows_bound(),
            outputs: job.params.outputs,
            lists: job.params.needs_lists(),
        }
    }

    /// Rows that the arrays have, given V.
    pub(super) const fn rows(&self, voxels: usize) -> usize {
        if self.outputs.padded { self.rows_bound } else { voxels }
    }

    /// The arrays at the size that they can have at most.
    pub(super) fn bound(&self) -> impl Iterator<Item = ArraySpec<VoxelArray>> {
        self.specs(Counted { voxels: self.rows_bound, kept: self.points })
    }

    /// The arrays that a call makes.
    pub(super) fn specs(&self, counted: Counted) -> impl Iterator<Item = ArraySpec<VoxelArray>> {
        let extent = *self;
        VoxelArray::ALL.iter().filter_map(move |&array| {
            let (dtype, shape) = extent.spec(array, counted)?;
            Some(ArraySpec { array, dtype, shape, room: shape.num_values() })
        })
    }

    fn spec(&self, array: VoxelArray, counted: Counted) -> Option<(Dtype, Shape)> {
        let &Self { points, columns, max_points, coord_columns, samples, outputs, .. } = self;
        let rows = self.rows(counted.voxels);
        Some(match array {
            VoxelArray::Coords => (Dtype::I32, [rows, coord_columns].into()),
            VoxelArray::NumPoints => (Dtype::I32, [rows].into()),
            VoxelArray::Voxels if outputs.voxels => (Dtype::F32, [rows, max_points, columns].into()),
            VoxelArray::Mean => match outputs.mean? {
                MeanType::F32 => (Dtype::F32, [rows, columns].into()),
                MeanType::F16 => (Dtype::F16, [rows, columns].into()),
            },
            VoxelArray::PointToVoxel if outputs.point_to_voxel => (Dtype::I32, [points].into()),
            VoxelArray::RowSplits if outputs.lists => (Dtype::U32, [counted.voxels + 1].into()),
            VoxelArray::Indices if outputs.lists => (Dtype::U32, [counted.kept].into()),
            VoxelArray::VoxelSplits if coord_columns == 4 => (Dtype::U32, [samples + 1].into()),
            _ => return None,
        })
    }
}

/// The result as plain arrays on the host, row-major, exactly V rows (with [`Outputs::padded`]: all
/// rows).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct VoxelArrays {
    /// Rows, V.
    pub num_voxels: usize,
    /// The number of values in a row of `coords`: 3, or 4 with the sample in front.
    pub coord_columns: usize,
    /// The number of values of a point, C.
    pub columns: usize,
    /// Most points of a voxel, M; 0 for dynamic voxelization.
    pub max_points: usize,
    /// See [`VoxelArray::Coords`].
    pub coords: Vec<i32>,
    /// See [`VoxelArray::NumPoints`].
    pub num_points: Vec<i32>,
    /// See [`VoxelArray::Voxels`].
    pub voxels: Option<Vec<f32>>,
    /// See [`VoxelArray::Mean`].
    pub mean: Option<AnyArray>,
    /// See [`VoxelArray::PointToVoxel`].
    pub point_to_voxel: Option<Vec<i32>>,
    /// See [`VoxelArray::RowSplits`].
    pub row_splits: Option<Vec<u32>>,
    /// See [`VoxelArray::Indices`].
    pub indices: Option<Vec<u32>>,
    /// See [`VoxelArray::VoxelSplits`].
    pub voxel_splits: Option<Vec<u32>>,
    /// What was counted.
    pub report: Report,
}

impl VoxelArrays {
    pub(super) fn new(extent: &Extent, report: Report, mut read: HostArrays<VoxelArray>) -> Self {
        Self {
            num_voxels: report.voxels,
            coord_columns: extent.coord_columns,
            columns: extent.columns,
            max_points: extent.max_points,
            coords: read.take(VoxelArray::Coords).unwrap_or_default(),
            num_points: read.take(VoxelArray::NumPoints).unwrap_or_default(),
            voxels: read.take(VoxelArray::Voxels),
            mean: read.take_any(VoxelArray::Mean),
            point_to_voxel: read.take(VoxelArray::PointToVoxel),
            row_splits: read.take(VoxelArray::RowSplits),
            indices: read.take(VoxelArray::Indices),
            voxel_splits: read.take(VoxelArray::VoxelSplits),
            report,
        }
    }
}

impl NamedArrays for VoxelArrays {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        let (rows, c) = (self.num_points.len(), self.columns);
        let all = [
            Some((VoxelArray::Coords, ArrayView::i32(&[rows, self.coord_columns], &self.coords))),
            Some((VoxelArray::NumPoints, ArrayView::i32(&[rows], &self.num_points))),
            self.voxels.as_ref().map(|v| (VoxelArray::Voxels, ArrayView::f32(&[rows, self.max_points, c], v))),
            self.mean.as_ref().map(|v| (VoxelArray::Mean, v.view(&[rows, c]))),
            self.point_to_voxel.as_ref().map(|v| (VoxelArray::PointToVoxel, ArrayView::i32(&[v.len()], v))),
            self.row_splits.as_ref().map(|v| (VoxelArray::RowSplits, ArrayView::u32(&[v.len()], v))),
            self.indices.as_ref().map(|v| (VoxelArray::Indices, ArrayView::u32(&[v.len()], v))),
            self.voxel_splits.as_ref().map(|v| (VoxelArray::VoxelSplits, ArrayView::u32(&[v.len()], v))),
        ];
        all.into_iter().flatten().map(|(array, view)| (array.as_str(), view)).collect()
    }
}
