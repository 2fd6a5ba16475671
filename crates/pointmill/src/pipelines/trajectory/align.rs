//! The motion that brings positions onto others.

use super::params::Alignment;
use crate::Pose;
use pointmill_core::icp::Robust;
use pointmill_core::icp::pairs::{POINT_TERMS, point_to_point};
use pointmill_core::icp::pose::closest;
use pointmill_core::rigid::{Rigid, add, dot, subtract};

/// A rigid transform after a scale: `truth = pose * (scale * estimate)`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Similarity {
    /// The rotation and the translation.
    pub truth_from_estimate: Pose,
    /// The scale, above zero.
    pub scale: f64,
}

impl Similarity {
    /// Changes nothing.
    pub const IDENTITY: Self = Self { truth_from_estimate: Pose::IDENTITY, scale: 1.0 };

    /// The least sum of squared distances between positions, in closed form.
    ///
    /// Turns that the positions do not determine are the smallest that fit: about the line for positions along one. The scale stays 1 where all positions are at one place.
    pub(super) fn between(estimate: &[Pose], truth: &[Pose], alignment: Alignment) -> Self {
        if alignment == Alignment::None {
            return Self::IDENTITY;
        }
        let (from, to) = (mean(estimate), mean(truth));
        let offsets = |i: usize| (subtract(estimate[i].translation(), from), subtract(truth[i].translation(), to));
        let mut terms = [0.0; POINT_TERMS];
        for i in 0..estimate.len() {
            let (s, q) = offsets(i);
            let more = point_to_point(&Rigid::IDENTITY, &Robust::None, s, q);
            terms.iter_mut().zip(more).for_each(|(sum, term)| *sum += term);
        }
        let turn = Pose::from(closest(&terms, &Rigid::IDENTITY).unwrap_or(Rigid::IDENTITY));
        let mut scale = 1.0;
        if alignment == Alignment::Sim3 {
            let (mut along, mut square) = (0.0, 0.0);
            for i in 0..estimate.len() {
                let (s, q) = offsets(i);
                along += dot(turn.rotate(s), q);
                square += dot(s, s);
            }
            if along > 0.0 && (along / square).is_finite() {
                scale = along / square;
            }
        }
        let translation = subtract(to, turn.rotate(from).map(|x| scale * x));
        let truth_from_estimate = Pose::from(Rigid { rotation: turn.rotation(), translation });
        Self { truth_from_estimate, scale }
    }

    /// Where a pose of the estimate goes.
    pub fn apply(&self, pose: &Pose) -> Pose {
        let translation = pose.translation().map(|x| self.scale * x);
        self.truth_from_estimate.compose(&Rigid { translation, ..*pose.rigid() }.into())
    }
}

fn mean(poses: &[Pose]) -> [f64; 3] {
    let sum = poses.iter().fold([0.0; 3], |sum, pose| add(sum, pose.translation()));
    sum.map(|x| x / poses.len() as f64)
}
