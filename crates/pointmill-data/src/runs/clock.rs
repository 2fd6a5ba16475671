//! When the poses of odometry are, by the clock of the points.

use pointmill_slam::odometry::{Step, TimesUse};

/// The seconds of poses.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// What the clock of the points lacks to these seconds.
    offset: f64,
}

impl Clock {
    /// The seconds of the next pose, those of the one before being `last`.
    ///
    /// They are those of the points' clock. Where it has none, or runs back, they go on by the
    /// interval of the sweeps.
    pub(super) fn seconds(&mut self, last: Option<f64>, step: &Step) -> f64 {
        let seconds = match (last, step.time) {
            (None, time) => time.unwrap_or(0.0),
            (Some(last), Some(time)) if step.times == TimesUse::Absolute && time + self.offset > last => {
                time + self.offset
            }
            (Some(last), _) => last + step.interval,
        };
        self.offset = step.time.map_or(self.offset, |time| seconds - time);
        seconds
    }
}
