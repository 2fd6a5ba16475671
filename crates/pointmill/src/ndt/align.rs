//! Aligning a scan to a grid.

use super::score::{Derivatives, check};
use super::{NdtFit, NdtGrid};
use crate::{Error, Result};
use pointmill_core::linear::{cholesky, inverse, solve};
use pointmill_core::ndt::{Pose, PreparedPose};
use pointmill_core::rigid::is_rotation;

/// The least part of the diagonal that is added to it.
const LEAST_DAMPING: f64 = 1e-3;

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

impl NdtGrid {
    /// The pose near `guess` at which a scan fits best: Newton's method, damped as Levenberg and Marquardt do, with steps of limited length; no step makes the fit worse.
    ///
    /// **Shapes, units**: as [`NdtGrid::score`]. **Determinism**: the same bits for any number of threads. A scan that meets no cell keeps its guess and says so.
    ///
    /// # Errors
    /// Parameters out of range, or a guess that is not finite.
    pub fn align(&self, scan: &[[f32; 3]], guess: &Pose, params: &AlignParams) -> Result<NdtRegistration> {
        params.check()?;
        check(guess)?;
        let mut pose = *guess;
        let mut here = self.derivatives(scan, &pose);
        let (mut iterations, mut damping) = (0, 0.0);
        let stop = loop {
            if here.fit.hits == 0 {
                break Stop::NoPairs;
            }
            if iterations == params.max_iterations {
                break Stop::MaxIterations;
            }
            let Some(Step { step, damped }) = Step::new(&here, damping) else { break Stop::Singular };
            damping = damped;
            let length = step.iter().map(|x| x * x).sum::<f64>().sqrt();
            let scale = if length > params.step_size { params.step_size / length } else { 1.0 };
            let next: Pose = std::array::from_fn(|i| pose[i] + step[i] * scale);
            let there = self.derivatives(scan, &next);
            iterations += 1;
            let better = there.fit.score >= here.fit.score;
            if better {
                (pose, here) = (next, there);
                damping = if damping > LEAST_DAMPING { damping / 4.0 } else { 0.0 };
            } else {
                damping = (damping * 4.0).max(LEAST_DAMPING);
            }
            // A step is short near the best pose, or because much damping made it so; only the first is an end.
            if length < params.epsilon && (damped == 0.0 || !better) {
                break Stop::Converged;
            }
        };
        Ok(NdtRegistration {
            pose,
            target_from_source: matrix(&pose),
            stop,
            iterations,
            fit: here.fit,
            hessian: here.hessian,
            covariance: inverse(&here.hessian),
        })
    }
}

impl AlignParams {
    fn check(&self) -> Result<()> {
        let positive = |argument, value: f64| {
            if value.is_finite() && value > 0.0 {
                return Ok(());
            }
            Err(Error::argument(argument, "a finite number > 0", value))
        };
        positive("step_size", self.step_size)?;
        positive("epsilon", self.epsilon)
    }
}

/// A step of Newton's method, damped as Levenberg and Marquardt do: what is added to the diagonal is a part of it, so that metres and radians are treated alike.
struct Step {
    step: [f64; 6],
    /// The part that was added.
    damped: f64,
}

impl Step {
    /// The step with at least this damping; more where the Hessian is not positive definite, as far from the best pose.
    fn new(here: &Derivatives, damping: f64) -> Option<Self> {
        let mut damped = damping;
        for _ in 0..40 {
            let mut a = here.hessian;
            (0..6).for_each(|i| a[i][i] += damped * a[i][i].abs());
            if let Some(lower) = cholesky(&a) {
                let step = solve(&lower, &here.gradient.map(|g| -g));
                return step.iter().all(|x| x.is_finite()).then_some(Self { step, damped });
            }
            damped = (damped * 2.0).max(LEAST_DAMPING);
        }
        None
    }
}

/// A pose as a matrix, rows first.
pub(super) fn matrix(pose: &Pose) -> [f64; 16] {
    let r = *PreparedPose::new(pose).rotation();
    let mut m = [0.0; 16];
    for i in 0..3 {
        m[i * 4..i * 4 + 3].copy_from_slice(&r[i]);
        m[i * 4 + 3] = pose[i];
    }
    m[15] = 1.0;
    m
}

/// The pose of a rigid transform, a 4x4 matrix with rows first; pitch within +-90 degrees.
///
/// # Errors
/// A matrix that is not finite, whose last row is not 0, 0, 0, 1, or whose rotation is none, by more than a millionth.
pub fn pose_of(matrix: &[f64; 16]) -> Result<Pose> {
    let r = |i: usize, j: usize| matrix[i * 4 + j];
    let rotation = [0, 1, 2].map(|i| [r(i, 0), r(i, 1), r(i, 2)]);
    let finite = matrix.iter().all(|x| x.is_finite());
    if !finite || matrix[12..] != [0.0, 0.0, 0.0, 1.0] || !is_rotation(&rotation) {
        let expected = "a rigid transform: a rotation, a translation, and 0, 0, 0, 1";
        return Err(Error::argument("matrix", expected, format!("{matrix:?}")));
    }
    let pitch = r(0, 2).clamp(-1.0, 1.0).asin();
    let (roll, yaw) = if r(0, 2).abs() < 1.0 - 1e-12 {
        ((-r(1, 2)).atan2(r(2, 2)), (-r(0, 1)).atan2(r(0, 0)))
    } else {
        // Straight up or down, roll and yaw turn about one axis.
        (r(2, 1).atan2(r(1, 1)), 0.0)
    };
    Ok([r(0, 3), r(1, 3), r(2, 3), roll, pitch, yaw])
}
