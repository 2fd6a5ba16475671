//! Aligning a scan to a grid.

use super::NdtFit;
use crate::{Argument, Error, Result};
use pointmill_core::linear::inverse;
use pointmill_core::ndt::{NdtAlignment, NdtLimits, Pose, PreparedPose, state};
use pointmill_core::rigid::Rigid;

/// How a scan is aligned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlignParams {
    /// Longest step, as the length of all six numbers of a pose. Default 0.1.
    pub step_size: f64,
    /// A shorter step ends it. Default 0.01.
    pub epsilon: f64,
    /// Most steps. Default 30.
    pub max_iterations: usize,
}

impl Default for AlignParams {
    fn default() -> Self {
        Self { step_size: 0.1, epsilon: 0.01, max_iterations: 30 }
    }
}

/// Why an alignment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A step was shorter than asked for.
    Converged,
    /// There were as many steps as allowed.
    MaxIterations,
    /// No point has a cell within reach.
    NoPairs,
    /// No direction makes the fit better: the Hessian says nothing.
    Singular,
}

/// Where a scan lies in a map.
#[derive(Clone, Debug, PartialEq)]
pub struct NdtRegistration {
    /// The pose.
    pub pose: Pose,
    /// It as a 4x4 matrix, rows first.
    pub target_from_source: [f64; 16],
    /// Why it ended.
    pub stop: Stop,
    /// Steps that were made.
    pub iterations: usize,
    /// The fit at the pose.
    pub fit: NdtFit,
    /// Second derivatives of minus the score by the six numbers of the pose, at the pose.
    pub hessian: [[f64; 6]; 6],
    /// Its inverse, where it is positive definite: how uncertain the pose is by this map and scan alone.
    pub covariance: Option<[[f64; 6]; 6]>,
}

impl NdtRegistration {
    /// Whether the last step was shorter than asked for.
    pub fn converged(&self) -> bool {
        self.stop == Stop::Converged
    }
}

impl NdtRegistration {
    /// Of an alignment that has ended, of so many points.
    pub(super) fn new(alignment: &NdtAlignment, points: usize) -> Self {
        let (terms, hessian) = (&alignment.terms, alignment.hessian());
        Self {
            pose: alignment.pose,
            target_from_source: matrix_of(&alignment.pose),
            stop: match alignment.state {
                state::CONVERGED => Stop::Converged,
                state::NO_PAIRS => Stop::NoPairs,
                state::SINGULAR => Stop::Singular,
                _ => Stop::MaxIterations,
            },
            iterations: alignment.iterations as usize,
            fit: NdtFit::new(points, [terms[0], terms[1], terms[2]]),
            hessian,
            covariance: inverse(&hessian),
        }
    }
}

impl AlignParams {
    /// The limits, if they are in range.
    pub(super) fn check(&self) -> Result<NdtLimits> {
        let positive = |argument, value: f64| {
            if value.is_finite() && value > 0.0 {
                return Ok(());
            }
            Err(Error::argument(argument, "a finite number > 0", value))
        };
        positive(Argument::StepSize, self.step_size)?;
        positive(Argument::Epsilon, self.epsilon)?;
        let max_iterations = u32::try_from(self.max_iterations)
            .map_err(|_| Error::argument(Argument::MaxIterations, "fewer than 2^32", self.max_iterations))?;
        Ok(NdtLimits { step_size: self.step_size, epsilon: self.epsilon, max_iterations })
    }
}

/// A pose as a rigid transform `target_from_source`, a 4x4 matrix with rows first; [`pose_of`] takes it back.
///
/// ```
/// use pointmill::ndt::{matrix_of, pose_of};
/// let matrix = matrix_of(&[1.0, 2.0, 3.0, 0.0, 0.0, 0.0]);
/// assert_eq!(matrix, [1.0, 0.0, 0.0, 1.0, /**/ 0.0, 1.0, 0.0, 2.0, /**/ 0.0, 0.0, 1.0, 3.0, /**/ 0.0, 0.0, 0.0, 1.0]);
/// assert_eq!(pose_of(&matrix)?, [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn matrix_of(pose: &Pose) -> [f64; 16] {
    let r = *PreparedPose::new(pose).rotation();
    let mut m = [0.0; 16];
    for i in 0..3 {
        m[i * 4..i * 4 + 3].copy_from_slice(&r[i]);
        m[i * 4 + 3] = pose[i];
    }
    m[15] = 1.0;
    m
}

/// The pose of a rigid transform, a 4x4 matrix with rows first; pitch within +-90 degrees. A rotation that is a millionth to a thousandth off is taken as the nearest
/// rotation.
///
/// # Errors
/// A matrix that is not finite, whose last row is not 0, 0, 0, 1, that mirrors, or that has an entry more than a thousandth off the nearest rotation.
pub fn pose_of(matrix: &[f64; 16]) -> Result<Pose> {
    let Rigid { rotation, translation } = Rigid::nearly(matrix).map_err(|e| Error::not_rigid(Argument::Matrix, e))?;
    let r = |i: usize, j: usize| rotation[i][j];
    let pitch = r(0, 2).clamp(-1.0, 1.0).asin();
    let (roll, yaw) = if r(0, 2).abs() < 1.0 - 1e-12 {
        ((-r(1, 2)).atan2(r(2, 2)), (-r(0, 1)).atan2(r(0, 0)))
    } else {
        // Straight up or down, roll and yaw turn about one axis.
        (r(2, 1).atan2(r(1, 1)), 0.0)
    };
    let [x, y, z] = translation;
    Ok([x, y, z, roll, pitch, yaw])
}
