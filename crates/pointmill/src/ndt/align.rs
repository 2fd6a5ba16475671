//! The parameters of an alignment, and its result.

use super::NdtFit;
use crate::registration::{Registration, Status};
use crate::{Argument, Error, Result};
use pointmill_core::linear::inverse;
use pointmill_core::ndt::{NdtAlignment, NdtLimits, state};

/// Parameters of the alignment of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NdtAlignParams {
    /// Most steps. Default 30.
    pub max_iterations: usize,
    /// Longest step: the length of all six numbers of the pose, metres and radians alike. Default 0.1.
    pub step_size: f64,
    /// A shorter step ends the alignment. Default 0.01.
    pub epsilon: f64,
}

impl Default for NdtAlignParams {
    fn default() -> Self {
        Self { max_iterations: 30, step_size: 0.1, epsilon: 0.01 }
    }
}

impl NdtAlignParams {
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn validate(&self) -> Result<()> {
        self.limits().map(drop)
    }

    /// The limits, if they are in range.
    pub(super) fn limits(&self) -> Result<NdtLimits> {
        for (argument, value) in [(Argument::StepSize, self.step_size), (Argument::Epsilon, self.epsilon)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::argument(argument, "a finite number > 0", value));
            }
        }
        let max_iterations = u32::try_from(self.max_iterations)
            .map_err(|_| Error::argument(Argument::MaxIterations, "fewer than 2^32", self.max_iterations))?;
        Ok(NdtLimits { step_size: self.step_size, epsilon: self.epsilon, max_iterations })
    }
}

/// The pose of a scan in a map, and how certain it is.
///
/// **Hessian**: second derivatives of minus the score by x, y, z in metres and roll, pitch, yaw in radians. **Covariance**: the inverse of the Hessian where that is positive
/// definite, by this map and scan alone.
pub type NdtRegistration = Registration<NdtFit>;

/// The result of an alignment that has ended, of a scan of so many points.
pub(super) fn registration(alignment: &NdtAlignment, points: usize) -> NdtRegistration {
    let (terms, hessian) = (&alignment.terms, alignment.hessian());
    Registration {
        target_from_source: alignment.target_from_source(),
        status: match alignment.state {
            state::CONVERGED => Status::StepBelow,
            state::NO_PAIRS => Status::NoPairs,
            state::SINGULAR => Status::Degenerate,
            _ => Status::MaxIterations,
        },
        iterations: alignment.iterations as usize,
        hessian,
        covariance: inverse(&hessian),
        fit: NdtFit::new(points, [terms[0], terms[1], terms[2]]),
    }
}
