//! The arrays of a result: their names, types and shapes, and what they are on the host.

use super::{PoolMode, Report, RoiLayout, RoiPoolParams};
use crate::arrays::{AnyArray, ArraySpec, HostArrays, Shape, array_names};
use crate::{Argument, Result, ensure};
use pointmill_core::array::{ArrayView, Dtype, NamedArrays};

array_names! {
    /// An array of a result, with B boxes of ox, oy, oz voxels, C channels, M points a voxel, and R
    /// voxels that are not empty. Which there are is a matter of [`RoiLayout`].
    pub enum RoiArray {
        /// `[B, ox, oy, oz, C]`, or `[R, C]` if sparse, in the features' type: the pooled features.
        Pooled = "pooled",
        /// As `pooled`, `i32`, for maxima: the point that each came from, or -1.
        Argmax = "argmax",
        /// `[B, ox, oy, oz, M + 1]` `i32`, dense with lists: the count, then the kept points, then
        /// zeros.
        PointIndices = "point_indices",
        /// `[R, 4]` `i32`, sparse: box, ix, iy, iz.
        Coords = "coords",
        /// `[B * ox * oy * oz + 1]` or `[R + 1]` `i64`, CSR and sparse with lists: where each row's
        /// points start.
        RowSplits = "row_splits",
        /// `[K]` `i32`, CSR and sparse with lists: the kept points of all rows.
        Indices = "indices",
    }
}

/// What the buffers of the last call hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) boxes: usize,
    pub(super) points: usize,
    pub(super) channels: usize,
    pub(super) dtype: Dtype,
    pub(super) out_size: [u32; 3],
    /// M.
    pub(super) max_points: usize,
    pub(super) layout: RoiLayout,
    pub(super) lists: bool,
    pub(super) mode: PoolMode,
    /// Which located scene this was pooled from; zero for none.
    pub(super) scene: u64,
}

impl Extent {
    /// A result of so many boxes and points, without features.
    pub(super) fn new(params: &RoiPoolParams, (boxes, points): (usize, usize)) -> Self {
        Self {
            boxes,
            points,
            channels: 1,
            dtype: Dtype::F32,
            out_size: params.out_size,
            max_points: params.max_points_per_voxel as usize,
            layout: params.layout,
            lists: params.lists,
            mode: params.mode,
            scene: 0,
        }
    }

    /// Voxels of all boxes.
    pub(super) fn voxels(&self) -> usize {
        self.out_size.iter().fold(self.boxes, |n, &out| n.saturating_mul(out as usize))
    }

    /// Rows that `pooled` has, given the number of non-empty voxels.
    pub(super) fn rows(&self, voxels: usize) -> usize {
        if self.layout == RoiLayout::Sparse { voxels } else { self.voxels() }
    }

    /// Whether the lists of all rows stand one after the other.
    pub(super) fn csr(&self) -> bool {
        self.lists && self.layout != RoiLayout::Dense
    }

    /// Checks that each array of a result with so many rows can be.
    ///
    /// # Errors
    /// More values than an array can have on any device.
    pub(super) fn check_values(&self, rows: usize) -> Result<()> {
        let slots = if self.lists && self.layout == RoiLayout::Dense { self.slots() } else { 0 };
        let of_row = self.channels.max(slots);
        let expected = format_args!("a result of fewer than {} values", usize::MAX / 8);
        let got = format_args!("{rows} rows of {of_row}");
        ensure(rows.checked_mul(of_row).is_some_and(|n| n < usize::MAX / 8), Argument::Scene, expected, got)
    }

    /// Numbers that a row of `point_indices` has: the count and M points.
    pub(super) const fn slots(&self) -> usize {
        self.max_points + 1
    }

    /// The arrays at the size that they can have at most.
    pub(super) fn bound(&self) -> impl Iterator<Item = ArraySpec<RoiArray>> {
        let kept = self.boxes.saturating_mul(self.points);
        self.specs(self.voxels().min(kept), kept)
    }

    /// The arrays of a call with so many non-empty voxels and kept points.
    pub(super) fn specs(&self, voxels: usize, kept: usize) -> impl Iterator<Item = ArraySpec<RoiArray>> {
        let extent = *self;
        RoiArray::ALL.iter().filter_map(move |&array| {
            let (dtype, shape) = extent.spec(array, voxels, kept)?;
            let values = shape.num_values();
            // Kernels write halves in pairs.
            let room = if array == RoiArray::Pooled { values.saturating_add(values % 2) } else { values };
            Some(ArraySpec { array, dtype, shape, room })
        })
    }

    fn spec(&self, array: RoiArray, voxels: usize, kept: usize) -> Option<(Dtype, Shape)> {
        let rows = self.rows(voxels);
        let of_rows = |last: usize| match self.layout {
            RoiLayout::Sparse => [rows, last].into(),
            RoiLayout::Dense | RoiLayout::Csr => {
                let [x, y, z] = self.out_size.map(|n| n as usize);
                Shape::from([self.boxes, x, y, z, last])
            }
        };
        Some(match array {
            RoiArray::Pooled => (self.dtype, of_rows(self.channels)),
            RoiArray::Argmax if self.mode == PoolMode::Max => (Dtype::I32, of_rows(self.channels)),
            RoiArray::PointIndices if self.lists && self.layout == RoiLayout::Dense => {
                (Dtype::I32, of_rows(self.slots()))
            }
            RoiArray::Coords if self.layout == RoiLayout::Sparse => (Dtype::I32, of_rows(4)),
            RoiArray::RowSplits if self.csr() => (Dtype::I64, [rows.saturating_add(1)].into()),
            RoiArray::Indices if self.csr() => (Dtype::I32, [kept].into()),
            _ => return None,
        })
    }
}

/// The result as plain arrays on the host, row-major. See [`RoiArray`] for the shapes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RoiArrays {
    /// Boxes, B.
    pub boxes: usize,
    /// Voxels of a box.
    pub out_size: [u32; 3],
    /// The number of values of a feature, C.
    pub channels: usize,
    /// Most points of a voxel, M.
    pub max_points: usize,
    /// The shape of the arrays.
    pub layout: RoiLayout,
    /// See [`RoiArray::Pooled`].
    pub pooled: AnyArray,
    /// See [`RoiArray::Argmax`].
    pub argmax: Option<Vec<i32>>,
    /// See [`RoiArray::PointIndices`].
    pub point_indices: Option<Vec<i32>>,
    /// See [`RoiArray::RowSplits`].
    pub row_splits: Option<Vec<i64>>,
    /// See [`RoiArray::Indices`].
    pub indices: Option<Vec<i32>>,
    /// See [`RoiArray::Coords`].
    pub coords: Option<Vec<i32>>,
    /// What was counted.
    pub report: Report,
}

impl RoiArrays {
    pub(super) fn new(extent: &Extent, report: Report, mut read: HostArrays<RoiArray>) -> Self {
        Self {
            boxes: extent.boxes,
            out_size: extent.out_size,
            channels: extent.channels,
            max_points: extent.max_points,
            layout: extent.layout,
            pooled: read.take_any(RoiArray::Pooled).unwrap_or(AnyArray::F32(Vec::new())),
            argmax: read.take(RoiArray::Argmax),
            point_indices: read.take(RoiArray::PointIndices),
            row_splits: read.take(RoiArray::RowSplits),
            indices: read.take(RoiArray::Indices),
            coords: read.take(RoiArray::Coords),
            report,
        }
    }
}

impl NamedArrays for RoiArrays {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        let of_rows = |last: usize| match &self.coords {
            Some(coords) => vec![coords.len() / 4, last],
            None => {
                let [x, y, z] = self.out_size.map(|n| n as usize);
                vec![self.boxes, x, y, z, last]
            }
        };
        let values = of_rows(self.channels);
        let all = [
            Some((RoiArray::Pooled, self.pooled.view(&values))),
            self.argmax.as_ref().map(|v| (RoiArray::Argmax, ArrayView::i32(&values, v))),
            self.point_indices
                .as_ref()
                .map(|v| (RoiArray::PointIndices, ArrayView::i32(&of_rows(self.max_points + 1), v))),
            self.coords.as_ref().map(|v| (RoiArray::Coords, ArrayView::i32(&of_rows(4), v))),
            self.row_splits.as_ref().map(|v| (RoiArray::RowSplits, ArrayView::i64(&[v.len()], v))),
            self.indices.as_ref().map(|v| (RoiArray::Indices, ArrayView::i32(&[v.len()], v))),
        ];
        all.into_iter().flatten().map(|(array, view)| (array.as_str(), view)).collect()
    }
}
