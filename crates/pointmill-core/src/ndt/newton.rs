//! Newton's method on the score of a scan: what each step does with the sums over its points.

use super::{PoseVector, PreparedPose, TERMS, Terms};
use crate::float::sqrt;
use crate::linear::{Square, cholesky, solve};
use crate::pose::Pose;
use crate::rigid::{dot, subtract};

/// The least part of the diagonal that is added to it.
const LEAST_DAMPING: f64 = 1e-3;
/// How often a matrix that is not positive definite gets more of its diagonal.
const MAX_TRIES: u32 = 40;
/// Two steps turn back on each other if the cosine between their translations is below this:
/// Autoware's.
const TURNED_BACK: f64 = -0.9;

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
    /// What holds the pose beside the scan.
    pub hold: NdtHold,
}

/// Holds a pose near a base pose along one direction of the plane: the fit is less by `weight`
/// times the square of the distance along it.
///
/// Where a scan does not determine one direction, as in a tunnel, the pose stays at the base in
/// that direction.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NdtHold {
    /// x and y of the base.
    pub at: [f64; 2],
    /// The direction, of length one.
    pub along: [f64; 2],
    /// The weight a square metre; 0 holds nothing.
    pub weight: f64,
}

impl NdtHold {
    /// How far a pose is from the base along the direction.
    #[inline(always)]
    fn distance(&self, pose: &PoseVector) -> f64 {
        (pose[0] - self.at[0]) * self.along[0] + (pose[1] - self.at[1]) * self.along[1]
    }

    /// What the fit at a pose is less by.
    #[inline(always)]
    pub fn cost(&self, pose: &PoseVector) -> f64 {
        let d = self.distance(pose);
        self.weight * d * d
    }

    /// Adds the derivatives of the cost to those of minus the score.
    #[inline(always)]
    pub fn add(&self, pose: &PoseVector, gradient: &mut [f64; 6], hessian: &mut Square<6>) {
        let d = self.distance(pose);
        let mut i = 0;
        while i < 2 {
            gradient[i] += 2.0 * self.weight * d * self.along[i];
            let mut j = 0;
            while j < 2 {
                hessian[i][j] += 2.0 * self.weight * self.along[i] * self.along[j];
                j += 1;
            }
            i += 1;
        }
    }
}

/// An alignment under way: Newton's method, damped as Levenberg and Marquardt do, with steps of
/// limited length; no step makes the fit worse.
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
    /// The translation of the last step that made the fit better.
    way: [f64; 3],
    /// Sums seen, of which the first are those at the guess.
    seen: u32,
    /// One of [`state`].
    pub state: u32,
    /// Steps until now that turned back, each on the one before.
    turns: u32,
    /// The largest number of such steps in succession.
    pub oscillations: u32,
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
            way: [0.0; 3],
            seen: 0,
            state: state::RUNNING,
            turns: 0,
            oscillations: 0,
        }
    }

    /// Steps made.
    #[inline(always)]
    pub const fn iterations(&self) -> u32 {
        self.seen.saturating_sub(1)
    }

    /// Takes the sums at the candidate, and chooses the next one or ends.
    #[inline(always)]
    pub fn advance(&mut self, there: &Terms, limits: &NdtLimits) {
        self.seen += 1;
        if self.seen == 1 {
            self.terms = *there;
        } else {
            let better = self.is_better(there, limits);
            if better {
                self.turn();
                self.pose = self.candidate;
                self.terms = *there;
                self.damping = if self.damping > LEAST_DAMPING { self.damping / 4.0 } else { 0.0 };
            } else {
                self.damping = if self.damping * 4.0 > LEAST_DAMPING { self.damping * 4.0 } else { LEAST_DAMPING };
            }
            // A step is short near the best pose, or because much damping made it so; only the
            // first is an end.
            if self.length < limits.epsilon && (self.damped == 0.0 || !better) {
                self.state = state::CONVERGED;
                return;
            }
        }
        if self.terms[2] == 0.0 {
            self.state = state::NO_PAIRS;
        } else if self.iterations() == limits.max_iterations {
            self.state = state::MAX_ITERATIONS;
        } else if !self.choose(limits) {
            self.state = state::SINGULAR;
        }
    }

    /// Whether the sums at the candidate are as good as those at the best pose, or better.
    #[inline(always)]
    fn is_better(&self, there: &Terms, limits: &NdtLimits) -> bool {
        let (now, then) = (there[0], self.terms[0]);
        if limits.hold.weight == 0.0 {
            return now >= then;
        }
        now - limits.hold.cost(&self.candidate) >= then - limits.hold.cost(&self.pose)
    }

    /// Counts whether the step to the candidate turns back on the last one.
    #[inline(always)]
    fn turn(&mut self) {
        let way = subtract(
            [self.candidate[0], self.candidate[1], self.candidate[2]],
            [self.pose[0], self.pose[1], self.pose[2]],
        );
        let (before, now) = (dot(self.way, self.way), dot(way, way));
        let back = dot(self.way, way) < TURNED_BACK * sqrt(before * now);
        self.turns = if back { self.turns + 1 } else { 0 };
        self.oscillations = if self.turns > self.oscillations { self.turns } else { self.oscillations };
        self.way = way;
    }

    /// Sets the next candidate, with at least the present damping; with more where the Hessian is
    /// not positive definite, as far from the best pose.
    #[inline(always)]
    fn choose(&mut self, limits: &NdtLimits) -> bool {
        self.damped = self.damping;
        let (mut gradient, mut hessian) = (self.gradient(), self.hessian());
        if limits.hold.weight != 0.0 {
            limits.hold.add(&self.pose, &mut gradient, &mut hessian);
        }
        let mut tries = 0;
        while tries < MAX_TRIES {
            let mut a = hessian;
            let mut i = 0;
            while i < 6 {
                a[i][i] += self.damped * a[i][i].abs();
                i += 1;
            }
            if let Some(lower) = cholesky(&a) {
                return self.step(&lower, &gradient, limits);
            }
            self.damped = if self.damped * 2.0 > LEAST_DAMPING { self.damped * 2.0 } else { LEAST_DAMPING };
            tries += 1;
        }
        false
    }

    #[inline(always)]
    fn step(&mut self, lower: &Square<6>, gradient: &[f64; 6], limits: &NdtLimits) -> bool {
        let mut downhill = *gradient;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hold_and_its_derivatives_agree() {
        let hold = NdtHold { at: [3.0, -1.0], along: [0.8, 0.6], weight: 0.7 };
        let pose = [4.0, 1.5, 0.2, 0.1, 0.2, 0.3];
        // 1 m and 2.5 m off, of which 2.3 m are along.
        assert!((hold.cost(&pose) - 0.7 * 2.3 * 2.3).abs() < 1e-12);
        let (mut gradient, mut hessian) = ([0.0; 6], [[0.0; 6]; 6]);
        hold.add(&pose, &mut gradient, &mut hessian);
        for i in 0..6 {
            let at = |by: f64| {
                let mut pose = pose;
                pose[i] += by;
                let (mut gradient, mut hessian) = ([0.0; 6], [[0.0; 6]; 6]);
                hold.add(&pose, &mut gradient, &mut hessian);
                (hold.cost(&pose), gradient)
            };
            let (up, down) = (at(1e-5), at(-1e-5));
            assert!(((up.0 - down.0) / 2e-5 - gradient[i]).abs() < 1e-8);
            for j in 0..6 {
                assert!(((up.1[j] - down.1[j]) / 2e-5 - hessian[i][j]).abs() < 1e-8);
            }
        }
    }
}
