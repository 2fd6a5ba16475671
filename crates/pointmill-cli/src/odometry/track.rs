//! The poses of a drive so far, with their times.

use pointmill::Pose;
use pointmill::pipelines::odometry::{Step, TimesUse};

/// The poses so far, one for each sweep that was begun.
#[derive(Debug, Default)]
pub(super) struct Track {
    pub(super) poses: Vec<Pose>,
    /// Seconds of each pose, ascending.
    pub(super) seconds: Vec<f64>,
    /// What the clock of the points lacks to these seconds.
    offset: f64,
}

impl Track {
    /// Adds a pose. Returns its seconds, and the metres since the one before.
    ///
    /// Seconds are those of the points' clock. Where it says nothing, or runs back, they go on by the interval of the sweeps.
    pub(super) fn push(&mut self, step: &Step) -> (f64, f64) {
        let seconds = match (self.seconds.last(), step.time) {
            (None, time) => time.unwrap_or(0.0),
            (Some(last), Some(time)) if step.times == TimesUse::Absolute && time + self.offset > *last => {
                time + self.offset
            }
            (Some(last), _) => last + step.interval,
        };
        self.offset = step.time.map_or(self.offset, |time| seconds - time);
        let moved = self.poses.last().map_or(0.0, |last| {
            let by = last.inverse().compose(&step.world_from_sensor).translation();
            by.iter().map(|x| x * x).sum::<f64>().sqrt()
        });
        self.poses.push(step.world_from_sensor);
        self.seconds.push(seconds);
        (seconds, moved)
    }
}
