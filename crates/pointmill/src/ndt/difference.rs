//! The difference between two maps, to the last bit.

use super::{NdtCells, NdtGrid};
use crate::Result;
use pointmill_core::array::{ArrayView, NamedArrays};

impl NdtGrid {
    /// The names of the arrays of a map that differ from another grid's in any bit, and `report` if
    /// what was counted differs. Waits for both devices.
    ///
    /// # Errors
    /// As [`NdtGrid::read`].
    ///
    /// ```
    /// use pointmill::ndt::{NdtParams, ndt_grid};
    /// use pointmill::Device;
    /// let points = [[0.1f64, 0.2, 0.3], [0.4, 0.1, 0.2], [0.3, 0.3, 0.5], [0.2, 0.6, 0.1]];
    /// let params = NdtParams { min_points: 3, ..NdtParams::default() };
    /// let [a, b] = [ndt_grid(&points, 2.0, &params, &Device::cpu())?, ndt_grid(&points[1..], 2.0, &params, &Device::cpu())?];
    /// assert!(a.differences(&a)?.is_empty());
    /// assert_eq!(a.differences(&b)?[..2], ["counts", "mean"]);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    pub fn differences(&self, other: &Self) -> Result<Vec<&'static str>> {
        let (a, b) = (self.read()?, other.read()?);
        let report = (a.report != b.report).then_some("report");
        Ok(crate::differences(&NamedCells(&a), &NamedCells(&b)).into_iter().chain(report).collect())
    }
}

/// The arrays of cells by the names that files have for them. Matrices are their six entries.
#[derive(Debug)]
pub struct NamedCells<'a>(pub &'a NdtCells);

impl NamedArrays for NamedCells<'_> {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        let (cells, v) = (self.0, self.0.len());
        vec![
            ("coords", ArrayView::i32(&[v, 3], cells.coords.as_flattened())),
            ("counts", ArrayView::u32(&[v], &cells.counts)),
            ("mean", ArrayView::f64(&[v, 3], cells.mean.as_flattened())),
            ("covariance", ArrayView::f64(&[v, 6], cells.covariance.as_flattened())),
            ("inv_covariance", ArrayView::f64(&[v, 6], cells.inverse.as_flattened())),
            ("eigenvalues", ArrayView::f64(&[v, 3], cells.eigenvalues.as_flattened())),
            ("normal", ArrayView::f64(&[v, 3], cells.normal.as_flattened())),
        ]
    }
}
