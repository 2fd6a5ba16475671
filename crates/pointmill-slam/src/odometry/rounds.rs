//! The alignments of a sweep: with times, each finds a motion that the next one takes out of the
//! sweep.

use super::engine::{Engine, Which, spread_of};
use super::params::OdometryParams;
use super::register::{Start, SweepFit, register};
use super::search::{Answer, DEVIATIONS, ENOUGH, Explained, Search, apart, arm, deviation};
use pointmill::registration::{Registration, Status};
use pointmill::{Pose, Result};
use pointmill_core::icp::spread::Spread;
use pointmill_core::odometry::motion::Motion;
use pointmill_core::rigid::Rigid;

/// Alignments of a sweep with times, each with the motion that the one before found, all but the
/// last coarse; of the second sweep also with the first sweep deskewed by it.
const ROUNDS: usize = 3;

/// What is known about a sweep and its motion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds {
    /// The number of keypoints.
    pub(super) keypoints: usize,
    /// Edge of the voxels of the map.
    pub(super) voxel_size: f64,
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
    /// The share of the last sweeps that the map explained.
    pub(super) expected: Option<f64>,
}

/// Where a sweep was aligned to.
#[derive(Debug)]
pub(super) struct Aligned {
    pub(super) registration: Registration<SweepFit>,
    pub(super) explained: Explained,
    /// Whether the map explains as much at another place.
    pub(super) ambiguous: bool,
    /// The motion a second that led there.
    pub(super) twist: [f64; 6],
    /// How far in metres the prediction was off.
    pub(super) off: f64,
}

impl Rounds {
    /// Aligns the sweep; `None` if too few points have a neighbour in the map.
    pub(super) fn align(&self, engine: &mut dyn Engine, params: &OdometryParams) -> Result<Option<Aligned>> {
        let spread = self.place(engine, self.twist)?;
        let mut search = Search::new(engine, self.voxel_size, spread, self.keypoints);
        match search.around(&self.predicted, &self.before, self.expected)? {
            Some(answer) => match self.align_from(engine, params, answer)? {
                Some(found) if found.registration.status == Status::Degenerate => {
                    self.align_beside(engine, params, found).map(Some)
                }
                found => Ok(found),
            },
            None => Ok(None),
        }
    }

    /// The place beside one that the surfaces do not determine, if the map explains more of the sweep
    /// there.
    fn align_beside(&self, engine: &mut dyn Engine, params: &OdometryParams, found: Aligned) -> Result<Aligned> {
        let at = found.registration.target_from_source;
        let spread = self.place(engine, found.twist)?;
        let answer = Search::new(engine, self.voxel_size, spread, self.keypoints).beside(&at)?;
        let Some(answer) = answer.filter(|answer| !answer.ambiguous) else { return Ok(found) };
        if apart(&at, &answer.pose, 0.0) < self.voxel_size {
            return Ok(found);
        }
        let there = Self { predicted: answer.pose, first: None, ..*self };
        match there.align_from(engine, params, answer)? {
            Some(other) if self.explains_more(other.explained, found.explained) => Ok(other),
            _ => Ok(found),
        }
    }

    /// Whether the map explains more of the sweep at one place than at another, to two deviations.
    pub(super) fn explains_more(&self, one: Explained, other: Explained) -> bool {
        one.share - other.share > DEVIATIONS * deviation(one.share.max(other.share), self.keypoints)
    }

    /// Aligns the sweep from a place that a search found.
    pub(super) fn align_from(
        &self,
        engine: &mut dyn Engine,
        params: &OdometryParams,
        answer: Answer,
    ) -> Result<Option<Aligned>> {
        let &Self { keypoints, voxel_size, first, moment, predicted, error, .. } = self;
        let (mut found, mut twist, mut guess) = (None, self.twist, answer.pose);
        let rounds = if moment.is_some() { ROUNDS } else { 1 };
        for round in 0..rounds {
            if let (Some(moment), true) = (first, round > 0) {
                engine.clear()?;
                engine.insert(Which::First, Some(Motion { twist, moment }), &Rigid::IDENTITY)?;
            }
            let spread = self.place(engine, twist)?;
            let coarse = round + 1 < rounds;
            let start = Start { keypoints, spread, guess, voxel_size, error, predicted, coarse };
            let Some(registration) = register(engine, start, params)? else { break };
            guess = registration.target_from_source;
            twist = self.motion_to(&guess);
            found = Some((registration, spread));
        }
        let Some((registration, spread)) = found else { return Ok(None) };
        let explained = Search::new(engine, voxel_size, spread, keypoints).explained(&guess)?;
        let off = apart(&predicted, &guess, arm(&spread));
        Ok(Some(Aligned { registration, explained, ambiguous: answer.ambiguous, twist, off }))
    }

    /// Whether a place is poor: the map explained more of the sweeps before, and the surfaces do not
    /// determine it.
    pub(super) fn is_poor(&self, found: &Aligned) -> bool {
        found.registration.status == Status::Degenerate
            && self.expected.is_some_and(|expected| found.explained.share < ENOUGH * expected)
    }

    /// Moves the keypoints to where they are at the moment of the sweep, by a motion a second.
    fn place(&self, engine: &mut dyn Engine, twist: [f64; 6]) -> Result<Spread> {
        let motion = self.moment.map(|moment| Motion { twist, moment });
        Ok(spread_of(&engine.place(motion)?, self.keypoints))
    }

    /// The motion a second from the sweep before to a pose.
    fn motion_to(&self, pose: &Pose) -> [f64; 6] {
        self.before.inverse().compose(pose).log().map(|x| x / self.interval)
    }
}
