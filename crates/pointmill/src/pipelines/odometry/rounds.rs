//! The alignments of a sweep: with times, each finds a motion that the next one takes out of the sweep.

use super::map::LocalMap;
use super::params::OdometryParams;
use super::register::{Part, Start, SweepFit, register};
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
        let mut start = Start { guess: predicted, error, predicted, part: Part::Coarse };
        let (mut found, mut twist) = (None, self.twist);
        let rounds = if moment.is_some() { ROUNDS } else { 1 };
        for round in 0..rounds {
            start.part = if round + 1 < rounds { Part::Coarse } else { Part::Whole };
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
        // Where the sensor begins to turn within a sweep, a part of the points draws the pose away from a prediction that is right.
        let drawn = |found: &(Registration<SweepFit>, [f64; 6])| {
            apart(&predicted, &found.0.target_from_source, params.max_range) > params.robust_width
        };
        if first.is_none() && found.as_ref().is_none_or(drawn) {
            let points = deskewed(&sweep.keys, &self.twist, moment)?;
            let start = Start { guess: predicted, part: Part::Fine, ..start };
            if let Some(other) = register(map, &points, start, params)?
                && found.as_ref().is_none_or(|(found, _)| other.fit.agreement > found.fit.agreement)
            {
                let twist = self.motion_to(&other.target_from_source);
                found = Some((other, twist));
            }
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
