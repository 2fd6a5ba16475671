//! Parameters of statistics.

use crate::{Argument, Error, Result};
use pointmill_core::ndt::{Covariance, StatsParams};

/// How cells become normal distributions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NdtParams {
    /// Cells of fewer points are left out. At least 1; default 6.
    pub min_points: u32,
    /// Which matrix is called the covariance. Default Autoware's, from which matching converges from farther away.
    pub covariance: Covariance,
    /// Eigenvalues below this part of the largest one are raised to it; 0 or more, below 1. Default 0.01.
    pub eigen_ratio: f64,
}

/// The defaults of all who make cells: this library, the command and the Python package.
impl Default for NdtParams {
    fn default() -> Self {
        Self { min_points: 6, covariance: Covariance::default(), eigen_ratio: 0.01 }
    }
}

impl NdtParams {
    /// The parameters, if they are in range.
    pub(super) fn check(&self) -> Result<StatsParams> {
        if self.min_points == 0 {
            return Err(Error::argument(Argument::MinPoints, "at least 1", 0));
        }
        if !(0.0..1.0).contains(&self.eigen_ratio) {
            return Err(Error::argument(Argument::EigenRatio, "0 or more, below 1", self.eigen_ratio));
        }
        Ok(StatsParams { covariance: self.covariance, eigen_ratio: self.eigen_ratio })
    }
}
