//! The alignments of a sweep: with times, each finds a motion that the next one takes out of the sweep.

use super::map::LocalMap;
use super::params::OdometryParams;
use super::register::{Start, SweepFit, register};
use super::sweep::{Sweep, deskewed};
use crate::registration::Registration;
use crate::{Pose, Result};
use pointmill_core::trig::sin_cos_f64;

/// Alignments of a sweep with times, each with the motion that the one before found, all but the last coarse; of the second sweep also with the first sweep deskewed by it.
const ROUNDS: usize = 3;

/// A sweep, and what is known about its motion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds<'a> {
    pub(super) sweep: &'a Sweep,
    /// The first sweep and its moment, if this is the second.
    pub(super) first: Option<&'a (Sweep, f64)>,
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

impl Rounds<'_> {
    /// Aligns the sweep. Returns the motion a second that led to its pose, too; `None` if too few points have a neighbour in the map.
    pub(super) fn align(
        &self,
        map: &mut LocalMap,
        params: &OdometryParams,
    ) -> Result<Option<(Registration<SweepFit>, [f64; 6])>> {
        let &Self { sweep, first, moment, predicted, error, .. } = self;
        let mut start = Start { guess: predicted, error, predicted, coarse: true };
        let (mut found, mut twist) = (None, self.twist);
        let rounds = if moment.is_some() { ROUNDS } else { 1 };
        for round in 0..rounds {
            start.coarse = round + 1 < rounds;
            if let (Some((first, moment)), true) = (first, round > 0) {
                map.clear();
                map.insert(&deskewed(&first.samples, &twist, Some(*moment))?)?;
            }
            let points = deskewed(&sweep.keys, &twist, moment)?;
            let Some(registration) = register(map, &points, start, params)? else { break };
            start.guess = registration.target_from_source;
            twist = self.motion_to(&start.guess);
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
