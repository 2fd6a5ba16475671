//! Newton's method on the score of a scan: what each step does with the sums over its points.

use super::{PoseVector, PreparedPose, TERMS, Terms};
use crate::float::sqrt;
use crate::linear::{Square, cholesky, solve};
use crate::pose::Pose;

/// The least part of the diagonal that is added to it.
const LEAST_DAMPING: f64 = 1e-3;
/// How often a matrix that is not positive definite gets more of its diagonal.
const MAX_TRIES: u32 = 40;

/// Values of [`NdtAlignment::state`].
pub mod state {
    /// The terms at [`super::NdtAlignment::candidate`] are wanted.
    pub const RUNNING: u32 = 0;
    /// A step was shorter than asked for.
    pub const CONVERGED: u32 = 1;
    /// There were as many steps as allowed.
    pub const MAX_ITERATIONS: u32 = 2;
    /// No point has a cell within reach.
    pub const NO_PAIRS: u32 = 3;
    /// No direction makes the fit better.
    pub const SINGULAR: u32 = 4;
}

/// Limits of an alignment.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NdtLimits {
    /// Longest step, as the length of all six numbers of a pose.
    pub step_size: f64,
    /// A shorter step ends it.
    pub epsilon: f64,
    /// Most steps.
    pub max_iterations: u32,
}

/// An alignment under way: Newton's method, damped as Levenberg and Marquardt do, with steps of limited length; no step makes the fit worse.
///
/// What is added to the diagonal is a part of it, so that metres and radians are treated alike.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NdtAlignment {
    /// The best pose so far.
    pub pose: PoseVector,
    /// The sums at it.
    pub terms: Terms,
    /// The pose at which the sums are wanted next.
    pub candidate: PoseVector,
    /// It, made ready.
    pub prepared: PreparedPose,
    damping: f64,
    /// The part of the diagonal that the candidate's step was damped by.
    damped: f64,
    /// Its length before it was cut.
    length: f64,
    /// Sums seen, of which the first are those at the guess.
    seen: u64,
    /// Steps made.
    pub iterations: u32,
    /// One of [`state`].
    pub state: u32,
}

impl NdtAlignment {
    /// At a guess.
    pub fn new(guess: &PoseVector) -> Self {
        Self {
            pose: *guess,
            terms: [0.0; TERMS],
            candidate: *guess,
            prepared: PreparedPose::new(guess),
            damping: 0.0,
            damped: 0.0,
            length: 0.0,
            seen: 0,
            iterations: 0,
            state: state::RUNNING,
        }
    }

    /// Takes the sums at the candidate, and chooses the next one or ends.
    #[inline(always)]
    pub fn advance(&mut self, there: &Terms, limits: &NdtLimits) {
        if self.seen == 0 {
            self.terms = *there;
        } else {
            self.iterations += 1;
            let better = there[0] >= self.terms[0];
            if better {
                self.pose = self.candidate;
                self.terms = *there;
                self.damping = if self.damping > LEAST_DAMPING { self.damping / 4.0 } else { 0.0 };
            } else {
                self.damping = if self.damping * 4.0 > LEAST_DAMPING { self.damping * 4.0 } else { LEAST_DAMPING };
            }
            // A step is short near the best pose, or because much damping made it so; only the first is an end.
            if self.length < limits.epsilon && (self.damped == 0.0 || !better) {
                self.state = state::CONVERGED;
                return;
            }
        }
        self.seen += 1;
        if self.terms[2] == 0.0 {
            self.state = state::NO_PAIRS;
        } else if self.iterations == limits.max_iterations {
            self.state = state::MAX_ITERATIONS;
        } else if !self.choose(limits) {
            self.state = state::SINGULAR;
        }
    }

    /// Sets the next candidate, with at least the present damping; with more where the Hessian is not positive definite, as far from the best pose.
    #[inline(always)]
    fn choose(&mut self, limits: &NdtLimits) -> bool {
        self.damped = self.damping;
        let mut tries = 0;
        while tries < MAX_TRIES {
            let mut a = self.hessian();
            let mut i = 0;
            while i < 6 {
                a[i][i] += self.damped * a[i][i].abs();
                i += 1;
            }
            if let Some(lower) = cholesky(&a) {
                return self.step(&lower, limits);
            }
            self.damped = if self.damped * 2.0 > LEAST_DAMPING { self.damped * 2.0 } else { LEAST_DAMPING };
            tries += 1;
        }
        false
    }

    #[inline(always)]
    fn step(&mut self, lower: &Square<6>, limits: &NdtLimits) -> bool {
        let mut downhill = self.gradient();
        let mut i = 0;
        while i < 6 {
            downhill[i] = -downhill[i];
            i += 1;
        }
        let step = solve(lower, &downhill);
        let mut squared = 0.0;
        let mut i = 0;
        while i < 6 {
            squared += step[i] * step[i];
            i += 1;
        }
        if !squared.is_finite() {
            return false;
        }
        self.damping = self.damped;
        self.length = sqrt(squared);
        let scale = if self.length > limits.step_size { limits.step_size / self.length } else { 1.0 };
        let mut i = 0;
        while i < 6 {
            self.candidate[i] = self.pose[i] + step[i] * scale;
            i += 1;
        }
        self.prepared = PreparedPose::new(&self.candidate);
        true
    }

    /// The best pose so far.
    pub fn target_from_source(&self) -> Pose {
        let [x, y, z, roll, pitch, yaw] = self.pose;
        Pose::of_angles([x, y, z], [roll, pitch, yaw])
    }

    /// First derivatives of minus the score at [`NdtAlignment::pose`].
    #[inline(always)]
    pub fn gradient(&self) -> [f64; 6] {
        let mut out = [0.0; 6];
        let mut i = 0;
        while i < 6 {
            out[i] = self.terms[3 + i];
            i += 1;
        }
        out
    }

    /// Second ones.
    #[inline(always)]
    pub fn hessian(&self) -> Square<6> {
        let mut out = [[0.0; 6]; 6];
        let mut at = 9;
        let mut i = 0;
        while i < 6 {
            let mut j = 0;
            while j < 6 {
                if j >= i {
                    out[i][j] = self.terms[at];
                    out[j][i] = self.terms[at];
                    at += 1;
                }
                j += 1;
            }
            i += 1;
        }
        out
    }
}
