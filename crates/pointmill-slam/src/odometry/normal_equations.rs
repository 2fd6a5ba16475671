//! The normal equations of the correspondences at a pose, and the step that solves them.

use pointmill_core::icp::pairs::{HEAD, Linearization, STEP_TERMS};
use pointmill_core::icp::pose::{self, step_hessian};
use pointmill_core::linear::{Square, eigen};
use pointmill_core::odometry::pairs::motion_of;
use pointmill_core::rigid::{Rigid, dot};

/// A direction is a rotation about the sensor if the squared motion of the sensor along it is less.
const STANDING: f64 = 0.01;

/// Sums over correspondences, with the eigenvalues and directions of their Hessian.
pub(super) struct NormalEquations {
    pub(super) at: Linearization,
    pub(super) terms: [f64; STEP_TERMS],
    pub(super) values: [f64; 6],
    pub(super) directions: Square<6>,
}

impl NormalEquations {
    pub(super) fn new(at: Linearization, terms: [f64; STEP_TERMS]) -> Self {
        let (values, directions) = eigen(&step_hessian(&terms));
        Self { at, terms, values, directions }
    }

    pub(super) const fn weight(&self) -> f64 {
        self.terms[3]
    }

    /// Returns true if the correspondences observe direction `k`.
    pub(super) fn is_observable(&self, k: usize) -> bool {
        pose::is_observable(&self.values, k)
    }

    /// How the cost of the pairs changes along a direction.
    pub(super) fn slope(&self, direction: &[f64; 6]) -> f64 {
        (0..6).map(|i| direction[i] * self.terms[HEAD + 21 + i]).sum()
    }

    /// The pose after a step in metres.
    pub(super) fn moved(&self, x: &[f64; 6]) -> Rigid {
        let l = self.at.length;
        let twist = [x[0], x[1], x[2], x[3] / l, x[4] / l, x[5] / l];
        self.at.pose.moved(&twist, self.at.pivot).orthonormal()
    }

    /// The Gauss-Newton step in metres, without its part along the directions that are held.
    pub(super) fn step(&self, held: &[[f64; 6]]) -> [f64; 6] {
        let mut x = [0.0; 6];
        for k in (0..6).filter(|k| self.is_observable(*k)) {
            let slope = self.slope(&self.directions[k]);
            (0..6).for_each(|i| x[i] -= slope / self.values[k] * self.directions[k][i]);
        }
        // A sensor keeps its speed better than its turn. Held is how far the direction moves the
        // sensor, if it moves the sensor at all.
        let arm = self.at.arm(self.at.pose.translation);
        for direction in held {
            let taken = motion_of(direction, arm);
            let square = dot(taken, taken);
            let along = match square > STANDING {
                true => dot(motion_of(&x, arm), taken) / square,
                false => product(&x, direction),
            };
            (0..6).for_each(|i| x[i] -= along * direction[i]);
        }
        x
    }
}

pub(super) fn product(a: &[f64; 6], b: &[f64; 6]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
