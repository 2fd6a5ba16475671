//! The cells of a map as normal distributions: what a map is once it is finished, wherever it was
//! made or read.

use crate::record;
use alloc::vec::Vec;

/// Cells as normal distributions, a row each.
///
/// Callers may make cells of their own, for `NdtGrid::from_cells`: the struct has no other fields
/// than these.
///
/// **Order**: rows by (z, y, x) of the cell. **Units**: metres, in the frame of the points.
/// Symmetric matrices are their entries xx, xy, xz, yy, yz, zz.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NdtCells {
    /// `[V]`: the cell, along x, y, z.
    pub coords: Vec<[i32; 3]>,
    /// `[V]`: the number of its points.
    pub counts: Vec<u32>,
    /// `[V]`: the mean about the cell's centre, in metres.
    pub mean_local: Vec<[f64; 3]>,
    /// `[V]`: the mean, in metres.
    pub mean: Vec<[f64; 3]>,
    /// `[V]`: the covariance in square metres, with raised eigenvalues.
    pub covariance: Vec<[f64; 6]>,
    /// `[V]`: the inverse of the covariance.
    pub inverse: Vec<[f64; 6]>,
    /// `[V]`: the eigenvalues of the covariance, ascending.
    pub eigenvalues: Vec<[f64; 3]>,
    /// `[V]`: the direction in which the points vary least, of length one; its component of largest
    /// magnitude is positive.
    pub normal: Vec<[f64; 3]>,
    /// What became of points and cells.
    pub report: NdtReport,
}

record! {
    /// What became of the points and the cells of a map.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
    #[non_exhaustive]
    pub struct NdtReport {
        /// Points that were added.
        pub points: u64,
        /// Of these, rows with a coordinate that is not finite: they are in no cell.
        pub non_finite: u64,
        /// Occupied cells.
        pub cells: usize,
        /// Of these, cells of fewer points than asked for.
        pub sparse: usize,
        /// Cells without extent, or with too few points for their covariance.
        pub degenerate: usize,
        /// Cells that are left, V.
        pub voxels: usize,
        /// Of these, cells with a raised eigenvalue.
        pub clamped: usize,
    }
}

impl NdtCells {
    /// The number of rows, V.
    pub const fn len(&self) -> usize {
        self.coords.len()
    }

    /// Whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.coords.is_empty()
    }
}

/// Both halves of a symmetric matrix of entries xx, xy, xz, yy, yz, zz: nine values, rows first.
///
/// ```
/// use pointmill_core::ndt::{full_matrix, symmetric_entries};
/// let full = full_matrix([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// assert_eq!(full, [1.0, 2.0, 3.0, 2.0, 4.0, 5.0, 3.0, 5.0, 6.0]);
/// assert_eq!(symmetric_entries(full), Some([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// ```
pub const fn full_matrix([xx, xy, xz, yy, yz, zz]: [f64; 6]) -> [f64; 9] {
    [xx, xy, xz, xy, yy, yz, xz, yz, zz]
}

/// The six entries of a symmetric matrix of nine values, rows first; `None` if its halves differ.
pub const fn symmetric_entries(m: [f64; 9]) -> Option<[f64; 6]> {
    if m[1] == m[3] && m[2] == m[6] && m[5] == m[7] { Some([m[0], m[1], m[2], m[4], m[5], m[8]]) } else { None }
}
