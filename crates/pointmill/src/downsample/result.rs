//! The points that are left.

use crate::arrays::outputs;
use crate::{Buffer, Result};
use pointmill_core::record;

record! {
    /// What a call counted.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
    #[non_exhaustive]
    pub struct DownsampleReport {
        /// Input points.
        pub points: usize,
        /// Points of the result, V.
        pub kept: usize,
        /// Points with a NaN or an infinity in x, y or z, which are in no voxel.
        pub non_finite: usize,
    }
}

outputs! {
    /// The points that are left, on the device that made them.
    pub struct Downsampled of DownsampledArray by DownsampledSizes { points, columns, listed } reports DownsampleReport {
        /// A point for each voxel, by the first points of the voxels.
        Points = points: f32 [points, columns],
        /// Where each voxel's points start in `indices`.
        RowSplits = row_splits: u32 [points + 1],
        /// The points of all voxels, ascending in each; with [`Keep::First`](super::Keep::First) the first
        /// of each alone.
        Indices = indices: u32 [listed],
    }
    words {}
    state {
        report: DownsampleReport = DownsampleReport::default(),
        /// The points that were chosen on the host.
        chosen: Option<Vec<u32>> = None,
    }
}

/// What a call made.
pub(super) struct Made {
    pub(super) points: Buffer<f32>,
    pub(super) columns: usize,
    pub(super) row_splits: Buffer<u32>,
    pub(super) indices: Buffer<u32>,
    /// Points in the lists of all voxels.
    pub(super) listed: usize,
    pub(super) report: DownsampleReport,
    pub(super) chosen: Option<Vec<u32>>,
}

impl Downsampled {
    /// The number of values of a point, C.
    pub const fn columns(&self) -> usize {
        self.sizes.columns
    }

    /// What was counted.
    pub const fn report(&self) -> DownsampleReport {
        self.report
    }

    /// The call that fills a result has waited for the number of voxels.
    const fn count(&self) -> Result<(DownsampledSizes, DownsampleReport)> {
        Ok((self.sizes, self.report))
    }

    /// Takes what a call made, into memory that is lent if it is.
    pub(super) fn take(&mut self, made: Made) -> Result<()> {
        let Made { points, columns, row_splits, indices, listed, report, chosen } = made;
        let splits = report.kept + 1;
        let sizes = DownsampledSizes { points: report.kept, columns, listed };
        if self.lender.is_some() {
            self.reserve(sizes)?;
            self.points.copy_from(&points, report.kept * columns)?;
            self.row_splits.copy_from(&row_splits, splits)?;
            self.indices.copy_from(&indices, listed)?;
        } else {
            (self.points, self.row_splits, self.indices, self.sizes) = (points, row_splits, indices, sizes);
        }
        (self.report, self.chosen) = (report, chosen);
        Ok(())
    }
    /// `[V]`: the index of the point that stands for each voxel, and with [`Keep::Mean`](super::Keep::Mean) of the
    /// first of the points whose mean does.
    ///
    /// # Errors
    /// Out of memory, a lost device.
    pub fn kept_indices(&self) -> Result<Vec<u32>> {
        if let Some(chosen) = &self.chosen {
            return Ok(chosen.clone());
        }
        let [splits, indices] = self.lists()?;
        Ok(splits.windows(2).map(|span| indices[span[0] as usize]).collect())
    }

    /// `row_splits` and `indices` on the host.
    ///
    /// # Errors
    /// Out of memory, a lost device.
    pub fn lists(&self) -> Result<[Vec<u32>; 2]> {
        let splits = self.row_splits.read(self.sizes.points + 1)?;
        let indices = self.indices.read(splits.last().map_or(0, |&end| end as usize))?;
        Ok([splits, indices])
    }

    /// `points` on the host, row-major.
    ///
    /// # Errors
    /// Out of memory, a lost device.
    pub fn read(&self) -> Result<Vec<f32>> {
        self.points.read(self.sizes.points * self.sizes.columns)
    }
}
