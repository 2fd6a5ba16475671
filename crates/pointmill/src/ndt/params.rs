//! How cells are made.

use crate::{Argument, Result, ensure};
use pointmill_core::ndt::{Covariance, StatsParams};

/// How cells become normal distributions.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NdtParams {
    /// The definition of a cell's covariance. Default Autoware's, with which alignments converge
    /// from farther away.
    pub covariance: Covariance,
    /// Cells of fewer points are left out. At least 1; default 6.
    pub min_points: u32,
    /// Eigenvalues smaller than this ratio of the cell's largest are raised to it; 0 or more, less
    /// than 1. Default 0.01.
    pub eigen_ratio: f64,
}

/// The defaults of the library, the command and the Python package.
impl Default for NdtParams {
    fn default() -> Self {
        Self { covariance: Covariance::default(), min_points: 6, eigen_ratio: 0.01 }
    }
}

impl NdtParams {
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn validate(&self) -> Result<()> {
        self.check().map(drop)
    }

    /// The parameters of the arithmetic, if they are in range.
    pub(super) fn check(&self) -> Result<StatsParams> {
        ensure(self.min_points != 0, Argument::MinPoints, "at least 1", 0)?;
        let expected = "0 or more, below 1";
        ensure((0.0..1.0).contains(&self.eigen_ratio), Argument::EigenRatio, expected, self.eigen_ratio)?;
        Ok(StatsParams { covariance: self.covariance, eigen_ratio: self.eigen_ratio })
    }
}
