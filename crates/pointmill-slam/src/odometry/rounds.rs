//! The alignments of a sweep: with times, each finds a motion that the next one takes out of the
//! sweep.

use super::engine::{Engine, Which, spread_of};
use super::params::OdometryParams;
use super::register::{Start, SweepFit, register};
use pointmill::registration::Registration;
use pointmill::{Pose, Result};
use pointmill_core::odometry::motion::Motion;
use pointmill_core::rigid::Rigid;
use pointmill_core::trig::sin_cos_f64;

/// Alignments of a sweep with times, each with the motion that the one before found, all but the
/// last coarse; of the second sweep also with the first sweep deskewed by it.
const ROUNDS: usize = 3;

/// What is known about a sweep and its motion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds {
    /// The number of keypoints.
    pub(super) keypoints: usize,
    /// The moment of the first sweep, if this is the second.
    pub(super) first: Option<f64>,
    /// The moment that the points are moved to, if they are.
    pub(super) moment: Option<f64>,
    /// Seconds since the sweep before.
    pub(super) interval: f64,
    /// The pose of the sweep before, and the motion a second that led to it.
    pub(super) before: Pose,
    pub(super) twist: [f64; 6],
    pub(super) predicted: Pose,
    /// How far in metres the prediction is expected to be off.
    pub(super) error: f64,
}

impl Rounds {
    /// Aligns the sweep. Returns the motion a second that led to its pose, too; `None` if too few
    /// points have a neighbour in the map.
    pub(super) fn align(
        &self,
        engine: &mut dyn Engine,
        params: &OdometryParams,
    ) -> Result<Option<(Registration<SweepFit>, [f64; 6])>> {
        let &Self { keypoints, first, moment, predicted, error, .. } = self;
        let (mut found, mut twist, mut guess) = (None, self.twist, predicted);
        let rounds = if moment.is_some() { ROUNDS } else { 1 };
        for round in 0..rounds {
            if let (Some(moment), true) = (first, round > 0) {
                engine.clear()?;
                engine.insert(Which::First, Some(Motion { twist, moment }), &Rigid::IDENTITY)?;
            }
            let spread = spread_of(&engine.place(moment.map(|moment| Motion { twist, moment }))?, keypoints);
            let start = Start { keypoints, spread, guess, error, predicted, coarse: round + 1 < rounds };
            let Some(registration) = register(engine, start, params)? else { break };
            guess = registration.target_from_source;
            twist = self.motion_to(&guess);
            found = Some((registration, twist));
        }
        Ok(found)
    }

    /// The motion a second from the sweep before to a pose.
    fn motion_to(&self, pose: &Pose) -> [f64; 6] {
        self.before.inverse().compose(pose).log().map(|x| x / self.interval)
    }
}

/// How far in metres two poses are apart: the motion of a point at a range.
pub(super) fn apart(a: &Pose, b: &Pose, range: f64) -> f64 {
    let off = a.inverse().compose(b);
    let norm = |v: [f64; 3]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let (sine, _) = sin_cos_f64(0.5 * norm(off.rotation_vector()));
    norm(off.translation()) + 2.0 * range * sine
}
