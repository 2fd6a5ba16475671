//! The motion that brings positions onto others.

use super::params::Alignment;
use pointmill::Pose;
use pointmill_core::icp::Robust;
use pointmill_core::icp::pairs::{POINT_TERMS, point_to_point};
use pointmill_core::icp::pose::{OBSERVABLE, closest};
use pointmill_core::linear::Square;
use pointmill_core::record;
use pointmill_core::rigid::{Rigid, add, dot, subtract};
use pointmill_core::svd::{Svd, svd};

/// What is so many times as large is clearly larger.
const CLEAR: f64 = 1.8;

record! {
    /// A rigid transform after a scale: `truth = pose * (scale * estimate)`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Similarity {
        /// The rotation and the translation.
        pub truth_from_estimate: Pose,
        /// The scale, above zero.
        pub scale: f64,
    }
}

impl Similarity {
    /// Changes nothing.
    pub const IDENTITY: Self = Self { truth_from_estimate: Pose::IDENTITY, scale: 1.0 };

    /// The least sum of squared distances between positions, in closed form, and what is to be said
    /// of it.
    ///
    /// Turns that the positions do not determine, such as the one about the line of a straight way,
    /// are those of the orientations. The scale stays 1 where all positions are at one place.
    ///
    /// Where rotations are not known, such turns are those of the least squares.
    pub(super) fn between(
        [estimate, truth]: [&[Pose]; 2],
        alignment: Alignment,
        has_rotations: bool,
    ) -> (Self, Option<String>) {
        if alignment == Alignment::None {
            return (Self::IDENTITY, None);
        }
        let positions = Positions { estimate, truth, from: mean(estimate), to: mean(truth), has_rotations };
        let (turn, told) = positions.turn();
        let scale = if alignment == Alignment::Sim3 { positions.scale(&turn) } else { 1.0 };
        let translation = subtract(positions.to, turn.rotate(positions.from).map(|x| scale * x));
        let truth_from_estimate = Pose::from(Rigid { rotation: turn.rotation(), translation });
        (Self { truth_from_estimate, scale }, told)
    }

    /// Where a pose of the estimate goes.
    pub fn apply(&self, pose: &Pose) -> Pose {
        let translation = pose.translation().map(|x| self.scale * x);
        self.truth_from_estimate.compose(&Rigid { translation, ..*pose.rigid() }.into())
    }
}

/// Positions that belong together, and their means.
struct Positions<'a> {
    estimate: &'a [Pose],
    truth: &'a [Pose],
    from: [f64; 3],
    to: [f64; 3],
    has_rotations: bool,
}

impl Positions<'_> {
    /// Each pair of positions from their means.
    fn offsets(&self) -> impl Iterator<Item = [[f64; 3]; 2]> {
        let offset =
            move |(a, b): (&Pose, &Pose)| [subtract(a.translation(), self.from), subtract(b.translation(), self.to)];
        self.estimate.iter().zip(self.truth).map(offset)
    }

    /// The scale that fits best after a rotation; 1 where there is none.
    fn scale(&self, turn: &Pose) -> f64 {
        let (mut along, mut square) = (0.0, 0.0);
        for [s, q] in self.offsets() {
            along += dot(turn.rotate(s), q);
            square += dot(s, s);
        }
        if along > 0.0 && (along / square).is_finite() { along / square } else { 1.0 }
    }

    /// The sums of the squared distances that a rotation leaves, along a direction of the truth and
    /// across it. A wrong scale is no error here.
    fn errors(&self, turn: &Pose, direction: [f64; 3]) -> [f64; 2] {
        let scale = self.scale(turn);
        self.offsets().fold([0.0; 2], |[along, across], [s, q]| {
            let left = subtract(q, turn.rotate(s).map(|x| scale * x));
            let part = dot(left, direction);
            [along + part * part, across + (dot(left, left) - part * part).max(0.0)]
        })
    }

    /// The rotation that fits best, and what of it the positions do not determine.
    ///
    /// They determine the turn about the way unless the errors may be as large as their distances
    /// from a line. The errors are what the best rotation leaves; they may also be what the turn of
    /// the orientations leaves, where that is not clearly more: a bend that drifts upwards looks
    /// like a turn.
    fn turn(&self) -> (Pose, Option<String>) {
        let mut terms = [0.0; POINT_TERMS];
        let mut products = [[0.0; 3]; 3];
        for [s, q] in self.offsets() {
            let more = point_to_point(&Rigid::IDENTITY, &Robust::None, s, q);
            terms.iter_mut().zip(more).for_each(|(sum, term)| *sum += term);
            (0..9).for_each(|k| products[k / 3][k % 3] += q[k / 3] * s[k % 3]);
        }
        let fitted = Pose::from(closest(&terms, &Rigid::IDENTITY).unwrap_or(Rigid::IDENTITY));
        let Svd { values: [first, second, third], left, right } = svd(&products);
        let [spread, off_line] = [first, second + third].map(|x| self.scale(&fitted) * x);
        let clear = |large: f64, small: f64| large > 0.0 && large >= CLEAR * CLEAR * small;
        let [along, across] = self.errors(&fitted, left[0]);
        let rms = |squares: f64| (squares.max(0.0) / self.truth.len() as f64).sqrt();
        let guess = if self.has_rotations { self.turn_of_orientations() } else { fitted };
        let from = match self.has_rotations {
            true => "it is taken from the orientations of the poses",
            false => "it is any that fits, since the rotations of the poses are not known",
        };
        if !clear(spread, along + across) {
            let told = format!("positions spread over {:.3} m and are {:.3} m off", rms(spread), rms(along + across));
            return (guess, Some(format!("alignment: {told} (rms), which does not determine the rotation; {from}")));
        }
        // The two ends of the way alone.
        let mut ends = [0.0; POINT_TERMS];
        for sign in [1.0, -1.0] {
            let [s, q] = [right[0], left[0]].map(|end| end.map(|x| sign * x));
            let more = point_to_point(&Rigid::IDENTITY, &Robust::None, s, q);
            ends.iter_mut().zip(more).for_each(|(sum, term)| *sum += term);
        }
        let turned = closest(&ends, guess.rigid()).map_or(guess, Pose::from);
        let [_, by_orientations] = self.errors(&turned, left[0]);
        let errors = if clear(by_orientations, across) { across } else { by_orientations.max(across) };
        if clear(off_line, errors) && off_line > OBSERVABLE * spread {
            return (fitted, None);
        }
        let told =
            format!("positions lie {:.3} m off a line and are {:.3} m off across it", rms(off_line), rms(errors));
        (turned, Some(format!("alignment: {told} (rms), which does not determine the rotation about it; {from}")))
    }

    /// The rotation that brings the orientations nearest together.
    fn turn_of_orientations(&self) -> Pose {
        let mut products: Square<3> = [[0.0; 3]; 3];
        for (a, b) in self.estimate.iter().zip(self.truth) {
            let (a, b) = (a.rotation(), b.rotation());
            (0..27).for_each(|k| products[k / 9][k / 3 % 3] += b[k / 9][k % 3] * a[k / 3 % 3][k % 3]);
        }
        let Svd { left, right, .. } = svd(&products);
        let entry = |i: usize, j: usize| (0..3).map(|k| left[k][i] * right[k][j]).sum();
        let rotation = std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)));
        Pose::from(Rigid { rotation, translation: [0.0; 3] })
    }
}

fn mean(poses: &[Pose]) -> [f64; 3] {
    let sum = poses.iter().fold([0.0; 3], |sum, pose| add(sum, pose.translation()));
    sum.map(|x| x / poses.len() as f64)
}
